"""What a table says of itself: the names of its columns and their declared types.

Owns a description that can be shown to anybody, as the beginning of a list of public
facts. It is made from headers, schemas and types; no cell is read for it, and names that may
be cells of somebody's row are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dpcov.columns.csv_form import COMMAS, CsvForm
from dpcov.errors import InputError
from dpcov.sensitive.tables.choice import Choice, Wanted, choose_from_frame
from dpcov.sensitive.tables.likeness import is_plain
from dpcov.sensitive.tables.registry import find_kind

__all__ = ["ColumnType", "describe_table"]


@dataclass(frozen=True)
class ColumnType:
    """The name of a column and its kind.

    Parameters
    ----------
    name : str
        Its name.
    kind : str
        ``"number"``, ``"whole number"``, ``"boolean"``, ``"text"``, ``"category"``, ``"date"``,
        ``"duration"``, ``"object"``, ``"other"``, or ``"unknown"`` where a format declares no
        types.
    """

    name: str
    kind: str


def describe_table(
    table: Any, *, header: bool | None = None, csv: CsvForm = COMMAS
) -> tuple[ColumnType, ...]:
    """Return the names and kinds of a table's columns, without reading a cell.

    Examples
    --------
    >>> describe_table([[1.0, 2.0], [3.0, 4.0]])
    (ColumnType(name='x0', kind='number'), ColumnType(name='x1', kind='number'))
    """
    wanted = Wanted(header=header, csv=csv, keeps_identifiers=True)
    kind, found = find_kind(table)
    declared = kind.declare(found, wanted)
    if not declared.has_own_names:
        kinds = [kind.kind for kind in declared.types]
        return tuple(map(ColumnType, declared.labels, kinds))
    choice = choose_from_frame(declared.labels, wanted, declared.index)
    if not header:
        _check_plain(choice)
    return tuple(
        ColumnType(name, declared.types[place].kind)
        for place, name in zip(choice.places, choice.names, strict=True)
    )


def _check_plain(choice: Choice) -> None:
    for place, name in zip(choice.places, choice.names, strict=True):
        if not is_plain(name):
            raise InputError(
                "Names are shown when each of them is one word, of letters, digits, '_', '.' and "
                f"'-'. That of column {place + 1} is not, so they may be somebody's row, and they "
                "are not repeated here. Say header=True if they are names."
            )
