"""What is printed about a release: the promise in words, and what was found.

Owns these words for the terminal. They are made from a card and from edges, which are public.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpcov.cli.terminal import printable
from dpcov.publication.columns import HEADINGS, column_rows

__all__ = ["columns_table", "edges_table", "findings", "learned", "promise"]

_SHOWN = 10
_SHOWN_COLUMNS = 20


def promise(card: Mapping[str, Any]) -> Group:
    """Return what is promised, or that nothing is."""
    guarantee, data = card["guarantee"], card["data"]
    who = "reports" if card.get("model") == "local" else "rows"
    lines: list[RenderableType] = []
    if card["identity"].get("name"):
        # In one line, and after what it is: a name must not look like a promise.
        name = f"Name: {printable(card['identity']['name'])}"
        lines.append(Text(name, style="bold", no_wrap=True, overflow="ellipsis"))
    lines.append(Text(f"{data['n_rows']:,} {who}, {data['n_columns']:,} columns.\n"))
    if not guarantee["holds"]:
        lines.append(Text(f"{guarantee['in_words']}\n", style="bold red"))
        return Group(*lines)
    lines.append(Text(f"Promised: {printable(guarantee['statement'])}.", style="bold"))
    lines.append(Text(printable(guarantee["in_words"])))
    lines.append(Text(f"{printable(guarantee['attack']['in_words'])}\n"))
    return Group(*lines)


def learned(card: Mapping[str, Any]) -> Group:
    """Return what was learned of the columns; nothing if nothing was."""
    if card["learned"] is None:
        return Group()
    lines: list[RenderableType] = [Text(printable(text)) for text in card["learned"]["in_words"]]
    lines.append(columns_table(card))
    more = card["data"]["n_columns"] - _SHOWN_COLUMNS
    if more > 0:
        lines.append(Text(f"… and {more:,} more columns, in the card."))
    return Group(*lines, Text())


def columns_table(card: Mapping[str, Any]) -> Table:
    """Return the first columns with their limits, means and deviations as a table."""
    rows = column_rows(card, _SHOWN_COLUMNS)
    table = Table()
    table.add_column("column", overflow="ellipsis", max_width=30)
    for heading in rows[0].cells:
        table.add_column(HEADINGS[heading], justify="left" if heading == "known" else "right")
    for row in rows:
        table.add_row(Text(printable(row.name)), *row.cells.values())
    return table


def findings(card: Mapping[str, Any], edges: Sequence[Sequence[str | float]], fdr: str) -> Group:
    """Return what was found and what could not have been."""
    if card["estimate"] is None:
        own = "The estimate was made with a rule of the curator's own: nothing of it is shown."
        return Group(Text(own))
    lines: list[RenderableType] = []
    if edges:
        pairs = "1 related pair" if len(edges) == 1 else f"{len(edges):,} related pairs"
        lines.append(Text(f"{pairs}{fdr}; the surest:", style="bold"))
        lines.append(edges_table(edges[:_SHOWN]))
    else:
        lines.append(Text(f"No pair of columns is related{fdr}.", style="bold"))
    lines.append(Text(f"{card['estimate']['detectable_in_words']}\n"))
    return Group(*lines)


def edges_table(edges: Iterable[Sequence[str | float]]) -> Table:
    """Return pairs, values, standard errors and q-values as a table."""
    table = Table()
    for heading in ("column", "column"):
        table.add_column(heading, overflow="ellipsis", max_width=30)
    for heading in ("value", "± std. error", "q-value"):
        table.add_column(heading, justify="right", no_wrap=True)
    for first, second, value, error, q_value, *_ in edges:
        table.add_row(
            Text(printable(str(first))),
            Text(printable(str(second))),
            f"{float(value):+.4g}",
            f"{float(error):.3g}",
            f"{float(q_value):.2g}",
        )
    return table
