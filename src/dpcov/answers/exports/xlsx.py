"""xlsx: a workbook with the table of correlations, covariances, columns, pairs, and about them.

Owns its sheets. It needs the package openpyxl. Numbers are numbers with all their digits, shown
with as many as papers do; names are text: one that begins with = is no formula.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dpcov.answers.exports.asked import Asked, one_line
from dpcov.answers.exports.correlation_table import UNTOLD, CorrelationTable, stars
from dpcov.errors import MissingExtraError, ParameterError
from dpcov.postprocess.estimate import Estimate
from dpcov.releases import Release

__all__ = ["write_xlsx"]

_MOST_COLUMNS = 300
_MOST_PAIRS = 100_000
_LONGEST_NAME = 60  # wide enough to read
_SHOWN = {"r": '.00"{}"', "q": "0.000", "own": "General"}


def write_xlsx(asked: Asked) -> dict[str, bytes]:
    """Return the workbook."""
    whole = isinstance(asked.release, Release)
    if whole and len(asked.places) > _MOST_COLUMNS:
        raise ParameterError(
            f"A sheet of {len(asked.places):,} columns is too wide to be read: name "
            f"{_MOST_COLUMNS} at most, columns=. The published folder has CSV files of all."
        )
    book = _load_openpyxl().Workbook()
    book.remove(book.active)
    table = CorrelationTable(asked)
    if whole:
        _correlations(book.create_sheet("correlations"), table)
        _covariances(book.create_sheet("covariances"), table)
    _columns(book.create_sheet("columns"), table)
    _pairs(book.create_sheet("pairs"), table)
    _about(book.create_sheet("about"), table, whole=whole)
    file = io.BytesIO()
    book.save(file)
    return {"correlations.xlsx": file.getvalue()}


def _correlations(sheet: Any, table: CorrelationTable) -> None:
    size = len(table.asked.places)
    _heading(sheet, ["Variable", "M", "SD", *map(str, range(1, size))])
    for row, name in enumerate(table.asked.names):
        line = row + 2
        _text(sheet, line, 1, f"{row + 1}. {name}")
        for place, found in ((2, table.means), (3, table.deviations)):
            _number(sheet, line, place, None if found is None else found[0][row], "0.00")
        for column in range(row):
            _correlation(sheet, line, column + 4, table, table.places_of_pairs.get((row, column)))
    for place, note in enumerate(table.notes):
        _text(sheet, size + 3 + place, 1, note)


def _correlation(
    sheet: Any, line: int, place: int, table: CorrelationTable, at: int | None
) -> None:
    if at is None:
        return
    pairs = table.pairs
    if not pairs.told[at]:
        _text(sheet, line, place, UNTOLD)
        return
    marks = stars(float(pairs.q_value[at]))
    _number(sheet, line, place, pairs.released[at], _SHOWN["r"].format(marks))


def _covariances(sheet: Any, table: CorrelationTable) -> None:
    places, names = table.asked.places, table.asked.names
    if not isinstance(table.estimate, Estimate):
        return
    _heading(sheet, ["", *names])
    block = table.estimate.covariance[np.ix_(places, places)]
    for row, name in enumerate(names):
        _text(sheet, row + 2, 1, name)
        for column, value in enumerate(block[row].tolist()):
            _number(sheet, row + 2, column + 2, value, _SHOWN["own"])


def _columns(sheet: Any, table: CorrelationTable) -> None:
    _heading(sheet, ["Column", "M", "error of M", "SD", "error of SD"])
    for row, name in enumerate(table.asked.names):
        _text(sheet, row + 2, 1, name)
        for place, found in ((2, table.means), (4, table.deviations)):
            if found is not None:
                _number(sheet, row + 2, place, found[0][row], _SHOWN["own"])
                _number(sheet, row + 2, place + 1, found[1][row], _SHOWN["own"])


def _pairs(sheet: Any, table: CorrelationTable) -> None:
    pairs, names = table.pairs, table.asked.release.columns
    _heading(
        sheet,
        ["First", "Second", "r released", "error", "low", "high", "r estimated", "q", "told"],
    )
    for at in range(min(len(pairs), _MOST_PAIRS)):
        for place, column in enumerate((pairs.first[at], pairs.second[at]), start=1):
            _text(sheet, at + 2, place, names[column])
        shown = (pairs.released, pairs.standard_error, pairs.low, pairs.high, pairs.correlation)
        for place, values in enumerate(shown, start=3):
            _number(sheet, at + 2, place, values[at], "0.000")
        _number(sheet, at + 2, 8, pairs.q_value[at], _SHOWN["q"])
        _text(sheet, at + 2, 9, "yes" if pairs.told[at] else "too noisy to tell")


def _about(sheet: Any, table: CorrelationTable, *, whole: bool) -> None:
    matrices = (
        "correlations: those of the release, not shrunk. covariances: the estimate, which is "
        "positive definite and sets to zero what does not stand out of the noise. pairs: both, "
        "with errors, 95 % intervals and q-values of the release."
    )
    listed = "pairs: correlations of the release and of the estimate, with errors, 95 % intervals."
    lines = [*table.asked.sentences, *table.notes, matrices if whole else listed]
    for place, line in enumerate(lines, start=1):
        _text(sheet, place, 1, line)


def _heading(sheet: Any, names: Sequence[str]) -> None:
    for place, name in enumerate(names, start=1):
        _text(sheet, 1, place, name)
    sheet.freeze_panes = "B2"
    _widen(sheet, names[:1])


def _widen(sheet: Any, names: Iterable[str]) -> None:
    for letter in ("A", "B"):
        longest = max(map(len, names), default=0)
        sheet.column_dimensions[letter].width = min(max(longest, 24), _LONGEST_NAME)


def _text(sheet: Any, line: int, place: int, text: str) -> None:
    """Write a text that stays one, whatever it begins with."""
    cell = sheet.cell(line, place)
    cell.value = one_line(text)
    cell.data_type = "s"
    # What a spreadsheet shows as text when somebody edits it.
    cell.quotePrefix = True


def _number(sheet: Any, line: int, place: int, value: float | None, shown: str) -> None:
    if value is None or not np.isfinite(value):
        return
    cell = sheet.cell(line, place)
    cell.value = float(value)
    cell.number_format = shown


def _load_openpyxl() -> Any:
    try:
        import openpyxl
    except ModuleNotFoundError:
        raise MissingExtraError("Workbooks need openpyxl: pip install 'dpcov[xlsx]'") from None
    return openpyxl
