"""Factor analysis of releases: intervals cover, and the test keeps its level."""

import numpy as np
import pytest
from scipy.stats import chi2

from answers.scales import CORRELATIONS, LOADINGS, clear, holds, releases, table
from dpcov.answers import pair_covariance as written
from dpcov.answers.correlation_block import Block
from dpcov.answers.factor_analysis import fit_block
from dpcov.answers.factor_errors import factor_slopes
from dpcov.answers.factor_quality import measure_quality
from dpcov.errors import ParameterError

RUNS = 50


@pytest.fixture(scope="module")
def noisy():
    return list(releases(RUNS, n_rows=4000))


@pytest.fixture(scope="module")
def found(noisy):
    return [release.factors(2) for release in noisy]


def test_intervals_cover_the_loadings_of_the_model(found):
    assert 0.92 <= np.mean([holds(each.loading_interval(), LOADINGS) for each in found]) <= 0.985
    half = [np.abs(each.loadings - LOADINGS) < 1.96 * each.loading_errors / 2 for each in found]
    assert np.mean(half) < 0.85  # the control


def test_intervals_cover_the_uniquenesses_of_the_model(found):
    truth = 1 - (LOADINGS**2).sum(axis=1)
    assert 0.91 <= np.mean([holds(each.uniqueness_interval(), truth) for each in found]) <= 0.99


def test_the_statistic_has_the_law_of_chi_square_if_the_model_holds(found):
    # Their sum has RUNS times as many degrees of freedom.
    total = sum(each.quality.statistic for each in found)
    freedom = sum(each.quality.freedom for each in found)
    assert found[0].quality.freedom == 13
    assert 1e-4 < chi2.sf(total, freedom) < 1 - 1e-4


def test_a_statistic_that_does_not_know_the_noise_rejects_everything(noisy):
    release = noisy[0]
    block = Block(release, np.arange(8), "population")
    fit = fit_block(block, 2, "minres")
    slopes = written.pair_slopes(factor_slopes(fit).loadings)
    first, second = np.triu_indices(8, 1)
    sampling = written._of_sampling(CORRELATIONS, first, second) / release.n_rows
    assert measure_quality(fit, slopes, sampling).p_value < 1e-6


def test_one_factor_too_few_is_rejected(noisy):
    assert max(release.factors(1).p_value for release in noisy[:10]) < 1e-6


def test_indices_of_fit_are_near_zero_if_the_model_holds(found):
    # What noise adds is taken out: as they stand, residuals are those of noise.
    assert np.median([each.quality.srmr for each in found]) < 0.01
    assert np.median([each.quality.rmsea for each in found]) < 0.02
    left = [np.triu(each.block.matrix - _implied(each), 1) for each in found]
    assert np.median([np.sqrt((part**2).sum() / 36) for part in left]) > 0.02


def _implied(found):
    return found.loadings @ found.loadings.T + np.diag(found.uniquenesses)


def test_indices_of_a_model_that_does_not_hold_are_those_of_the_raw_table():
    fit = clear().factors(1)
    rows = np.corrcoef(table(0, 20_000).T)
    raw = np.triu(rows - _implied(fit), 1)
    assert fit.quality.srmr == pytest.approx(np.sqrt((raw**2).sum() / 36), rel=0.02)
    assert fit.quality.rmsea_low < fit.quality.rmsea < fit.quality.rmsea_high


def test_both_methods_agree_where_there_is_hardly_any_noise():
    one, other = (clear().factors(2, method=method) for method in ("minres", "ml"))
    assert np.abs(one.loadings - other.loadings).max() < 0.01
    assert np.abs(one.loadings - LOADINGS).max() < 0.03


def test_promax_has_correlations_of_factors_with_errors():
    phi = np.array([[1.0, 0.4], [0.4, 1.0]])
    correlated = LOADINGS @ phi @ LOADINGS.T
    np.fill_diagonal(correlated, 1.0)
    found = clear(correlations=correlated).factors(2, rotation="promax")
    assert abs(found.correlations[0, 1] - 0.4) < 4 * found.correlation_errors[0, 1] + 0.02
    assert found.correlation_errors[0, 0] < 1e-9
    assert "Factors are correlated: F1 and F2" in found.summary()


def test_errors_for_many_columns_are_those_for_few(monkeypatch):
    exact = clear().factors(2)
    monkeypatch.setattr(written, "_MOST_EXACT", 0)
    closed = clear().factors(2)
    assert np.abs(closed.loading_errors / exact.loading_errors - 1).max() < 0.05
    assert closed.quality.statistic == pytest.approx(exact.quality.statistic, rel=0.05)
    monkeypatch.setattr("dpcov.answers.factor_analysis._MOST_TESTED", 0)
    untested = clear().factors(2)
    assert np.allclose(untested.loading_errors, exact.loading_errors, rtol=1e-6)
    assert np.isnan(untested.p_value)
    assert "not tested" in untested.summary()


def test_scores_go_with_the_factors():
    generator = np.random.default_rng(0)
    factors = generator.standard_normal((4000, 2))
    own = generator.standard_normal((4000, 8)) * np.sqrt(1 - (LOADINGS**2).sum(axis=1))
    rows = table(0, 1).iloc[:0].reindex(range(4000))
    rows[:] = factors @ LOADINGS.T + own
    scores = clear().factors(2).scores(rows)
    expected = np.sqrt(np.diag(LOADINGS.T @ np.linalg.solve(CORRELATIONS, LOADINGS)))
    for place in range(2):
        correlation = np.corrcoef(scores[:, place], factors[:, place])[0, 1]
        assert correlation == pytest.approx(expected[place], abs=0.02)


def test_a_heywood_case_is_said():
    matrix = np.array([[1.0, 0.9, 0.8], [0.9, 1.0, 0.6], [0.8, 0.6, 1.0]])
    found = clear(correlations=matrix).factors(1)
    assert found.heywood.tolist() == [True, False, False]
    assert "less than nothing of a" in found.summary()


def test_more_factors_than_stand_above_the_noise_are_said():
    assert "factors beyond that may be noise" in clear().factors(3).summary()


def test_three_columns_and_one_factor_leave_nothing_to_test():
    found = clear().factors(1, columns=["a", "b", "c"])
    assert np.isnan(found.p_value)
    assert "any correlations would fit" in found.summary()


def test_the_frame_and_the_page_show_the_same_numbers():
    found = clear().factors(2)
    frame = found.to_frame()
    assert frame.loc["a", "F1"] == found.loadings[0, 0]
    assert np.allclose(frame["communality"] + frame["uniqueness"], 1.0)
    assert found.explained.sum() == pytest.approx(found.communalities.sum() / 8, abs=1e-6)
    assert "RMSEA" in found._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n": 0}, "n must be"),
        ({"n": 5}, "at most 4"),
        ({"n": 1, "columns": ["a", "b"]}, "at least 3 columns"),
        ({"n": 1, "columns": ["a", "b", "b"]}, "'b' is named twice"),
        ({"n": 1, "columns": ["a", "b", "nobody"]}, "There is no column"),
        ({"n": 1, "method": "pca"}, "method must be"),
        ({"n": 1, "rotation": "quartimax"}, "rotation must be"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, sentence):
    with pytest.raises(ParameterError, match=sentence):
        clear(n_rows=2000).factors(**arguments)
