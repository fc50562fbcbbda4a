"""Regression from a release: against least squares on the rows, and with errors that cover."""

from dataclasses import replace

import numpy as np
import pytest

import dpcov
from answers.tables import PROMISE, number_rows, survey, survey_frame, survey_with_rare
from designs import public_levels
from dpcov.answers.error_sources import ErrorSources
from dpcov.answers.fit import Quality
from dpcov.digits import with_share_error
from dpcov.errors import ParameterError

NAMES = ["x0", "x1", "x2", "x3"]


def least_squares(rows):
    """Return intercept and slopes of the last column on all others."""
    design = np.column_stack([np.ones(len(rows)), rows[:, :-1]])
    return np.linalg.lstsq(design, rows[:, -1], rcond=None)[0]


def without_noise(rows):
    """Return a release of rows whose noise can be neglected."""
    return dpcov.release(rows, epsilon=1e6, delta=1e-6, row_norm=40.0, seed=0)


def test_without_noise_it_is_least_squares():
    rows = number_rows(3_000)
    fit = without_noise(rows).regress("x4", on=NAMES)
    assert np.allclose(fit.coefficients, least_squares(rows), atol=1e-3)
    design = np.column_stack([np.ones(len(rows)), rows[:, :-1]])
    left = rows[:, -1] - design @ fit.coefficients
    assert fit.r_squared == pytest.approx(1 - left.var() / rows[:, -1].var(), abs=3e-3)
    assert fit.residual_deviation == pytest.approx(left.std(), rel=3e-3)


def test_without_noise_errors_are_those_of_least_squares():
    rows = number_rows(3_000)
    fit = without_noise(rows).regress("x4", on=NAMES)
    design = np.column_stack([np.ones(len(rows)), rows[:, :-1]])
    left = rows[:, -1] - design @ least_squares(rows)
    expected = left.var() * np.linalg.inv(design.T @ design)
    assert np.allclose(fit.standard_errors, np.sqrt(np.diag(expected)), rtol=0.02)


def covered(about, seeds=range(150), scale=1.0):
    """Return how often intervals of slopes cover those of a table, or of a population."""
    hits = []
    for seed in seeds:
        rows = number_rows(1_000, 4, seed=0 if about == "table" else seed) / 4
        release = dpcov.release(rows, epsilon=3, delta=1e-6, seed=seed, row_norm=1.5)
        fit = release.regress("x3", on=["x0", "x1", "x2"], about=about)
        fit = replace(fit, covariance=scale * fit.covariance)
        truth = least_squares(rows)[1:] if about == "table" else np.array([0.5, -0.3, 0.0]) + tail()
        low, high = fit.interval(0.95)
        hits.append((low[1:] <= truth) & (truth <= high[1:]))
    return np.mean(hits)


def tail():
    """Return what the common part of all columns adds to the slopes: a quarter over 1 + 3/4."""
    return np.full(3, 0.25 / 1.75)


@pytest.mark.parametrize("about", ["table", "population"])
def test_intervals_cover(about):
    # 450 slopes, three and three correlated: the sd of the share is about .012.
    assert 0.90 <= covered(about) <= 0.99


@pytest.mark.parametrize("about", ["table", "population"])
def test_intervals_that_are_too_short_do_not_cover(about):
    assert covered(about, scale=0.3) < 0.90


def test_errors_without_privacy_noise_are_too_small(monkeypatch):
    monkeypatch.setattr("dpcov.answers.product_errors._privacy", lambda sources, weights: 0.0)
    assert covered("population") < 0.90


def test_categories_are_compared_with_their_first_level():
    fit = survey().regress("income", on=["age", "school", "sex"])
    assert fit.names == ("intercept", "age", "school", "sex=m", "sex=x")
    assert fit.terms.references == {"sex": "f"}
    truth = np.array([-200, 30, 100, 200, 200])
    assert (np.abs(fit.coefficients - truth) < 4 * fit.standard_errors).all()
    assert (fit.standard_errors[1:] < [1, 10, 30, 120]).all()


def test_another_level_can_be_compared_with():
    on = ["age", "school", "sex"]
    first, other = (survey().regress("income", on=on, references=r) for r in (None, {"sex": "m"}))
    assert other.names[3:] == ("sex=f", "sex=x")
    assert other.coefficients[3] == pytest.approx(-first.coefficients[3], rel=0.05)


def test_several_outcomes_are_fitted_at_once():
    fits = survey().regress(["income", "rest"], on=["age", "school"])
    assert list(fits) == ["income", "rest"]
    alone = survey().regress("rest", on=["age", "school"])
    assert np.array_equal(fits["rest"].coefficients, alone.coefficients)
    with pytest.raises(KeyError):
        fits["age"]


def collinear(distance, seed=0, n_rows=5_000):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n_rows, 4))
    rows[:, 1] = rows[:, 0] + distance * rows[:, 1]
    rows[:, 3] += rows[:, 0] - rows[:, 1] + 0.5 * rows[:, 2]
    return dpcov.release(rows, **PROMISE, seed=seed)


def test_predictors_that_noise_cannot_tell_apart_are_named():
    fit = collinear(0.02).regress("x3", on=["x0", "x1", "x2"])
    assert fit.told.tolist() == [False, False, False, True]
    low, high = fit.interval()
    assert np.isinf(low[1:3]).all()
    assert np.isfinite(high[3])
    assert "x0 and x1 apart" in fit.summary()


def test_predictors_that_are_far_apart_are_told():
    assert collinear(1.0).regress("x3", on=["x0", "x1", "x2"]).told.all()


def test_a_matrix_on_the_boundary_claims_no_false_r_squared():
    release = collinear(0.001)
    fit = release.regress("x3", on=["x0", "x1", "x2"], about="table")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(5_000, 4))
    rows[:, 1] = rows[:, 0] + 0.001 * rows[:, 1]
    rows[:, 3] += rows[:, 0] - rows[:, 1] + 0.5 * rows[:, 2]
    achieved = 1 - np.var(rows[:, 3] - fit.predict({f"x{i}": rows[:, i] for i in range(3)})) / (
        rows[:, 3].var()
    )
    assert abs(fit.r_squared - achieved) < 2.5 * fit.r_squared_error < 0.3


def test_r_squared_is_what_the_coefficients_achieve():
    rows = number_rows()
    misses = []
    for seed in range(40):
        release = dpcov.release(rows[:4000], **PROMISE, seed=seed, missing="refuse")
        fit = release.regress("x4", on=NAMES, about="table")
        limited = np.clip(rows[:4000], *release.limits)
        left = limited[:, -1] - fit.predict({name: limited[:, i] for i, name in enumerate(NAMES)})
        achieved = 1 - left.var() / limited[:, -1].var()
        misses.append((fit.r_squared - achieved) / fit.r_squared_error)
    assert np.mean(np.abs(misses) < 2) > 0.8
    assert abs(np.mean(misses)) < 0.8


def test_what_noise_seems_to_explain_is_taken_out(monkeypatch):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(2_000, 12))
    release = dpcov.release(rows, **PROMISE, seed=3)
    others = list(release.columns[:-1])
    fit = release.regress("x11", on=others)
    assert fit.r_squared < 2 * fit.r_squared_error


def test_an_outcome_whose_variance_is_noise_has_no_r_squared():
    rows = np.random.default_rng(0).normal(size=(10_000, 3))
    rows[:, 2] = np.random.default_rng(1).random(10_000) < 0.0005
    release = dpcov.release(rows, epsilon=0.3, delta=1e-6, seed=0)
    fit = release.regress("x2", on=["x0", "x1"])
    assert np.isnan(fit.r_squared)
    assert fit.r_squared_interval() == (0.0, 1.0)
    assert "no R²" in fit.summary()


@pytest.mark.parametrize(
    ("r_squared", "said"),
    [
        (1.0, "R² is at least 0.73 (95 %). What is left is too small to tell from nothing."),
        (0.9, "R² 0.90 ± 0.14 (95 %: 0.63 to 1.00). What is left is too small to tell from "),
        (0.5, "R² 0.50 ± 0.14 (95 %: 0.23 to 0.77). What is left has a standard deviation of 0.7"),
        (0.0, "R² is at most 0.27 (95 %). What is left has a standard deviation of 1."),
    ],
)
def test_an_r_squared_at_its_end_is_said_to_be_at_least_or_at_most(r_squared, said):
    fit = without_noise(number_rows(3_000)).regress("x4", on=NAMES)
    found = Quality(r_squared, 0.14, 1 - r_squared, is_told=True)
    assert said in replace(fit, quality=found).summary()


def test_the_summary_names_the_column_with_most_gaps():
    fit = survey().regress("income", on=["age", "school", "sex"])
    found = survey().observed
    share, error = (float(each[1, 1]) for each in (found.share, found.standard_error))
    assert f"pairwise, since school is there in {with_share_error(share, error)} of" in (
        fit.summary()
    )


def test_columns_of_a_formula_without_gaps_are_said_to_have_none():
    assert "pairwise" not in survey().regress("income", on=["rest"]).summary()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"outcome": "incme", "on": ["age"]}, "did you mean 'income'"),
        ({"outcome": "income", "on": ["aeg"]}, "did you mean 'age'"),
        ({"outcome": "income", "on": ["age", "income"]}, "cannot be a predictor"),
        ({"outcome": "sex", "on": ["age"]}, "name one of its levels"),
        ({"outcome": "sex=f", "on": ["sex=m"]}, "exclude each other"),
        ({"outcome": "sex=f", "on": ["age", "sex"]}, "exclude each other|cannot be a predictor"),
        ({"outcome": "income", "on": "age"}, "list of names"),
        ({"outcome": "income", "on": []}, "at least one predictor"),
        ({"outcome": [], "on": ["age"]}, "at least one"),
        ({"outcome": ["income", "income"], "on": ["age"]}, "different columns"),
        ({"outcome": "income", "on": ["age", "age"]}, "named twice"),
        ({"outcome": "income", "on": ["sex", "sex=m"]}, "named twice"),
        ({"outcome": "income", "on": ["sex=f", "sex=m", "sex=x"]}, "add up to one"),
        ({"outcome": "income", "on": ["sex"], "references": {"sex": "q"}}, "no level 'q'"),
        ({"outcome": "income", "on": ["age"], "references": {"sex": "m"}}, "not among"),
        ({"outcome": "income", "on": [3]}, "by its name"),
        ({"outcome": "income", "on": ["age"], "about": "me"}, "about"),
    ],
)
def test_what_cannot_be_fitted_is_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        survey().regress(**options)


def test_it_works_from_reports_of_devices_and_weighted_rows():
    frame = survey_frame(3_000).assign(w=np.tile([1.0, 2.0, 3.0], 1_000))
    facts = {**public_levels(frame.drop(columns="w"))}
    options = {"weight": "w", "weight_bound": 3.0, "columns": facts}
    release = dpcov.release(frame, epsilon=3, delta=1e-6, seed=0, **options)
    fit = release.regress("income", on=["age", "school"])
    assert abs(fit.coefficients[1] - 30) < 4 * fit.standard_errors[1] < 12


def test_many_columns_take_no_array_of_many_matrices(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(2_000, 60))
    release = dpcov.release(rows, epsilon=20, delta=1e-6, seed=0)
    seen, features = [], ErrorSources.features
    monkeypatch.setattr(
        ErrorSources,
        "features",
        lambda self, moments, means: seen.append(len(moments)) or features(self, moments, means),
    )
    release.regress("x0", on=list(release.columns[1:]))
    assert max(seen) == 1


def test_a_predictor_that_is_lost_in_noise_spoils_no_other():
    fit = survey_with_rare().regress("income", on=["age", "school", "rare"])
    assert fit.left_out == ("rare",)
    assert fit.told.tolist() == [True, True, True, False]
    alone = survey_with_rare().regress("income", on=["age", "school"])
    assert np.array_equal(fit.coefficients[:3], alone.coefficients)
    assert np.array_equal(fit.standard_errors[:3], alone.standard_errors)
    assert "rare does not stand out of the noise" in fit.summary()


def test_a_predictor_that_is_left_out_has_no_interval_and_adds_nothing():
    fit = survey_with_rare().regress("income", on=["rare", "age"])
    low, high = fit.interval()
    assert (low[1], high[1]) == (-np.inf, np.inf)
    prediction = fit.predict({"rare": [1.0], "age": [40.0]})
    assert prediction == pytest.approx(fit.coefficients[0] + 40 * fit.coefficients[2])


def test_predictors_that_are_all_lost_in_noise_are_refused():
    with pytest.raises(ParameterError, match="No predictor has a variance"):
        survey_with_rare().regress("income", on=["rare"])
