"""Plain tables of text, aligned, for answers that are printed.

Owns their layout and nothing of what stands in them.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["align"]

_WIDEST_NAME = 32


def align(heading: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column stands at the left, and all others at the right.

    Examples
    --------
    >>> print(align(["", "value"], [["age", "1.25"], ["income", "-3"]]))
            value
    ------  -----
    age      1.25
    income     -3
    """
    table = [[_short(line[0]), *line[1:]] for line in (heading, *lines)]
    widths = [max(len(line[place]) for line in table) for place in range(len(heading))]
    texts = ["  ".join(_cells(line, widths)).rstrip() for line in table]
    return "\n".join([texts[0], "  ".join("-" * width for width in widths), *texts[1:]])


def _cells(line: Sequence[str], widths: Sequence[int]) -> list[str]:
    first, *rest = zip(line, widths, strict=True)
    return [first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)]


def _short(name: str) -> str:
    return name if len(name) <= _WIDEST_NAME else f"{name[: _WIDEST_NAME - 1]}…"
