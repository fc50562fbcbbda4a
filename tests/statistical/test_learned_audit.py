"""An audit of whole releases that learn: a lower bound on ε from what they publish.

As in `test_audit`, with all that is published of two neighboring tables: shares of cells beyond
the limits, what is longer than the row norm, and the moments. Given what was learned before, each
of them is Gaussian, and the best test adds up what they say for one of the tables. Answers that
are not published leave a part of the promise unseen; it is small. Releases are seeded, so that a
verdict never changes.
"""

from functools import cache

import numpy as np
import pytest

import dpcov
from dpcov.privacy import gaussian_scale
from statistical.lower_bounds import epsilon_lower_bound

EPSILON, DELTA = 2.0, 0.3
RUNS = 600
N_OTHERS, SIZE, FAR = 600, 4, 1e9
# The part of the promise that is seen, in squared distances: beyond, clipping and moments.
SEEN = {"nothing": 0.74, "all": 0.96}
FACTS = {
    "nothing": None,
    "all": {f"x{place}": {"center": 1.0, "scale": 2.0} for place in range(SIZE)},
}
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(autouse=True)
def _coarse_bins(monkeypatch):
    """Count cells in fewer bins: their noise is the same, and a release takes half the time."""
    monkeypatch.setattr("dpcov.mechanisms.learning.stated.ruler_bits", lambda n_columns: 5)


def run(cell, stated, seeds):
    """Return the evidence of many releases of a table in which one row has this cell throughout."""
    table = np.vstack([np.full(SIZE, cell), np.ones((N_OTHERS, SIZE))])
    facts = {"columns": FACTS[stated], "neighbors": "add-remove", "missing": "center"}
    facts |= {"epsilon": EPSILON, "delta": DELTA}
    return np.array([evidence(dpcov.release(table, **facts, seed=seed)) for seed in seeds])


def both(stated):
    """Return the evidence of releases with a row that is far, and with one without cells."""
    return run(FAR, stated, range(RUNS)), run(np.nan, stated, range(RUNS, 2 * RUNS))


def evidence(release):
    """Return what a release says for a row that is far in all cells, against one without cells.

    Numbers are about what the others make them; moves and errors are those of means over rows.
    """
    learned, n_rows = release.learned, release.n_rows
    clipping, squared_norm = learned.clipping, release.provenance.row_norm**2
    others = _read(release, np.ones(SIZE))
    longer = others @ others > squared_norm
    excess = np.clip(others @ others - squared_norm, 0, 2 * squared_norm)
    outside = (learned.lower > 1) | (learned.upper < 1)
    answers = [
        # Noisy, made by each of the others, moved by the row, and the sd of the noise.
        (learned.beyond, outside, 1, learned.beyond_error),
        (clipping.share, longer, 1, clipping.share_error),
        (clipping.excess, excess, 2 * squared_norm, clipping.excess_error),
    ]
    found = _moments(release, others)
    for noisy, each, move, error in answers:
        found += np.sum((noisy - N_OTHERS / n_rows * each) * move) / (n_rows * error**2)
    return found


def _read(release, row):
    """Return a row in working units, limited as the release says."""
    return (np.clip(row, *release.limits) - release.units.center) / release.units.scale


def _moments(release, others):
    """Return the inner product of noisy moments, about the others', with those of the row."""
    norm, noise, mean = release.provenance.row_norm, release.noise_scale, release.mean
    row, others = (
        z * min(1, norm / max(np.sqrt(z @ z), 1e-300))
        for z in (_read(release, np.full(SIZE, FAR)), others)
    )
    share = N_OTHERS / release.n_rows
    moments = release.matrix / release.factor + np.outer(mean, mean)
    moments -= share * np.outer(others, others)
    found = np.sum(moments * np.outer(row, row)) / (noise.diagonal / release.factor) ** 2
    # The row and the column of means have the noise of other entries, smaller by √2.
    return (found + (mean - share * others) @ row / noise.mean**2) / release.n_rows


def take_a_third_of_the_noise(monkeypatch):
    @cache  # as the true one is
    def third(**keywords):
        return gaussian_scale(**keywords) / 3

    monkeypatch.setattr("dpcov.mechanisms.learning.budget.gaussian_scale", third)


@pytest.mark.claim("P18")
@pytest.mark.claim("P23")
@pytest.mark.parametrize("stated", FACTS)
def test_a_release_that_learns_keeps_its_promise(stated):
    hits, misses = both(stated)
    assert epsilon_lower_bound(hits, misses, delta=DELTA) < EPSILON
    # And the audit sees what there is to see: a Gaussian pair of nearly the promised distance.
    distance = (hits.mean() - misses.mean()) / misses.std()
    promised = SEEN[stated] ** 0.5 / gaussian_scale(epsilon=EPSILON, delta=DELTA)
    assert distance == pytest.approx(promised, rel=0.15)


@pytest.mark.claim("P18")
@pytest.mark.claim("P23")
@pytest.mark.parametrize("stated", FACTS)
def test_a_third_of_the_noise_is_found(monkeypatch, stated):
    take_a_third_of_the_noise(monkeypatch)
    hits, misses = both(stated)
    assert epsilon_lower_bound(hits, misses, delta=DELTA) > EPSILON
