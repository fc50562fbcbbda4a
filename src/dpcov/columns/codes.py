"""Codes that mean "no answer": numbers or texts that stand in a cell and are no value.

Owns how they are stated. A cell with a code is missing; codes are applied before bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

from dpcov.columns.levels import name_of
from dpcov.columns.written import parse_number
from dpcov.errors import ParameterError

__all__ = ["Code", "check_codes", "code_of_text", "codes_as_numbers", "codes_as_text"]

Code = str | float

_MOST_CODES = 1000


def check_codes(what: str, codes: Any) -> tuple[Code, ...]:
    """Return stated codes without repeats: numbers as floats, texts as they are.

    Examples
    --------
    >>> check_codes("missing", [-9, 99, -9.0, "refused"])
    (-9.0, 99.0, 'refused')
    """
    if codes is None:
        return ()
    if isinstance(codes, (str, Real)):
        codes = (codes,)
    is_list = isinstance(codes, Iterable) and not isinstance(codes, Mapping)
    listed = list(codes) if is_list else None
    if listed is None or len(listed) > _MOST_CODES:
        raise ParameterError(
            f"{what} must be a list of at most {_MOST_CODES:,} codes, numbers or texts."
        )
    found: dict[Code, None] = {}
    for code in listed:
        if isinstance(code, bool) or not isinstance(code, (str, Real)):
            raise ParameterError(f"{what} must be codes, numbers or texts, such as [-9, 99].")
        if isinstance(code, str):
            found[str(code)] = None
        else:
            number = _as_float(code)
            if not math.isfinite(number):
                raise ParameterError(f"{what} must be finite; an infinite cell is missing anyway.")
            found[number] = None
    return tuple(found)


def _as_float(code: Any) -> float:
    try:
        return float(code)
    except OverflowError:
        return math.inf


def code_of_text(text: str) -> Code:
    """Return the code that somebody typed: a number if it is one, else a text.

    Examples
    --------
    >>> code_of_text("-9"), code_of_text("refused")
    (-9.0, 'refused')
    """
    number = parse_number(text)
    return text if number is None or not math.isfinite(number) else number


def codes_as_text(codes: Iterable[Code]) -> frozenset[str]:
    """Return how codes stand in a text column."""
    return frozenset(name_of(code) for code in codes)


def codes_as_numbers(codes: Iterable[Code]) -> tuple[float, ...]:
    """Return the codes that can stand in a column of numbers: texts that are one, too.

    Examples
    --------
    >>> codes_as_numbers((99.0, "-9", "refused"))
    (99.0, -9.0)
    """
    numbers = (parse_number(code) if isinstance(code, str) else code for code in codes)
    return tuple(number for number in numbers if number is not None)
