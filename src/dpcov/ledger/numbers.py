"""Numbers of a ledger: exact fractions, as text.

Owns how a number is written and read, and which are none that a ledger takes. JSON's numbers are
read differently by different programs; a fraction has one text and one value.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import fields
from fractions import Fraction
from numbers import Real
from typing import Any

from dpcov.errors import AlteredLedgerError, ParameterError
from dpcov.privacy import Event, event_from_dict, event_to_dict

__all__ = ["event_from_text", "event_to_text", "number_from_text", "number_to_text", "ordinary"]

_FRACTION = re.compile(r"(0|[1-9][0-9]{0,400})(/[1-9][0-9]{0,400})?")


def ordinary(name: str, value: object) -> float:
    """Return a number that a ledger takes: positive, finite, no subnormal, and no text.

    Examples
    --------
    >>> ordinary("epsilon", 1)
    1.0
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ParameterError(
            f"{name} must be a number; got a value of type {type(value).__name__}."
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number >= sys.float_info.min):
        raise ParameterError(
            f"{name} must be a positive, finite and normal number; got {number!r}. A ledger takes "
            "nothing that rounding could lose."
        )
    return number


def number_to_text(number: float) -> str:
    """Return the exact value of a float.

    Examples
    --------
    >>> number_to_text(3.0), number_to_text(0.1)
    ('3', '3602879701896397/36028797018963968')
    """
    return str(Fraction(number))


def number_from_text(text: object) -> float:
    """Return the float that a text is the exact value of, or refuse.

    Examples
    --------
    >>> number_from_text("3602879701896397/36028797018963968")
    0.1
    """
    if isinstance(text, str) and _FRACTION.fullmatch(text):
        try:
            number = float(Fraction(text))
        except (OverflowError, ZeroDivisionError):
            number = math.nan
        if math.isfinite(number) and number_to_text(number) == text:
            return number
    raise AlteredLedgerError("A number in the ledger is none that dpcov writes.")


def event_to_text(event: Event) -> dict[str, Any]:
    """Return the written form of an event, with numbers as fractions.

    Examples
    --------
    >>> from dpcov.privacy import Gaussian
    >>> event_to_text(Gaussian("moments", 4.5))
    {'kind': 'gaussian', 'name': 'moments', 'multiplier': '9/2'}
    """
    if not isinstance(event, Event):
        raise ParameterError("A ledger stores events of dpcov.privacy, and nothing else.")
    for field in fields(event):
        if isinstance(getattr(event, field.name), float):
            ordinary(field.name, getattr(event, field.name))
    written = event_to_dict(event)
    return {
        name: number_to_text(value) if isinstance(value, float) else value
        for name, value in written.items()
    }


def event_from_text(written: object) -> Event:
    """Return the event that was written, or refuse."""
    if not isinstance(written, dict):
        raise AlteredLedgerError("An event in the ledger is none that dpcov writes.")
    facts = {
        name: number_from_text(value) if name not in {"kind", "name", "count"} else value
        for name, value in written.items()
    }
    try:
        event = event_from_dict(facts)
    except ParameterError:
        raise AlteredLedgerError("An event in the ledger is none that dpcov writes.") from None
    if event_to_text(event) != written:
        raise AlteredLedgerError("An event in the ledger is none that dpcov writes.")
    return event
