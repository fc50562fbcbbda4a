"""Rotations: published results, and what must hold for any loadings."""

import numpy as np
import pytest

from dpcov.answers.rotation import rotate, varimax_criterion

# Harman's five socio-economic variables of twelve census tracts: population, school, employment,
# services, house value.
TRACTS = np.array(
    [
        [5700, 12.8, 2500, 270, 25000],
        [1000, 10.9, 600, 10, 10000],
        [3400, 8.8, 1000, 10, 9000],
        [3800, 13.6, 1700, 140, 25000],
        [4000, 12.8, 1600, 140, 25000],
        [8200, 8.3, 2600, 60, 12000],
        [1200, 11.4, 400, 10, 16000],
        [9100, 11.5, 3300, 60, 14000],
        [9900, 12.5, 3400, 180, 18000],
        [9600, 13.7, 3600, 390, 25000],
        [9600, 9.6, 3300, 80, 12000],
        [9400, 11.4, 4000, 100, 13000],
    ]
)
PUBLISHED = np.array(
    [[0.016, 0.994], [0.941, -0.009], [0.137, 0.980], [0.825, 0.447], [0.968, -0.006]]
)


def components(count=2):
    values, vectors = np.linalg.eigh(np.corrcoef(TRACTS.T))
    return (vectors * np.sqrt(values))[:, ::-1][:, :count]


def turn(size, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((size, size)))[0]


def test_varimax_gives_the_published_loadings_of_harmans_five_variables():
    assert np.abs(rotate(components(), "varimax").loadings - PUBLISHED).max() < 6e-4


@pytest.mark.parametrize("size", [2, 3, 5])
def test_no_other_turn_has_a_larger_varimax_criterion(size):
    loadings = np.random.default_rng(size).standard_normal((20, size))
    best = varimax_criterion(rotate(loadings, "varimax").loadings)
    others = [varimax_criterion(loadings @ turn(size, seed)) for seed in range(300)]
    assert max(others) <= best + 1e-9
    assert best > varimax_criterion(loadings)  # and it was not there before


@pytest.mark.parametrize("kind", ["varimax", "promax"])
def test_it_does_not_matter_how_loadings_were_turned_before(kind):
    loadings = components(3)
    first, second = rotate(loadings, kind), rotate(loadings @ turn(3, 1), kind)
    assert np.abs(first.loadings - second.loadings).max() < 1e-7


def test_a_turn_by_varimax_keeps_what_columns_have_in_common():
    loadings = components(3)
    turned = rotate(loadings, "varimax").loadings
    assert np.allclose(turned @ turned.T, loadings @ loadings.T)


def test_promax_keeps_it_with_the_correlations_of_the_components():
    loadings = components(3)
    found = rotate(loadings, "promax")
    assert np.allclose(
        found.loadings @ found.correlations @ found.loadings.T, loadings @ loadings.T
    )
    assert np.allclose(np.diag(found.correlations), 1.0)


def test_promax_finds_factors_that_are_correlated():
    simple = np.kron(np.eye(2), [[0.8], [0.7], [0.6], [0.75]])
    correlated = np.array([[1.0, 0.4], [0.4, 1.0]])
    root = np.linalg.cholesky(correlated)
    found = rotate(simple @ root @ turn(2, 3), "promax")
    assert abs(found.correlations[0, 1] - 0.4) < 0.02
    assert np.abs(found.loadings - simple).max() < 0.02
    # Varimax, which keeps right angles, cannot.
    assert np.abs(rotate(simple @ root, "varimax").loadings - simple).max() > 0.1


def test_promax_leaves_factors_at_right_angles_as_they_are():
    simple = np.kron(np.eye(3), [[0.8], [0.7], [0.6]])
    found = rotate(simple @ turn(3, 5), "promax")
    assert np.abs(found.correlations - np.eye(3)).max() < 1e-6


def test_the_large_loadings_are_positive():
    assert (rotate(-components(), "varimax").loadings.max(axis=0) > 0.9).all()


def test_without_a_rotation_loadings_stay():
    loadings = components()
    assert rotate(loadings, None).loadings is loadings
