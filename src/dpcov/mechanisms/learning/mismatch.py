"""Columns that do not fit what is stated of them: the question that comes before all others.

Dates that are read as numbers, or levels in another spelling, leave a column nearly empty. The
noisy counts of cells and of levels come before all but weights, and are cheap: a release stops
after them, and the rest of the budget is not spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np

from dpcov.errors import MismatchError
from dpcov.mechanisms.learning.noisy import Noisy
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.tuning import Tuning

__all__ = ["check_fit", "clear_margin"]


def clear_margin(stated: Stated, tuning: Tuning) -> float:
    """Return how many noise sd below a bound a share is clearly below it.

    A share at the bound or above seems to be clearly below it with probability
    `tuning.false_stop` at most, for all shares that a release looks at together.

    Examples
    --------
    >>> from dpcov.mechanisms.learning.tuning import DEFAULT
    >>> round(clear_margin(Stated.nothing(3), DEFAULT), 2)
    4.75
    """
    design = stated.design
    levels = sum(map(design.n_levels, design.categories.tolist()))
    n_shares = max(1, len(stated.places_counted) + levels + len(design.categories))
    return -NormalDist().inv_cdf(tuning.false_stop / n_shares)


def check_fit(
    stated: Stated,
    observed: Noisy,
    levels: Noisy,
    tuning: Tuning,
) -> None:
    """Stop a release of which some columns do not fit, and name all of them.

    `observed` has the shares of cells that are there, of the columns whose cells are counted, and
    `levels` those of rows with each level, of one category after the other.
    """
    if stated.complete_rows:
        _check_complete_rows(stated, observed, tuning)
    empty = [] if stated.complete_rows else list(_empty_columns(stated, observed, tuning))
    others = [name for name in _empty_categories(stated, levels, tuning) if name not in empty]
    found = []
    if empty:
        found.append(f"Nearly no cell fits what is stated of {_listed(empty)}.")
    if others:
        found.append(f"Nearly no cell has most of the levels that are stated of {_listed(others)}.")
    if not found:
        return
    error = MismatchError(
        f"{' '.join(found)} State text, unit or levels as these columns are written, or leave them "
        "out: upper and lower case differ, dates are read as 2019-01-31, and numbers without signs "
        "such as $ or %. If a column is meant to be like this, state mostly_empty = true. To "
        "release the table as it is, use allow={'mismatch'}."
    )
    error.columns = (*empty, *others)
    raise error


def _check_complete_rows(stated: Stated, share: Noisy, tuning: Tuning) -> None:
    """Stop where clearly nearly no row is complete."""
    if share.values[0] + clear_margin(stated, tuning) * share.sd < tuning.nearly_empty:
        raise MismatchError(
            "Nearly no row is complete: in nearly all of them the cell of some column is missing, "
            "or is not as stated. Leave out the columns with most gaps, or use missing='pairwise', "
            "which names columns that do not fit. To release the table as it is, use "
            "allow={'mismatch'}."
        )


def _empty_columns(stated: Stated, share: Noisy, tuning: Tuning) -> Iterator[str]:
    """Give the columns that are clearly nearly empty."""
    room = clear_margin(stated, tuning) * share.sd
    for place, found in zip(stated.places_counted.tolist(), share.values.tolist(), strict=True):
        if found + room < tuning.nearly_empty and not stated.is_mostly_empty(place):
            yield stated.design.fields[place].name


def _empty_categories(stated: Stated, share: Noisy, tuning: Tuning) -> Iterator[str]:
    """Give the categories most of whose levels are clearly nearly empty.

    Where other cells count as a level of their own, so is a category nearly all of whose cells
    are others.
    """
    design, start = stated.design, 0
    room = clear_margin(stated, tuning) * share.sd
    for place in design.categories.tolist():
        size = design.n_levels(place)
        named = np.delete(share.values[start : start + size], stated.other_level(place))
        start += size
        unused = named + room < min(tuning.unused_level, tuning.nearly_empty / len(named))
        others = named.sum() + room * math.sqrt(len(named)) < tuning.unused_levels
        if (2 * unused.sum() > len(named) or others) and not stated.is_mostly_empty(place):
            yield design.fields[place].name


def _listed(names: list[str], most: int = 20) -> str:
    listed = ", ".join(map(repr, names[:most]))
    return listed if len(names) <= most else f"{listed} and {len(names) - most} more"
