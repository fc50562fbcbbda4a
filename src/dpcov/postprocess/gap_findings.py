"""What can be found of gaps: that they go with another column, or with its gaps.

Owns that value and its sentence.
"""

from __future__ import annotations

from typing import NamedTuple

from dpcov.postprocess.listing import number

__all__ = ["CORRELATION", "CRAMER", "DIFFERENCE", "GapFinding"]

DIFFERENCE, CRAMER, CORRELATION = "difference of means", "V", "correlation of gaps"


class GapFinding(NamedTuple):
    """Something that goes with the gaps of a column.

    `measure` says what `value` is: the ``"difference of means"`` of a number between the rows in
    which the cell of `gaps_of` is missing and the others; Cramér's ``"V"`` of a category and
    whether the cell is missing; or the ``"correlation of gaps"`` of both columns. With V come the
    `level` that goes most with gaps, whether it is ``"rarer"`` or ``"more frequent"`` where the
    cell is missing, and, as `pooled`, levels that were too rare and are read as one. V has no
    standard error, but an interval. A difference is `limited` if too many cells of its number lie
    beyond their limits, or may: that of the whole cells may be far from it, and no number is told.
    """

    gaps_of: str
    column: str
    measure: str
    value: float
    standard_error: float
    low: float
    high: float
    q_value: float
    level: str | None = None
    level_is: str | None = None
    pooled: tuple[str, ...] = ()
    limited: bool = False

    @property
    def in_words(self) -> str:
        """The finding, as a sentence."""
        ends = (
            [abs(self.low), abs(self.high)] if self.low * self.high > 0 else [self.low, self.high]
        )
        shown = f"{number(min(ends))} to {number(max(ends))}"
        if self.measure == DIFFERENCE:
            side = "higher" if self.value > 0 else "lower"
            if self.limited:
                return f"Where {self.gaps_of} is missing, {self.column} is {side} on average."
            size = number(abs(self.value))
            return (
                f"Where {self.gaps_of} is missing, {self.column} is {side} by {size} "
                f"on average ({shown})."
            )
        if self.measure == CRAMER:
            return (
                f"Whether {self.gaps_of} is missing goes with {self.column} (Cramér's V "
                f"{number(self.value)}, {shown}): where it is, {self.level} is {self.level_is}."
            )
        side = "together" if self.value > 0 else "apart"
        return (
            f"Cells of {self.gaps_of} and {self.column} tend to be missing {side} "
            f"(correlation {number(self.value)}, {number(self.low)} to {number(self.high)})."
        )
