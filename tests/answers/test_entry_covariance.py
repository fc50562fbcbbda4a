"""How the errors of entries go together: against simulation, and by two ways that must agree."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import dpcov
from answers.tables import PROMISE, number_rows, numbers, survey
from dpcov.answers.entry_covariance import entry_covariance
from dpcov.errors import ParameterError
from dpcov.postprocess.noise_model import NoiseModel


@cache
def with_a_tail():
    """Numbers, the first of which has a long tail that another one follows."""
    rows = np.random.default_rng(5).normal(size=(8000, 6))
    rows[:, 0] = np.exp(rows[:, 0])
    rows[:, 1] += 0.5 * rows[:, 0]
    return dpcov.release(rows, **PROMISE, seed=1)


RELEASES = [numbers, survey, with_a_tail]


def functions_of_product(weights):
    size = len(weights)
    moments, means = np.zeros((size + 1, size, size)), np.zeros((size + 1, size))
    moments[np.arange(size), np.arange(size)] = weights
    means[-1] = weights
    return moments, means


@pytest.mark.parametrize("about", ["population", "table"])
@pytest.mark.parametrize("make", RELEASES)
def test_a_matrix_times_a_vector_has_the_errors_of_its_entries(make, about):
    errors = make().entry_covariance(about=about)
    weights = np.random.default_rng(0).normal(size=len(errors.columns)) / make().units.scale
    expected = errors.covariance(*functions_of_product(weights))
    assert np.allclose(errors.of_product(weights), expected, rtol=1e-9)


def test_entries_have_the_errors_of_intervals_also_with_a_tail():
    release = with_a_tail()
    model = NoiseModel.of(release)
    assert model.clipping.tails[0] > 0
    released = release.matrix * (1 - np.eye(6)) + np.diag(model.variances)
    expected = model.of_table.interval_variance(slice(None), released)
    scale = release.units.scale
    expected = expected * np.outer(scale, scale) ** 2
    errors = release.entry_covariance(about="table")
    found = dict(zip(errors.pairs, np.diag(errors.matrix()), strict=True))
    for (one, two), variance in found.items():
        i, j = (errors.columns.index(name) for name in (one, two))
        # Of variances as released, or shrunk.
        assert variance == pytest.approx(expected[i, j], rel=0.1)
    without = model.of_table.without_tails.interval_variance(slice(None), released)
    assert without[0, 0] * scale[0] ** 4 < 0.8 * expected[0, 0]
    assert without[0, 1] * (scale[0] * scale[1]) ** 2 < 0.8 * expected[0, 1]


def test_reports_of_devices_have_noise_that_grows_with_the_signal():
    release = numbers()
    noise = replace(release.noise_scale, signal=0.01)
    growing = replace(release, noise_scale=noise).entry_covariance(about="table")
    weights = np.arange(1.0, 6.0)
    expected = growing.covariance(*functions_of_product(weights))
    assert np.allclose(growing.of_product(weights), expected, rtol=1e-9)
    assert (np.diag(growing.matrix()) > np.diag(release.entry_covariance().matrix())).any()


@pytest.mark.parametrize("make", RELEASES)
def test_variances_are_the_diagonal_of_the_covariance(make):
    errors = make().entry_covariance()
    size = len(errors.columns)
    moments = np.random.default_rng(1).normal(size=(4, size, size))
    assert np.allclose(errors.variance(moments), np.diag(errors.covariance(moments)))
    assert errors.variance(moments[0]).shape == ()


@pytest.mark.parametrize("make", RELEASES)
def test_some_columns_have_the_errors_that_they_have_among_all(make):
    release = make()
    names = [release.columns[place] for place in (3, 1, 0)]
    few, all_of_them = release.entry_covariance(names), release.entry_covariance()
    whole = dict(zip(all_of_them.pairs, np.diag(all_of_them.matrix()), strict=True))
    expected = [whole.get(pair, whole.get(pair[::-1])) for pair in few.pairs]
    # Sampling is that of a matrix lifted to what noise allows, of few columns or of all.
    assert np.allclose(np.diag(few.matrix()), expected, rtol=0.02)


def spread(about, seeds=range(300)):
    """Return entries and means of many releases of one table, or of many tables."""
    found = []
    for seed in seeds:
        rows = number_rows(500, 3, seed=0 if about == "table" else seed) / 5
        release = dpcov.release(rows, **PROMISE, seed=seed, row_norm=1.0)
        found.append(np.append(release.matrix[np.triu_indices(3)], release.mean))
    return np.cov(np.array(found).T), release


@pytest.mark.parametrize("about", ["population", "table"])
def test_releases_spread_as_they_say(about):
    observed, release = spread(about)
    said = release.entry_covariance(about=about).matrix()
    ratio = np.diag(observed)[:6] / np.diag(said)
    # The sd of each is 1/√150 = .08, and rows were clipped a little.
    assert 0.8 < ratio.mean() < 1.2
    assert not 0.8 < (ratio * 1.5).mean() < 1.2  # noise that is half as much too large is found


def test_the_matrix_is_symmetric_and_positive_semi_definite():
    matrix = survey().entry_covariance().matrix()
    assert np.allclose(matrix, matrix.T)
    assert (
        np.linalg.eigvalsh(matrix / np.sqrt(np.outer(np.diag(matrix), np.diag(matrix))))[0] > -1e-9
    )


def test_entries_of_columns_with_common_gaps_go_together():
    release = survey()
    errors = release.entry_covariance(["age", "school", "rest"], about="table")
    matrix = errors.matrix()
    deviation = np.sqrt(np.diag(matrix))
    apart = np.abs(matrix / np.outer(deviation, deviation))[np.triu_indices(6, k=1)]
    assert apart.max() > 0.02


def test_a_matrix_that_would_not_fit_is_refused():
    rows = np.random.default_rng(0).uniform(-1, 1, size=(10_000, 120))
    errors = dpcov.release(rows, **PROMISE, row_norm=9.0).entry_covariance()
    with pytest.raises(ParameterError, match="name fewer columns"):
        errors.matrix()
    assert errors.of_product(np.ones(120)).shape == (121, 121)


@pytest.mark.parametrize(
    ("columns", "message"),
    [(["nobody"], "no column 'nobody'"), (["x0", "x0"], "different"), ([], "at least one")],
)
def test_other_columns_are_refused(columns, message):
    with pytest.raises(ParameterError, match=message):
        entry_covariance(numbers(), columns)


@pytest.mark.parametrize(
    "call",
    [
        lambda errors: errors.variance(np.eye(2)),
        lambda errors: errors.variance(np.eye(5), np.ones(4)),
        lambda errors: errors.of_product(np.ones(4)),
    ],
)
def test_weights_of_another_size_are_refused(call):
    with pytest.raises(ParameterError, match="for each column"):
        call(numbers().entry_covariance())


def test_another_whom_is_refused():
    with pytest.raises(ParameterError, match="about"):
        numbers().entry_covariance(about="everybody")
