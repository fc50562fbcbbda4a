"""How long the files of a folder can be, and reading no more than that.

Owns these bounds. A file that comes from elsewhere may be of any length, at no cost to who
sends it: none is read that is longer than the columns of its card allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpcov.errors import FolderError

__all__ = ["most_bytes", "read_bounded"]

_NUMBER = 32  # digits, sign, exponent and a comma; more than the eight bytes of an array
_PAGE = 1 << 26  # pictures, styles and the text of a page
_MARGIN = 1 << 20


def read_bounded(file: Path, *, most: int, longer_than: str) -> bytes:
    """Return what is in a file, as its reader would; or refuse it for its length.

    What is not a regular file is not there: a pipe would be waited for.
    """
    if not file.is_file():
        raise FileNotFoundError
    with file.open("rb") as opened:
        text = opened.read(most + 1)
    if len(text) > most:
        raise FolderError(f"{str(file)!r} is longer than {longer_than}.")
    return text


def most_bytes(card: Mapping[str, Any]) -> dict[str, int]:
    """Return for each file of a card's folder how long it can be.

    Examples
    --------
    >>> card = {"identity": {}, "data": {"columns": [{"name": "age"}, {"name": "income"}]}}
    >>> most_bytes(card)["edges.csv"] < 2_000_000
    True
    """
    columns = card["data"].get("columns")
    listed = columns if isinstance(columns, list) else []
    names = [str(column.get("name", "")) for column in listed if isinstance(column, dict)]
    size = len(names)
    # A letter may be six in JSON, twelve beyond 16 bits; and two, for CSV, that is quoted.
    letters = 12 * sum(map(len, names)) + 12 * size
    said = 12 * sum(len(str(word)) for word in card["identity"].values())
    table = _MARGIN + (size + 1) * (letters + _NUMBER * (size + 1))
    return {
        "card.md": _MARGIN + 64 * (letters + said + 100 * size),
        "covariance.csv": table,
        "covariance.parquet": table + 1024 * size,
        "edges.csv": _MARGIN + size * (letters + 2 * _NUMBER * size),
        "release.npz": _MARGIN + letters + 100 * size + 12 * size**2,
        "page.html": _PAGE + 64 * (letters + said + 100 * size),
    }
