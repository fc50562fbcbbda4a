import numpy as np
import pytest

import dpcov
from dpcov.answers.differences import differ_in_pairs
from dpcov.errors import ParameterError
from dpcov.plot import compare
from plot.pictures import axes, estimate_of, pairs_estimate_of, truth_of, words

BEFORE = truth_of(6, (0, 1, 0.6), (2, 3, -0.5))
AFTER = truth_of(6, (0, 1, 0.1), (2, 3, -0.5))


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_what_differs_is_drawn_and_what_does_not_is_not():
    ax = compare(estimate_of(BEFORE), estimate_of(AFTER, n_rows=15_000), axes(), fdr=1e-3)
    assert labels(ax) == ["x0 – x1"]
    assert ax.get_title() == "1 of 15 correlations differ"


def test_alike_releases_do_not_differ():
    ax = compare(estimate_of(BEFORE), estimate_of(BEFORE, n_rows=15_000), axes(), fdr=1e-3)
    assert "No correlation is seen to differ" in words(ax)


def test_pairs_are_matched_by_name_and_not_by_place():
    turned = estimate_of(AFTER[::-1, ::-1], columns=[f"x{place}" for place in range(6)][::-1])
    assert labels(compare(estimate_of(BEFORE), turned, axes(), fdr=1e-3)) == ["x0 – x1"]


def test_both_kinds_of_estimates_can_be_compared():
    pairs = pairs_estimate_of(truth_of(6, (0, 1, 0.2)), max_pairs=1)
    ax = compare(estimate_of(BEFORE), pairs, axes(), fdr=1e-3)
    assert labels(ax) == ["x0 – x1"]
    assert ax.get_title() == "1 of 1 correlations differ"


def test_the_picture_has_the_numbers_of_a_comparison_of_the_releases():
    before, after = estimate_of(BEFORE), estimate_of(AFTER, n_rows=15_000)
    pairs = differ_in_pairs(before.pairs(), after.pairs())
    table = before.release.compare(after.release).correlations
    for name in ("difference", "low", "high", "q_value"):
        np.testing.assert_allclose(getattr(table, name), getattr(pairs, name), rtol=1e-12)
    ax = compare(before, after, axes(), fdr=1e-3)
    (change,) = table.changed(1e-3)
    assert change.difference < 0
    assert any(np.isclose(line.get_xdata()[0], change.low) for line in ax.lines) or any(
        np.isclose(part.vertices[0, 0], change.low)
        for drawn in ax.collections
        for part in drawn.get_paths()
    )


def test_estimates_without_common_columns_are_refused():
    other = estimate_of(BEFORE, columns=[f"y{place}" for place in range(6)])
    with pytest.raises(ParameterError, match="nothing to compare"):
        compare(estimate_of(BEFORE), other, axes())


def test_intervals_of_differences_cover_as_often_as_they_say():
    covered = []
    for seed in range(60):
        both = []
        for truth, shift in ((BEFORE, 0), (AFTER, 1000)):
            rows = np.random.default_rng(seed + shift).standard_normal((2_000, 6))
            rows = rows @ np.linalg.cholesky(truth).T
            release = dpcov.release(rows, epsilon=3, delta=1e-6, row_norm=8.0, seed=seed + shift)
            both.append(release.estimate(rule="hard", threshold=3.0, psd="none").pairs())
        table = differ_in_pairs(*both)
        truth = (AFTER - BEFORE)[np.triu_indices(6, k=1)]
        covered.append((table.low <= truth) & (truth <= table.high))
    assert 0.92 <= np.mean(covered) <= 0.98
