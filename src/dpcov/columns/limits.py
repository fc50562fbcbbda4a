"""How large and how deep a text may be before a parser sees it.

Owns the scan of JSON that strangers wrote: cards, plans and headers of releases. Parsers keep a
level of their own stack for each level of nesting, and short lists take 30 times their length. The
scan looks at brackets outside strings, in time that is linear in the text.
"""

from __future__ import annotations

import re

import numpy as np

__all__ = ["MOST_BYTES", "json_problem"]

MOST_BYTES = 16 << 20
"""Enough for 50,000 columns with four facts and a note each."""

_MOST_MARKS = 600_000  # of each: 50,000 columns with four facts have 500,000 quotation marks
_MARKS = '[{,=:\\"'
_LONGEST_WORD = 1000

# A string that is not closed ends with its line: the parser refuses it, and the scan goes on.
# Only escapes repeat a group, and their number is limited: `re` keeps 125 bytes for each turn.
_JSON_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)


def json_problem(text: str, *, most_deep: int, most_escapes: int = _MOST_MARKS) -> str:
    """Return why a JSON text is not parsed, or nothing.

    Examples
    --------
    >>> json_problem('{"a": [1, 2]}', most_deep=2)
    ''
    >>> json_problem("[" * 100_000, most_deep=2)
    'It is nested more than 2 deep.'
    """
    problem = _size_problem(text, most_escapes)
    return problem or _bare_problem(_JSON_STRING.sub("", text), most_deep)


def _size_problem(text: str, most_escapes: int = _MOST_MARKS) -> str:
    for mark in _MARKS:
        most = most_escapes if mark == "\\" else _MOST_MARKS
        if text.count(mark) > most:
            return f"It has more than {most:,} times the character {mark}."
    return ""


def _bare_problem(bare: str, most_deep: int) -> str:
    if max(map(len, re.split(r"[^\w.+-]+", bare))) > _LONGEST_WORD:
        return f"It has a number or a word without quotes of more than {_LONGEST_WORD} characters."
    brackets = re.sub(r"[^\[\]{}]+", "", bare).encode()
    codes = np.frombuffer(brackets, dtype=np.uint8)
    opened = np.isin(codes, np.frombuffer(b"[{", dtype=np.uint8))
    # From the lowest level so far: closing what was not opened must not hide what follows.
    levels = np.cumsum(np.concatenate([[0], np.where(opened, 1, -1)]))
    if (levels - np.minimum.accumulate(levels)).max() > most_deep:
        return f"It is nested more than {most_deep} deep."
    return ""
