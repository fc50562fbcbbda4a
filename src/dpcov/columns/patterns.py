"""Patterns of names: one line of facts for many columns.

Owns what a pattern matches. Only ``*`` (any characters) and ``?`` (one) have a meaning, since
brackets stand in many names, such as ``income [EUR]``. A name that a table has is a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from dpcov.errors import ParameterError

__all__ = ["expand", "is_pattern"]


def is_pattern(name: str) -> bool:
    """Return whether a name may be a pattern.

    Examples
    --------
    >>> is_pattern("A*"), is_pattern("income [EUR]")
    (True, False)
    """
    return "*" in name or "?" in name


def expand(names: Sequence[str], labels: Sequence[str]) -> dict[str, list[str]]:
    """Return the names that are meant, in order, each with what stated it.

    Examples
    --------
    >>> expand(["A*", "A2", "b"], ["A1", "A2", "A3"])
    {'A1': ['A*'], 'A3': ['A*'], 'A2': ['A2'], 'b': ['b']}
    """
    there, stated = set(labels), set(names)
    found: dict[str, list[str]] = {}
    for name in names:
        if name in there or not is_pattern(name):
            found[name] = [name]
            continue
        pattern = _compile(name)
        matched = [label for label in labels if pattern.fullmatch(label)]
        if not matched:
            raise ParameterError(
                f"The pattern {name!r} matches no column of the table. A pattern has * for any "
                "characters and ? for one, and small and capital letters differ."
            )
        for label in matched:
            if label not in stated:
                found.setdefault(label, []).append(name)
    return found


def _compile(pattern: str) -> re.Pattern[str]:
    # Several stars in a row match what one does, and would take a regular expression long.
    parts = re.split(r"(\*+|\?)", pattern)
    meaning = {"?": "."}
    return re.compile(
        "".join(".*" if part[:1] == "*" else meaning.get(part, re.escape(part)) for part in parts),
        re.DOTALL,
    )
