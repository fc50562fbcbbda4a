"""What a notebook shows: a title, some sentences, a table.

Owns the HTML of it. Everything is text that callers could print as well, and is escaped: column
names are whatever somebody called them. No style and no script, so that notebooks use their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["MOST_ROWS", "show"]

MOST_ROWS = 10
"""How many rows of a table are shown."""


def show(
    title: str,
    sentences: Iterable[str] = (),
    heading: Sequence[str] = (),
    rows: Iterable[Sequence[str]] = (),
    *,
    n_rows: int = 0,
) -> str:
    """Return the HTML of a view; `n_rows` says how many rows there are in all.

    Examples
    --------
    >>> show("1 edge", heading=["first", "second"], rows=[["<b>", "a & b"]])
    '<p><b>1 edge</b></p><table><thead><tr><th>first</th><th>second</th></tr></thead>\
<tbody><tr><td>&lt;b&gt;</td><td>a &amp; b</td></tr></tbody></table>'
    """
    parts = [f"<p><b>{escape(title)}</b></p>"]
    parts += [f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence]
    shown = [row for row, _ in zip(rows, range(MOST_ROWS), strict=False)]
    if shown:
        head = "".join(f"<th>{escape(name)}</th>" for name in heading)
        body = "".join(f"<tr>{_cells(row)}</tr>" for row in shown)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    if n_rows > len(shown) > 0:
        parts.append(f"<p>… and {n_rows - len(shown):,} more</p>")
    return "".join(parts)


def _cells(row: Sequence[str]) -> str:
    return "".join(f"<td>{escape(cell)}</td>" for cell in row)
