"""Plain tables of text, aligned, for answers that are printed.

Owns their layout and nothing of what stands in them. Nothing is cut: where a table is too wide for
a terminal, long names take several lines, or lines of their own, and at worst each number does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap

__all__ = ["align"]

_WIDEST = 80


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
      -----
    xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
       1.25
    age
         -3
    """
    titles = [[title] for title in heading]
    widths = _widths(titles, lines)
    if sum(widths) + 2 * (len(widths) - 1) > _WIDEST:
        titles = [title.split(" ") for title in heading]
        widths = _widths(titles, lines)
    room = _WIDEST - sum(widths[1:]) - 2 * (len(widths) - 1)
    if room < 0:
        return "\n".join(_listed(heading, lines))
    names = [[line[0]] for line in lines]
    if room < widths[0]:
        # With the two blanks that all but the first line of a name begin with.
        longest = 2 + max(len(word) for line in lines for word in line[0].split(" "))
        room = room if longest <= room else 0
        names = [_wrapped(line[0], room) for line in lines]
        widths[0] = max(len(part) for parts in names for part in parts) if room else 0
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
    """Return the lines of a name: as many as it needs, or one, with its numbers in the next."""
    if not room:
        return [name.rstrip(), ""]
    return wrap(name, room, subsequent_indent="  ", break_on_hyphens=False) or [""]


def _listed(heading: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table with a line for each of its cells that is not empty."""
    width = max(map(len, heading))
    for line in lines:
        yield line[0].rstrip()
        for title, cell in zip(heading[1:], line[1:], strict=True):
            if cell:
                yield f"  {title.ljust(width)}  {cell}"


def _joined(line: Sequence[str], widths: Sequence[int]) -> str:
    first, *rest = zip(line, widths, strict=True)
    cells = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)]
    return "  ".join(cells).rstrip()
