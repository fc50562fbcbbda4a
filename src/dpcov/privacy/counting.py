"""Counting: what events add up to when each is chosen after the answers of those before.

Owns the two ways to count that hold even then, in exact fractions: squared distances of
Gaussians, and ρ of zCDP. Accounting is tighter where all noise was fixed beforehand; an account
that is kept over years may rely on these alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from enum import Enum
from fractions import Fraction
from functools import lru_cache

from dpcov.bisection import smallest_safe
from dpcov.errors import ParameterError
from dpcov.privacy.accounting import events_epsilon, rounded_up
from dpcov.privacy.events import Approximate, Concentrated, Event, Gaussian, Pure, Selection
from dpcov.privacy.gaussian import gaussian_scale
from dpcov.privacy.zcdp import zcdp_budget, zcdp_delta

__all__ = [
    "Counting",
    "counted_budget",
    "counted_cost",
    "counted_epsilon",
    "counting_for",
    "stated_delta",
]

_UP = 1 + 2.0**-40
_LINEAR_UP_TO, _ROOT_FROM = 1e-4, 500.0
_LEAST_RHO = 1e-30


class Counting(str, Enum):
    """What is added up: squared distances of Gaussians, or ρ of zCDP."""

    GAUSSIAN = "gaussian"
    ZCDP = "zcdp"


def counting_for(events: Iterable[Event]) -> Counting:
    """Return the way in which events cost least: fixed by the first that are charged.

    Examples
    --------
    >>> counting_for([Gaussian("moments", 4.0)]).value, counting_for([Pure("report", 1.0)]).value
    ('gaussian', 'zcdp')
    """
    only = all(isinstance(event, Gaussian) for event in events)
    return Counting.GAUSSIAN if only else Counting.ZCDP


def counted_cost(counting: Counting, event: Event) -> Fraction:
    """Return what an event adds, exactly or rounded up; exceptions of stated deltas are apart.

    Notes
    -----
    Claim P40. Gaussian noise of multiplier σ is a squared distance of 1/σ². A pure promise of ε
    is what noise of distance 2Φ⁻¹(e^ε/(1 + e^ε)) tells at most, and a choice of range η what a
    pure promise of η/2 does. In zCDP they cost 1/(2σ²), ε²/2 and η²/8.

    Examples
    --------
    >>> counted_cost(Counting.GAUSSIAN, Gaussian("moments", 4.0))
    Fraction(1, 16)
    >>> counted_cost(Counting.ZCDP, Selection("selection", 0.5, 8))
    Fraction(1, 4)
    """
    if counting is Counting.ZCDP:
        return _rho(event)
    if isinstance(event, Gaussian):
        return 1 / Fraction(event.multiplier) ** 2
    if isinstance(event, Selection):
        return event.count * Fraction(_distance(event.range / 2)) ** 2
    if isinstance(event, (Pure, Approximate)):
        return Fraction(_distance(event.epsilon)) ** 2
    raise ParameterError(
        "The account adds up distances of Gaussian noise, and a ρ of zCDP is none. If it was "
        "Gaussian noise, state its multiplier; or else a promise, as epsilon and delta."
    )


def counted_budget(counting: Counting, *, epsilon: float, delta: float) -> Fraction:
    """Return how much may be added up within a promise.

    Notes
    -----
    Claim P40. Noise whose multiplier is that of the promise has used it up, and no more fits.

    Examples
    --------
    >>> round(float(counted_budget(Counting.GAUSSIAN, epsilon=1.0, delta=1e-6)), 4)
    0.056
    """
    return _budget(counting, epsilon, delta)


def counted_epsilon(counting: Counting, cost: Fraction, *, delta: float) -> float:
    """Return the epsilon that a sum pays for at a delta, rounded up.

    Examples
    --------
    >>> one = counted_budget(Counting.GAUSSIAN, epsilon=1.0, delta=1e-6)
    >>> round(counted_epsilon(Counting.GAUSSIAN, 2 * one, delta=1e-6), 3)  # and not 2
    1.455
    """
    if cost == 0:
        return 0.0
    found = _EPSILONS[counting](cost, delta)
    # A sum that fits into a round promise has it, though searches end a hair beyond.
    near = float(f"{found:.10g}")
    fits = 0 < near < found and cost <= counted_budget(counting, epsilon=near, delta=delta)
    return near if fits else found


def stated_delta(events: Iterable[Event]) -> Fraction:
    """Return what the deltas of stated promises add up to, exactly.

    Examples
    --------
    >>> stated_delta([Approximate("counts", 0.5, 0.25), Gaussian("moments", 4.0)])
    Fraction(1, 4)
    """
    deltas = (Fraction(event.delta) for event in events if isinstance(event, Approximate))
    return sum(deltas, Fraction(0))


@lru_cache(maxsize=256)  # an account asks again for every line
def _budget(counting: Counting, epsilon: float, delta: float) -> Fraction:
    if counting is Counting.ZCDP:
        return Fraction(zcdp_budget(epsilon=epsilon, delta=delta))
    return 1 / Fraction(gaussian_scale(epsilon=epsilon, delta=delta)) ** 2


def _gaussian_epsilon(cost: Fraction, delta: float) -> float:
    multiplier = min(1e100, 1 / math.sqrt(rounded_up(cost)) / _UP)
    return events_epsilon([Gaussian("all", max(1e-100, multiplier))], delta=delta)


def _zcdp_epsilon(cost: Fraction, delta: float) -> float:
    rho = max(rounded_up(cost), _LEAST_RHO)

    def is_safe(epsilon: float) -> bool:
        return epsilon <= 1e6 and zcdp_delta(rho=rho, epsilon=epsilon) <= delta

    return smallest_safe(is_safe, start=1.0, otherwise="More was added up than means something.")


_EPSILONS = {Counting.GAUSSIAN: _gaussian_epsilon, Counting.ZCDP: _zcdp_epsilon}


def _rho(event: Event) -> Fraction:
    if isinstance(event, Gaussian):
        return 1 / (2 * Fraction(event.multiplier) ** 2)
    if isinstance(event, Selection):
        return event.count * Fraction(event.range) ** 2 / 8
    if isinstance(event, Concentrated):
        return Fraction(event.rho)
    return Fraction(event.epsilon) ** 2 / 2


def _distance(epsilon: float) -> float:
    """Return a distance of Gaussians that tells at least what a pure ε does.

    The root is a bound, and tight, for large ε: Φ(−√(2ε)) ≤ e^−ε/2 ≤ 1/(1 + e^ε). So is the
    line for small ones: the distance is concave in ε, with slope √(π/2) at zero.
    """
    if epsilon <= _LINEAR_UP_TO:
        return max(math.sqrt(math.pi / 2) * epsilon * _UP, 1e-150)
    if epsilon >= _ROOT_FROM:
        return math.sqrt(8 * epsilon) * _UP
    corner = 1 / (1 + math.exp(epsilon)) / _UP

    def is_safe(distance: float) -> bool:
        return math.erfc(distance / math.sqrt(8)) / 2 <= corner

    return smallest_safe(is_safe, start=1.0, otherwise="unreachable") * _UP
