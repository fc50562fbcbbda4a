"""Principal components: intervals cover, and what noise forbids is said."""

import numpy as np
import pandas as pd
import pytest

import dpcov
from answers.scales import CORRELATIONS, NAMES, clear, holds, releases, table
from designs import public_levels
from dpcov.answers.component_analysis import find_components
from dpcov.answers.components_text import eigenvalue_lines
from dpcov.answers.consistency import find_reliability
from dpcov.answers.correlation_block import Block
from dpcov.answers.factor_analysis import find_factors
from dpcov.answers.rotation import rotate
from dpcov.answers.spectrum import Spectrum
from dpcov.errors import ParameterError

VALUES, VECTORS = (each[..., ::-1] for each in np.linalg.eigh(CORRELATIONS))
RUNS = 60


@pytest.fixture(scope="module")
def found():
    return [release.components(2) for release in releases(RUNS, n_rows=3000)]


def test_intervals_cover_the_eigenvalues_of_the_population(found):
    covered = [holds(each.eigenvalues.interval(0.95), VALUES[:2]) for each in found]
    assert 0.9 <= np.mean(covered) <= 0.995  # 200 intervals; errors go together a little
    # The control: what sampling alone would give, 2λ²/n.
    errors = VALUES[:2] * np.sqrt(2 / 3000)
    alone = [np.abs(each.eigenvalues.values - VALUES[:2]) < 1.96 * errors for each in found]
    assert np.mean(alone) < 0.85


def test_intervals_cover_the_share_that_components_have_together(found):
    truth = VALUES[:2].sum() / 8
    ends = np.array([each.eigenvalues.joint_share_interval(0.95) for each in found])
    assert np.mean((ends[:, 0] < truth) & (truth < ends[:, 1])) >= 0.88
    off = np.array([each.eigenvalues.joint_share for each in found]) - truth
    errors = np.array([each.eigenvalues.joint_share_error for each in found])
    assert 0.7 < np.sqrt(np.mean((off / errors) ** 2)) < 1.25
    # The control: what sampling alone would give.
    alone = np.sqrt((2 * VALUES[:2] ** 2 / 3000).sum()) / 8
    assert np.mean(np.abs(off) < 1.96 * alone) < 0.85


def test_the_joint_share_of_covariances_counts_the_error_of_the_sum():
    found = clear().components(2, of="covariance").eigenvalues
    assert found.joint_share == pytest.approx(found.shares.sum())
    assert found.joint_share_error < found.share_errors.sum()
    low, high = found.joint_share_interval()
    assert low < VALUES[:2].sum() / 8 < high


def test_eigenvalues_are_freed_of_what_noise_adds():
    rows = table(0, 3000)
    values, vectors = (each[..., ::-1] for each in np.linalg.eigh(np.corrcoef(rows.T)))
    added, taken = [], []
    for seed in range(60):
        release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=7.0, seed=seed)
        spectrum = Spectrum(Block(release, np.arange(8), "table"))
        noise = spectrum.block.matrix - np.corrcoef(rows.T)
        # What is left once the noise along the true eigenvector is taken out.
        first = np.einsum("ik,ij,jk->k", vectors[:, :2], noise, vectors[:, :2])
        added.append(spectrum.seen[:2] - values[:2] - first)
        taken.append([spectrum.shift(place)[0] for place in range(2)])
    error = np.std(added, axis=0) / np.sqrt(60)
    assert (np.abs(np.mean(added, axis=0) - np.mean(taken, axis=0)) < 4 * error).all()
    assert (np.mean(added, axis=0) > 4 * error).all()


def test_intervals_cover_the_loadings_of_the_population(found):
    truth = VECTORS[:, :2] * np.sqrt(VALUES[:2])
    truth = truth * np.sign((truth**3).sum(axis=0))
    told = [each for each in found if each.told.all()]
    assert len(told) > RUNS / 2
    covered = [holds(each.loading_interval(0.95), truth) for each in told]
    assert 0.92 <= np.mean(covered) <= 0.985
    # The control: errors of half the size.
    alone = [np.abs(each.loadings - truth) < 1.96 * each.loading_errors / 2 for each in told]
    assert np.mean(alone) < 0.85


@pytest.mark.parametrize("rotation", ["varimax", "promax"])
def test_intervals_cover_rotated_loadings(rotation):
    truth = rotate(VECTORS[:, :2] * np.sqrt(VALUES[:2]), rotation).loadings
    covered = [
        holds(release.components(2, rotation=rotation).loading_interval(0.95), truth)
        for release in releases(20, n_rows=10_000)
    ]
    assert 0.9 <= np.mean(covered) <= 0.99


def test_as_many_components_count_as_stand_above_the_noise():
    assert clear().components().n_components == 2
    assert clear(correlations=np.eye(8)).components().eigenvalues.above == 0


def test_unrelated_columns_seldom_have_a_component():
    found = [
        release.components(1).eigenvalues
        for release in releases(40, n_rows=3000, correlations=np.eye(8))
    ]
    assert np.mean([each.above > 0 for each in found]) < 0.25  # p = 4e-5 at one in twenty
    # Sampling alone would not explain them: the control.
    edge = (1 + np.sqrt(8 / 3000)) ** 2
    assert np.mean([each.seen[0] > edge for each in found]) > 0.9


def test_what_counts_is_printed_above_what_it_is_compared_with():
    found = clear(n_rows=3000).components(8).eigenvalues
    lines = eigenvalue_lines(clear(n_rows=3000).components(8), 0.95)
    seen = [float(line[-2]) for line in lines]
    unrelated = [float(line[-1].removeprefix("< ")) for line in lines]
    assert [one > other for one, other in zip(seen, unrelated, strict=True)] == (
        found.seen > found.unrelated
    ).tolist()
    assert min(map(abs, np.subtract(seen, unrelated))) > 0


def test_components_with_equal_eigenvalues_cannot_be_told_from_each_other():
    equal = np.kron(np.eye(2), np.full((4, 4), 0.5)) + 0.5 * np.eye(8)
    found = clear(correlations=equal).components(2)
    assert found.groups[0] == (0, 1)
    assert not found.told.any()
    low, high = found.loading_interval()
    assert (low == -1).all()
    assert (high == 1).all()
    assert "C1 and C2 cannot be told from each other" in found.summary()
    # What they span can be told, and so can a rotation of both.
    assert clear(correlations=equal).components(2, rotation="varimax").told.all()


def test_the_covariance_of_columns_has_components_in_their_own_units():
    rows = table(0, 20_000)
    rows["a"] *= 10.0
    columns = [dpcov.Column(name, scale=10.0 if name == "a" else 1.0) for name in NAMES]
    release = dpcov.release(rows, epsilon=50, delta=1e-6, seed=1, columns=columns, row_norm=7.0)
    found = release.components(1, of="covariance")
    truth = np.linalg.eigvalsh(np.cov(rows.T))[-1]
    low, high = found.eigenvalues.interval(0.999)
    assert low[0] < truth < high[0]
    assert found.eigenvalues.shares[0] == pytest.approx(truth / np.trace(np.cov(rows.T)), rel=0.02)


def test_scores_are_those_of_the_raw_table():
    release, rows = clear(), table(0, 20_000)
    scores = release.components(2).scores(rows)
    assert np.abs(scores.std(axis=0) - 1).max() < 0.02
    standardized = (rows - rows.mean()) / rows.std()
    values, vectors = np.linalg.eigh(np.corrcoef(rows.T))
    raw = standardized.to_numpy() @ vectors[:, ::-1][:, :2] / np.sqrt(values[::-1][:2])
    assert np.abs(np.diag(np.corrcoef(raw.T, scores.T)[:2, 2:])).min() > 0.999


def test_scores_of_rows_with_gaps_are_nan():
    rows = table(0, 3)
    rows.loc[1, "a"] = np.nan
    assert np.isnan(clear().components(2).scores(rows)).tolist() == [
        [False] * 2,
        [True] * 2,
        [False] * 2,
    ]


def test_wide_tables_have_the_errors_of_narrow_ones(monkeypatch):
    release = clear()
    exact = release.components(2, rotation="varimax"), release.components(2)
    monkeypatch.setattr("dpcov.answers.eigen_errors._MOST_STEPS", 0)
    independent = release.components(2, rotation="varimax"), release.components(2)
    for one, other in zip(exact, independent, strict=True):
        assert np.abs(one.loading_errors / other.loading_errors - 1).max() < 0.25
        ratio = one.eigenvalues.standard_errors / other.eigenvalues.standard_errors
        assert np.abs(ratio - 1).max() < 0.1


def test_noise_between_eigenvectors_has_the_variance_of_all_entries():
    release = clear(n_rows=3000)
    block = Block(release, np.arange(8), "population")
    spectrum = Spectrum(block)
    weights = np.einsum("i,jl->lij", spectrum.vectors[:, 0], spectrum.vectors)
    assert np.abs(spectrum.moved(0) / block.variance_of(weights) - 1).max() < 0.1
    assert spectrum.spread[0] == pytest.approx(spectrum.moved(0)[0])


def test_errors_about_the_table_are_smaller():
    release = clear()
    errors = [
        release.components(2, about=about).eigenvalues.standard_errors
        for about in ("population", "table")
    ]
    assert (errors[1] < errors[0]).all()


def test_the_frames_and_the_page_show_the_same_numbers():
    found = clear().components(2)
    assert found.to_frame().loc["a", "C1"] == found.loadings[0, 0]
    assert found.eigenvalues_frame()["eigenvalue"].tolist() == found.eigenvalues.values.tolist()
    assert "2 components stand above" in found._repr_html_()
    assert repr(found) == "Components(2 of 8 columns, correlation)"
    with pytest.raises(ValueError, match="read-only"):
        found.loadings[0, 0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 0}, "n must be"),
        ({"n": 9}, "n must be"),
        ({"columns": ["a", "b"]}, "at least 3 columns"),
        ({"columns": ["a", "b", "nobody"]}, "There is no column 'nobody'"),
        ({"columns": ["a", "b", "a"]}, "'a' is named twice"),
        ({"columns": "abc"}, "put the one name into a list"),
        ({"of": "rows"}, "of must be"),
        ({"rotation": "quartimax"}, "rotation must be"),
        ({"about": "people"}, "about must be"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, sentence):
    with pytest.raises(ParameterError, match=sentence):
        clear(n_rows=2000).components(**arguments)


def test_columns_that_do_not_vary_are_left_out_or_refused():
    rows = table(0, 5000).assign(still=0.0)
    release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=7.0, seed=1)
    assert release.components(1).columns == tuple(NAMES)
    with pytest.raises(ParameterError, match="'still' does not stand out of the noise"):
        release.components(1, columns=[*NAMES, "still"])


def test_levels_of_a_category_must_be_named():
    rows = table(0, 5000)
    rows["sex"] = pd.Categorical(np.where(rows["a"] > 0, "f", "m"))
    release = dpcov.release(rows, epsilon=5, delta=1e-6, seed=1, columns=public_levels(rows))
    assert release.components(1).columns == tuple(NAMES)
    assert release.components(1, columns=[*NAMES, "sex=f"]).columns[-1] == "sex=f"
    with pytest.raises(ParameterError, match="'sex' is a category"):
        release.components(1, columns=[*NAMES, "sex"])
    with pytest.raises(ParameterError, match="add up to one"):
        release.components(1, columns=[*NAMES, "sex=f", "sex=m"])


def test_a_release_of_pairs_says_what_is_needed():
    pairs = dpcov.release_pairs(table(0, 500), epsilon=1, delta=1e-6, max_pairs=3, seed=1)
    questions = [
        lambda: find_components(pairs, 1, None, of="correlation", rotation=None, about="table"),
        lambda: find_factors(pairs, 1, None, method="ml", rotation=None, about="table"),
        lambda: find_reliability(pairs, ["a", "b", "c"], (), about="table", confidence=0.95),
    ]
    for question in questions:
        with pytest.raises(ParameterError, match="a release of pairs has the strongest only"):
            question()
