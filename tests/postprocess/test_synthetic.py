"""Synthetic rows: named columns within limits and levels, with the moments of the estimate."""

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.columns.fields import Field
from dpcov.postprocess.synthetic import draw_rows
from postprocess.categorical import FIELDS, release_of, survey
from postprocess.simulation import band
from postprocess.simulation import release_of as release_of_numbers

N_ROWS = 100_000


@pytest.fixture(scope="module")
def estimate():
    return release_of(survey(20_000), epsilon=2.0).estimate()


@pytest.fixture(scope="module")
def drawn(estimate):
    return estimate.sample(N_ROWS, seed=0)


def indicators(frame, estimate):
    """Return all values of a table: numbers, and a column of zeros and ones for each level."""
    columns = {}
    for field in estimate.release.design.fields:
        if field.levels is None:
            columns[field.name] = frame[field.name]
        else:
            for level in field.levels:
                columns[f"{field.name}={level}"] = (frame[field.name] == level).astype(float)
    return pd.DataFrame(columns)


def test_the_columns_are_those_of_the_table(drawn):
    assert list(drawn.columns) == [field.name for field in FIELDS]


@pytest.mark.parametrize("field", [each for each in FIELDS if each.levels], ids=lambda f: f.name)
def test_a_category_is_one_column_that_has_its_levels(drawn, field):
    assert drawn[field.name].cat.categories.tolist() == list(field.levels)
    assert drawn[field.name].notna().all()


def test_numbers_are_within_their_limits(estimate, drawn):
    low, high = estimate.release.limits
    for place, name in enumerate(estimate.columns[:2]):
        assert drawn[name].between(low[place], high[place]).all()


def test_shares_of_levels_are_the_released_ones(estimate, drawn):
    shares = indicators(drawn, estimate).mean().to_numpy()
    assert shares[2:] == pytest.approx(estimate.location[2:], abs=0.01)


def test_correlations_are_those_of_the_estimate(estimate, drawn):
    """Levels that are a threshold of a Gaussian would have them by a fifth too small."""
    found = np.nan_to_num(indicators(drawn, estimate).corr().to_numpy())
    field = estimate.release.design.field_of
    apart = np.not_equal.outer(field, field)
    assert np.abs(found - estimate.correlation)[apart].max() < 0.03
    large = apart & (np.abs(estimate.correlation) > 0.1)
    assert large.sum() >= 10
    slope = (found * estimate.correlation)[large].sum() / (estimate.correlation[large] ** 2).sum()
    assert 0.95 < slope < 1.05


def test_few_rows_are_related_as_many_are(estimate):
    rows = pd.concat([estimate.sample(40, seed=seed) for seed in range(200)])
    found = indicators(rows, estimate).corr()
    for first, second in (("income", "sex=m"), ("income", "region=w"), ("sex=f", "region=n")):
        place = estimate.columns.index(first), estimate.columns.index(second)
        assert found.loc[first, second] == pytest.approx(estimate.correlation[place], abs=0.06)


def test_the_same_seed_draws_the_same_rows(estimate):
    pd.testing.assert_frame_equal(estimate.sample(50, seed=3), estimate.sample(50, seed=3))
    assert not estimate.sample(50, seed=3).equals(estimate.sample(50, seed=4))


def test_categories_that_follow_from_each_other_are_drawn_so():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 20_000)
    rows = np.column_stack([first, first // 2, first]).astype(float)
    fields = (
        Field("quarter", ("q1", "q2", "q3", "q4"), may_be_missing=False),
        Field("half", ("h1", "h2"), may_be_missing=False),
        Field("level", may_be_missing=False),
    )
    drawn = release_of(rows, fields=fields, epsilon=50.0).estimate().sample(20_000, seed=0)
    half = drawn["quarter"].isin(["q3", "q4"])
    assert ((drawn["half"] == "h2") == half).mean() > 0.97
    assert drawn.groupby("half", observed=True)["level"].mean().diff().iloc[1] > 1.5


def test_a_table_of_one_category_alone_has_its_shares():
    rows = np.random.default_rng(0).choice(3, size=(20_000, 1), p=[0.6, 0.3, 0.1]).astype(float)
    fields = (Field("answer", ("yes", "no", "perhaps"), may_be_missing=False),)
    drawn = release_of(rows, fields=fields).estimate().sample(N_ROWS, seed=0)
    shares = drawn["answer"].value_counts(normalize=True)
    assert shares[["yes", "no", "perhaps"]].tolist() == pytest.approx([0.6, 0.3, 0.1], abs=0.02)


def test_rows_of_numbers_are_the_gaussian_ones_that_they_were():
    estimate = release_of_numbers(band(6), n_rows=20_000).estimate()
    expected = draw_rows(estimate.covariance, 10, 5) + estimate.location
    drawn = estimate.sample(10, seed=5)
    assert np.array_equal(drawn.to_numpy(), expected)
    assert list(drawn.columns) == list(estimate.columns)


def test_what_noise_makes_impossible_is_weakened_until_it_can_be_drawn():
    release = release_of(survey(1500), epsilon=1.0)
    for psd in ("sparse", "none"):
        drawn = release.estimate(threshold=0.5, rule="hard", psd=psd).sample(500, seed=0)
        assert drawn.notna().all(axis=None)


def test_a_sample_can_be_released_again():
    estimate = release_of(survey(20_000)).estimate()
    sample = estimate.sample(5000, seed=0)
    facts = {
        field.name: {} if field.levels is None else {"levels": list(field.levels)}
        for field in estimate.release.design.fields
    }
    again = dpcov.release(sample, epsilon=1, delta=1e-6, seed=0, columns=facts)
    assert again.columns == estimate.columns
