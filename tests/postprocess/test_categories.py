"""Shares, associations and means in groups: the same numbers as pandas has, within their errors."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcov.columns.fields import Field
from dpcov.errors import ParameterError
from dpcov.postprocess.categories import Categories
from postprocess.categorical import FIELDS, limited, release_of, survey, truth_of
from postprocess.simulation import band
from postprocess.simulation import release_of as release_of_numbers

NAMES = ("shares", "associations", "means")
PLENTY = 500.0  # an epsilon that leaves hardly any noise


@pytest.fixture(scope="module", params=[False, True], ids=["complete", "gaps"])
def quiet(request):
    rows = survey(20_000, gaps=request.param)
    release = release_of(rows, epsilon=PLENTY)
    return release, limited(rows, release)


@pytest.fixture(scope="module")
def noisy():
    rows = survey(8000)
    release = release_of(rows)
    return release, limited(rows, release)


@pytest.mark.parametrize("name", NAMES)
def test_without_noise_the_numbers_are_those_of_pandas(quiet, name):
    release, frame = quiet
    for line in getattr(Categories(release), name)(about="table"):
        value = {"shares": "share", "associations": "value", "means": "mean"}[name]
        truth = truth_of(line, frame)
        if not math.isnan(truth):  # a level that never occurs has no mean
            assert getattr(line, value) == pytest.approx(truth, rel=0.02, abs=0.01)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("about", ["table", "population"])
def test_wide_intervals_hold_what_pandas_has(noisy, name, about):
    release, frame = noisy
    lines = getattr(Categories(release), name)(confidence=0.999, about=about)
    told = [line for line in lines if not math.isnan(line.low)]
    assert len(told) > 6
    for line in told:
        assert line.low - 1e-9 <= truth_of(line, frame) <= line.high + 1e-9


@pytest.mark.parametrize("name", ["shares", "associations"])
def test_ends_are_within_zero_and_one_and_about_the_value(noisy, name):
    for line in getattr(Categories(noisy[0]), name)():
        value = line.share if name == "shares" else line.value
        assert 0 <= line.low <= line.high <= 1
        assert line.low <= value <= line.high


@pytest.mark.parametrize(("name", "key"), [("shares", 2), ("means", 3)])
def test_intervals_about_a_population_are_longer(noisy, name, key):
    table, population = (
        {
            line[:key]: line.high - line.low
            for line in getattr(Categories(noisy[0]), name)(about=about)
        }
        for about in ("table", "population")
    )
    assert all(population[each] >= width for each, width in table.items() if not math.isnan(width))


def test_shares_of_a_category_add_up_to_one(noisy):
    shares = Categories(noisy[0]).shares().to_frame()
    np.testing.assert_allclose(shares.groupby("column")["share"].sum(), 1.0)


@pytest.fixture(scope="module")
def skewed():
    """A category of which one level has half of the rows, and noise has filled many of the rest."""
    levels = np.where(
        np.random.default_rng(0).random(4000) < 0.5,
        0,
        np.random.default_rng(1).integers(1, 4, 4000),
    )
    fields = (Field("many", tuple(f"l{k}" for k in range(40)), may_be_missing=False),)
    return release_of(levels[:, None].astype(float), fields=fields), (levels == 0).mean()


@pytest.mark.parametrize("about", ["population", "table"])
@pytest.mark.parametrize("confidence", [0.1, 0.95])
def test_a_share_lies_in_its_interval_however_many_levels_noise_has_filled(
    skewed, confidence, about
):
    for line in Categories(skewed[0]).shares(confidence, about=about):
        assert 0 <= line.low <= line.share <= line.high <= 1


def test_empty_levels_that_noise_has_filled_take_little_from_a_large_one(skewed):
    release, truth = skewed
    (largest, *_) = Categories(release).shares(about="table")
    assert abs(largest.share - truth) < 3 * largest.standard_error


def test_the_plain_formula_would_be_too_large(noisy):
    release, frame = noisy
    found = next(
        line
        for line in Categories(release).associations(about="table")
        if {line.first, line.second} == {"region", "school"}
    )
    design, units = release.design, release.units
    region, school = design.groups[1], design.groups[2]
    block = units.to_own(release.matrix)[region, school]
    shares = release.location
    plain = (block**2 / np.outer(shares[region], shares[school])).sum() / 2
    assert math.sqrt(plain) > 2 * truth_of(found, frame)
    assert found.low <= truth_of(found, frame)


def test_a_level_that_never_occurs_has_no_mean_and_a_sentence(noisy):
    means = Categories(noisy[0]).means("income", "region")
    never = next(line for line in means if line.level == "never")
    assert not never.is_told
    assert math.isnan(never.low)
    assert never.in_words == "region=never is too rare to tell the mean of income"


def test_levels_that_are_read_as_one_are_named(noisy):
    found = Categories(noisy[0]).associations()
    with_region = [line for line in found if "region" in line[:2]]
    assert all("region=never" in line.pooled for line in with_region)


def test_related_columns_come_first_and_unrelated_ones_have_large_q_values(noisy):
    found = Categories(noisy[0]).associations()
    related = {("sex", "region"), ("income", "sex"), ("income", "region")}
    assert {line[:2] for line in list(found)[:3]} == related
    assert all(line.q_value < 0.01 for line in list(found)[:3])
    assert all(line.q_value > 0.1 for line in list(found)[3:])


def test_q_values_do_not_depend_on_whom_intervals_are_about(noisy):
    table, population = (
        {line[:2]: line.q_value for line in Categories(noisy[0]).associations(about=about)}
        for about in ("table", "population")
    )
    assert table.keys() == population.keys()
    assert all(population[key] == pytest.approx(q, abs=1e-9) for key, q in table.items())


def test_means_are_within_the_limits_of_their_column(noisy):
    release = noisy[0]
    place = release.columns.index("income")
    low, high = (limit[place] for limit in release.limits)
    for line in Categories(release).means("income"):
        assert not line.is_told or low <= line.low <= line.mean <= line.high <= high


@pytest.mark.parametrize("n_levels", [2, 10, 50])
def test_categories_may_have_two_to_fifty_levels(n_levels):
    rng = np.random.default_rng(n_levels)
    first = rng.integers(0, n_levels, 20_000)
    second = np.where(rng.random(20_000) < 0.5, first % 3, rng.integers(0, 3, 20_000))
    fields = (
        Field("many", tuple(f"l{k}" for k in range(n_levels))),
        Field("few", ("a", "b", "c"), may_be_missing=False),
    )
    rows = np.column_stack([first, second]).astype(float)
    release = release_of(rows, fields=fields, epsilon=8.0)
    (found,) = Categories(release).associations(about="table")
    truth = truth_of(found, limited(rows, release, fields))
    assert found.low <= truth <= found.high < found.low + 0.1


def test_no_association_is_told_where_noise_drowns_the_levels():
    release = release_of(survey(300))
    (line,) = (
        line for line in Categories(release).associations() if line[:2] == ("region", "school")
    )
    assert math.isnan(line.value)
    assert line.q_value == 1.0
    assert line.in_words == "region and school: too few levels stand out of the noise to tell"


def test_a_release_of_numbers_has_no_categories():
    categories = release_of_numbers(band(3), n_rows=2000).estimate().categories
    assert categories.names == ()
    assert repr(categories) == "Categories(none)"
    assert not len(categories.shares())
    assert not len(categories.associations())
    assert not len(categories.means())


def test_the_estimate_offers_its_categories(noisy):
    categories = noisy[0].estimate().categories
    assert categories.names == tuple(field.name for field in FIELDS if field.levels)
    assert repr(categories) == "Categories(sex, region, school)"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"number": "sex"}, "number must be the name of a column that is a number"),
        ({"category": "age"}, "category must be the name of a column that is a category"),
        ({"confidence": 1.0}, "confidence must lie in"),
        ({"about": "everybody"}, "about must be"),
    ],
)
def test_what_is_not_there_is_refused(noisy, asked, message):
    with pytest.raises(ParameterError, match=message):
        Categories(noisy[0]).means(**asked)


def test_lines_say_what_they_found(noisy):
    categories = Categories(noisy[0])
    assert categories.shares()[0].in_words.startswith("sex=f: 50.1 % (4")
    assert "Cramér's V 0." in " ".join(categories.associations().in_words)
    assert categories.means("age", "sex")[0].in_words.startswith("mean of age where sex=f: 4")


def test_less_noise_than_is_stated_gives_longer_intervals(noisy):
    release = noisy[0]
    scale = release.noise_scale
    louder = replace(scale, off_diagonal=2 * scale.off_diagonal, mean=2 * scale.mean)
    wide = Categories(replace(release, noise_scale=louder)).shares(about="table")
    narrow = Categories(release).shares(about="table")
    assert all(w.high - w.low > n.high - n.low for w, n in zip(wide, narrow, strict=True))
