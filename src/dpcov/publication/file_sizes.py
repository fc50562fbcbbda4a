"""How long the files of a folder can be, and reading no more than that.

Owns these bounds. A file that comes from elsewhere may be of any length, at no cost to who
sends it: none is read that is longer than the columns of its card allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpcov.errors import FolderError
from dpcov.publication.series import MOST_PAIRS

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
    >>> most_bytes(card)["pairs.csv"] < 2_000_000
    True
    """
    columns = card["data"].get("columns")
    listed = columns if isinstance(columns, list) else []
    names = [str(column.get("name", "")) for column in listed if isinstance(column, dict)]
    size = len(names)
    # A letter may be six in JSON, twelve beyond 16 bits; and two, for CSV, that is quoted.
    letters = 12 * sum(map(len, names)) + 12 * size
    said = 12 * sum(len(str(word)) for word in card["identity"].values())
    matrix = _MARGIN + (size + 1) * (letters + _NUMBER * (size + 1))
    n_pairs = min(size * size // 2, MOST_PAIRS)
    longest = max(map(len, names), default=0)
    in_pairs = min(size * letters, 24 * n_pairs * (longest + 1))
    sizes = {
        "columns": _MARGIN + 2 * letters + 20 * _NUMBER * size,
        "pairs": _MARGIN + in_pairs + 12 * _NUMBER * n_pairs,
        "correlation": matrix,
        "covariance": matrix,
        "categories": _MARGIN + 2 * letters + 8 * _NUMBER * size,
    }
    # Of each two columns at most one line of numbers, with their names and levels.
    crossed = _MARGIN + 4 * size * letters + 12 * _NUMBER * min(2 * size * size, MOST_PAIRS)
    sizes |= dict.fromkeys(("associations", "group_means", "gaps"), crossed)
    # Of each column at most one component, with the names of those that it is not told from.
    sizes |= {
        "components": _MARGIN + 12 * _NUMBER * size + 8 * size * size,
        "loadings": _MARGIN + size * letters + 8 * _NUMBER * size * size,
        "partial_correlations": sizes["pairs"],
    }
    text = _MARGIN + 64 * (letters + said + 100 * size)
    return {
        **{f"{table}.csv": most for table, most in sizes.items()},
        **{f"{table}.parquet": most + 1024 * size for table, most in sizes.items()},
        "README.md": text,
        "card.md": text,
        # Moments of cells, and of which of them are there.
        "release.npz": _MARGIN + letters + 200 * size + 12 * (2 * size) ** 2,
        "page.html": _PAGE + 64 * (letters + said + 100 * size),
    }
