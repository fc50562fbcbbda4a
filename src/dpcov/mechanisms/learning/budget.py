"""The budget of learning: which steps there are, and what each may cost.

Owns the split between learning and the moments. Everything follows from public facts, before a
row is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from dpcov.errors import ParameterError
from dpcov.mechanisms.budget import check_shares
from dpcov.mechanisms.learning.mismatch import clear_margin
from dpcov.mechanisms.learning.quantiles import Payment
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.tuning import DEFAULT, MOST_HALVINGS, MOST_STEPS, answer_margin
from dpcov.privacy import ApproxDP, Gaussian, gaussian_scale
from dpcov.sensitive.sums.field_counts import WEIGHT_STEPS

__all__ = [
    "COUNTED_FIRST",
    "MOMENTS",
    "LearningBudget",
    "can_learn_ranges",
    "default_shares",
    "split_budget",
    "steps_needed",
]

MOMENTS = "moments"
"""The step that has what the others leave."""
COUNTED_FIRST = ("observed", "levels")
"""The steps that say whether columns fit what is stated of them, before all others."""
_LEAST_FOR_MOMENTS = 0.1


def default_shares(range_share: float, observed_share: float) -> dict[str, float]:
    """Return the share of each step in the whole, where it is taken: of squared distances."""
    return {
        "weights": 0.01,
        "observed": observed_share,
        "levels": 0.03,
        "range": range_share,
        "center": 0.06,
        "limit": 0.06,
        "mean": 0.02,
        "scale": 0.04,
        "beyond": 0.005,
        "radius": 0.04,
        "clipping": 0.03,
    }


def range_share(noise: float, stated: Stated, *, n_rows: int | None) -> float:
    """Return the share with which the tail of a range is a fifth of the rows, within limits.

    `noise` is the noise multiplier of the whole budget, for all rows of one person.
    """
    least, most = DEFAULT.range_shares
    if n_rows is None or not stated.with_limit_sought.any():
        return least
    needed = _range_tail(noise, stated, n_rows=n_rows) / DEFAULT.range_tails[0]
    return min(most, max(least, needed**2))


def observed_share(noise: float, stated: Stated, *, n_rows: int | None) -> float:
    """Return the share with which a column without cells is clearly seen to be one, within limits.

    `noise` is the noise multiplier of the whole budget, for all rows of one person.
    """
    least, most = DEFAULT.observed_shares
    if n_rows is None:
        return least
    sd = noise * math.sqrt(len(stated.places_counted)) / n_rows
    needed = clear_margin(stated, DEFAULT) * sd / DEFAULT.observed_margin
    return min(most, max(least, needed**2))


def _range_tail(noise: float, stated: Stated, *, n_rows: int) -> float:
    """Return the share of the rows in the tail of a range, for a noise multiplier of that step."""
    n_columns = int(stated.with_limit_sought.sum())
    sd = noise * math.sqrt(n_columns * (DEFAULT.range_steps + 1))
    return answer_margin(n_columns, DEFAULT) * sd / n_rows


def can_learn_ranges(budget: LearningBudget, stated: Stated, *, n_rows: int) -> bool:
    """Return whether noise hides few enough cells for ranges, from public facts alone.

    A range with a bound on both sides cannot go wrong by much.
    """
    if not (stated.with_limit_sought & ~stated.is_closed).any():
        return True
    noise = budget.multipliers["range"] * budget.rows_per_unit
    return _range_tail(noise, stated, n_rows=n_rows) <= DEFAULT.range_tails[1]


def steps_needed(stated: Stated) -> list[str]:
    """Return the steps that have something to learn, in order; the moments come last."""
    needed = {
        "weights": stated.weight_bound is not None,
        "observed": len(stated.places_counted) > 0,
        "levels": len(stated.design.categories) > 0,
        "range": stated.with_limit_sought.any(),
        "center": stated.without_center.any(),
        "limit": stated.with_limit_sought.any(),
        "mean": stated.without_center.any(),
        "scale": stated.without_scale.any(),
        "beyond": stated.n_columns > 0,
    }
    learned = [step for step, some in needed.items() if some]
    if stated.moments_only:
        first = COUNTED_FIRST if len(stated.places_counted) else ()
        return [*(step for step in learned if step in first), MOMENTS]
    return [*learned, "radius", "clipping", MOMENTS]


@dataclass(frozen=True, kw_only=True)
class LearningBudget:
    """What each step may cost, and whom all of them protect. All of it is public."""

    promise: ApproxDP
    rows_per_unit: int
    multipliers: Mapping[str, float]

    def payment(self, step: str) -> Payment:
        """Return what a step has."""
        return Payment(multiplier=self.multipliers[step], rows_per_unit=self.rows_per_unit)

    def event(self, step: str) -> Gaussian:
        """Return what a step does."""
        return Gaussian(step, self.multipliers[step])

    @property
    def events(self) -> tuple[Gaussian, ...]:
        """What all steps before the moments do, in order."""
        return tuple(self.event(step) for step in self.multipliers if step != MOMENTS)


def split_budget(
    promise: ApproxDP,
    stated: Stated,
    *,
    n_rows: int | None = None,
    rows_per_unit: int = 1,
    shares: Mapping[str, float] | None = None,
) -> LearningBudget:
    """Split a promise among the steps that are needed and the moments.

    Notes
    -----
    Claim P23. All steps are Gaussian. Those of multipliers σ/√w_i with Σ w_i ≤ 1 are together
    one of multiplier σ, or of less privacy loss; each is rounded toward more noise.

    Examples
    --------
    >>> budget = split_budget(ApproxDP(1.0, 1e-6, "replace"), Stated.nothing(5))
    >>> {step: round(multiplier, 1) for step, multiplier in budget.multipliers.items()}
    ... # doctest: +NORMALIZE_WHITESPACE
    {'range': 21.1, 'center': 17.2, 'limit': 17.2, 'mean': 29.9, 'scale': 21.1, 'beyond': 59.7,
     'radius': 21.1, 'clipping': 24.4, 'moments': 5.0}
    """
    whole = gaussian_scale(epsilon=promise.epsilon, delta=promise.delta)
    steps = steps_needed(stated)
    noise = whole * rows_per_unit
    defaults = default_shares(
        range_share(noise, stated, n_rows=n_rows), observed_share(noise, stated, n_rows=n_rows)
    )
    weights = _weights(steps, defaults, shares)
    if steps == [MOMENTS]:
        return LearningBudget(
            promise=promise, rows_per_unit=rows_per_unit, multipliers={MOMENTS: whole}
        )
    multipliers = {step: whole / math.sqrt(weights[step]) * (1 + 2.0**-48) for step in steps}
    budget = LearningBudget(promise=promise, rows_per_unit=rows_per_unit, multipliers=multipliers)
    _check_room(budget, len(stated.design.fields))
    return budget


def _check_room(budget: LearningBudget, n_columns: int) -> None:
    """Refuse, before a row is read, what would need more noise than integers have room for."""
    try:
        for step in budget.multipliers:
            budget.payment(step).noise(
                low=-MOST_STEPS, high=MOST_STEPS, columns=n_columns, n_rows=1, steps=MOST_HALVINGS
            )
        if "weights" in budget.multipliers:
            budget.payment("weights").noise(low=0, high=WEIGHT_STEPS, columns=2, n_rows=1)
    except ParameterError:
        raise ParameterError(
            "The noise that would pay for so many rows of one person, at this epsilon, is beyond "
            "64-bit integers. Nothing could be learned; use a larger epsilon or fewer rows of each."
        ) from None


def _weights(
    steps: list[str], defaults: Mapping[str, float], shares: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the share of each step; the moments have what is left."""
    checked = check_shares(defaults, shares, most=1.0)
    weights = {step: checked[step] for step in steps if step != MOMENTS}
    # Rounded down by more than the sum can be off.
    left = 1 - math.fsum(weights.values()) - 2.0**-50
    if left < _LEAST_FOR_MOMENTS - 2.0**-40:
        raise ParameterError(
            f"The shares of learning leave {max(left, 0):.2g} of the budget for the moments; they "
            f"must leave {_LEAST_FOR_MOMENTS:g}."
        )
    return weights | {MOMENTS: left}
