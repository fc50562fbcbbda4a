"""The table of measured errors, on disk: appended trial by trial, safe to kill at any time.

Owns ``results.csv``. Every finished trial is appended and flushed; what a killed run left
half-written at the end is dropped when the file is opened again. A table that another
study wrote, with other versions or another seed, is refused rather than mixed.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from dpcov.errors import CorruptFileError, ParameterError
from dpcov.paper.study import Key
from dpcov.writing import replacing_file

__all__ = ["COLUMNS", "Journal", "Record"]

COLUMNS = ("figure", "as", "panel", "curve", "method", "n", "run", "error", "seed", "versions")
_HEADER = ",".join(COLUMNS) + "\n"


@dataclass(frozen=True)
class Record:
    """One measured error."""

    key: Key
    error: float
    seed: int
    versions: str

    @property
    def row(self) -> tuple[object, ...]:
        """The values of `COLUMNS`."""
        return (*self.key, self.error, self.seed, self.versions)


class Journal:
    """The records of a folder.

    Parameters
    ----------
    path : Path
        The CSV file; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[Key, Record] = {}
        if path.exists():
            self._read()
        else:
            _write_aside(path, _HEADER)

    def check(self, expected: Mapping[Key, int], versions: str) -> None:
        """Refuse a table whose records the study would not repeat."""
        for key, record in self.records.items():
            if record.versions != versions:
                self._refuse(f"with {record.versions}, this is {versions}")
            if record.seed != expected.get(key, record.seed):
                self._refuse("with another seed or other entries")

    def append(self, records: Iterable[Record]) -> None:
        """Add records; they are on disk when this returns."""
        new = {record.key: record for record in records}
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(_lines(new.values()))
            file.flush()
            os.fsync(file.fileno())
        self.records |= new

    def _read(self) -> None:
        text = self.path.read_bytes().decode("utf-8", errors="replace")
        whole, _, torn = text.rpartition("\n")
        lines = whole.split("\n")
        if not _HEADER.startswith(text) and lines[0] + "\n" != _HEADER:
            raise CorruptFileError(f"{self.path} is not a table of this study; use another folder.")
        for number, line in enumerate(lines[1:], start=2):
            record = _parse(line)
            if record is None:
                raise CorruptFileError(
                    f"Line {number} of {self.path} is damaged. Delete the file to start anew."
                )
            self.records[record.key] = record
        if torn or not whole:
            _write_aside(self.path, _HEADER + _lines(self.records.values()))

    def _refuse(self, how: str) -> None:
        raise ParameterError(
            f"The table in {self.path.parent} was made {how}. "
            "Give another folder, or delete this one to start anew."
        )


def _lines(records: Iterable[Record]) -> str:
    buffer = StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(record.row for record in records)
    return buffer.getvalue()


def _parse(line: str) -> Record | None:
    """Return the record of a line, or None if it is not one."""
    try:
        (values,) = csv.reader([line])
        figure, manner, panel, curve, method, n, run, error, seed, versions = values
        key = (int(figure), manner, panel, curve, method, int(n), int(run))
        return Record(key, float(error), int(seed), versions)
    except (ValueError, csv.Error):
        return None


def _write_aside(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new one, nothing between."""
    with replacing_file(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="")
