"""Claim P50, the walk: values and lines above it, against fractions and fifty digits."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpcov.privacy import fair_walk
from dpcov.privacy.fair_walk import walk_excess, walk_heights, walk_tangent
from wiring.planting import plant


def exact_excess(steps, place):
    """Return E (D − place)₊ as a fraction."""
    place = Fraction(place)
    terms = (
        math.comb(steps, heads) * max(Fraction(0), 2 * heads - steps - place)
        for heads in range(steps + 1)
    )
    return sum(terms, Fraction(0)) / 2**steps


@pytest.mark.claim("P50")
@pytest.mark.parametrize("steps", [1, 2, 3, 10, 57, 400])
def test_the_mean_excess_is_rounded_up_and_hardly_so(steps):
    for place in (0.0, 0.5, 1.0, steps / 7, steps / 2, steps - 0.25):
        truth = exact_excess(steps, place)
        assert truth <= Fraction(walk_excess(steps, place)) <= truth * (1 + Fraction(1, 10**10))


@pytest.mark.claim("P50")
@pytest.mark.parametrize("steps", [1, 2, 7, 100, 512])
def test_heights_on_the_lattice_are_rounded_up_and_hardly_so(steps):
    for place, height in zip(range(-steps, steps + 1, 2), walk_heights(steps), strict=True):
        truth = exact_excess(steps, place)
        assert truth <= Fraction(height) <= truth * (1 + Fraction(1, 10**10))


@pytest.mark.claim("P50")
@pytest.mark.parametrize("steps", [1001, 30_000, 1 << 18])
def test_binomial_probabilities_are_rounded_up_and_hardly_so(steps):
    with mpmath.workdps(50):
        for lean in (0.0, 3.0, 6.0, 20.0, 29.9):
            heads = int((steps + lean * math.sqrt(steps)) / 2)
            truth = mpmath.binomial(steps, heads) / mpmath.mpf(2) ** steps
            assert truth * (1 - mpmath.mpf("1e-12")) <= fair_walk._half_binomial(steps, heads)
            assert fair_walk._half_binomial(steps, heads) <= truth * (1 + 1e-5)


@pytest.mark.claim("P50")
@pytest.mark.parametrize("steps", [1001, 1020])
@pytest.mark.parametrize("share", [0, 1])
def test_only_heads_and_only_tails_are_as_likely_as_any_sequence(steps, share):
    assert Fraction(fair_walk._half_binomial(steps, share * steps)) == Fraction(1, 2**steps)


@pytest.mark.parametrize("steps", [1, 40, 5000])
def test_there_are_never_more_heads_than_coins_nor_less_than_none(steps):
    assert fair_walk._half_binomial(steps, steps + 1) == 0.0
    assert fair_walk._half_binomial(steps, -1) == 0.0


@pytest.mark.parametrize("steps", [40, 1001, 30_000])
def test_so_many_heads_are_as_likely_as_so_many_tails(steps):
    for heads in (steps // 2, steps // 2 - 17, steps // 3, steps // 40, 1):
        tails = fair_walk._half_binomial(steps, steps - heads)
        assert fair_walk._half_binomial(steps, heads) == pytest.approx(tails, rel=1e-10, abs=0)


@pytest.mark.claim("P50")
@pytest.mark.parametrize("steps", [300, 700, 1000])
@pytest.mark.parametrize("place", [0, 9, 32, 61])
def test_what_is_left_out_of_a_sum_is_added(steps, place):
    # Roundings of at most a thousand terms are less than what is left out.
    first = (steps + place) // 2 + 1
    found, _ = fair_walk._sums(steps, first, float(place))
    assert exact_excess(steps, place) <= Fraction(found) * (1 + Fraction(5, 10**14))


@pytest.mark.claim("P50")
@pytest.mark.parametrize("steps", [1500, 20_000])
@pytest.mark.parametrize("deviations", [25.0, 26.0, 27.5, 30.0])
def test_where_squares_of_probabilities_are_no_floats_bounds_hold_and_are_close(steps, deviations):
    place = deviations * math.sqrt(steps)
    heads = math.floor((steps + place) / 2) + 1
    with mpmath.workdps(30):
        mass, truth = mpmath.binomial(steps, heads) / mpmath.mpf(2) ** steps, mpmath.mpf(0)
        for j in range(heads, min(steps, heads + 1000) + 1):  # the rest is beyond 30 digits
            truth += mass * (2 * j - steps - mpmath.mpf(place))
            mass *= mpmath.mpf(steps - j) / (j + 1)
        assert truth <= walk_excess(steps, place) <= truth * (1 + mpmath.mpf("1e-6"))
        log_value, slope, touched = walk_tangent(steps, place)
        assert mpmath.log(truth) <= log_value - slope * (place - touched)


def lines_that_cross(steps_tried=(1, 2, 3, 4, 9, 30, 150)):
    """Return walks with a line that is somewhere below the logarithm of their mean excess."""
    found = []
    for steps in steps_tried:
        for touch in (0.0, 1.0, math.sqrt(steps), 3.3 * math.sqrt(steps), 2.0 * steps):
            log_value, slope, place = fair_walk.walk_tangent(steps, touch)
            for d in np.linspace(-steps - 4, steps - 0.01, 61):
                truth = math.log(exact_excess(steps, float(d)))
                if truth > log_value - slope * (d - place) + 1e-12:
                    found.append((steps, touch, d))
    return found


@pytest.mark.claim("P50")
def test_the_line_is_nowhere_below_the_logarithm_of_the_mean_excess():
    assert lines_that_cross() == []


@pytest.mark.claim("P50")
@pytest.mark.parametrize("steps", [150, 400, 900])
@pytest.mark.parametrize("deviations", [5.0, 8.0, 11.0])
def test_far_out_the_line_is_above_between_the_points_of_the_lattice(steps, deviations):
    log_value, slope, place = walk_tangent(steps, deviations * math.sqrt(steps))
    for d in np.linspace(place - 4, min(place + 4, steps - 0.5), 17):
        assert math.log(exact_excess(steps, float(d))) <= log_value - slope * (d - place)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("steepness**2 / 8", "0"),
        ("2.0 * at - steps\n", "2.0 * (at - 1) - steps\n"),
        ("steepness / 2, ", "steepness, "),
    ],
)
def test_a_line_that_is_too_low_is_found(monkeypatch, old, new):
    plant(monkeypatch, "privacy.fair_walk:walk_tangent", old, new)
    assert lines_that_cross()


@pytest.mark.claim("P50")
@pytest.mark.parametrize("steps", [300, 5000, 1 << 18])
def test_the_normal_bound_is_above_the_walk_and_close_to_it(monkeypatch, steps):
    places = [z * math.sqrt(steps) for z in (0.0, 0.5, 2.0, 5.0, 9.0)]
    exact = [walk_excess(steps, place) for place in places]
    monkeypatch.setattr(fair_walk, "_EXACT_STEPS", 0)
    for place, truth in zip(places, exact, strict=True):
        assert truth <= walk_excess(steps, place)
        assert steps < 1 << 18 or walk_excess(steps, place) <= truth * 1.05
        log_value, slope, touched = walk_tangent(steps, place)
        for other, excess in zip(places, exact, strict=True):
            assert math.log(excess) <= log_value - slope * (other - touched)


@pytest.mark.claim("P50")
@pytest.mark.parametrize("steps", [(1 << 18) + 1, 10**7, 10**10])
@pytest.mark.parametrize("deviations", [0.0, 0.3, 2.0, 11.0, 25.0, 28.0, 29.0, 30.0])
def test_the_normal_bound_is_rounded_up_and_hardly_so(steps, deviations):
    place = deviations * math.sqrt(steps)
    with mpmath.workdps(50):
        t = (mpmath.mpf(place) - 2) / mpmath.sqrt(steps)
        truth = mpmath.sqrt(steps) * (mpmath.npdf(t) - t * mpmath.ncdf(-t))
        room = mpmath.mpf("2e-11") * (1 + t**2)
        assert truth <= walk_excess(steps, place) <= truth * (1 + room)


@pytest.mark.claim("P50")
@pytest.mark.parametrize("steps", [10, 101, 4000])
def test_heads_and_a_normal_variable_are_coupled_as_tusnady_says(steps):
    # The quantile coupling: heads ≤ k where Y ≤ Φ⁻¹(P(heads ≤ k)). The worst Y is the least
    # one for each number of heads above the half.
    heads = np.arange(steps // 2 + 1, steps + 1)
    least = stats.norm.isf(stats.binom.sf(heads - 1, steps, 0.5))
    assert (heads - steps / 2 <= 1 + math.sqrt(steps) * np.maximum(least, 0) / 2 + 1e-9).all()


def test_far_places_are_taken_for_nearer_ones():
    assert 0 < walk_excess(10**6, 9e5) < 1e-180
    assert walk_tangent(10**6, 9e5) == walk_tangent(10**6, 3e4)
