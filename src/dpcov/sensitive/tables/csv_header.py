"""The first line of a CSV file: names, and nothing beyond its line break.

Owns what a header is: the bytes of the first line that is not blank, in UTF-8.
A quote that is not closed on it would make a name of the rows below. What does not look like
names is refused, by the place and never by the text, unless the caller says that it is.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from pathlib import Path

from dpcov.columns.csv_form import COMMAS, CsvForm
from dpcov.errors import InputError
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.likeness import first_value
from dpcov.sensitive.tables.names import check_spelling
from dpcov.sensitive.tables.refusals import read_or_refuse

__all__ = ["BOM", "Header", "check_header", "is_compressed", "read_header"]

_MOST_BYTES = 4 << 20
_ROW_NUMBERS = " If the first column is row numbers of pandas or R, write the file without them."
BOM = b"\xef\xbb\xbf"
"""The mark that some programs write at the top of a file."""


@dataclass(frozen=True)
class Header:
    """The names of a CSV file.

    Parameters
    ----------
    labels : tuple of str
        In the file's order.
    end : int
        Where the rows begin, in bytes.
    """

    labels: tuple[str, ...]
    end: int


def read_header(path: Path, form: CsvForm = COMMAS) -> Header:
    """Return the names in the first line of a CSV file, or refuse what cannot be names."""
    found = read_or_refuse(lambda: _first_line(path), f"{path.name} cannot be read.")
    if found is None or len(found[0]) >= _MOST_BYTES:
        raise InputError(
            f"The first line of {path.name} must end within {_MOST_BYTES} bytes, with the blank "
            "lines before it."
        )
    line, end = found
    if not line:
        raise InputError(f"{path.name} is empty: it has no header.")
    text = read_or_refuse(
        lambda: line.decode("utf-8"),
        f"{path.name} cannot be read as a CSV file: its first line is not in UTF-8.",
    )
    labels = _split(text, path.name, form.delimiter)
    if len(labels) == 1:
        for separator, called in ((",", "commas"), (";", "semicolons"), ("\t", "tabs")):
            if separator in labels[0]:
                raise InputError(
                    f"{path.name} has one column, whose name holds {called}: it seems to be "
                    f"separated by them. Say so with csv={{'delimiter': {separator!r}}}, and "
                    "'decimal': ',' if its numbers have a comma."
                )
    check_spelling(dict(enumerate(labels)), of=path.name)
    return Header(labels, end)


def is_compressed(path: Path) -> bool:
    """Return whether a file is compressed, by its name."""
    return path.suffix.lower() == ".gz"


def check_header(header: Header, wanted: Wanted, name: str) -> None:
    """Refuse a first line that may be somebody's row.

    It is a header if the caller says so, or states names that are in it. Names that are
    selected and not in it are refused when columns are chosen.
    """
    if wanted.header or _states_some(wanted, header.labels):
        return
    found = first_value(
        [
            "stated" if label in (wanted.privacy_unit, wanted.weight) else label
            for label in header.labels
        ]
    )
    if found is not None:
        raise InputError(
            f"The first line of {name} must hold the names of the columns. That of column "
            f"{found + 1} looks like a value, so the line may be somebody's row, and it is not "
            "repeated here. Say header=True if it holds names. If it does not, write a line of "
            "names at the top of the file, or release it with header=False and state them with "
            f"columns=.{'' if found else _ROW_NUMBERS}"
        )


def _states_some(wanted: Wanted, labels: tuple[str, ...]) -> bool:
    if wanted.picks:
        return not set(labels).isdisjoint(wanted.stated_names)
    return wanted.columns is not None and tuple(wanted.columns) == labels


def _first_line(path: Path) -> tuple[bytes, int] | None:
    """Return the first line that is not blank, and where the next one begins.

    Nothing, if it does not end within what is read: the rest of it would be taken for a row.
    """
    # More than the longest line by what may stand around it.
    most = _MOST_BYTES + len(BOM) + 2
    with gzip.open(path) if is_compressed(path) else path.open("rb") as file:
        content = file.read(most)
    bare = content.removeprefix(BOM).lstrip(b"\r\n")
    line = re.split(rb"\r\n|\r|\n", bare, maxsplit=1)[0]
    rest = bare[len(line) :]
    if len(content) == most and rest in (b"", b"\r"):
        return None
    breaks = 2 if rest.startswith(b"\r\n") else min(len(rest), 1)
    return line, len(content) - len(rest) + breaks


def _split(line: str, name: str, delimiter: str) -> tuple[str, ...]:
    labels, place = [], 0
    end = re.escape(delimiter)
    # A name in quotes, in which they are doubled, or one without.
    label = re.compile(rf'(?:"([^"]*(?:""[^"]*)*)"|([^"{end}]*))({end}|\Z)')
    while found := label.match(line, place):
        quoted, bare, separator = found.groups()
        labels.append(bare if quoted is None else quoted.replace('""', '"'))
        if not separator:
            return tuple(labels)
        place = found.end()
    raise InputError(
        f"The name of column {len(labels) + 1} of {name} has a quotation mark that is not closed "
        "on the first line, or stands inside a name: only whole names may be in quotes, and "
        "quotation marks in them must be doubled."
    )
