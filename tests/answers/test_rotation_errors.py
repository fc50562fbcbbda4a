"""Derivatives of rotations: they are those of differences."""

import numpy as np
import pytest

from dpcov.answers.rotation import rotate
from dpcov.answers.rotation_errors import correlation_slopes, loading_slopes

GENERATOR = np.random.default_rng(4)
LOADINGS = np.kron(np.eye(3), [[0.8], [0.7], [0.6], [0.5]]) + GENERATOR.normal(0, 0.1, (12, 3))
STEP = GENERATOR.normal(0, 1e-5, (12, 3))


def moved(kind):
    return [rotate(LOADINGS + sign * STEP, kind) for sign in (1, -1)]


@pytest.mark.parametrize("kind", [None, "varimax", "promax"])
def test_rotated_loadings_move_as_their_slopes_say(kind):
    up, down = moved(kind)
    difference = (up.loadings - down.loadings).ravel() / 2
    said = loading_slopes(rotate(LOADINGS, kind)) @ STEP.ravel()
    assert np.abs(said - difference).max() < 1e-4 * np.abs(difference).max()


def test_a_turn_that_is_held_fast_moves_them_otherwise():
    up, down = moved("varimax")
    difference = (up.loadings - down.loadings) / 2
    fixed = STEP @ rotate(LOADINGS, "varimax").turn
    assert np.abs(fixed - difference).max() > 0.01 * np.abs(difference).max()


def test_correlations_of_components_move_as_their_slopes_say():
    up, down = moved("promax")
    difference = (up.correlations - down.correlations).ravel() / 2
    said = correlation_slopes(rotate(LOADINGS, "promax")) @ STEP.ravel()
    assert np.abs(said - difference).max() < 1e-4 * np.abs(difference).max()


def test_components_at_right_angles_have_no_correlations_that_move():
    assert not correlation_slopes(rotate(LOADINGS, "varimax")).any()


def test_turning_the_loadings_before_rotation_moves_nothing():
    skew = np.array([[0.0, 1.0, 0.5], [-1.0, 0.0, 0.2], [-0.5, -0.2, 0.0]])
    rotated = rotate(LOADINGS, "varimax")
    assert np.abs(loading_slopes(rotated) @ (LOADINGS @ skew).ravel()).max() < 1e-8
