"""What the strongest pairs will show, compared with numbers that are computed again."""

import math
from dataclasses import FrozenInstanceError

import pytest
from scipy import stats

from dpcov.detection import pairs_detectable
from dpcov.mechanisms import outlook
from dpcov.mechanisms.outlook import best_shares, pairs_outlook, typical_row_norm
from dpcov.mechanisms.pairs_calibration import calibrate_pairs
from dpcov.privacy import ApproxDP

PROMISE = ApproxDP(1.0, 1e-6, "replace")
FACTS = {"n_rows": 20_000, "n_columns": 100, "max_pairs": 50}


@pytest.mark.parametrize("n_columns", [30, 100, 2000])
def test_99_of_100_rows_stay_below_the_typical_norm(n_columns):
    below = stats.chi2(n_columns).cdf(typical_row_norm(n_columns) ** 2)
    assert 0.98 < below < 0.995


@pytest.mark.parametrize("center", ["stated", "differences", "learned"])
def test_an_outlook_has_the_noise_of_its_calibration(center):
    made = calibrate_pairs(promise=PROMISE, **FACTS, center=center)
    factor, noise = 1.0, made.noise_scale
    if center == "learned":
        # Signs of mean m have the variance 1 − m²; errors of two means are left as their product.
        mean = 2 * made.center_scale / 2**20 / 20_000 / math.sqrt(20)
        factor = 1 / (1 - mean**2)
        left = (made.sign_scale / 2**20 / 20_000) ** 2
        noise = math.hypot(factor * noise, left)
        assert left < mean**2 < 0.5
    found = pairs_outlook(PROMISE, **FACTS, center=center)
    assert found.mechanism == "pairs"
    assert found.noise_scale == pytest.approx(math.pi / 2 * noise, rel=1e-12)
    shown = [
        pairs_detectable(
            n_columns=100,
            n_terms=10_000 if center == "differences" else 20_000,
            max_pairs=50,
            selection_scale=factor * made.selection_scale,
            noise_scale=noise,
            power=power,
        )
        for power in (0.5, 0.9)
    ]
    assert [found.shown_half, found.shown_most] == pytest.approx(shown, rel=1e-9)


def test_an_outlook_cannot_be_changed():
    found = pairs_outlook(PROMISE, **FACTS, center="stated")
    with pytest.raises(FrozenInstanceError):
        found.shown_half = 0.0


def test_centers_that_are_lost_in_noise_weaken_pairs_by_half_at_most():
    made = calibrate_pairs(promise=PROMISE, **FACTS | {"n_rows": 10}, center="learned")
    assert outlook._noise_of_centers(made) == (2.0, 0.5)


@pytest.mark.parametrize(("center", "both"), [("learned", 0.8), ("differences", 1.0)])
def test_no_other_split_shows_a_smaller_correlation(center, both):
    best = best_shares(PROMISE, **FACTS, center=center)
    assert sum(best.values()) == pytest.approx(both)

    def shown(selection):
        shares = {"selection": both * selection, "values": both * (1 - selection)}
        return pairs_outlook(PROMISE, **FACTS, center=center, shares=shares).shown_half

    least = shown(best["selection"] / both)
    assert all(least <= shown(step / 20) for step in range(2, 19))
    assert 0.1 <= best["selection"] / both <= 0.9


def test_where_no_split_shows_anything_both_have_a_half():
    best = best_shares(PROMISE, **FACTS | {"n_rows": 10}, center="differences")
    assert best == {"selection": 0.5, "values": 0.5}


def test_where_nearly_all_pairs_are_released_the_selection_has_a_tenth():
    facts = {"n_rows": 2000, "n_columns": 10, "max_pairs": 44}
    best = best_shares(PROMISE, **facts, center="differences")
    assert best == {"selection": 0.1, "values": 0.9}
