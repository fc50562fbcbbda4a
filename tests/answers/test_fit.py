"""A fit as a frame, a text and a prediction."""

import numpy as np
import pandas as pd
import pytest

from answers.tables import numbers, survey, survey_frame
from dpcov.answers.text_table import align
from dpcov.errors import ParameterError

ON = ["age", "school", "sex"]


def test_a_frame_has_a_line_for_each_coefficient():
    fit = survey().regress("income", on=ON)
    frame = fit.to_frame()
    assert list(frame.index) == list(fit.names)
    assert np.array_equal(frame["coefficient"], fit.coefficients)
    assert (frame["low"] < frame["coefficient"]).all()
    assert np.allclose(frame["z"], fit.z_values)


def test_several_fits_are_one_frame_by_outcome():
    frame = survey().regress(["income", "rest"], on=["age"]).to_frame()
    assert frame.index.tolist() == [
        ("income", "intercept"),
        ("income", "age"),
        ("rest", "intercept"),
        ("rest", "age"),
    ]


def test_standardized_slopes_are_those_of_columns_of_unit_variance():
    fit = numbers().regress("x4", on=["x0", "x1"])
    deviations = np.sqrt(np.diag(numbers().units.to_own(numbers().matrix)))
    expected = fit.coefficients[1:] * deviations[:2] / deviations[4]
    assert np.allclose(fit.standardized, expected, rtol=0.01)


def test_predictions_take_categories_by_their_levels():
    fit = survey().regress("income", on=ON)
    frame = pd.DataFrame({"age": [40.0, 40.0], "school": [2.0, 2.0], "sex": ["f", "m"]})
    first, second = fit.predict(frame)
    assert second - first == pytest.approx(fit.coefficients[3])
    expected = fit.coefficients[:3] @ [1, 40, 2]
    assert first == pytest.approx(expected)


def test_predictions_of_missing_cells_and_unknown_levels_are_missing():
    fit = survey().regress("income", on=ON)
    frame = pd.DataFrame({"age": [np.nan, 40.0, 40.0], "school": 2.0, "sex": ["f", "q", None]})
    assert np.isnan(fit.predict(frame)).all()


def test_predictions_want_all_predictors():
    fit = survey().regress("income", on=ON)
    with pytest.raises(ParameterError, match="no column 'school'"):
        fit.predict(survey_frame(10).drop(columns="school"))


def test_predictions_are_near_what_is_to_be_predicted():
    fit = survey().regress("income", on=ON)
    frame = survey_frame(5_000, seed=5).dropna()
    assert np.corrcoef(fit.predict(frame), frame["income"])[0, 1] ** 2 == pytest.approx(
        fit.r_squared, abs=0.08
    )


def test_the_summary_says_whom_it_is_about():
    release = survey()
    assert "sampling are counted" in release.regress("income", on=ON).summary()
    assert "these very rows" in release.regress("income", on=ON, about="table").summary()


def test_the_summary_of_a_level_says_that_it_is_a_linear_probability_model():
    summary = survey().regress("sex=f", on=["age"]).summary()
    assert "linear probability model" in summary
    assert "logistic" in summary


def test_the_summary_says_with_which_level_others_are_compared():
    assert "compared with 'f' of sex" in survey().regress("income", on=ON).summary()


def test_every_line_of_the_summary_has_its_number():
    fit = survey().regress("income", on=ON)
    lines = {line.split()[0]: line for line in fit.summary().splitlines() if line}
    for name, value in zip(fit.names, fit.coefficients, strict=True):
        shown = float(lines[name].split()[1].replace(",", ""))
        place = fit.names.index(name)
        assert abs(shown - value) <= fit.standard_errors[place]


def test_a_notebook_escapes_names():
    assert "<table>" in survey().regress("income", on=ON)._repr_html_()


def test_a_longer_interval_holds_a_shorter_one():
    fit = survey().regress("income", on=ON)
    (low, high), (lower, higher) = fit.interval(0.9), fit.interval(0.99)
    assert (lower < low).all()
    assert (high < higher).all()


def test_arrays_are_read_only():
    fit = survey().regress("income", on=ON)
    with pytest.raises(ValueError, match="read-only"):
        fit.coefficients[0] = 0


def test_long_names_do_not_break_a_table():
    text = align(["", "value"], [["name " * 30, "1"]])
    assert max(map(len, text.splitlines())) <= 80
