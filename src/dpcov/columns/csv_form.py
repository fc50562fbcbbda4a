"""How a CSV file is written: what stands between its cells, and before decimals.

Owns these two options. Nothing of them is guessed: a guess would depend on the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpcov.columns.stated import did_you_mean
from dpcov.errors import ParameterError

__all__ = ["COMMAS", "CsvForm"]

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", ":": "colons"}
_OPTIONS = ("delimiter", "decimal")


@dataclass(frozen=True)
class CsvForm:
    """How a CSV file is written.

    Parameters
    ----------
    delimiter : str
        What stands between cells: a comma, a semicolon, a tab, a bar or a colon.
    decimal : str
        What stands before decimals: a point or a comma.

    Examples
    --------
    >>> CsvForm.parse({"delimiter": ";", "decimal": ","})
    CsvForm(delimiter=';', decimal=',')
    """

    delimiter: str = ","
    decimal: str = "."

    def __post_init__(self) -> None:
        if not isinstance(self.delimiter, str) or self.delimiter not in _DELIMITERS:
            raise ParameterError(
                "delimiter must be what stands between the cells of a CSV file: a comma, a "
                "semicolon, a tab, a bar or a colon."
            )
        if self.decimal not in (".", ","):
            raise ParameterError("decimal must be a point or a comma.")
        if self.decimal == self.delimiter:
            raise ParameterError(
                "delimiter and decimal are both a comma, and cells could not be told apart. State "
                "the delimiter, often ';'."
            )

    @classmethod
    def parse(cls, given: Any) -> CsvForm:
        """Return the form that a caller states as a mapping, or the usual one."""
        if given is None:
            return COMMAS
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise ParameterError(
                "csv must be a mapping, such as {'delimiter': ';', 'decimal': ','}."
            )
        unknown = [str(option) for option in given if option not in _OPTIONS]
        if unknown:
            raise ParameterError(
                f"csv has the unknown option {unknown[0]!r}{did_you_mean(unknown[0], _OPTIONS)}; "
                f"known are {', '.join(_OPTIONS)}."
            )
        return cls(**given)

    @property
    def called(self) -> str:
        """What stands between cells, in words."""
        return _DELIMITERS[self.delimiter]

    @property
    def numbers(self) -> str:
        """The form of its numbers, as `dpcov.columns.written` calls it."""
        return f"1234{self.decimal}5"


COMMAS = CsvForm()
"""The usual form: commas between cells, and points in numbers."""
