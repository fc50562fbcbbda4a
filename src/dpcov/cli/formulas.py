"""Formulas of regressions, as they are written on a command line: ``income ~ age + sex``.

Owns their grammar: names with ``+`` between them, ``~`` between outcomes and predictors, and ``.``
for all other columns. A name that holds one of these signs stands between backquotes. A formula
comes as one word or as several; a shell replaces a ``~`` that stands alone by the home folder,
which is read as what was typed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from dpcov.columns.design import Design
from dpcov.errors import ParameterError

__all__ = ["read_formula"]

_PARTS = re.compile(r"`([^`]*)`|([~+])|([^`~+]+)")
_EXAMPLE = "income ~ age + education"
_NO_SIGNS = re.compile(r"[*:()^|]|^-|\s-")


def read_formula(words: Sequence[str], design: Design) -> tuple[list[str], list[str]]:
    """Return the names of the outcomes and of the predictors.

    Examples
    --------
    >>> design = Design.numbers_of(["income", "age", "a+b"])
    >>> read_formula(["income", "~", "age", "+", "`a+b`"], design)
    (['income'], ['age', 'a+b'])
    >>> read_formula(["income + age ~ ."], design)
    (['income', 'age'], ['a+b'])
    """
    home = str(Path.home())
    text = " ".join("~" if word == home else word for word in words)
    sides: list[list[str]] = [[]]
    for sign, name in _tokens(text):
        if sign == "~":
            sides.append([])
        elif name is not None:
            sides[-1].append(name)
    if len(sides) != 2 or not all(sides):
        raise ParameterError(
            f"A formula has outcomes, one ~ and predictors, such as {_EXAMPLE}. Put it into "
            "single quotes if your shell changes it."
        )
    outcomes, predictors = sides
    if predictors == ["."]:
        predictors = [field.name for field in design.fields if not _is_of(field.name, outcomes)]
    _check_names(design, [*outcomes, *predictors])
    return outcomes, predictors


def _tokens(text: str) -> list[tuple[str, str | None]]:
    """Return the signs ~ and +, and the names between them, which must take turns."""
    found: list[tuple[str, str | None]] = []
    place = 0
    for part in _PARTS.finditer(text):
        if part.start() != place:
            break
        place = part.end()
        quoted, sign, plain = part.groups()
        if sign is not None:
            found.append((sign, None))
        elif quoted is not None or plain.strip():
            found.append(("", quoted if quoted is not None else plain.strip()))
    is_name = [name is not None for _, name in found]
    turns = all(one != other for one, other in pairwise(is_name))
    ends = {sign for sign, _ in (*found[:1], *found[-1:])}
    if place != len(text) or not turns or "+" in ends:
        raise ParameterError(
            f"A formula has a sign, ~ or +, between each two names, such as {_EXAMPLE}. Names with "
            "such signs stand between backquotes, and the whole formula in single quotes."
        )
    return found


def _is_of(column: str, outcomes: Sequence[str]) -> bool:
    return any(name == column or name.startswith(f"{column}=") for name in outcomes)


def _check_names(design: Design, names: Sequence[str]) -> None:
    """Say what a formula cannot hold, where a name is none because of it."""
    known = {*design.names, *(field.name for field in design.fields)}
    for name in names:
        if name not in known and (name in {"0", "1", "."} or _NO_SIGNS.search(name)):
            raise ParameterError(
                f"{name!r} is no column. A formula has names, + and ~ alone: there is always an "
                "intercept, and interactions and functions need more than second moments."
            )
