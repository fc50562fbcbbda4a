"""What `dpcov.release` will show: its own budget and noise, for rows as real tables have them.

Owns the rule for the row norm that learning will find. Everything else is asked of the parts
that do it, so that a forecast takes the path of the release.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpcov.columns import Column
from dpcov.columns.fields import Field
from dpcov.detection import dense_detectable
from dpcov.errors import InputError
from dpcov.mechanisms.dense import DenseOptions
from dpcov.mechanisms.learning.budget import MOMENTS, can_learn_ranges
from dpcov.mechanisms.learning.lengths import (
    clipping_error,
    far_cell_squared_norm,
    free_squared_norm,
    tail_wanted,
)
from dpcov.mechanisms.learning.tuning import DEFAULT
from dpcov.mechanisms.outlook import (
    ALL_THE_SAME,
    Outlook,
    check_shown,
    enough,
    typical_row_norm,
)
from dpcov.privacy import ApproxDP
from dpcov.privacy.accounting import event_shares
from dpcov.releases.learned import Clipping

__all__ = ["budget_shares", "check_size", "dense_outlook", "learned_squared_norm", "what_is_stated"]

# Squared deviations in units of half the distance of the bounds: the median of 20 real tables.
_WITHIN_BOUNDS = 1 / 8
# What a row of limited cells can have at most, for each column: the ends of the search for a norm.
_MOST_SQUARED = 16.0
# How much a column without tails varies in working units where noise is small: its limits are
# sought far out, and no scale is less than 0.3 of them.
_QUIET_VARIANCE = 0.6


def learned_squared_norm(tail: float, n_columns: int) -> float:
    """Return the squared row norm that leaves a share `tail` of the rows beyond it.

    In units of the variance that the clipped rows have in a typical column.

    Notes
    -----
    Over the number of columns it is 1 + (0.5 + log(1/tail)/3) (10/p)^(1/3). Fitted to releases
    of 20 real tables of people (3,400 to 54,000 rows, 6 to 83 columns) at epsilon 0.3, 1 and 3,
    with nothing and with bounds stated, learned scales and their floors included. The lengths of
    rows differ from table to table, most among few columns: more than half of the releases were
    within 25 % of the rule, 8 in 10 within a factor of 1.6, and the farthest off by 4.

    Examples
    --------
    >>> [round(learned_squared_norm(tail, 20) / 20, 1) for tail in (0.1, 0.05, 0.02, 0.01)]
    [2.0, 2.2, 2.4, 2.6]
    """
    longer = (0.5 + math.log(1 / tail) / 3) * math.pow(10 / n_columns, 1 / 3)
    return n_columns * (1 + longer)


def dense_outlook(options: DenseOptions, *, n_rows: int, n_columns: int) -> Outlook:
    """Return what all second moments will show."""
    if options.row_norm is None:
        found = _learned(options, n_rows, n_columns)
    else:
        found = _stated(options, options.row_norm, n_rows, n_columns)
    blurred = math.hypot(found.noise, found.clipping)
    half, most = (
        dense_detectable(n_columns=n_columns, n_rows=n_rows, noise_scale=blurred, power=power)
        for power in (0.5, 0.9)
    )
    return Outlook("dense", found.noise, half, most)


@dataclass(frozen=True)
class _Errors:
    """The sd of an entry on the scale of correlations: noise, and what clipping leaves unknown."""

    noise: float
    clipping: float


def _learned(options: DenseOptions, n_rows: int, n_columns: int) -> _Errors:
    """Return the errors if rows are clipped to a norm that is learned, and lengthened again."""
    from dpcov.postprocess.clipped import Clipped  # lazily: a release loads no estimates

    fields = options.fields(n_columns)
    budget = options.budget(options.stated(fields, n_rows), n_rows)
    moments = budget.payment(MOMENTS)
    tail = tail_wanted(
        n_rows, n_columns, moments=moments, radius=budget.payment("radius"), tuning=DEFAULT
    )
    free = free_squared_norm(n_rows, moments=moments, tuning=DEFAULT)
    squared = max(
        learned_squared_norm(tail, n_columns),
        min(free / _QUIET_VARIANCE, _MOST_SQUARED * n_columns),
        far_cell_squared_norm(n_columns, tuning=DEFAULT),
    )
    norm = math.sqrt(squared)
    noise = options.calibrate(n_rows=n_rows, row_norm=norm, multiplier=moments.multiplier)
    share_error, excess_error = clipping_error(budget.payment("clipping"), n_rows, squared, DEFAULT)
    clipping = Clipping.usual(
        wanted=tail, row_norm=norm, share_error=share_error, excess_error=excess_error
    )
    excess, error = clipping.likely_excess(norm)
    # Clipped rows have a squared norm of p on average: each column varies by 1.
    left = Clipped.after(1 + excess / n_columns, error / n_columns, n_columns)
    return _Errors(noise.noise_scale.off_diagonal, math.sqrt(left.covariance))


def _stated(options: DenseOptions, row_norm: float, n_rows: int, n_columns: int) -> _Errors:
    """Return the errors if the norm is stated: the moments have it all, and nothing is known."""
    budget = options.budget(options.stated(options.fields(n_columns), n_rows), n_rows)
    multiplier = budget.multipliers[MOMENTS]
    noise = options.calibrate(n_rows=n_rows, row_norm=row_norm, multiplier=multiplier)
    variance = _working_variance(options, row_norm, n_columns)
    return _Errors(noise.noise_scale.off_diagonal / variance, 0.0)


def _working_variance(options: DenseOptions, row_norm: float, n_columns: int) -> float:
    """Return how much a typical column varies, in the units in which a norm is stated.

    By its scale, or by what columns within bounds do. If neither is known of all columns, the
    norm is taken to be that of 99 % of rows of unrelated columns.
    """
    known = [] if options.facts is None else [_variance_of(column) for column in options.facts]
    variances = np.array([value for value in known if value is not None])
    if len(variances) < n_columns:
        return (row_norm / typical_row_norm(n_columns)) ** 2
    # Rows that are longer on average are clipped, and vary less.
    clipped = min(1.0, row_norm**2 / float(variances.sum()))
    return clipped * float(np.median(variances))


def _variance_of(column: Column) -> float | None:
    if column.scale is not None:
        return 1.0
    return None if column.known_scale is None else _WITHIN_BOUNDS


def budget_shares(options: DenseOptions, *, n_rows: int, n_columns: int) -> dict[str, float]:
    """Return the share of the budget of each step of a release, in order."""
    budget = options.budget(options.stated(options.fields(n_columns), n_rows), n_rows)
    events = (*budget.events, budget.event(MOMENTS))
    names = [event.name for event in events]
    return dict(zip(names, event_shares(events), strict=True))


def what_is_stated(options: DenseOptions, *, n_rows: int, n_columns: int) -> str:
    """Say which facts are stated, and what follows for the rest."""
    facts = () if options.facts is None else options.facts
    some = sum(
        any(
            fact is not None
            for fact in (each.lower, each.upper, each.center, each.scale, each.levels)
        )
        for each in facts
    )
    stated = f"facts of {some} of {n_columns} columns" if some else ""
    if options.row_norm is not None:
        stated = " and ".join(filter(None, [stated, "row_norm"]))
        return f"Stated: {stated}; nothing is learned."
    known = f"Stated: {stated}; the rest is learned." if stated else "Nothing is stated."
    return known + _how_rough(options, n_rows, n_columns)


def _how_rough(options: DenseOptions, n_rows: int, n_columns: int) -> str:
    facts = options.stated(options.fields(n_columns), n_rows)
    if not facts.trusts_narrow or not facts.with_limit_sought.any():
        return ""
    return (
        " So few rows teach limits roughly, and long tails may be cut: state center and scale "
        "where you know them."
    )


def check_size(options: DenseOptions, fields: Sequence[Field], n_rows: int) -> None:
    """Refuse so few rows that no correlation could be seen, or no range learned.

    From public facts alone. What the message advises is not refused.
    """
    n_columns = len(fields) - (options.bound is not None)

    def shown_half(n: int, promise: ApproxDP) -> float:
        if n_columns < 2:  # there are no correlations
            return 0.0
        other = replace(options, promise=promise)
        return dense_outlook(other, n_rows=n, n_columns=n_columns).shown_half

    def can_learn(n: int, promise: ApproxDP) -> bool:
        if options.row_norm is not None:
            return True
        other = replace(options, promise=promise)
        stated = other.stated(fields, n)
        return can_learn_ranges(other.budget(stated, n), stated, n_rows=n)

    def is_enough(n: int, promise: ApproxDP) -> bool:
        return shown_half(n, promise) <= 1 and can_learn(n, promise)

    promise = options.promise
    check_shown(
        shown_half, n_rows=n_rows, n_columns=n_columns, promise=promise, is_enough=is_enough
    )
    if is_enough(n_rows, promise):
        return
    stated = options.stated(fields, n_rows)
    asked = stated.with_limit_sought & ~stated.is_closed
    names = [fields[place].name for place in stated.design.numbers[asked].tolist()]
    found = enough(is_enough, n_rows=n_rows, promise=promise)
    raise InputError(
        f"{n_rows:,} rows are too few at epsilon = {promise.epsilon:g} to learn between which "
        f"bounds cells lie. State both bounds of {_listed(names)}; or use {found}; {ALL_THE_SAME}"
    )


def _listed(names: Sequence[str], most: int = 8) -> str:
    left = len(names) - most
    return ", ".join(names[:most]) + (f" and {left} more" if left > 0 else "")
