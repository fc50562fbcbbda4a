"""Accounts: whose privacy is counted, what may be spent of it, and what was.

Owns what an account is, what can be compared with it, and whether a charge fits. Sums are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpcov.errors import BudgetError, LedgerError, ParameterError
from dpcov.ledger.numbers import number_from_text, number_to_text, ordinary
from dpcov.privacy import ApproxDP, Event, Neighbors
from dpcov.privacy.counting import (
    Counting,
    counted_budget,
    counted_cost,
    counted_epsilon,
    counting_for,
    stated_delta,
)

__all__ = ["Account", "Limit", "Terms", "check_words", "up"]

_MOST_LETTERS = 200
# Beyond so many digits a sum is rounded up, far below anything that an event can cost.
_MOST_BITS, _ROUNDED_BITS = 8192, 4096


def check_words(name: str, text: object, *, empty: bool = False) -> str:
    """Return a name or a reason that a line can hold."""
    fits = isinstance(text, str) and text.isprintable() and len(text) <= _MOST_LETTERS
    if isinstance(text, str) and fits and (text.strip() or (empty and not text)):
        return text
    raise ParameterError(
        f"{name} must be a text of 1 to {_MOST_LETTERS} printable letters, in one line."
    )


def up(number: float) -> str:
    """Return a number with four digits, rounded up: what is spent is never said to be less.

    Examples
    --------
    >>> up(1.45512), up(2.0), up(1e-6)
    ('1.456', '2', '1e-06')
    """
    if math.isinf(number):
        return "more than 1e6"
    text = f"{number:.4g}"
    if Fraction(text) < Fraction(number):
        step = Fraction(10) ** (int(f"{number:e}".split("e")[1]) - 3)
        text = f"{float(Fraction(text) + step):.4g}"
    return text


@dataclass(frozen=True)
class Limit:
    """What may be spent: a promise, and how much of its delta is for stated promises."""

    epsilon: float
    delta: float
    stated_delta: float = 0.0

    @classmethod
    def of(cls, epsilon: object, delta: object, stated: object = 0.0) -> Limit:
        """Return a limit, or refuse."""
        promise = ApproxDP(ordinary("epsilon", epsilon), ordinary("delta", delta), "replace")
        share = 0.0
        if not (isinstance(stated, (int, float)) and stated == 0 and not isinstance(stated, bool)):
            share = ordinary("stated_delta", stated)
        if share >= promise.delta:
            raise ParameterError(
                "stated_delta is the part of delta for promises that are stated as (epsilon, "
                "delta); it must be less than delta."
            )
        return cls(promise.epsilon, promise.delta, share)

    @property
    def noise_delta(self) -> float:
        """What is left of delta for noise, rounded down."""
        left = float(Fraction(self.delta) - Fraction(self.stated_delta))
        return left * (1 - 2.0**-50) if self.stated_delta else left

    def written(self) -> dict[str, str]:
        """Return its fields, as a line has them."""
        return {name: number_to_text(value) for name, value in vars(self).items()}

    @classmethod
    def read(cls, said: dict[str, Any]) -> Limit:
        """Return the limit that a line states."""
        return cls(*(number_from_text(said[name]) for name in ("epsilon", "delta", "stated_delta")))


@dataclass(frozen=True)
class Terms:
    """Whom an account is about: what must agree for promises to add up."""

    population: str
    owner: str
    neighbors: Neighbors
    privacy_unit: str | None
    counting: Counting | None
    """How costs are added up; None if the first charge decides."""
    data_sets: tuple[str, ...]
    """The only ones, if any are named."""

    @classmethod
    def of(
        cls,
        *,
        population: object,
        owner: object,
        neighbors: object,
        privacy_unit: object,
        counting: object,
        data_sets: Sequence[object],
    ) -> Terms:
        """Return the terms, or refuse."""
        named = tuple(check_words("A data set's name", name) for name in data_sets)
        if len(set(named)) != len(named):
            raise ParameterError("A data set is named twice.")
        return cls(
            check_words("population", population),
            check_words("owner", owner),
            Neighbors.parse(neighbors),
            None if privacy_unit is None else check_words("privacy_unit", privacy_unit),
            None if counting is None else _counting(counting),
            named,
        )

    def check(self, neighbors: Neighbors, privacy_unit: str | None, data_set: str) -> None:
        """Refuse what cannot be compared with what the account adds up."""
        # A promise about any two rows of a person says as much about tables.
        if neighbors not in (self.neighbors, Neighbors.LOCAL):
            raise LedgerError(
                f"The account {self.population!r} is about {self.neighbors.value!r} neighbors, "
                f"and this is about {neighbors.value!r}. Such promises do not add up."
            )
        if privacy_unit != self.privacy_unit:
            asked, kept = (
                "single rows" if unit is None else f"all rows of one {unit!r}"
                for unit in (privacy_unit, self.privacy_unit)
            )
            raise LedgerError(
                f"The account {self.population!r} protects {kept}, and this is about {asked}. "
                "Such promises do not add up."
            )
        if self.data_sets and data_set not in self.data_sets:
            raise LedgerError(
                f"The account {self.population!r} is about the data sets "
                f"{', '.join(map(repr, self.data_sets))}; name one of them."
            )


def _bounded(cost: Fraction) -> Fraction:
    """Return a sum of very many different parts with fewer digits, rounded up."""
    if cost.denominator.bit_length() <= _MOST_BITS:
        return cost
    return Fraction(-(-(cost.numerator << _ROUNDED_BITS) // cost.denominator), 1 << _ROUNDED_BITS)


def _counting(value: object) -> Counting:
    try:
        return Counting(value)
    except ValueError:
        raise ParameterError("counting must be 'gaussian' or 'zcdp'.") from None


@dataclass(frozen=True)
class Account:
    """An account after some lines: its terms, its limit and what was charged."""

    terms: Terms
    limit: Limit
    counting: Counting | None = None
    cost: Fraction = Fraction(0)
    stated: Fraction = Fraction(0)
    """What the deltas of stated promises add up to."""
    charges: int = 0
    """How many stand."""
    releases: int = 0
    """How many were finished, or entered."""
    stopped: int = 0
    """How many ended early, after their first events."""
    complete: bool = False
    """Whether a charge was for complete tables only: then so is what all promise together."""

    def __repr__(self) -> str:
        limit = f"({self.limit.epsilon:g}, {self.limit.delta:g})"
        return (
            f"Account({self.terms.population!r}, limit={limit}, spent={up(self.spent)}, "
            f"charges={self.charges}, releases={self.releases})"
        )

    @property
    def counts(self) -> Counting:
        """How costs are added up, if something was charged."""
        return self.counting or self.terms.counting or Counting.GAUSSIAN

    @property
    def budget(self) -> Fraction:
        """How much may be added up."""
        return counted_budget(self.counts, epsilon=self.limit.epsilon, delta=self.limit.noise_delta)

    @property
    def spent(self) -> float:
        """The epsilon that is spent at the account's delta, rounded up; infinite beyond 1e6."""
        try:
            return counted_epsilon(self.counts, self.cost, delta=self.limit.noise_delta)
        except ParameterError:
            return math.inf

    @property
    def left(self) -> Fraction:
        """How much may still be added."""
        return max(Fraction(0), self.budget - self.cost)

    @property
    def left_epsilon(self) -> float:
        """The epsilon of one more release that would fit, at the account's delta; rounded down."""
        left, delta = self.left, self.limit.noise_delta
        if left == 0:
            return 0.0
        number = counted_epsilon(self.counts, left, delta=delta)
        step = 10.0 ** (int(f"{number:e}".split("e")[1]) - 3)
        for fewer in range(4):
            candidate = float(f"{(round(number / step) - fewer) * step:.4g}")
            if candidate <= 0:
                break
            if counted_budget(self.counts, epsilon=candidate, delta=delta) <= left:
                return candidate
        return 0.0

    def charged(self, events: Sequence[Event]) -> Account:
        """Return the account after a charge, whether it fits or not."""
        counting = self.counting or self.terms.counting or counting_for(events)
        cost = sum((counted_cost(counting, event) for event in events), self.cost)
        return replace(
            self,
            counting=counting,
            cost=_bounded(cost),
            stated=self.stated + stated_delta(events),
            charges=self.charges + 1,
        )

    def given_back(self, events: Sequence[Event]) -> Account:
        """Return the account without a charge for which no noise was drawn."""
        cost = sum((counted_cost(self.counts, event) for event in events), Fraction(0))
        charges = self.charges - 1
        return replace(
            self,
            # Where nothing was seen, the next charge decides again.
            counting=self.counting if charges else None,
            cost=self.cost - cost if charges else Fraction(0),
            stated=self.stated - stated_delta(events),
            charges=charges,
        )

    def check(self, events: Sequence[Event]) -> None:
        """Refuse a charge that does not fit.

        Notes
        -----
        Claim P40. The sums are fractions: nothing is so small that it vanishes in them.
        """
        after = self.charged(events)
        who, limit = self.terms.population, self.limit
        if after.stated > self.stated and after.stated > Fraction(limit.stated_delta):
            raise BudgetError(
                f"The account {who!r} has set {limit.stated_delta:g} of its delta aside for "
                "promises that are stated as (epsilon, delta), and this needs more. Its owner can "
                "set aside more, with --stated-delta of dpcov ledger limit."
            )
        if after.cost > after.budget:
            raise BudgetError(
                f"The account {who!r} has a limit of ({limit.epsilon:g}, {limit.delta:g}), and "
                f"epsilon = {up(self.spent)} of it is spent. With this it would be epsilon = "
                f"{up(after.spent)}."
            )
