"""Composition: several releases of the same people, one promise.

Owns what may be put together and what the result says. Costs are those of accounting.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Protocol, runtime_checkable

from dpcov.errors import ParameterError
from dpcov.privacy.accounting import events_epsilon, rounded_up
from dpcov.privacy.events import Approximate, Concentrated, Event, Gaussian, Pure, Selection
from dpcov.privacy.promise import ApproxDP, Neighbors, NoPromise, Promise, PureDP

__all__ = ["compose"]

# A promise has a positive epsilon; where delta alone pays, this is stated.
_SMALLEST_EPSILON = 1e-9


@runtime_checkable
class _Accounted(Protocol):
    """What a release can tell: its promise, and what was done to keep it."""

    @property
    def promise(self) -> Promise: ...

    @property
    def events(self) -> tuple[Event, ...]: ...


def compose(
    *parts: Event | Promise | _Accounted | Iterable[Event],
    delta: float | None = None,
    neighbors: Neighbors | str | None = None,
    privacy_unit: str | None = None,
    complete: bool = False,
) -> ApproxDP | PureDP:
    """Return what is promised to a person who is in several releases.

    Parameters
    ----------
    *parts : events, sequences of events, promises, releases
        What was released about the same people, in any order; each may depend on the others'
        results. Releases and events cost less than the promises that they were made for.
    delta : float, optional
        The delta of the result: the smallest epsilon is found for it. Needed when a part adds
        Gaussian noise. By default epsilons and deltas add up, as promises alone allow.
    neighbors : Neighbors or str, optional
        Which tables are compared. Promises and releases know it; bare events do not.
    privacy_unit : str, optional
        For bare events: the column that says whose row it is.
    complete : bool, default False
        For bare events: whether they were made for complete tables only.

    Returns
    -------
    PureDP or ApproxDP
        Pure when all parts are and no delta is stated.

    Notes
    -----
    Claim P21. What is asked may follow from earlier answers; how much noise it gets must be
    fixed before the first of them.

    Examples
    --------
    >>> from dpcov.privacy import ApproxDP, Gaussian, PureDP, compose, gaussian_scale
    >>> print(compose(ApproxDP(1.0, 1e-6, "replace"), ApproxDP(1.0, 1e-6, "replace")))
    (2, 2e-06)-differential privacy, replace-one neighbors

    What was done says more than what was promised:

    >>> noise = Gaussian("moments", gaussian_scale(epsilon=1.0, delta=1e-6))
    >>> both = compose(noise, noise, delta=2e-6, neighbors="replace")
    >>> round(both.epsilon, 3)
    1.403

    Releases know their relation:

    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(scale=0.3, size=(5000, 4))
    >>> first, second = (
    ...     dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=1) for _ in range(2)
    ... )
    >>> compose(first, second, delta=2e-6).epsilon == both.epsilon
    True
    >>> print(compose(PureDP(0.5, "local"), PureDP(0.25, "local")))
    0.75-differential privacy in the local model
    """
    stated = [part for part in parts if isinstance(part, Promise)]
    events: list[Event] = []
    for part in parts:
        if isinstance(part, Promise):
            events.append(_as_event(part))
        elif isinstance(part, _Accounted):
            stated.append(part.promise)
            events += part.events
        else:
            events += _listed(part)
    bare = any(not isinstance(part, (Promise, _Accounted)) for part in parts)
    if not events:
        raise ParameterError("There is nothing to compose: state events, promises or releases.")
    promises = [_kept(promise) for promise in stated]
    if bare and neighbors is None:
        raise ParameterError(
            "neighbors must be stated for bare events: 'replace', 'add-remove' or 'local'."
        )
    relation = _agreed_relation(promises, neighbors)
    whose = _agreed_unit(promises, privacy_unit, bare=bare)
    complete = complete or any(promise.complete for promise in promises)
    epsilon, total = _cost(events, delta)
    if total == 0.0:
        if whose is None:
            return PureDP(epsilon, relation, complete=complete)
        raise ParameterError(
            "A promise for all rows of one privacy unit is stated with a delta; state delta=."
        )
    return ApproxDP(epsilon, total, relation, privacy_unit=whose, complete=complete)


def _cost(events: Sequence[Event], delta: float | None) -> tuple[float, float]:
    if delta is not None:
        return max(_SMALLEST_EPSILON, events_epsilon(events, delta=delta)), delta
    if any(isinstance(event, (Gaussian, Concentrated)) for event in events):
        raise ParameterError(
            "delta must be stated when a part adds Gaussian noise, which has no pure promise: "
            "compose(..., delta=1e-6)."
        )
    epsilons = [
        event.count * Fraction(event.range)
        if isinstance(event, Selection)
        else Fraction(event.epsilon)
        for event in events
        if not isinstance(event, (Gaussian, Concentrated))
    ]
    deltas = [Fraction(event.delta) for event in events if isinstance(event, Approximate)]
    return rounded_up(sum(epsilons, Fraction(0))), rounded_up(sum(deltas, Fraction(0)))


def _listed(part: object) -> list[Event]:
    listed = [part] if isinstance(part, Event) else part
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Iterable):
        listed = [None]
    events = list(listed)
    if any(not isinstance(event, Event) for event in events):
        raise ParameterError(
            "A part must be an event, a sequence of events, a promise or a release; got a value "
            f"of type {type(part).__name__}."
        )
    return events


def _as_event(promise: Promise) -> Event:
    kept = _kept(promise)
    if isinstance(kept, ApproxDP):
        return Approximate("promise", kept.epsilon, kept.delta)
    return Pure("promise", kept.epsilon)


def _kept(promise: Promise) -> ApproxDP | PureDP:
    if isinstance(promise, (ApproxDP, PureDP)):
        return promise
    why = f": {promise.reason}" if isinstance(promise, NoPromise) else ""
    raise ParameterError(f"A part promises nothing{why}. Nothing can be composed with it.")


def _agreed_relation(
    promises: Sequence[ApproxDP | PureDP], neighbors: Neighbors | str | None
) -> Neighbors:
    found = {promise.neighbors for promise in promises}
    if neighbors is not None:
        found.add(Neighbors.parse(neighbors))
    if len(found) > 1:
        names = " and ".join(sorted(repr(relation.value) for relation in found))
        raise ParameterError(
            f"neighbors must agree among the parts; got {names}. Promises about different "
            "neighbors do not add up."
        )
    return found.pop()


def _agreed_unit(
    promises: Sequence[ApproxDP | PureDP], privacy_unit: str | None, *, bare: bool
) -> str | None:
    found = {
        promise.privacy_unit if isinstance(promise, ApproxDP) else None for promise in promises
    }
    if bare or privacy_unit is not None:
        found.add(privacy_unit)
    if len(found) > 1:
        names = " and ".join(sorted("single rows" if of is None else repr(of) for of in found))
        raise ParameterError(
            f"The privacy unit must agree among the parts; got {names}. Promises about "
            "different units do not add up."
        )
    return found.pop()
