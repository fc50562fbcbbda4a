"""An audit of the whole mechanism: a lower bound on ε from its outputs alone.

Two neighboring tables of 4 columns are released many times. The best test between them
thresholds the likelihood ratio, which is monotone in one linear function of the output.
If it raises its alarm with probability f on one table and t on the other, no
(ε, δ)-private mechanism has ε < log((t − δ)/f). Exact binomial bounds on f and t give a
lower bound on ε that is wrong with probability below 1e-8. A large δ makes the
bound sharp with few runs; a planted bug must push it above the promised ε.
"""

import numpy as np
import pytest
from scipy import stats

import dpcov
from dpcov.mechanisms import second_moment

EPSILON, DELTA = 2.0, 0.3
RUNS = 5000
CONFIDENCE = 1 - 1e-9

OTHER = np.array([0.3, -0.2, 0.5, 0.1])
# The pairs at which the claimed sensitivities are attained.
PAIRS = {
    "replace": (np.eye(4)[0], np.eye(4)[1]),
    "add-remove": (np.eye(4)[0], np.zeros(4)),
}


def run(row, neighbors):
    """Release a table that holds `row` many times."""
    table = np.array([row, OTHER])
    keywords = {"epsilon": EPSILON, "delta": DELTA, "row_norm": 1.0, "neighbors": neighbors}
    return np.array([dpcov.release(table, **keywords).matrix for _ in range(RUNS)])


def epsilon_lower_bound(with_x, with_y, direction):
    """Lower bound on ε at δ = DELTA, from outputs for two neighboring tables."""
    hits, misses = (np.einsum("kij,ij->k", runs, direction) for runs in (with_x, with_y))
    half = RUNS // 2
    # Choose the threshold on one half of the runs, judge it on the other.
    candidates = np.quantile(misses[:half], np.linspace(0.5, 0.99, 50))
    bounds = [_bound(hits[:half] > c, misses[:half] > c) for c in candidates]
    best = candidates[int(np.argmax(bounds))]
    return _bound(hits[half:] > best, misses[half:] > best)


def _bound(hits, alarms):
    level = 2 * CONFIDENCE - 1  # one-sided bounds
    power = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(level).low
    alarm = stats.binomtest(int(alarms.sum()), len(alarms)).proportion_ci(level).high
    return float(np.log(max(power - DELTA, 1e-300) / alarm))


def audit(neighbors, scale=1.0):
    x, y = (scale * row for row in PAIRS[neighbors])
    direction = np.outer(x, x) - np.outer(y, y)
    return epsilon_lower_bound(run(x, neighbors), run(y, neighbors), direction)


def halve_the_noise(monkeypatch):
    monkeypatch.setattr(
        second_moment,
        "gaussian_scale",
        lambda **keywords: dpcov.privacy.gaussian_scale(**keywords) / 2,
    )


def forget_root_two(monkeypatch):
    monkeypatch.setattr(second_moment, "squared_unit_sensitivity", lambda neighbors: 1)


def do_not_clip(monkeypatch):
    def quantize(rows, grid, missing, out):
        out[:] = np.trunc(rows / grid.unit)

    monkeypatch.setattr("dpcov.sensitive.gram.quantize_rows", quantize)


@pytest.mark.claim("P5")
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_the_mechanism_keeps_its_promise(neighbors):
    assert audit(neighbors) < EPSILON


@pytest.mark.claim("P5")
def test_the_mechanism_keeps_its_promise_for_rows_that_must_be_clipped():
    assert audit("replace", scale=2.0) < EPSILON


@pytest.mark.parametrize(
    ("plant", "neighbors", "scale"),
    [
        (halve_the_noise, "replace", 1.0),
        (halve_the_noise, "add-remove", 1.0),
        (forget_root_two, "replace", 1.0),
        (do_not_clip, "replace", 2.0),
    ],
)
def test_a_planted_bug_is_found(monkeypatch, plant, neighbors, scale):
    plant(monkeypatch)
    assert audit(neighbors, scale) > EPSILON
