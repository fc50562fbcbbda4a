"""Name or value: whether what a table calls a column may be a cell of somebody's row.

Owns both answers. `looks_like_a_value` is for names that are read: in a file without a
header the first person's cells become names, and those of numeric columns are numbers or
marks of a missing cell. `is_plain` is stricter, for names that are shown to somebody who
did not say that they are names. Neither looks at a second row.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["first_value", "is_plain", "looks_like_a_value"]

_LONGEST, _LONGEST_PLAIN, _MOST_WORDS = 100, 60, 12

# pandas and polars mark repeated names in their own ways.
_REPEATED = re.compile(r"(\.\d+|_duplicated_\d+)$")
_VALUE = re.compile(
    r"""
      n/?a | \#n/a | n\.a\. | <na> | nat | null | none | nil | unnamed:\s\d+ | true | false | yes
    | [-+]? nan \(.*\) | [-+]? [\d.]* \# (ind | inf | q?nan | snan) \d*   # as C writes them
    | [-+]? 0x [0-9a-f.]+ (p [-+]? \d+)? | [-+]? [\d.,]+ [de] [-+]? \d+
    | \S+ @ \S+ \. \S+                                      # an e-mail address
    | (https? | ftp):// .* | www\. .*
    | \d{1,4} [-/.] \d{1,2} [-/.] \d{1,4} (\D .*)?          # a date, with a time
    | \d{1,2} [-/.]? [^\W\d_]{3,9} \.? [-/.]? \d{2,4}       # 12-Mar-1990
    | \d{1,2} : \d{2} .*
    | [\d.,]+ \s .*                                         # 12 Main Street, 36 years
    | [0-9a-f]{8} (-[0-9a-f]{4}){3} -[0-9a-f]{12} | [0-9a-f]{32,}
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def looks_like_a_value(name: str) -> bool:
    """Return whether a name may be a cell: a number, a date, an address or a missing cell.

    Examples
    --------
    >>> [looks_like_a_value(name) for name in ("age", "income (USD)", "36", "ada@example.org", "")]
    [False, False, True, True, True]
    """
    text = name.strip()
    if len(text) > _LONGEST or len(text.split()) > _MOST_WORDS:
        return True
    bare = _REPEATED.sub("", text).strip()
    return any(
        not any(map(str.isalpha, each)) or _is_number(each) or _VALUE.fullmatch(each) is not None
        for each in (text, bare)
    )


def is_plain(name: str) -> bool:
    """Return whether a name is one word, as a program would write it.

    It begins with a letter or ``_`` and goes on with letters, digits, ``_``, ``.`` and ``-``.

    Examples
    --------
    >>> [is_plain(name) for name in ("sleep_hours", "Sepal.Length", "Größe", "Ada Lovelace")]
    [True, True, True, False]
    """
    if not name or len(name) > _LONGEST_PLAIN or looks_like_a_value(name):
        return False
    begins = name[0].isalpha() or name[0] == "_"
    return begins and all(
        # Marks are the vowels of some scripts, and no letters to Python.
        character.isalnum() or character in "_.-" or unicodedata.category(character)[0] == "M"
        for character in name
    )


def first_value(labels: Iterable[Any]) -> int | None:
    """Return the place of the first label that looks like a value, or None.

    A label that is no text is a value: names are text, and a row that became labels need not
    be. Only 0, 1, 2, … and 1, 2, 3, … without a gap are what programs call columns that have
    no names. Of a label in several parts, as pandas makes of two header lines, each counts.

    Examples
    --------
    >>> first_value(["age", "36"]), first_value([0, 1, 2]), first_value([36, 1200])
    (1, None, 0)
    >>> first_value([("age", "years"), ("income", "1200")])
    1
    """
    listed = list(labels)
    if _are_places(listed):
        return None
    return next((place for place, label in enumerate(listed) if _may_be_cell(label)), None)


def _may_be_cell(label: Any) -> bool:
    if isinstance(label, tuple):
        return any(map(_may_be_cell, label))
    if isinstance(label, bytes):
        return looks_like_a_value(label.decode("utf-8", "replace"))
    return not isinstance(label, str) or looks_like_a_value(label)


def _are_places(labels: list[Any]) -> bool:
    """Return whether labels count the columns, from 0 or from 1."""
    whole = all(
        isinstance(label, (int, np.integer)) and not isinstance(label, bool) for label in labels
    )
    return whole and any(labels == list(range(at, at + len(labels))) for at in (0, 1))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
