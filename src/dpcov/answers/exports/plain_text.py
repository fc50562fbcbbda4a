"""Files of exports as text: matrices as CSV, comments, and the R files of this room.

Owns how they are written. Names of columns come from elsewhere and may be anything: in CSV they
are quoted, and in programs they do not occur, only their legal names do.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

import numpy as np
import numpy.typing as npt

from dpcov.answers.exports.asked import Asked

__all__ = ["comments", "encoded", "fill_in", "matrix_csv", "names_csv", "table_csv"]


def encoded(text: str) -> bytes:
    """Return the bytes of a text; halves of characters, which UTF-8 has none for, as escapes."""
    return text.encode("utf-8", "backslashreplace")


def table_csv(heading: Sequence[str], lines: Iterable[Sequence[str]]) -> bytes:
    """Return a table as the bytes of a CSV file."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(heading)
    writer.writerows(lines)
    return encoded(file.getvalue())


def matrix_csv(names: Sequence[str], matrix: npt.NDArray[np.generic]) -> bytes:
    """Return a matrix with names in its first line and column; numbers to the bit."""
    lines = ([name, *map(repr, row)] for name, row in zip(names, matrix.tolist(), strict=True))
    return table_csv(["", *names], lines)


def names_csv(asked: Asked) -> bytes:
    """Return which variable is which column."""
    return table_csv(["variable", "column"], zip(asked.variables, asked.names, strict=True))


def comments(mark: str, sentences: Iterable[str]) -> str:
    """Return sentences as lines of comments."""
    return "\n".join(f"{mark} {sentence}" for sentence in sentences)


def fill_in(name: str, parts: Mapping[str, str]) -> bytes:
    """Return an R file of this room with its places filled in, which are written as @PLACE@."""
    text = files("dpcov.answers.exports").joinpath("r_files", name).read_text(encoding="utf-8")
    # In one pass: what is filled in may look like a place.
    return encoded(re.sub(r"@([A-Z]+)@", lambda place: parts[place[1]], text))
