from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from answers import waves
from dpcov.answers import comparability, compared
from dpcov.answers.comparison import TABLES
from dpcov.errors import ParameterError

RUNS = 60
ON = waves.NAMES[1:]


def true_differences(changed):
    """Return what each table, and a regression, would say without any error."""
    found = {}
    sides = []
    for is_changed in (False, changed):
        mean, covariance = waves.truth(changed=is_changed)
        deviation = np.sqrt(np.diag(covariance))
        pairs = np.triu_indices(waves.SIZE, k=1)
        slopes = np.linalg.solve(covariance[1:, 1:], covariance[1:, 0])
        sides.append(
            {
                "correlations": (covariance / np.outer(deviation, deviation))[pairs],
                "covariances": covariance[pairs],
                "deviations": deviation,
                "means": mean,
                "coefficients": np.append(mean[0] - slopes @ mean[1:], slopes),
            }
        )
    for name in sides[0]:
        found[name] = sides[1][name] - sides[0][name]
    return found


@cache
def releases(run, changed):
    return waves.wave(run), waves.wave(10_000 + run, changed=changed)


def tables_of(comparison):
    tables = {of: getattr(comparison, of) for of in TABLES}
    return tables | {"coefficients": comparison.coefficients("x0", on=ON)}


def coverage(changed):
    truth, covered = true_differences(changed), {}
    for run in range(RUNS):
        first, second = releases(run, changed)
        for name, table in tables_of(first.compare(second)).items():
            assert table.told.all()
            inside = (table.low <= truth[name]) & (truth[name] <= table.high)
            covered.setdefault(name, []).append(inside)
    return {name: float(np.mean(found)) for name, found in covered.items()}


def without_noise(monkeypatch):
    """Plant a bug: errors that know nothing of privacy."""
    plain = compared.NoiseModel.of

    def blind(release):
        nothing = {"off_diagonal": 0.0, "diagonal": 0.0, "released_mean_noise": 0.0}
        return replace(plain(release), mean_noise=0.0, **nothing)

    monkeypatch.setattr(compared.NoiseModel, "of", blind)


@pytest.mark.parametrize("changed", [False, True])
def test_intervals_cover_as_often_as_they_say(changed):
    for name, share in coverage(changed).items():
        assert 0.92 <= share <= 0.98, name


def test_intervals_that_forget_the_noise_would_be_seen_not_to_cover(monkeypatch):
    without_noise(monkeypatch)
    found = coverage(changed=False)
    assert found["correlations"] < 0.85
    assert found["means"] < 0.92


def share_of_false_lists(**options):
    listed = [
        [len(table.changed(0.1)) > 0 for table in tables_of(first.compare(second)).values()]
        for first, second in (releases(run, False) for run in range(RUNS))
    ]
    return np.mean(listed, axis=0)


def test_the_list_of_what_changed_keeps_its_false_discovery_rate():
    # At most 6 of 60 are expected, and 14 have a chance of one in a thousand.
    assert (share_of_false_lists() <= 14 / RUNS).all()


def test_a_list_that_forgets_the_noise_would_be_seen_to_break_its_rate(monkeypatch):
    without_noise(monkeypatch)
    assert share_of_false_lists()[0] > 0.4


def test_what_was_planted_is_found_and_has_its_sign():
    first, second = (waves.wave(s, changed=c, n_rows=20_000) for s, c in ((1, False), (2, True)))
    comparison = first.compare(second)
    (change,) = comparison.changed("correlations", fdr=1e-6)
    assert change.names == ("x0", "x1")
    assert change.difference == pytest.approx(0.4, abs=0.05)
    assert change.low < 0.4 < change.high
    assert [each.names for each in comparison.changed("deviations", fdr=1e-3)] == [("x2",)]
    assert [each.names for each in comparison.changed("means", fdr=1e-6)] == [("x3",)]
    assert change.in_words.startswith("The correlation of x0 and x1 rose by 0.")


def test_the_other_way_round_all_differences_have_the_other_sign():
    first, second = releases(0, True)
    one, other = first.compare(second), second.compare(first)
    for of in TABLES:
        np.testing.assert_allclose(getattr(one, of).difference, -getattr(other, of).difference)
        np.testing.assert_allclose(getattr(one, of).low, -getattr(other, of).high, atol=1e-12)


def test_about_the_table_sampling_does_not_count():
    first, second = releases(0, False)
    of_table = first.compare(second, about="table")
    for of in TABLES:
        population = getattr(first.compare(second), of).standard_error
        assert (getattr(of_table, of).standard_error < population).all()


def test_two_releases_of_the_same_rows_differ_by_noise_alone():
    covered = []
    for run in range(40):
        generator = np.random.default_rng(run)
        rows = generator.standard_normal((1000, 4))
        options = {"epsilon": 2, "delta": 1e-6, "row_norm": 6.0}
        one, two = (waves.dpcov.release(rows, seed=s, **options) for s in (run, 1000 + run))
        table = one.compare(two, about="table").covariances
        covered.append((table.low <= 0) & (table.high >= 0))
    assert 0.9 <= np.mean(covered) <= 0.99


def test_differences_of_correlations_stay_within_two():
    small = [waves.wave(seed, n_rows=200, epsilon=0.5, allow={"small"}) for seed in (1, 2)]
    table = small[0].compare(small[1]).correlations
    assert (table.low >= -2).all()
    assert (table.high <= 2).all()
    assert not table.told.all()
    assert (table.q_value[~table.told] == 1).all()


def test_a_category_is_compared_by_the_shares_of_its_levels():
    comparison = waves.survey(1).compare(waves.survey(2))
    names = [name for (name,) in comparison.means.names]
    assert names == ["age", "income", "mood", "sex=f", "sex=m"]
    assert ("sex=f", "sex=m") not in comparison.correlations.names
    assert [name for (name,) in comparison.deviations.names] == ["age", "income", "mood"]


def test_gaps_are_counted_in_the_errors():
    whole = waves.survey(1).compare(waves.survey(2)).means
    holey = waves.survey(1, gaps=0.5).compare(waves.survey(2, gaps=0.5)).means
    assert holey.standard_error[0] > 1.2 * whole.standard_error[0]


def test_levels_in_another_order_are_matched_by_their_names():
    comparison = waves.survey(1).compare(waves.survey(2, levels=("m", "f")))
    table = comparison.coefficients("income", on=["age", "sex"])
    assert table.names == (("intercept",), ("age",), ("sex=m",))
    # The second wave pays the other sex more.
    assert table.difference[2] == pytest.approx(-400, abs=5 * table.standard_error[2])


def test_the_slope_that_changed_is_found_among_the_coefficients():
    comparison = waves.survey(1).compare(waves.survey(2, slope=40.0))
    table = comparison.coefficients("income", on=["age", "mood", "sex"])
    surest = table.changed(1e-6)[0]
    assert surest.names == ("age",)
    assert surest.low < 10 < surest.high


def test_coefficients_of_columns_that_are_left_out_are_refused_with_the_reason():
    comparison = waves.survey(1).compare(waves.survey(2, levels=("f", "m", "x")))
    with pytest.raises(ParameterError, match="'sex' is left out: its levels differ"):
        comparison.coefficients("income", on=["age", "sex"])
    with pytest.raises(ParameterError, match="'sex' is left out"):
        comparison.coefficients("sex=f", on=["age"])


def test_coefficients_of_columns_that_were_not_asked_for_are_refused():
    comparison = waves.survey(1).compare(waves.survey(2), columns=["age", "income"])
    with pytest.raises(ParameterError, match="'mood' is not among the columns"):
        comparison.coefficients("income", on=["age", "mood"])


def test_all_tables_become_frames_with_a_line_for_each_number():
    comparison = waves.survey(1).compare(waves.survey(2))
    for of in TABLES:
        frame = comparison.to_frame(of)
        assert len(frame) == len(getattr(comparison, of))
        assert {"before", "after", "difference", "low", "high", "q_value", "told"} <= set(frame)
    assert list(comparison.to_frame("covariances"))[:2] == ["first", "second"]
    with pytest.raises(ParameterError, match="of must be one of"):
        comparison.to_frame("medians")


def test_the_summary_says_what_changed_and_what_was_taken_for_granted():
    text = waves.survey(1).compare(waves.survey(2, slope=40.0)).summary()
    assert "age – income" in text
    assert "if the two tables are independent samples" in text
    assert "Both releases are simulations" in text
    assert max(len(line) for line in text.splitlines() if "  " in line) <= 80


def test_a_notebook_shows_names_escaped():
    first, second = (replace(each, columns=("<b>", *waves.NAMES[1:])) for each in releases(0, True))
    comparison = first.compare(second)
    assert "<b></b>" not in comparison._repr_html_()
    assert "&lt;b&gt;" in comparison.correlations._repr_html_()


def test_arrays_are_read_only():
    first, second = releases(0, False)
    with pytest.raises(ValueError, match="read-only"):
        first.compare(second).means.before[0] = 0


def test_a_confidence_beyond_one_is_refused():
    first, second = releases(0, False)
    with pytest.raises(ParameterError, match="confidence"):
        first.compare(second, confidence=95)
    assert comparability.share_columns(first, second, None, "population").left_out == ()
