"""Which columns lost their tails to limits, or may have, by numbers that are public.

Owns that decision, the words that stand in the place of a mean, and the mark of a correlation.
Where cells beyond the limits are many, the mean of the limited cells is far from that of the table
by an unknown amount, which no standard error says: readers are not shown such a number.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from dpcov.releases.learned import Known

__all__ = [
    "GAPS_MARK",
    "GAPS_MARKED",
    "INSTEAD",
    "MARK",
    "MARKED",
    "Tails",
    "explain_marks",
    "tails_by_column",
    "tails_of",
    "with_mark",
    "withheld",
    "withheld_names",
]

_MANY, _LIKELY = 0.01, 2.0  # a share of cells, and so many noise sd
_BLURRED = 0.2  # an error of shares with which a range is as good as guessed
_FALSE_ALARMS = 0.25  # columns that are named by noise alone, in all, on average at most


class Tails(str, Enum):
    """What is known of the cells of a column beyond its limits."""

    NOT_SEEN = "not seen"
    """No more cells lie beyond the limits than noise could explain, or no more than 1 %."""
    CUT = "cut"
    """More than 1 % of the cells lie beyond the limits, by more than noise could explain."""
    UNKNOWN = "unknown"
    """The range is a guess, or as good as one, and more than 1 % of the cells may lie beyond."""


INSTEAD = {Tails.CUT: "tails cut", Tails.UNKNOWN: "range guessed"}
"""What readers are shown instead of a mean or a standard deviation."""
MARK = "†"
MARKED = (
    f"{MARK} More than 1 % of the cells of a column lie beyond its limits, or may lie beyond "
    "guessed ones: this is about the limited cells, and what holds for the whole cells may lie "
    "outside of the interval."
)
"""What the mark of a number means."""


GAPS_MARK = "‡"
GAPS_MARKED = (
    f"{GAPS_MARK} Whether cells of one column are missing goes with another column: what the rows "
    'with both cells would say may lie outside of the interval. missing="complete" makes a release '
    "of complete rows."
)
"""What the other mark means."""


def with_mark(text: str, limited: bool, gaps: bool = False) -> str:
    """Return a number as it is written, marked if it may be far from what it stands for.

    Examples
    --------
    >>> with_mark("+.23", limited=False, gaps=True)
    '+.23 ‡'
    """
    marks = MARK * limited + GAPS_MARK * gaps
    return f"{text} {marks}" if marks else text


def explain_marks(*, limited: bool, gaps: bool) -> list[str]:
    """Return what the marks mean that were used."""
    return [*[MARKED] * limited, *[GAPS_MARKED] * gaps]


def tails_of(beyond: float, error: float, *, range_is: Known, n_columns: int) -> Tails:
    """Return what the noisy share beyond the limits says of one of so many columns.

    A range that was learned where shares are this noisy may lie anywhere, as a guess may.

    Examples
    --------
    >>> tails_of(0.12, 0.02, range_is=Known.LEARNED, n_columns=15).value
    'cut'
    >>> tails_of(0.02, 0.02, range_is=Known.LEARNED, n_columns=15).value
    'not seen'
    >>> tails_of(-0.06, 0.02, range_is=Known.NOT_SEEN, n_columns=15).value
    'unknown'
    """
    if beyond - _likely(n_columns) * error > _MANY:
        return Tails.CUT
    guessed = range_is is Known.NOT_SEEN or (range_is is Known.LEARNED and error > _BLURRED)
    if guessed and max(beyond, 0.0) + _LIKELY * error > _MANY:
        return Tails.UNKNOWN
    return Tails.NOT_SEEN


def tails_by_column(release: Any) -> dict[int, Tails]:
    """Return what is known of the tails of each column that is a number, by its place.

    Nothing, if cells were not limited.
    """
    learned = getattr(release, "learned", None)
    if learned is None:
        return {}
    places = np.flatnonzero(release.design.is_number).tolist()
    return {
        place: tails_of(
            float(learned.beyond[place]),
            learned.beyond_error,
            range_is=Known(learned.known_range[place]),
            n_columns=len(places),
        )
        for place in places
    }


def withheld(release: Any) -> dict[int, Tails]:
    """Return the places of columns whose mean and standard deviation are not shown, and why."""
    return {place: tails for place, tails in tails_by_column(release).items() if tails in INSTEAD}


def withheld_names(release: Any) -> frozenset[str]:
    """Return the names of these columns."""
    return frozenset(release.columns[place] for place in withheld(release))


def _likely(n_columns: int) -> float:
    """Return how many noise sd a share must have to be named, of so many columns."""
    from scipy.special import ndtri

    return max(_LIKELY, float(-ndtri(_FALSE_ALARMS / max(n_columns, 1))))
