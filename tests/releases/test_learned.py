"""What was learned: checked values, and what follows from a noisy histogram."""

import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.releases.learned import Known, Learned, NormHistogram

EDGES = 5 * np.exp2(np.arange(-32, 41) / 8)
SQUARED = np.random.default_rng(1).chisquare(5, size=20_000)
COUNTS = np.bincount(np.searchsorted(EDGES, SQUARED), minlength=len(EDGES) + 1).astype(float)


def histogram(noise=0.0, seed=0, **changed):
    counts = COUNTS + noise * np.random.default_rng(seed).normal(size=len(COUNTS))
    facts = {"edges": EDGES, "counts": counts, "noise": noise or 1e-9, "n_rows": len(SQUARED)}
    return NormHistogram(**(facts | changed))


@pytest.mark.parametrize("noise", [0.0, 60.0])
@pytest.mark.parametrize("quantile", [0.5, 0.85, 0.95])
def test_a_radius_is_found_at_every_quantile(noise, quantile):
    radius = histogram(noise).radius(quantile)
    assert quantile - 0.03 <= (radius**2 >= SQUARED).mean() <= quantile + 0.09


@pytest.mark.parametrize("noise", [0.0, 60.0])
def test_what_lies_beyond_a_radius_is_estimated(noise):
    for radius in (2.5, 3.0, 3.5):
        found = histogram(noise)
        assert found.share_beyond(radius) == pytest.approx((radius**2 < SQUARED).mean(), abs=0.05)
        excess = np.maximum(SQUARED - radius**2, 0).mean()
        assert found.mean_excess(radius) == pytest.approx(
            excess, abs=0.8 * bool(noise) + 0.1 * excess + 0.01
        )


@pytest.mark.parametrize("level", [-1e18, 0.0, 1e18])
def test_a_radius_is_never_refused(level):
    found = histogram(counts=np.full(len(COUNTS), level))
    for quantile in (0.01, 0.5, 0.999):
        assert EDGES[0] <= found.radius(quantile) ** 2 * (1 + 1e-9)
        assert found.radius(quantile) ** 2 <= EDGES[-1] * (1 + 1e-9)
    assert 0 <= found.share_beyond(1.0) <= 1 + 1e-9


def test_noise_alone_is_no_row_far_out():
    far = [histogram(60.0, seed).share_beyond(9.0) for seed in range(40)]
    assert np.median(far) == 0
    assert max(far) < 0.03


def test_shares_are_read_only_and_add_up_to_one_at_most():
    shares = histogram(500.0).shares
    assert shares.min() >= 0
    assert shares.sum() <= 1 + 1e-12
    with pytest.raises(ValueError, match="read-only"):
        shares[0] = 1


@pytest.mark.parametrize(
    "bad",
    [
        {"counts": COUNTS[1:]},
        {"counts": COUNTS * np.nan},
        {"edges": EDGES[::-1].copy()},
        {"edges": EDGES - EDGES[0]},
        {"edges": EDGES.astype(np.float32)},
        {"noise": -1.0},
        {"n_rows": 0},
        {"n_rows": 1.5},
    ],
)
def test_impossible_histograms_are_refused(bad):
    with pytest.raises(ParameterError):
        histogram(**bad)


def learned(**changed):
    known = np.array([Known.LEARNED, Known.STATED], dtype=np.int8)
    facts = {
        "lower": np.array([0.0, -4.0]),
        "upper": np.array([9.0, 4.0]),
        "center": np.array([2.0, 0.0]),
        "scale": np.array([1.5, 1.0]),
        "beyond": np.array([0.01, -0.02]),
        "beyond_error": 0.01,
        "known_range": known,
        "known_center": known,
        "known_scale": known,
        "norms": histogram(),
    }
    return Learned(**(facts | changed))


def test_what_was_learned_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        learned().scale[0] = 2


@pytest.mark.parametrize(
    "bad",
    [
        {"lower": np.array([3.0, -4.0])},
        {"upper": np.array([9.0, -4.0]), "center": np.array([2.0, -4.0])},
        {"upper": np.array([np.inf, 4.0])},
        {"scale": np.array([0.0, 1.0])},
        {"scale": np.array([1.0])},
        {"beyond": np.array([np.nan, 0.0])},
        {"beyond_error": 0.0},
        {"known_scale": np.array([0, 3], dtype=np.int8)},
        {"known_scale": np.array([0, 1])},
        {"norms": None},
    ],
)
def test_impossible_facts_are_refused(bad):
    with pytest.raises(ParameterError):
        learned(**bad)
