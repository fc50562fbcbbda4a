"""An audit of the pairs mechanism: a lower bound on ε from its outputs alone.

Two neighboring tables of 3 columns are released many times. They differ in one row, which
moves the strongest pair by 2 and makes another one strongest. The test between them
thresholds the likelihood ratio of what is released: the pair and its value. Streams are seeded,
so that a verdict never changes.
"""

import math

import numpy as np
import pytest

from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms import pairs as mechanism
from dpcov.mechanisms import pairs_calibration
from dpcov.mechanisms.pairs import release_co_movement
from dpcov.mechanisms.pairs_calibration import calibrate_pairs
from dpcov.privacy import ApproxDP
from dpcov.sensitive.sums.signs import CoMovement
from statistical.lower_bounds import epsilon_lower_bound

EPSILON, DELTA = 1.0, 0.2
RUNS = 4000
COLUMNS = ("a", "b", "c")
TABLES = [np.array([[1.0, 1, 1], [1, 1, -1]]), np.array([[1.0, -1, 1], [1, 1, -1]])]


def outputs(table, first_seed):
    calibration = calibrate_pairs(
        promise=ApproxDP(EPSILON, DELTA, "replace"),
        n_rows=2,
        n_columns=3,
        max_pairs=1,
        center="stated",
    )
    sums = CoMovement.from_blocks([table], n_columns=3, center=np.zeros(3))
    found = []
    for seed in range(first_seed, first_seed + RUNS):
        stream = RandomStream.from_seed(seed)
        release = release_co_movement(sums, calibration, columns=COLUMNS, stream=stream)
        found.append((*release.pairs[0], release.co_movement[0] * 2))
    return calibration, np.array(found), np.concatenate(list(sums.triangle.above_diagonal()))


def log_likelihood(calibration, found, scores):
    weights = np.abs(scores) / calibration.selection_scale
    chosen = (found[:, 0] + found[:, 1] - 1).astype(int)  # (0,1), (0,2), (1,2) → 0, 1, 2
    sd = calibration.noise_scale * 2
    return weights[chosen] - (found[:, 2] - scores[chosen]) ** 2 / (2 * sd**2)


def audit():
    calibration, first, scores = outputs(TABLES[0], 0)
    _, second, other_scores = outputs(TABLES[1], RUNS)
    ratios = [
        log_likelihood(calibration, found, scores)
        - log_likelihood(calibration, found, other_scores)
        for found in (first, second)
    ]
    return epsilon_lower_bound(*ratios, delta=DELTA)


def quieter_values(monkeypatch):
    monkeypatch.setattr(
        pairs_calibration,
        "_gaussian_scale",
        lambda squared, rho: int(math.sqrt(squared / (2 * rho)) / 3),
    )
    monkeypatch.setattr(pairs_calibration, "_events", lambda *_: ())


def no_noise_in_selection(monkeypatch):
    monkeypatch.setattr(
        mechanism,
        "select_largest",
        lambda scores, **_: np.array([int(np.argmax(np.concatenate(list(scores()))))]),
    )


def unselected_value(monkeypatch):
    """Publish the true largest sum beside the noise of the values."""
    add = mechanism.add_noise
    monkeypatch.setattr(mechanism, "add_noise", lambda sums, scale, stream: add(sums, 1, stream))


@pytest.mark.claim("P12")
def test_the_pairs_mechanism_keeps_its_promise():
    assert audit() < EPSILON


@pytest.mark.parametrize("plant", [quieter_values, no_noise_in_selection, unselected_value])
def test_a_planted_bug_is_found(monkeypatch, plant):
    plant(monkeypatch)
    assert audit() > EPSILON
