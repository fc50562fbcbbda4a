"""Promises: what is guaranteed, to whom, and what it means in words.

Owns the values that state a guarantee. Computes no noise and sees no data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from dpcov.errors import ParameterError
from dpcov.parameters import check_member, check_number

__all__ = ["WEAK_EPSILON", "ApproxDP", "Neighbors", "NoPromise", "Promise", "PureDP"]

WEAK_EPSILON = 3.0
"""Beyond it a promise is called weak, with a warning."""

_NO_DEFAULT = "There is no default: epsilon states how much one person may be exposed."
_WHAT_DELTA_IS = "Choose it positive and well below 1 / n_rows."


class Neighbors(str, Enum):
    """Which two tables an attacker must not be able to tell apart.

    Examples
    --------
    >>> Neighbors.parse("add-remove")
    <Neighbors.ADD_REMOVE: 'add-remove'>
    """

    REPLACE = "replace"
    ADD_REMOVE = "add-remove"
    LOCAL = "local"

    @classmethod
    def parse(cls, value: object) -> Neighbors:
        """Return the relation that `value` names, or refuse with the list of names."""
        return check_member("neighbors", value, cls)

    @property
    def in_words(self) -> str:
        """The relation as a sentence fragment."""
        if self is Neighbors.REPLACE:
            return "tables that differ in the whole row of one person"
        if self is Neighbors.LOCAL:
            return (
                "any two rows that the person may have, and holds against whoever collects the "
                "reports, too: the row never leaves the person's device"
            )
        return (
            "tables of which one has, in the place of one person's row, a row that adds nothing "
            "(zeros about the center, or no cells at all); the number of rows is public"
        )

    def in_words_of_units(self, privacy_unit: str) -> str:
        """Return the relation for people who have all rows with one entry in a column."""
        whose = f"all rows of one {privacy_unit!r}; which rows belong together is public"
        if self is Neighbors.ADD_REMOVE:
            return (
                f"tables of which one has rows that add nothing in the place of {whose}, and so "
                "is the number of rows"
            )
        return f"tables that differ in the cells of {whose}"

    @property
    def domain_in_words(self) -> str:
        """What a promise says that holds only where no cell is missing."""
        if self is Neighbors.LOCAL:
            return (
                "It holds among complete rows, without missing or infinite cells: for others a "
                "device sends nothing, and its silence tells so."
            )
        return (
            "It holds among complete tables, without missing or infinite cells: others are "
            "refused, and the release itself tells that nobody's cell is missing."
        )


@dataclass(frozen=True)
class Promise:
    """What every promise can say: `str` gives the short form, `in_words` the long one."""

    @property
    def in_words(self) -> str:
        """What the promise means, for a reader who is not a privacy researcher."""
        raise TypeError("a Promise says nothing; use ApproxDP, PureDP or NoPromise")


@dataclass(frozen=True)
class ApproxDP(Promise):
    """(epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon : float
        An event of probability q becomes one of at most e^epsilon · q + delta when one
        person's row changes. Positive.
    delta : float
        In [1e-300, 1).
    neighbors : Neighbors or str
        ``"replace"``, ``"add-remove"`` or ``"local"``.
    privacy_unit : str, optional
        The column that says whose row it is, when the promise is about all rows of one privacy unit
        together. By default it is about single rows.
    complete : bool, default False
        Whether it holds among complete tables only, since others are refused.

    Examples
    --------
    >>> promise = ApproxDP(1.0, 1e-6, "replace")
    >>> print(promise)
    (1, 1e-06)-differential privacy, replace-one neighbors
    >>> round(promise.attack_power(0.05), 3)
    0.136
    """

    epsilon: float
    delta: float
    neighbors: Neighbors
    privacy_unit: str | None = None
    complete: bool = False

    if TYPE_CHECKING:  # the relation may be given by its name

        def __init__(
            self,
            epsilon: float,
            delta: float,
            neighbors: Neighbors | str,
            privacy_unit: str | None = ...,
            complete: bool = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        epsilon = _checked_epsilon(self.epsilon)
        delta = check_number(
            "delta", self.delta, low=1e-300, high=1.0, open_low=False, advice=_WHAT_DELTA_IS
        )
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "delta", delta)
        object.__setattr__(self, "neighbors", Neighbors.parse(self.neighbors))
        if not (self.privacy_unit is None or isinstance(self.privacy_unit, str)):
            raise ParameterError("privacy_unit must be the name of a column.")
        _check_complete(self.complete)

    def __str__(self) -> str:
        return (
            f"({_plain(self.epsilon)}, {_plain(self.delta)})-differential privacy"
            f"{_relation_name(self.neighbors)}"
            f"{'' if self.privacy_unit is None else f', for all rows of one {self.privacy_unit!r}'}"
        )

    @property
    def in_words(self) -> str:
        """What the promise means, for a reader who is not a privacy researcher."""
        words = _in_words(self.epsilon, self.delta, self.neighbors, self.privacy_unit)
        return f"{words} {self.neighbors.domain_in_words}" if self.complete else words

    def attack_power(self, false_alarm: float) -> float:
        """Return the best chance to detect one person at a given false-alarm rate.

        Notes
        -----
        No test between two neighboring tables with false-alarm rate α is more powerful
        than min(e^ε α + δ, 1 − e^−ε (1 − α − δ)) (Wasserman and Zhou 2010, Kairouz et
        al. 2015).
        """
        return _attack_power(self.epsilon, self.delta, false_alarm)


@dataclass(frozen=True)
class PureDP(Promise):
    """epsilon-differential privacy, with no exception.

    Parameters
    ----------
    epsilon : float
        Positive.
    neighbors : Neighbors or str
        ``"replace"``, ``"add-remove"`` or ``"local"``.
    complete : bool, default False
        Whether it holds among complete tables, or rows, only, since others are refused.

    Examples
    --------
    >>> print(PureDP(2.0, "replace"))
    2-differential privacy, replace-one neighbors
    """

    epsilon: float
    neighbors: Neighbors
    complete: bool = False

    if TYPE_CHECKING:  # the relation may be given by its name

        def __init__(
            self, epsilon: float, neighbors: Neighbors | str, complete: bool = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", _checked_epsilon(self.epsilon))
        object.__setattr__(self, "neighbors", Neighbors.parse(self.neighbors))
        _check_complete(self.complete)

    def __str__(self) -> str:
        return f"{_plain(self.epsilon)}-differential privacy{_relation_name(self.neighbors)}"

    @property
    def in_words(self) -> str:
        """What the promise means, for a reader who is not a privacy researcher."""
        words = _in_words(self.epsilon, 0.0, self.neighbors)
        return f"{words} {self.neighbors.domain_in_words}" if self.complete else words

    def attack_power(self, false_alarm: float) -> float:
        """Return the best chance to detect one person at a given false-alarm rate."""
        return _attack_power(self.epsilon, 0.0, false_alarm)


@dataclass(frozen=True)
class NoPromise(Promise):
    """Nothing is promised, and why.

    Examples
    --------
    >>> print(NoPromise("simulated with a seed"))
    no promise: simulated with a seed
    """

    reason: str

    def __str__(self) -> str:
        return f"no promise: {self.reason}"

    @property
    def in_words(self) -> str:
        """What the promise means, for a reader who is not a privacy researcher."""
        return f"Nothing is promised to anybody: {self.reason}. Do not publish this."


def _checked_epsilon(value: object) -> float:
    return check_number("epsilon", value, low=0.0, high=1e6, open_high=False, advice=_NO_DEFAULT)


def _check_complete(value: object) -> None:
    if not isinstance(value, bool):
        raise ParameterError("complete must be True or False.")


def _plain(number: float) -> str:
    # All digits: a promise is never printed as smaller than it is.
    return repr(number).removesuffix(".0")


def _relation_name(neighbors: Neighbors) -> str:
    return {
        Neighbors.REPLACE: ", replace-one neighbors",
        Neighbors.ADD_REMOVE: ", add-remove (n public) neighbors",
        Neighbors.LOCAL: " in the local model",
    }[neighbors]


def _in_words(
    epsilon: float, delta: float, neighbors: Neighbors, privacy_unit: str | None = None
) -> str:
    factor = _three_digits_up(math.exp(epsilon)) if epsilon < 20 else f"e^{_plain(epsilon)}"
    more = f" + {_plain(delta)}" if delta > 0 else ""
    rows = "row been another" if privacy_unit is None else "rows been others"
    compared = (
        neighbors.in_words if privacy_unit is None else neighbors.in_words_of_units(privacy_unit)
    )
    return (
        "Take anything that somebody may conclude about a person from this release. If they "
        f"would conclude it with probability q had that person's {rows}, they conclude "
        f"it with probability at most {factor} q{more} as it is. The promise compares "
        f"{compared}."
    )


def _three_digits_up(value: float) -> str:
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / step) * step:.3g}"


def _attack_power(epsilon: float, delta: float, false_alarm: float) -> float:
    alpha = check_number(
        "false_alarm", false_alarm, low=0.0, high=1.0, open_low=False, open_high=False
    )
    # math.exp overflows past 709; there the bound says nothing but for alpha = 0.
    rising = math.exp(epsilon) * alpha + delta if epsilon < 700 else delta + float(alpha > 0)
    falling = 1.0 - math.exp(-epsilon) * max(0.0, 1.0 - alpha - delta)
    return min(1.0, rising, falling)
