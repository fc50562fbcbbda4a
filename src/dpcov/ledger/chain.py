"""The chain: lines that can be added, and not altered, removed or moved without a trace.

Owns the text of a line and its hash, which covers the line before: whoever knows the last hash
knows all lines. Nothing here knows what a line means.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dpcov.errors import AlteredLedgerError

__all__ = ["BEFORE_THE_FIRST", "Line", "check_chain", "next_line"]

BEFORE_THE_FIRST = "0" * 64
"""What stands in the place of a hash before the first line."""
_MOST_LETTERS = 1_000_000


@dataclass(frozen=True)
class Line:
    """One line: its number from 1 on, its text, and the hash of it and of all lines before."""

    number: int
    text: str
    hash: str

    def read(self) -> dict[str, Any]:
        """Return what the line says, or refuse a text that dpcov does not write."""
        try:
            said = json.loads(self.text)
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or _written(said) != self.text:
            raise AlteredLedgerError(
                f"Line {self.number} of the ledger is no text that dpcov writes: it was altered."
            )
        return said


def next_line(before: Line | None, said: Mapping[str, Any]) -> Line:
    """Return the line that says this after another one.

    Examples
    --------
    >>> first = next_line(None, {"kind": "ledger"})
    >>> first.text, first.number, len(first.hash)
    ('{"kind":"ledger","number":1}', 1, 64)
    """
    number = 1 if before is None else before.number + 1
    text = _written({**said, "number": number})
    return Line(number, text, _hash(BEFORE_THE_FIRST if before is None else before.hash, text))


def check_chain(lines: Iterable[Line], *, count: int, head: str) -> list[Line]:
    """Return the lines if each follows from the one before, and they end where they should.

    Examples
    --------
    >>> first = next_line(None, {"kind": "ledger"})
    >>> check_chain([first], count=1, head=first.hash) == [first]
    True
    """
    before, checked = BEFORE_THE_FIRST, []
    for place, line in enumerate(lines, start=1):
        if line.number != place:
            raise AlteredLedgerError(
                f"Line {place} of the ledger is missing, or stands elsewhere. It was altered."
            )
        if len(line.text) > _MOST_LETTERS or line.hash != _hash(before, line.text):
            raise AlteredLedgerError(
                f"Line {place} of the ledger does not follow from those before. It was altered."
            )
        before = line.hash
        checked.append(line)
    if len(checked) != count or before != head:
        raise AlteredLedgerError(
            f"The ledger has {len(checked)} lines and says that it has {count}, or that it ends "
            "otherwise. It was altered."
        )
    return checked


def _written(said: Mapping[str, Any]) -> str:
    return json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _hash(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}\n{text}".encode()).hexdigest()
