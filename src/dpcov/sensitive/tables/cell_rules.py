"""From a cell to a number: codes, levels, texts and times, one cell at a time.

Owns the rule of a column, which is made of public facts alone. What a cell becomes depends on
that cell and on no other, and every cell becomes something: one that is unknown is missing, and
none is refused by its value.
"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.codes import codes_as_numbers, codes_as_text
from dpcov.columns.column import Column
from dpcov.columns.fields import Field
from dpcov.columns.moments import as_moment, parse_moment, split_days
from dpcov.columns.written import MARKS, PLAIN, TRUTHS, parse_number

__all__ = ["CellRule"]

Array = npt.NDArray[np.float64]


_NUMBERS = (int, float, Decimal, np.integer, np.floating)


@dataclass(frozen=True)
class CellRule:
    """How the cells of a column become numbers.

    Parameters
    ----------
    column : Column
        Its facts, with what follows from its type.
    may_be_missing : bool
        Whether cells may be missing, by public facts.
    mode : {"number", "text", "time"}
        As what cells are read: numbers, texts or Python objects, or times that are stored as
        steps.
    form : str
        How numbers are written where cells are texts.

    Examples
    --------
    >>> rule = CellRule(Column("sex", levels=["f", "m"], other="else"), True, "text")
    >>> [rule.of_cell(cell) for cell in ("m", "f", "M", "", None)]
    [1.0, 0.0, 2.0, nan, nan]
    """

    column: Column
    may_be_missing: bool
    mode: str = "number"
    form: str = PLAIN

    @property
    def field(self) -> Field:
        """What the column is, for those who use its blocks."""
        return Field.of(self.column, may_be_missing=self.may_be_missing)

    @property
    def is_plain(self) -> bool:
        """Whether cells are numbers that are taken as they are."""
        return self.mode == "number" and not self._codes and self.column.levels is None

    def of_numbers(self, cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return numbers with codes as missing, and levels as what stands for them."""
        if self.is_plain:
            return cells
        numbers: Array = cells.astype(np.float64)
        if self._codes:
            numbers[np.isin(numbers, self._codes)] = np.nan
        if self.column.levels is None:
            return numbers
        order, levels, values = self._sorted_levels
        places = np.minimum(np.searchsorted(levels, numbers), len(levels) - 1)
        known = levels[places] == numbers
        other = np.where(np.isfinite(numbers), self._other, np.nan)
        return np.where(known, values[order[places]], other)

    def of_steps(self, steps: npt.NDArray[np.int64], step: str) -> Array:
        """Return times that are stored as whole steps since 1970, or durations, as numbers."""
        numbers: Array = self.column.count(*split_days(steps, step))
        return numbers

    def of_cell(self, cell: Any) -> float:
        """Return one cell of a column of texts or of Python objects as a number."""
        if isinstance(cell, bytes):
            cell = cell.decode("utf-8", "replace")
        if isinstance(cell, str):
            return self._of_text(cell)
        if isinstance(cell, (bool, np.bool_)):
            return self._of_level(bool(cell)) if self._has_truths else self._of_number(float(cell))
        if isinstance(cell, np.timedelta64):  # which numpy counts among whole numbers
            return self._other
        if isinstance(cell, _NUMBERS):
            return self._of_number(_as_float(cell))
        if isinstance(cell, datetime.date) and self.column.unit is not None:
            moment = as_moment(cell)
            return math.nan if moment is None else self._of_number(self.column.count(*moment))
        return math.nan if _is_null(cell) else self._other

    def _of_text(self, text: str) -> float:
        column = self.column
        if column.levels is not None and isinstance(column.levels[0], str):
            return self._of_level(text)
        if text in self._code_texts or text in MARKS:
            return math.nan
        if self._has_truths:
            return self._of_level(TRUTHS.get(text, text))
        if column.unit is not None:
            moment = parse_moment(text)
            return math.nan if moment is None else self._of_number(column.count(*moment))
        number = parse_number(text, self.form)
        return self._other if number is None else self._of_number(number)

    def _of_number(self, number: float) -> float:
        if number in self._codes or not math.isfinite(number):
            return math.nan
        if self.column.levels is None:
            return number
        return self._values.get(number, self._other) if self._has_numbers else self._other

    def _of_level(self, level: str | bool) -> float:
        value = self._values.get(level)
        if value is not None:
            return value
        is_missing = level in self._code_texts or level in MARKS
        return math.nan if is_missing else self._other

    @cached_property
    def _codes(self) -> tuple[float, ...]:
        return codes_as_numbers(self.column.missing)

    @cached_property
    def _code_texts(self) -> frozenset[str]:
        return codes_as_text(self.column.missing)

    @cached_property
    def _has_truths(self) -> bool:
        return self.column.levels is not None and isinstance(self.column.levels[0], bool)

    @cached_property
    def _has_numbers(self) -> bool:
        return not self._has_truths and not isinstance((self.column.levels or ("",))[0], str)

    @cached_property
    def _values(self) -> dict[Any, float]:
        """What stands for each level."""
        levels = self.column.levels or ()
        numbers = self.column.level_numbers or tuple(map(float, range(len(levels))))
        return dict(zip(levels, numbers, strict=True))

    @cached_property
    def _other(self) -> float:
        """What stands for a cell that is there and is none of the levels."""
        if self.column.other is None:
            return math.nan
        return float(self.column.level_names.index(self.column.other))

    @cached_property
    def _sorted_levels(self) -> tuple[npt.NDArray[np.intp], Array, Array]:
        levels = np.array([float(level) for level in self.column.levels or ()])
        order = np.argsort(levels)
        return order, levels[order], np.array(list(self._values.values()))


def _is_null(cell: Any) -> bool:
    # pandas need not be imported for its nulls.
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")


def _as_float(cell: Any) -> float:
    try:
        return float(cell)
    except (OverflowError, ValueError, TypeError):  # beyond all floats, a signalling NaN
        return math.nan
