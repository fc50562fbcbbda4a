"""Partial correlations from a release: what they are, how sure they are, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import dpcov
from designs import public_levels
from dpcov.answers import partial_correlation
from dpcov.answers.moments import moments_of
from dpcov.answers.tangents import Spread, Tangents
from dpcov.errors import ParameterError

P = 10
CHAIN = np.linalg.inv(np.eye(P) + 0.35 * (np.eye(P, k=1) + np.eye(P, k=-1)))


def partial(covariance):
    inverse = np.linalg.inv(covariance)
    deviations = np.sqrt(inverse.diagonal())
    return -inverse / np.outer(deviations, deviations)


def rows_of(seed, n_rows=8_000):
    return np.random.default_rng(seed).normal(size=(n_rows, P)) @ np.linalg.cholesky(CHAIN).T


def table_of(seed, *, gaps=0.0, category=False):
    rng = np.random.default_rng(seed)
    rows = rows_of(seed)
    frame = pd.DataFrame(rows, columns=[f"x{place}" for place in range(P)])
    if category:
        group = np.digitize(rows[:, 0] + rng.normal(size=len(rows)), [-0.8, 0.9])
        frame["g"] = pd.Categorical.from_codes(group, ["a", "b", "c"])
    if gaps:
        missing = rng.random((len(rows), P)) < gaps * np.linspace(0, 2, P)
        frame.iloc[:, :P] = frame.iloc[:, :P].mask(missing)
    return frame


def released(seed, **options):
    table = table_of(seed, **options)
    return dpcov.release(table, epsilon=1, delta=1e-6, seed=seed, columns=public_levels(table))


@pytest.fixture(scope="module")
def plain():
    return released(0)


@pytest.fixture(scope="module")
def full():
    return released(1, gaps=0.1, category=True)


@pytest.mark.filterwarnings("ignore")
def test_without_noise_they_are_those_of_the_table():
    rows = rows_of(0)
    release = dpcov.release(rows, epsilon=1e6, delta=1e-2, seed=0, row_norm=30)
    found = release.partial_correlations(about="table")
    np.testing.assert_allclose(found.matrix, partial(np.cov(rows.T)) + 2 * np.eye(P), atol=1e-3)


def exact_errors(release, about):
    """Return the errors by the covariance of all entries, beside those that are told."""
    found = release.partial_correlations(about=about)
    moments = moments_of(release, found.terms.places, about)
    tangents = Tangents(partial_correlation._inverse(moments))
    (weights,) = tangents.written(found.first, found.second)
    unit = np.outer(moments.deviations, moments.deviations)
    return found, np.sqrt(moments.variance(weights / unit))


@pytest.mark.parametrize("about", ["population", "table"])
@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_errors_of_numbers_are_those_of_the_covariance_of_all_entries(about, gaps):
    found, exact = exact_errors(released(2, gaps=gaps), about)
    ratio = found.standard_errors / exact
    assert ratio.min() > 0.995
    assert ratio.max() < 1.08


def test_errors_of_pairs_with_levels_are_near_those_of_the_covariance_of_all_entries(full):
    found, exact = exact_errors(full, "table")
    ratio = found.standard_errors / exact
    assert ratio.min() > 0.93
    assert ratio.max() < 1.2


def coverage(runs=6, **options):
    covered, count = 0, 0
    truth = partial(CHAIN)
    for seed in range(runs):
        found = released(seed, **options).partial_correlations()
        values = truth[found.first, found.second]
        covered += int(((found.low <= values) & (values <= found.high)).sum())
        count += len(values)
    return covered / count


@pytest.mark.parametrize("gaps", [0.0, 0.1])
def test_intervals_cover(gaps):
    assert 0.92 < coverage(gaps=gaps) <= 0.995  # seeded


def test_intervals_without_privacy_noise_do_not_cover(monkeypatch):
    def no_spread(self, noise):
        return Spread(*np.zeros((3, P, P)))

    monkeypatch.setattr(Tangents, "spread", no_spread)
    assert coverage(runs=4) < 0.8


def test_errors_about_a_population_are_larger(plain):
    population = plain.partial_correlations().standard_errors
    table = plain.partial_correlations(about="table").standard_errors
    assert (population > table).all()


def test_a_wider_confidence_has_wider_intervals(plain):
    narrow, wide = (plain.partial_correlations(confidence=level) for level in (0.8, 0.99))
    assert (wide.low < narrow.low).all()
    assert (wide.high > narrow.high).all()


def test_intervals_stay_within_one(full):
    found = full.partial_correlations(confidence=0.9999999)
    assert found.low.min() >= -1
    assert found.high.max() <= 1


def test_what_noise_forbids_is_not_told():
    rows = np.random.default_rng(0).normal(size=(400, 20))
    made = dpcov.release(rows, epsilon=0.3, delta=1e-6, seed=0, allow={"small"})
    found = made.partial_correlations()
    assert not found.told.any()
    assert (found.low == -1).all()
    assert (found.high == 1).all()
    assert len(found.edges(0.5)) == 0


def test_columns_that_are_the_same_are_not_told_and_others_are():
    rows = rows_of(3)
    rows[:, 9] = rows[:, 8]
    found = dpcov.release(rows, epsilon=3, delta=1e-6, seed=0).partial_correlations()
    assert not found["x8", "x9"].told
    assert found["x0", "x1"].told


def test_edges_are_those_of_the_chain(plain):
    edges = plain.partial_correlations().edges(fdr=1e-3)
    assert {(edge.first, edge.second) for edge in edges} == {
        (f"x{place}", f"x{place + 1}") for place in range(P - 1)
    }


def test_few_edges_are_false():
    false = [
        len(released(seed).partial_correlations().edges(fdr=0.1)) - (P - 1) for seed in range(3)
    ]
    assert 0 <= sum(false) <= 12  # about 3 are expected


def test_pairs_of_numbers_and_pairs_with_levels_are_two_lists(full):
    every = full.partial_correlations()
    numbers = full.partial_correlations([f"x{place}" for place in range(P)])
    assert every.q_values[every.p_values.argmax()] <= 1
    with_level = np.array(["=" in every.columns[place] for place in every.second])
    assert int((~with_level).sum()) == len(numbers)


def test_a_category_as_a_whole_is_its_levels_without_one(full):
    found = full.partial_correlations(["x0", "x1", "g"])
    assert found.columns == ("x0", "x1", "g=b", "g=c")
    assert found.terms.references == {"g": "a"}


def test_a_category_may_be_compared_with_another_level(full):
    found = full.partial_correlations(["x0", "g"], references={"g": "c"})
    assert found.columns == ("x0", "g=a", "g=b")


def test_levels_of_one_category_are_no_pair(full):
    found = full.partial_correlations(["x0", "x1", "g"])
    assert len(found) == 5
    with pytest.raises(ParameterError, match="levels of one category"):
        found["g=b", "g=c"]


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (["x0", "x1", "x22"], "did you mean 'x2'"),
        (["x0", "x1"], "at least 3 columns"),
        (["x0", "x1", "x1"], "named twice"),
        (["x0", "x1", "g=a", "g=b", "g=c"], "All levels of 'g'"),
        ("x0", "list of names"),
    ],
)
def test_columns_that_do_not_go_together_are_refused(full, columns, says):
    with pytest.raises(ParameterError, match=says):
        full.partial_correlations(columns)


def test_another_kind_of_people_is_refused(plain):
    with pytest.raises(ParameterError, match="about"):
        plain.partial_correlations(about="everybody")
