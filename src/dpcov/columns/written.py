"""Numbers and truth values as they are written in a text.

Owns the strict rule by which a text is a number. A form is stated by an example: which mark
stands before decimals, and which, if any, between thousands. A text of another form is no number.
"""

from __future__ import annotations

import re
from functools import lru_cache

from dpcov.errors import ParameterError

__all__ = ["FORMS", "MARKS", "PLAIN", "TRUTHS", "check_form", "number_pattern", "parse_number"]

PLAIN = "1234.5"
FORMS = {
    PLAIN: (".", ""),
    "1234,5": (",", ""),
    "1,234.5": (".", ","),
    "1.234,5": (",", "."),
    "1 234.5": (".", " "),
    "1 234,5": (",", " "),
    "1'234.5": (".", "'"),
}
"""Each form by an example: the decimal mark and that between thousands."""

MARKS = ("", "NA", "N/A", "NaN", "nan", "NULL", "null")
"""Texts that stand for a missing cell, unless they are stated as levels."""

TRUTHS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
"""Truth values, as Python, R, SQL and JSON write them."""


def check_form(column: str, text: object) -> str:
    """Return the form in which a column's numbers are written, or refuse it."""
    if not isinstance(text, str) or text not in FORMS:
        forms = ", ".join(repr(form) for form in FORMS)
        raise ParameterError(
            f"text of column {column!r} must say by an example how its numbers are written; known "
            f"are {forms}."
        )
    return text


def parse_number(text: str, form: str = PLAIN) -> float | None:
    """Return the number that a text is, or None. Blanks around it count for nothing.

    Examples
    --------
    >>> parse_number(" -3.50 "), parse_number("1.234,5", "1.234,5"), parse_number("12 years")
    (-3.5, 1234.5, None)
    >>> parse_number("1,234", PLAIN) is None
    True
    """
    decimal, thousands = FORMS[form]
    bare = text.strip(" \t")
    if _compiled(form).fullmatch(bare) is None:
        return None
    if thousands:
        bare = bare.replace(thousands, "")
    return float(bare.replace(decimal, "."))


def number_pattern(form: str) -> str:
    """Return what a number of a form looks like, as a regular expression."""
    decimal, thousands = (re.escape(mark) for mark in FORMS[form])
    whole = rf"[0-9]{{1,3}}(?:{thousands}[0-9]{{3}})+|[0-9]+" if thousands else "[0-9]+"
    return rf"[+-]?(?:(?:{whole})(?:{decimal}[0-9]*)?|{decimal}[0-9]+)(?:[eE][+-]?[0-9]+)?"


@lru_cache
def _compiled(form: str) -> re.Pattern[str]:
    return re.compile(number_pattern(form))
