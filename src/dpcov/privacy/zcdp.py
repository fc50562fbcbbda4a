"""Zero-concentrated differential privacy: costs that add up.

Owns what an event costs in it, and the way to (ε, δ) and back. A mechanism is ρ-zCDP if all
its Rényi divergences between neighbors satisfy D_α ≤ ρα; the ρ of events add up, whatever
each sees of those before (Bun and Steinke 2016). Every number is rounded toward privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

from dpcov.bisection import bracket
from dpcov.errors import ParameterError
from dpcov.parameters import check_number
from dpcov.privacy.events import Concentrated, Event, Gaussian, Selection

__all__ = ["selection_scale", "zcdp_budget", "zcdp_cost", "zcdp_delta"]

_UP = 1 + 2.0**-48  # a handful of correctly rounded operations
_LARGEST_ORDER = 1e12


def zcdp_cost(event: Event) -> float:
    """Return the ρ of an event, rounded up.

    Notes
    -----
    Claim P9. Gaussian noise of multiplier σ costs 1/(2σ²); k choices with losses of range η
    cost k η²/8 (Cesar and Rogers 2021); a pure ε is a choice of range 2ε. So is an (ε, δ)
    promise, but for an exception of probability δ, which accounting adds to δ.

    Examples
    --------
    >>> round(zcdp_cost(Gaussian("values", 5.0)), 9)
    0.02
    >>> round(zcdp_cost(Selection("selection", 0.04, 200)), 9)
    0.04
    """
    if isinstance(event, Gaussian):
        return (1 / event.multiplier) ** 2 / 2 * _UP
    if isinstance(event, Selection):
        return _selection_cost(event.count, event.range)
    if isinstance(event, Concentrated):
        return event.rho
    return event.epsilon**2 / 2 * _UP


def _selection_cost(count: int, width: float) -> float:
    return count * width**2 / 8 * _UP


def selection_scale(*, count: int, sensitivity: int, rho: float) -> float:
    """Return the smallest Gumbel scale at which choosing `count` scores costs at most `rho`.

    Examples
    --------
    >>> round(selection_scale(count=200, sensitivity=2, rho=0.04), 6)
    100.0
    """
    scale = 2 * sensitivity * math.sqrt(count / (8 * rho))
    while _selection_cost(count, 2 * sensitivity / scale) > rho:
        scale *= 1 + 2.0**-47
    return scale


def zcdp_delta(*, rho: float, epsilon: float) -> float:
    """Return a delta for which ρ-zCDP implies (epsilon, delta)-differential privacy.

    Notes
    -----
    Claim P9. For every α > 1, ρ-zCDP implies δ = e^((α−1)(αρ−ε)) (1 − 1/α)^α / (α − 1)
    (Canonne, Kamath and Steinke 2020, Corollary 13). Any α may be used: a search that
    stops early costs tightness, never privacy. The result is rounded up.

    Examples
    --------
    >>> f"{zcdp_delta(rho=0.02, epsilon=1.0):.1e}"
    '8.8e-08'
    """
    rho = check_number("rho", rho, low=0.0, high=math.inf)
    epsilon = check_number("epsilon", epsilon, low=0.0, high=1e6, open_low=False, open_high=False)
    return min(1.0, max(1e-300, math.exp(min(0.0, _log_delta(rho, epsilon))) * _UP))


def zcdp_budget(*, epsilon: float, delta: float) -> float:
    """Return the largest ρ that an (epsilon, delta) promise allows to spend.

    Notes
    -----
    Claim P9. The returned ρ is the end of a bracket at which `zcdp_delta` was seen to be
    at most `delta`.

    Examples
    --------
    >>> round(zcdp_budget(epsilon=1.0, delta=1e-5), 4)
    0.0306
    """
    epsilon = check_number("epsilon", epsilon, low=0.0, high=1e6, open_high=False)
    delta = check_number("delta", delta, low=1e-300, high=1.0, open_low=False)
    return _largest_rho(epsilon, delta)


# A release of pairs asks five times, for the same promise.
@lru_cache(maxsize=128)
def _largest_rho(epsilon: float, delta: float) -> float:
    log_delta = math.log(delta)
    # ρ-zCDP never gives more than ε ≥ ρ + o(ρ) is worth, and ρ → 0 gives δ → 0.
    low, high = 0.0, 1.0
    while _log_delta(high, epsilon) <= log_delta:
        low, high = high, 2 * high
    low, _ = bracket(lambda rho: _log_delta(rho, epsilon) > log_delta, low, high)
    if low <= 0.0:
        raise ParameterError("This promise is too strong for any noise; raise epsilon or delta.")
    return low


def _log_delta(rho: float, epsilon: float) -> float:
    """Upper bound of log δ: the best α found, plus what rounding may hide."""

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)  # α − 1
        alpha = 1.0 + excess
        terms = (
            excess * (alpha * rho),
            -excess * epsilon,
            -log_excess,
            alpha * log_excess,
            -alpha * math.log1p(excess),
        )
        slip = 2.0**-46 * sum(abs(term) for term in terms)
        return math.fsum(terms) + slip

    # Bun and Steinke's order is near the best one; from there the bound rises on both sides.
    start = math.log(max(1e-9, min(_LARGEST_ORDER, (epsilon - rho) / (2 * rho))))
    return bound(_minimize(bound, start - 25.0, start + 25.0))


def _minimize(function: Callable[[float], float], low: float, high: float) -> float:
    """Golden-section search; the answer need not be exact."""
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(100):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if function(left) < function(right):
            high = right
        else:
            low = left
    return 0.5 * (low + high)
