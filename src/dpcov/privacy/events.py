"""Events: what the steps of a mechanism did, as records that last.

Owns the records and their written form. An event holds what a step did (how much noise, how
far a choice may leak), never what that costs: accounting says so, and may learn to say it
better after the event was written down. Computes nothing.

The written form is a JSON object with the word ``kind`` and the fields of the record. It is
documented in docs/privacy.md, with a test vector; a reader refuses what it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from dpcov.errors import ParameterError
from dpcov.parameters import check_count, check_number

__all__ = [
    "Approximate",
    "Concentrated",
    "Event",
    "Gaussian",
    "Pure",
    "Selection",
    "event_from_dict",
    "event_to_dict",
]

# Squares of these, and sums of them, are ordinary floats. Nothing useful lies beyond.
_SMALLEST, _LARGEST = 1e-100, 1e100
_MOST_ROUNDS = 10**15
_MOST_LETTERS = 200


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise was added to numbers that one person can move by a known distance.

    Parameters
    ----------
    name : str
        What the step was for.
    multiplier : float
        The standard deviation of the noise over the ℓ₂ sensitivity, as planned: the noise that
        was drawn is never less.

    Examples
    --------
    >>> Gaussian("moments", 3.731).in_words
    'Gaussian noise of 3.731 sensitivities'
    """

    name: str
    multiplier: float

    def __post_init__(self) -> None:
        _check_name(self.name)
        _set_number(self, "multiplier")

    @property
    def in_words(self) -> str:
        """What was done, for a reader."""
        return f"Gaussian noise of {self.multiplier:.6g} sensitivities"


@dataclass(frozen=True)
class Selection:
    """Choices were made, each with a privacy loss of known range, one after the other.

    Parameters
    ----------
    name : str
        What the step was for.
    range : float
        The length of the interval in which the privacy loss of each choice lies: 2Δ/s for an
        exponential mechanism, or Gumbel noise, of scale s on scores that move by at most Δ.
    count : int, default 1
        How many choices.

    Examples
    --------
    >>> Selection("selection", 0.025, 200).in_words
    '200 choices, each with a privacy loss of range 0.025'
    """

    name: str
    range: float
    count: int = 1

    def __post_init__(self) -> None:
        _check_name(self.name)
        _set_number(self, "range")
        count = check_count("count", self.count, low=1, high=_MOST_ROUNDS)
        object.__setattr__(self, "count", count)

    @property
    def in_words(self) -> str:
        """What was done, for a reader."""
        if self.count == 1:
            return f"a choice with a privacy loss of range {self.range:.6g}"
        return f"{self.count} choices, each with a privacy loss of range {self.range:.6g}"


@dataclass(frozen=True)
class Pure:
    """Something was released with a pure promise, by whatever means.

    Parameters
    ----------
    name : str
        What it was.
    epsilon : float
        Positive.

    Examples
    --------
    >>> Pure("report", 1.0).in_words
    '1-differential privacy'
    """

    name: str
    epsilon: float

    def __post_init__(self) -> None:
        _check_name(self.name)
        _set_number(self, "epsilon", low=0.0, high=1e6)

    @property
    def in_words(self) -> str:
        """What was done, for a reader."""
        return f"{_plain(self.epsilon)}-differential privacy"


@dataclass(frozen=True)
class Approximate:
    """Something was released with an (ε, δ) promise, by whatever means: another tool's, say.

    Parameters
    ----------
    name : str
        What it was.
    epsilon : float
        Positive.
    delta : float
        In [1e-300, 1).

    Examples
    --------
    >>> Approximate("counts of another tool", 0.5, 1e-9).in_words
    '(0.5, 1e-09)-differential privacy'
    """

    name: str
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _check_name(self.name)
        _set_number(self, "epsilon", low=0.0, high=1e6)
        delta = check_number("delta", self.delta, low=1e-300, high=1.0, open_low=False)
        object.__setattr__(self, "delta", delta)

    @property
    def in_words(self) -> str:
        """What was done, for a reader."""
        return f"({_plain(self.epsilon)}, {_plain(self.delta)})-differential privacy"


@dataclass(frozen=True)
class Concentrated:
    """Something was released with a promise of zCDP, by whatever means: another tool's, say.

    Parameters
    ----------
    name : str
        What it was.
    rho : float
        Positive: every Rényi divergence of order α is at most ρα.

    Examples
    --------
    >>> Concentrated("tables of another tool", 0.05).in_words
    '0.05-zero-concentrated differential privacy'
    """

    name: str
    rho: float

    def __post_init__(self) -> None:
        _check_name(self.name)
        _set_number(self, "rho", high=1e6)

    @property
    def in_words(self) -> str:
        """What was done, for a reader."""
        return f"{_plain(self.rho)}-zero-concentrated differential privacy"


Event = Gaussian | Selection | Pure | Approximate | Concentrated

_KINDS: dict[str, type[Event]] = {
    "gaussian": Gaussian,
    "selection": Selection,
    "pure": Pure,
    "approximate": Approximate,
    "concentrated": Concentrated,
}


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return the written form of an event: plain values, ready for JSON.

    Parameters
    ----------
    event : Event
        What was done.

    Examples
    --------
    >>> event_to_dict(Selection("radius", 0.1))
    {'kind': 'selection', 'name': 'radius', 'range': 0.1, 'count': 1}
    """
    for kind, of in _KINDS.items():
        if type(event) is of:
            return {"kind": kind} | {field.name: getattr(event, field.name) for field in fields(of)}
    raise ParameterError(f"This is no event, but a value of type {type(event).__name__}.")


def event_from_dict(facts: Mapping[str, Any]) -> Event:
    """Return the event that was written down, or refuse.

    Numbers must be numbers, finite and in range; no field may be missing, unknown or of
    another type. ``1`` is accepted for ``1.0``, since some writers of JSON do not tell them
    apart; ``1.0`` is no count.

    Parameters
    ----------
    facts : mapping
        The written form: see docs/privacy.md.

    Examples
    --------
    >>> event_from_dict({"kind": "gaussian", "name": "moments", "multiplier": 3.731})
    Gaussian(name='moments', multiplier=3.731)
    """
    kind = facts.get("kind") if isinstance(facts, Mapping) else None
    record = _KINDS.get(kind) if isinstance(kind, str) else None
    if record is None:
        raise ParameterError(
            f"An event must be an object whose kind is one of {', '.join(_KINDS)}."
        )
    wanted = [field.name for field in fields(record)]
    if set(facts) != {"kind", *wanted}:
        raise ParameterError(f"An event of kind {kind} must have the fields {', '.join(wanted)}.")
    return record(**{name: facts[name] for name in wanted})


def _check_name(name: object) -> None:
    if not (isinstance(name, str) and name.isprintable() and 0 < len(name) <= _MOST_LETTERS):
        raise ParameterError(
            f"The name of an event must be a string of 1 to {_MOST_LETTERS} printable letters."
        )


def _set_number(event: Event, name: str, low: float = _SMALLEST, high: float = _LARGEST) -> None:
    number = check_number(name, getattr(event, name), low=low, high=high, open_high=False)
    object.__setattr__(event, name, number)


def _plain(number: float) -> str:
    # All digits: what is spent is never printed as less than it is.
    return repr(number).removesuffix(".0")
