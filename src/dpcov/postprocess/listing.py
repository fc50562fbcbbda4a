"""Listings: tables of findings, one named tuple and one sentence for each line.

Owns how such a table is walked through, shown and turned into a data frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from dpcov.extras import load_pandas

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Line", "Listing", "number"]

_SHOWN = 10


class Line(Protocol):
    """One line of a listing: a named tuple that can say what it found."""

    @property
    def in_words(self) -> str:
        """The finding, as a sentence or a part of one."""


Lines = TypeVar("Lines", bound=Line)


@dataclass(frozen=True, eq=False)
class Listing(Generic[Lines]):
    """A table of findings. Iterate over it, or turn it into a data frame.

    Parameters
    ----------
    lines : tuple
        The findings, each a named tuple with a sentence, `in_words`.
    fields : tuple of str
        The names of what each of them holds.
    """

    lines: tuple[Lines, ...]
    fields: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.lines)

    def __iter__(self) -> Iterator[Lines]:
        return iter(self.lines)

    def __getitem__(self, place: int) -> Lines:
        return self.lines[place]

    @property
    def in_words(self) -> tuple[str, ...]:
        """What each line says."""
        return tuple(line.in_words for line in self.lines)

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame."""
        rows: list[Any] = list(self.lines)
        frame: pd.DataFrame = load_pandas().DataFrame(rows, columns=list(self.fields))
        return frame

    def __repr__(self) -> str:
        lines = ["1 line" if len(self) == 1 else f"{len(self)} lines"]
        lines += [f"  {words}" for words in self.in_words[:_SHOWN]]
        if len(self) > _SHOWN:
            lines.append(f"  … and {len(self) - _SHOWN} more")
        return "\n".join(lines)


def number(value: float) -> str:
    """Return a number as readers are shown it: three digits, and never in powers of ten.

    Examples
    --------
    >>> number(0.01234), number(41234.5), number(-3.0)
    ('0.0123', '41,234', '−3')
    """
    size = abs(value)
    if size >= 1000:
        text = f"{size:,.0f}"
    else:
        text = f"{size:.3g}" if size >= 1e-4 or not size else f"{size:.1e}"
    return f"−{text}" if value < 0 else text
