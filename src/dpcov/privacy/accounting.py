"""Accounting: what events cost together.

Owns the reading of events: a delta for an epsilon, an epsilon for a delta, and shares. There
are several valid bounds and the smallest is returned, rounded toward privacy. Events hold
what was done, so a better bound is found for old ones, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dpcov.bisection import smallest_safe
from dpcov.errors import ParameterError
from dpcov.parameters import check_number
from dpcov.privacy.adaptive import LARGEST_RANGE, MOST_ROUNDS, adaptive_delta
from dpcov.privacy.events import Approximate, Concentrated, Event, Gaussian, Pure, Selection
from dpcov.privacy.zcdp import zcdp_cost, zcdp_delta

__all__ = ["event_shares", "events_delta", "events_epsilon", "events_rho", "rounded_up"]

_LARGEST_EPSILON = 1e6
_DOWN = 1 - 2.0**-50  # a handful of correctly rounded operations
_UP = 1 + 2.0**-48


def events_delta(events: Iterable[Event], *, epsilon: float) -> float:
    """Return the delta that events pay for together at an epsilon.

    Parameters
    ----------
    events : iterable of Gaussian, Selection, Pure, Approximate or Concentrated
        In any order; each may depend on what those before returned.
    epsilon : float
        In [0, 1e6].

    Notes
    -----
    Claim P21. The smallest of: the exact bound of P13, for at most 32 rounds of choices and
    pure promises; zCDP (P9); and both with pure parts, or all rounds, taken off epsilon. The
    exceptions of approximate parts add to it. Gaussians alone are exact; with a part that is
    known by its ρ alone there is only zCDP.

    Examples
    --------
    >>> both = [Gaussian("first", 5.0), Gaussian("second", 5.0)]
    >>> f"{events_delta(both, epsilon=1.0):.3e}"
    '2.345e-05'
    """
    epsilon = check_number(
        "epsilon", epsilon, low=0.0, high=_LARGEST_EPSILON, open_low=False, open_high=False
    )
    return _delta(_sorted(events), epsilon)


def events_epsilon(events: Iterable[Event], *, delta: float) -> float:
    """Return the epsilon that events pay for together at a delta, rounded up.

    Parameters
    ----------
    events : iterable of Gaussian, Selection, Pure, Approximate or Concentrated
        In any order.
    delta : float
        In [1e-300, 1), and more than the deltas of approximate events add up to.

    Returns
    -------
    float
        0 when `delta` alone pays for all of them.

    Examples
    --------
    >>> release = [Selection("radius", 0.1), Gaussian("moments", 3.815)]
    >>> round(events_epsilon(release, delta=1e-5), 3)
    1.0
    >>> round(events_epsilon(2 * release, delta=2e-5), 3)  # and not 2
    1.401
    """
    delta = check_number("delta", delta, low=1e-300, high=1.0, open_low=False)
    parts = _sorted(events)
    if parts.exceptions > delta:
        raise ParameterError(
            "delta must be no less than the deltas of the parts together, which is "
            f"{parts.exceptions!r}; got {delta!r}."
        )

    def is_safe(epsilon: float) -> bool:
        if epsilon > _LARGEST_EPSILON:
            raise ParameterError(
                "At this delta the parts together cost more than any epsilon that means "
                "something, 1e6. State a larger delta, or fewer parts."
            )
        return _delta(parts, epsilon) <= delta

    return 0.0 if is_safe(0.0) else smallest_safe(is_safe, start=1.0, otherwise="unreachable")


def events_rho(events: Iterable[Event]) -> float:
    """Return what events cost together in zCDP, rounded up.

    Exceptions of approximate events are not in it: they add to delta.

    Examples
    --------
    >>> round(events_rho([Gaussian("first", 5.0), Gaussian("second", 5.0)]), 6)
    0.04
    """
    return math.fsum(zcdp_cost(event) for event in events) * _UP


def event_shares(events: Sequence[Event]) -> list[float]:
    """Return the share of each event in what all of them cost in zCDP; they add up to 1.

    Examples
    --------
    >>> shares = event_shares([Gaussian("scales", 10.0), Gaussian("moments", 5.0)])
    >>> [round(share, 3) for share in shares]
    [0.2, 0.8]
    """
    costs = [zcdp_cost(event) for event in events]
    whole = sum(costs)
    return [cost / whole for cost in costs]


def rounded_up(exact: Fraction) -> float:
    """Return the smallest float that is no less.

    Examples
    --------
    >>> rounded_up(Fraction(3, 4)), rounded_up(Fraction(1, 3)) > Fraction(1, 3)
    (0.75, True)
    """
    nearest = float(exact)
    return nearest if nearest >= exact else math.nextafter(nearest, math.inf)


@dataclass(frozen=True)
class _Parts:
    """What the bounds need to know of a list of events."""

    multiplier: float
    """Of all Gaussian noise together, rounded down; infinite if there is none."""
    selections: tuple[Selection, ...]
    pure: tuple[float, ...]
    exceptions: float
    rho: float
    """Of all parts, but for exceptions."""
    rho_without_pure: float
    concentrated: bool
    """Whether a part is known by its ρ alone: then no bound but that of zCDP holds."""


def _sorted(events: Iterable[Event]) -> _Parts:
    listed = tuple(events)
    if not listed or any(not isinstance(event, Event) for event in listed):
        raise ParameterError("There must be one event or more, and nothing but events.")
    pure = [event for event in listed if isinstance(event, (Pure, Approximate))]
    deltas = [Fraction(event.delta) for event in pure if isinstance(event, Approximate)]
    return _Parts(
        multiplier=_joint([event.multiplier for event in listed if isinstance(event, Gaussian)]),
        selections=tuple(event for event in listed if isinstance(event, Selection)),
        pure=tuple(event.epsilon for event in pure),
        exceptions=rounded_up(sum(deltas, Fraction(0))),
        rho=events_rho(listed),
        rho_without_pure=events_rho(event for event in listed if event not in pure),
        concentrated=any(isinstance(event, Concentrated) for event in listed),
    )


def _joint(multipliers: Sequence[float]) -> float:
    """Gaussian pairs of distances 1/σ_i are one of distance √Σ 1/σ_i²."""
    if len(multipliers) <= 1:
        return multipliers[0] if multipliers else math.inf
    return _DOWN / math.sqrt(math.fsum((1 / each) ** 2 for each in multipliers))


def _delta(parts: _Parts, epsilon: float) -> float:
    best = min(_bounds(parts, epsilon), default=1.0)
    return min(1.0, best if not parts.exceptions else (best + parts.exceptions) * _UP)


def _bounds(parts: _Parts, epsilon: float) -> Iterator[float]:
    """Yield deltas of which each is enough, exceptions aside."""
    everything = Fraction(0)
    yield from _together(parts, epsilon, parts.pure, parts.rho)
    if parts.pure:
        everything += sum(map(Fraction, parts.pure))
        left = _rounded_down(Fraction(epsilon) - everything)
        if left >= 0:
            yield from _together(parts, left, (), parts.rho_without_pure)
    if parts.selections and not parts.concentrated:
        everything += sum(Fraction(each.range) * each.count for each in parts.selections)
        left = _rounded_down(Fraction(epsilon) - everything)
        if left >= 0:
            yield adaptive_delta(epsilon=left, multiplier=parts.multiplier)


def _together(
    parts: _Parts, epsilon: float, pure: tuple[float, ...], rho: float
) -> Iterator[float]:
    """Yield the exact bound, if there are few enough rounds, and that of zCDP."""
    rounds = sum(each.count for each in parts.selections) + len(pure)
    widest = max((*(each.range for each in parts.selections), *pure), default=0.0)
    if rounds <= MOST_ROUNDS and widest <= LARGEST_RANGE and not parts.concentrated:
        ranges = [each.range for each in parts.selections for _ in range(each.count)]
        yield adaptive_delta(epsilon=epsilon, multiplier=parts.multiplier, ranges=ranges, pure=pure)
    if (rounds or parts.concentrated) and rho > 0:  # for Gaussians alone the exact bound is below
        yield zcdp_delta(rho=rho, epsilon=epsilon)


def _rounded_down(number: Fraction) -> float:
    nearest = float(number)
    return nearest if nearest <= number else math.nextafter(nearest, -math.inf)
