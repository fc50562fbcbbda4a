"""Plain tables of text, aligned, for answers that are printed.

Owns their layout and nothing of what stands in them. Nothing is cut: where a table is too wide for
a terminal, long names take several lines, and columns that have no room stand in a second table
below, with the names again.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

__all__ = ["align"]

_WIDEST = 80
_LEAST_NAME = 16
_ERROR = "±"  # the title of a column that belongs to the one before it


def align(heading: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table whose first column stands at the left, and all others at the right.

    Examples
    --------
    >>> print(align(["", "value"], [["age", "1.25"], ["income", "-3"]]))
            value
    ------  -----
    age      1.25
    income     -3
    >>> print(align(["", "value"], [["satisfaction " * 6 + "and more", "1.25"], ["age", "-3"]]))
                                                                      value
    ----------------------------------------------------------------  -----
    satisfaction satisfaction satisfaction satisfaction satisfaction
      satisfaction and more                                            1.25
    age                                                                  -3
    >>> print(align(["", "value"], [["x" * 78, "1.25"], ["age", "-3"]]))
                                                                               value
    -------------------------------------------------------------------------  -----
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
      xxxxx                                                                     1.25
    age                                                                           -3
    """
    parts = _parts(heading, lines)
    return "\n\n".join(
        _aligned([heading[0], *heading[part]], [[line[0], *line[part]] for line in lines])
        for part in parts
    )


def _parts(heading: Sequence[str], lines: Sequence[Sequence[str]]) -> list[slice]:
    """Return which columns stand in one table: as many as have room, errors by their numbers."""
    widths = _widths([title.split(" ") for title in heading], lines)
    least = min(widths[0], _LEAST_NAME)
    starts, taken = [1], least
    for place in range(1, len(widths)):
        together = 2 if list(heading[place + 1 : place + 2]) == [_ERROR] else 1
        needed = sum(2 + width for width in widths[place : place + together])
        if taken + needed > _WIDEST and place > starts[-1] and heading[place] != _ERROR:
            starts.append(place)
            taken = least
        taken += 2 + widths[place]
    return [slice(*ends) for ends in zip(starts, [*starts[1:], len(widths)], strict=True)]


def _aligned(heading: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    titles = [[title] for title in heading]
    widths = _widths(titles, lines)
    if sum(widths) + 2 * (len(widths) - 1) > _WIDEST:
        titles = [title.split(" ") for title in heading]
        widths = _widths(titles, lines)
    room = max(_WIDEST - sum(widths[1:]) - 2 * (len(widths) - 1), _LEAST_NAME)
    names = [[line[0]] for line in lines]
    if room < widths[0]:
        names = [_wrapped(line[0], room) for line in lines]
        widths[0] = max(len(part) for parts in names for part in parts)
    text = [_joined(line, widths) for line in _from_below(titles)]
    text.append(_joined(["-" * width for width in widths], widths))
    for parts, line in zip(names, lines, strict=True):
        text += [*parts[:-1], _joined([parts[-1], *line[1:]], widths)]
    return "\n".join(text)


def _widths(titles: Sequence[Sequence[str]], lines: Sequence[Sequence[str]]) -> list[int]:
    cells = zip(*lines, strict=True) if lines else [()] * len(titles)
    return [max(map(len, [*title, *each])) for title, each in zip(titles, cells, strict=True)]


def _from_below(titles: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the lines of a heading whose titles all end in the last one."""
    height = max(map(len, titles))
    filled = [[""] * (height - len(title)) + list(title) for title in titles]
    return [list(line) for line in zip(*filled, strict=True)]


def _wrapped(name: str, room: int) -> list[str]:
    """Return the lines of a name: as many as it needs; a word that is longer goes on in the next.

    Lines may end at an underscore, too. The numbers stand in the last.
    """
    # To `wrap` a vertical tab is white space; names have none.
    breakable = name.replace("_", "_\v")
    lines = wrap(
        breakable, room, subsequent_indent="  ", break_on_hyphens=False, replace_whitespace=False
    )
    return [line.replace("\v", "") for line in lines] or [""]


def _joined(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(line, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)]
    return "  ".join(cells).rstrip()
