"""What reports promise if nobody knows whose is whose: a second promise, with its assumption.

Owns the promise and its words. The numbers are those of `privacy`; no report is looked at.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from typing import TYPE_CHECKING

from dpcov.parameters import check_count, check_number
from dpcov.privacy import (
    ApproxDP,
    Neighbors,
    Promise,
    PureDP,
    cap_variation,
    gaussian_epsilon,
    shuffled_epsilon,
)

if TYPE_CHECKING:
    from dpcov.local.integers import IntegerNoise
    from dpcov.local.plan import CollectionPlan

__all__ = ["ShuffledDP", "promise_of_shuffled"]

_DIGITS = Context(prec=4, rounding=ROUND_CEILING)  # of a stated epsilon
_LEAST_DELTA = 1e-20
_LEAST_EPSILON = 1e-6
_MOST_PEOPLE = 10**10  # more are counted as so many: with more, reports tell less
# Sums of rounded noise differ from rounded sums by less than 1e-29, all in all, if its scale is
# at least 10 and epsilon at most 20 (claim P50). A billionth of delta pays for it.
_LEAST_NOISE, _LARGEST_EPSILON, _PAYMENT = 10, 20.0, 1e-9


@dataclass(frozen=True)
class ShuffledDP(Promise):
    """A promise about reports of which nobody knows whose is whose, beside that of each report.

    Parameters
    ----------
    promise : ApproxDP
        What holds under the assumption, for tables that differ in one person's row.
    local : PureDP or ApproxDP
        What holds without it, against everybody.
    n_people : int
        How many people it needs whose devices follow the plan.
    sums_alone : bool
        Whether nothing but the sum of reports may be seen.

    Examples
    --------
    >>> from dpcov import local
    >>> plan = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=1.0, mechanism="cap")
    >>> second = plan.shuffled(10_000, honest=0.9)
    >>> second.epsilon, second.delta, second.n_people
    (0.02987, 1e-06, 9000)
    """

    promise: ApproxDP
    local: PureDP | ApproxDP
    n_people: int
    sums_alone: bool = False

    @property
    def epsilon(self) -> float:
        """Of the promise that holds under the assumption."""
        return self.promise.epsilon

    @property
    def delta(self) -> float:
        """Of the promise that holds under the assumption."""
        return self.promise.delta

    @property
    def assumption(self) -> str:
        """What must be so for it to hold: a clause that "if" can begin."""
        people = (
            f"at least {self.n_people} people report once each, by devices that follow the plan, "
            "and keep their reports to themselves"
        )
        if self.sums_alone:
            return f"{people}, and nobody sees anything of the reports but their sum"
        return (
            f"{people}, and nobody can tell whose report is whose, since somebody who is trusted "
            "shuffles them or publishes nothing but their sum"
        )

    def __str__(self) -> str:
        how = "summed" if self.sums_alone else "shuffled"
        return f"{self.promise}, if {self.n_people} reports are {how}"

    @property
    def in_words(self) -> str:
        """What the promise means, for a reader who is not a privacy researcher."""
        central = ApproxDP(self.epsilon, self.delta, self.promise.neighbors)
        where = f" {Neighbors.LOCAL.domain_in_words}" if self.promise.complete else ""
        return (
            f"This holds if {self.assumption}. {central.in_words}{where} Who reports, and how many "
            f"do, is not hidden. If the assumption fails, {self.local} remains."
        )


def promise_of_shuffled(
    plan: CollectionPlan, n_people: int, *, delta: float, honest: float
) -> ShuffledDP:
    """Return the second promise of a plan; see `CollectionPlan.shuffled`."""
    n_people = check_count("n_people", n_people, low=1, high=10**15)
    delta = check_number("delta", delta, low=_LEAST_DELTA, high=1.0, open_low=False)
    honest = check_number("honest", honest, low=0.0, high=1.0, open_high=False)
    hiding = max(1, math.floor(n_people * honest))
    if plan.mechanism == "cap":
        epsilon = shuffled_epsilon(
            delta=delta,
            local_epsilon=plan.epsilon,
            n_people=hiding,
            variation=cap_variation(plan.cap, n_columns=plan.n_cells),
        )
    else:
        epsilon = _epsilon_of_sum(plan.noise, hiding, delta)
    rounded = float(_DIGITS.create_decimal_from_float(epsilon))
    promise = ApproxDP(rounded, delta, Neighbors.REPLACE, complete=plan.promise.complete)
    return ShuffledDP(promise, plan.promise, hiding, sums_alone=plan.mechanism != "cap")


def _epsilon_of_sum(noise: IntegerNoise, n_people: int, delta: float) -> float:
    """Return the epsilon of the sum of Gaussian reports.

    Notes
    -----
    Claim P50. The noise of a sum of n reports is that of one central release with √n times
    the scale. One report alone is not looked at for less.
    """
    alone = gaussian_epsilon(delta=delta, scale=noise.multiplier)
    scale = noise.multiplier * math.sqrt(min(n_people, _MOST_PEOPLE)) * (1 - 2.0**-50)
    together = gaussian_epsilon(delta=delta * (1 - _PAYMENT), scale=scale)
    counts = min(noise.diagonal, noise.off_diagonal) >= _LEAST_NOISE
    best = min(alone, together) if counts and together <= _LARGEST_EPSILON else alone
    return max(best, _LEAST_EPSILON)
