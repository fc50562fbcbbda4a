"""Whose row it is: the cells of the unit column as keys that can be compared.

Owns what makes two rows one person's: their keys are equal. To take two people for one
only costs them some rows, but to take one person for two breaks the promise. Hence keys
are the cells themselves, never codes or hashes of a batch, in one form for each kind. One
rule holds wherever they come from: all keys of a table are of one kind. Missing cells are
refused, since they may be anybody; and so is a table that mixes kinds, in one column or
from one piece to the next, where a person may be both 7 and "7", or 0.1 in 32 bits and in 64.
Text is compared letter by letter: "ann" and "Ann " are two people, and so is a letter with
an accent that is written as one character, and as two.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import InputError, MissingValueError
from dpcov.sensitive.tables.blocks import expect_rows
from dpcov.sensitive.tables.key_cells import FIRST_DAY, STEPS, Kind, float_kind, read_cell
from dpcov.sensitive.tables.refusals import read_or_refuse

__all__ = [
    "Keys",
    "OneKind",
    "as_keys",
    "check_keys",
    "refuse_guessed_type",
    "refuse_missing_unit",
    "refuse_mixture",
    "refuse_unit_type",
]

# Types whose cells are keys as they are, which saves a look at each.
_PLAIN = {str: Kind.TEXT, bytes: Kind.BYTES, int: Kind.WHOLE}


@dataclass(frozen=True, eq=False)
class Keys:
    """Whose some rows are.

    Parameters
    ----------
    cells : ndarray
        Numbers or Python objects. Two of one kind are one person's exactly when they are
        equal. Times are whole nanoseconds, dates whole days.
    kind : str or None
        What they are, one of `Kind`. None if there are none, of a type that tells nothing.
    step : int
        How many nanoseconds a time is apart from the next that its type can store.
    """

    cells: npt.NDArray[Any]
    kind: str | None
    step: int = 1

    def __len__(self) -> int:
        return len(self.cells)

    def kept(self, mask: npt.NDArray[np.bool_]) -> Keys:
        """Return some of them."""
        return replace(self, cells=self.cells[mask])

    def __repr__(self) -> str:
        # They are cells, and schedulers write what a task returns into their logs.
        return "Keys()"


def as_keys(cells: npt.NDArray[Any], name: str, *, in_zone: bool = False) -> Keys:
    """Return the cells of the unit column as keys.

    Examples
    --------
    >>> as_keys(np.array(["2020-01-01"], "M8[us]"), "day").cells
    array([1577836800000000000])
    """
    kind = cells.dtype.kind
    if kind == "b":
        return Keys(cells, Kind.TRUTH)
    if kind in "iu":
        return Keys(cells, Kind.WHOLE)
    if kind == "f":
        if np.isnan(cells).any():
            raise refuse_missing_unit(name)
        return Keys(cells, float_kind(cells.dtype))
    if kind in "mM":
        return _read_times(cells, name, in_zone)
    if kind in "US":
        return Keys(cells.astype(object), Kind.TEXT if kind == "U" else Kind.BYTES)
    if kind == "O":
        return read_or_refuse(
            lambda: _read_objects(cells, name), f"Unit column {name!r} cannot be read."
        )
    raise refuse_unit_type(name, cells.dtype.type.__name__)


def _read_times(cells: npt.NDArray[Any], name: str, in_zone: bool) -> Keys:
    if np.isnat(cells).any():
        raise refuse_missing_unit(name)
    unit, count = np.datetime_data(cells.dtype)
    is_moment = cells.dtype.kind == "M"
    # Not a view: the bytes may be in either order.
    whole = cells.astype(np.int64)
    if is_moment and (unit, count) == ("D", 1):
        return Keys(whole, Kind.DATE)
    if unit not in STEPS:
        raise refuse_unit_type(name, cells.dtype.name)
    step = count * STEPS[unit]
    if np.abs(whole, dtype=np.float64).max(initial=0.0) * step >= 2.0**62:
        whole = whole.astype(object)  # nanoseconds of year 9999 need more than 64 bits
    kind = (Kind.INSTANT if in_zone else Kind.MOMENT) if is_moment else Kind.DURATION
    return Keys(whole * step, kind, step)


def _read_objects(cells: npt.NDArray[Any], name: str) -> Keys:
    types = set(map(type, cells))
    if not types:
        return Keys(cells, None)
    if len(types) == 1 and (plain := _PLAIN.get(next(iter(types)))) is not None:
        return Keys(cells, plain)
    if types == {datetime.date}:  # as pandas has them
        days = np.fromiter(map(datetime.date.toordinal, cells), np.int64, len(cells))
        return Keys(days - FIRST_DAY, Kind.DATE)
    read = [read_cell(cell) for cell in cells]
    kinds = {cell.kind for cell in read}
    if Kind.MISSING in kinds:
        raise refuse_missing_unit(name)
    if len(kinds) > 1 or Kind.OTHER in kinds:
        raise refuse_mixture(name)
    keys = np.empty(len(cells), dtype=object)
    keys[:] = [cell.key for cell in read]
    return Keys(keys, kinds.pop(), math.lcm(*{cell.step for cell in read}))


class OneKind:
    """Refuses keys of another kind than those before, from wherever they come.

    Parameters
    ----------
    name : str
        What the unit column is called.
    declared : str, optional
        The kind that the table declares. By default that of the first keys.

    Notes
    -----
    Claim P20. Keys of one kind are exact, so that those of one cell are equal however it is
    stored: whole numbers of any width, text with or without categories, times in any unit.
    Where a type may have rounded a cell that another type kept, the two are refused: floats of
    two widths or beside whole numbers, and times with digits that a coarser unit of the
    same table cannot store.

    Examples
    --------
    >>> one = OneKind("person")
    >>> one.check(as_keys(np.array([7], np.int64), "person"))
    >>> one.check(as_keys(np.array([7], np.uint8), "person"))
    >>> one.check(as_keys(np.array(["7"]), "person"))
    Traceback (most recent call last):
    dpcov.errors.InputError: Unit column 'person' must hold cells of one kind...
    """

    def __init__(self, name: str, declared: str | None = None) -> None:
        self._name, self._kind = name, declared
        self._step, self._divisor = 1, 0

    def check(self, keys: Keys) -> None:
        """Take the next keys into account, or refuse them."""
        if len(keys) == 0:  # nobody: what an empty piece is said to store means nothing
            return
        if self._kind is None:
            self._kind = keys.kind
        if keys.kind != self._kind:
            raise refuse_mixture(self._name)
        if keys.kind in Kind.STEPPED:
            self._step = math.lcm(self._step, keys.step)
            self._divisor = math.gcd(self._divisor, int(np.gcd.reduce(keys.cells)))
            if self._divisor % self._step:
                raise refuse_mixture(self._name)


def check_keys(
    runs: Iterable[Keys], *, n_rows: int, name: str, of: str, declared: str | None = None
) -> Iterator[Keys]:
    """Yield runs of keys, and refuse a mixture of kinds, or another number of rows."""
    one = OneKind(name, declared)
    for keys in expect_rows(runs, n_rows, of):
        one.check(keys)
        yield keys


def refuse_mixture(name: str) -> InputError:
    """Return the refusal of a person who may be written in two ways, for the caller to raise."""
    return InputError(
        f"Unit column {name!r} must hold cells of one kind, and of one type in all pieces of the "
        "table: text, whole numbers or dates. Otherwise one person could be written in two ways "
        "and count as two. Convert all of its cells to text."
    )


def refuse_guessed_type(name: str) -> InputError:
    """Return the refusal of a column whose type each block guesses, for the caller to raise."""
    return InputError(
        f"Unit column {name!r} comes from text that Dask reads block by block, and each block "
        'guesses its type: a person could be "007" in one and 7 in another and count as two. Pass '
        f"the path of the CSV file itself, or read it with dtype={{{name!r}: str}} and keep that "
        "name. Of JSON files, write Parquet files with the ids as text."
    )


def refuse_missing_unit(name: str) -> MissingValueError:
    """Return the refusal of a row that is nobody's, for the caller to raise."""
    return MissingValueError(
        f"Unit column {name!r} has missing cells: every row must say whose it is. Drop the rows "
        "that do not, or write down whose they are."
    )


def refuse_unit_type(name: str, kind: str) -> InputError:
    """Return the refusal of a column whose cells cannot be compared, for the caller to raise."""
    return InputError(
        f"Unit column {name!r} is of type {kind}, which cannot say whose row it is. Use whole "
        "numbers, text, categories or dates."
    )
