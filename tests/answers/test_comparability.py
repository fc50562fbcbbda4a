from dataclasses import replace

import numpy as np
import pytest

import dpcov
from answers import waves
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError


@pytest.fixture(scope="module")
def first():
    return waves.survey(1)


@pytest.fixture(scope="module")
def second():
    return waves.survey(2)


def reasons(comparison):
    return {each.column: each.why for each in comparison.left_out}


def with_limits(release, column, *, stretch):
    """Return the release as if the limits of a column had been learned farther apart."""
    place = release.columns.index(column)
    lower, upper = (end.copy() for end in release.limits)
    half = (upper[place] - lower[place]) / 2
    lower[place] -= (stretch - 1) * half
    upper[place] += (stretch - 1) * half
    return replace(release, learned=replace(release.learned, lower=lower, upper=upper))


def test_learned_limits_that_differ_a_little_do_not_matter(first, second):
    comparison = first.compare(second)
    assert not np.array_equal(first.limits[0], second.limits[0])
    assert comparison.left_out == ()
    assert (comparison.shared.limits.deviation < 0.02).all()


def test_limits_that_are_far_apart_leave_a_column_out(first, second):
    comparison = first.compare(with_limits(second, "income", stretch=4))
    assert "limits so different" in reasons(comparison)["income"]
    assert "income" not in comparison.columns
    assert "age" in comparison.columns


def test_what_limits_may_change_is_counted_as_an_error(first, second):
    wider = first.compare(with_limits(second, "income", stretch=1.5))
    plain, counted = first.compare(second), wider
    place = plain.columns.index("income")
    for of in ("deviations", "means"):
        before, after = (getattr(each, of).standard_error for each in (plain, counted))
        assert after[place] > before[place]
        assert after[0] == before[0]


def test_equal_limits_add_nothing(first, second):
    same = replace(second, learned=replace(second.learned, **dict(vars(first.learned))))
    assert not first.compare(same).shared.limits.deviation.any()


def test_columns_that_only_one_has_are_left_out_and_named(first):
    rows = np.random.default_rng(0).normal(50, 10, size=(20_000, 2))
    other = dpcov.release(rows, epsilon=1, delta=1e-6, columns=["age", "height"], seed=0)
    found = reasons(first.compare(other))
    assert found["height"] == "only the second release has it"
    assert found["income"] == "only the first release has it"


def test_without_a_common_column_there_is_nothing_to_compare(first):
    rows = np.random.default_rng(0).normal(size=(20_000, 2))
    other = dpcov.release(rows, epsilon=1, delta=1e-6, seed=0)
    with pytest.raises(ParameterError, match="There is nothing to compare"):
        first.compare(other)


def test_a_category_is_not_compared_with_a_number(first):
    rows = np.random.default_rng(0).normal(50, 10, size=(20_000, 2))
    other = dpcov.release(rows, epsilon=1, delta=1e-6, columns=["age", "sex"], seed=0)
    assert "a category in one release" in reasons(first.compare(other))["sex"]


def test_other_levels_leave_a_category_out(first):
    found = reasons(first.compare(waves.survey(2, levels=("f", "m", "x"))))
    assert found == {"sex": "its levels differ: state the same levels for both"}


def test_an_unknown_column_is_refused_with_what_may_be_meant(first, second):
    with pytest.raises(ParameterError, match=r"no column 'agee' \(did you mean 'age'"):
        first.compare(second, columns=["agee"])


def test_one_name_that_is_no_list_is_refused(first, second):
    with pytest.raises(ParameterError, match="into a list"):
        first.compare(second, columns="age")


def test_a_release_is_not_compared_with_itself(first):
    with pytest.raises(ParameterError, match="the same release"):
        first.compare(waves.survey(1))


def test_pairs_are_refused_with_where_to_go(first):
    rows = np.random.default_rng(0).normal(size=(4000, 4))
    pairs = dpcov.release_pairs(rows, epsilon=1, delta=1e-6, max_pairs=2, seed=0)
    with pytest.raises(ParameterError, match=r"dpcov\.plot\.compare"):
        first.compare(pairs)


def test_weighted_rows_are_not_compared_with_rows_that_count_alike(first):
    rows = np.random.default_rng(0).uniform(0.5, 1, size=(20_000, 3))
    stated = {"epsilon": 1, "delta": 1e-6, "columns": ["age", "mood", "w"], "seed": 0}
    weighted = dpcov.release(rows, weight="w", weight_bound=1.0, **stated)
    with pytest.raises(ParameterError, match="have weights"):
        first.compare(weighted)


def test_gaps_that_were_read_as_centers_are_another_thing(first, second):
    made = replace(second.provenance, missing=Missing.CENTER)
    with pytest.raises(ParameterError, match="read as the center in one release"):
        first.compare(replace(second, provenance=made))


def test_complete_tables_are_compared_with_pairwise_ones(first, second):
    made = replace(second.provenance, missing=Missing.REFUSE)
    assert first.compare(replace(second, provenance=made)).left_out == ()


def test_moments_about_stated_centers_are_not_compared_with_those_about_means():
    with_mean = waves.wave(1)
    without = replace(waves.wave(2), mean=None)
    with pytest.raises(ParameterError, match="about stated centers"):
        with_mean.compare(without)


def test_without_means_none_are_compared():
    one, other = (replace(waves.wave(seed), mean=None) for seed in (1, 2))
    comparison = one.compare(other)
    assert len(comparison.means) == 0
    assert "Means were not released" in comparison.summary()


def test_other_stated_centers_leave_a_column_out():
    one, other = (replace(waves.wave(seed), mean=None) for seed in (1, 2))
    center = np.array([0.5, 0, 0, 0, 0])
    moved = replace(other, units=dpcov.Units(center, other.units.scale.copy()))
    assert "another stated center" in reasons(one.compare(moved))["x0"]


def test_rows_that_were_nearly_all_clipped_are_refused():
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clipped = waves.wave(1, row_norm=0.5, n_rows=20_000)
    with pytest.raises(ParameterError, match="clipped to its row norm"):
        waves.wave(2).compare(clipped)


def test_units_that_seem_to_differ_are_asked_about():
    one, other = waves.wave(1, n_rows=20_000), waves.wave(2, n_rows=20_000)
    scale = np.array([1000.0, 1, 1, 1, 1])
    other = replace(other, units=dpcov.Units(other.units.center.copy(), scale))
    (_, note) = one.compare(other).shared.notes
    assert "are both in the same units?" in note


def test_no_refusal_repeats_a_number_of_a_release(first):
    comparison = first.compare(waves.survey(2, levels=("f", "m", "x")))
    said = " ".join(each.in_words for each in comparison.left_out)
    assert not any(letter.isdigit() for letter in said)
