"""What is printed about a release: the promise in words, and what was found.

Owns their order in the terminal. The words are the card's, the pairs those of its folder's table:
both are public, and other views show the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dpcov.cli.terminal import printable
from dpcov.publication.category_views import AssociationRow, association_rows
from dpcov.publication.columns import category_rows, column_rows, has_gaps, headings, n_numbers
from dpcov.publication.findings import PairRow, pair_rows
from dpcov.publication.series import Table as Published
from dpcov.releases.tails import explain_marks

__all__ = [
    "associations_table",
    "categories_table",
    "columns_table",
    "findings",
    "learned",
    "pairs_table",
    "promise",
]

_SHOWN = 10
_SHOWN_COLUMNS = 20
_SHOWN_LEVELS = 8
_LEFT_OUT = ("known", "beyond")
_NAME: Any = {"overflow": "fold", "min_width": 12, "max_width": 60}
_TWO_DECISIONS = (
    "The list is made by tests, and the estimate by setting small correlations to zero: that of a "
    "related pair may be 0."
)


def promise(card: Mapping[str, Any]) -> Group:
    """Return what is promised, or that nothing is."""
    guarantee = card["guarantee"]
    lines: list[RenderableType] = []
    if card["identity"].get("name"):
        # In one line, and after what it is: a name must not look like a promise.
        name = f"Name: {printable(card['identity']['name'])}"
        lines.append(Text(name, style="bold", no_wrap=True, overflow="ellipsis"))
    lines.append(Text(printable(card["data"]["in_words"])))
    if card["data"]["weights"] is not None:
        lines.append(Text(printable(card["data"]["weights"]["in_words"])))
    if card["data"]["left_out"] is not None:
        lines.append(Text(printable(card["data"]["left_out"]["in_words"])))
    lines.append(Text())
    if not guarantee["holds"]:
        lines.append(Text(f"{guarantee['in_words']}\n", style="bold red"))
        return Group(*lines)
    if guarantee["warning"] is not None:
        lines.append(Text(f"Warning: {printable(guarantee['warning'])}", style="bold red"))
    example = guarantee["example"]
    lines.append(Text(f"Promised: {printable(example['in_words'])}", style="bold"))
    lines.append(Text(printable(example["meaning"])))
    lines.append(Text(f"{printable(guarantee['statement'])}. {printable(guarantee['in_words'])}"))
    lines.append(Text(f"{printable(guarantee['attack']['in_words'])}\n"))
    for account in () if card["ledger"] is None else card["ledger"]["accounts"]:
        who, said = printable(account["population"]), account["in_words"]
        lines.append(Text(f"The account of {who}: {said}\n"))
    return Group(*lines)


def learned(card: Mapping[str, Any]) -> Group:
    """Return what was learned of the columns, and the shares of categories; nothing if neither."""
    lines: list[RenderableType] = []
    if card["learned"] is not None:
        lines += [Text(printable(text)) for text in card["learned"]["in_words"]]
        lines += [columns_table(card)] if n_numbers(card) else []
        more = n_numbers(card) - _SHOWN_COLUMNS
        if more > 0:
            lines.append(Text(f"… and {more:,} more {_kind(card)}, in columns.csv."))
    if card["data"]["n_categories"]:
        lines.append(categories_table(card))
        more = card["data"]["n_categories"] - _SHOWN_COLUMNS
        if more > 0:
            lines.append(Text(f"… and {more:,} more categories, in categories.csv."))
    return Group(*lines, Text()) if lines else Group()


def _kind(card: Mapping[str, Any]) -> str:
    return "numbers" if card["data"]["n_categories"] else "columns"


def columns_table(card: Mapping[str, Any]) -> Table:
    """Return the first numbers with their limits, means and deviations as a table.

    How facts are known, and how many cells lie beyond limits, takes too much room here: the
    sentences above it say what matters of that.
    """
    rows = column_rows(card, _SHOWN_COLUMNS)
    table = _listing()
    named = headings(card)
    shown = [heading for heading in rows[0].cells if heading not in _LEFT_OUT]
    table.add_column("number" if card["data"]["n_categories"] else "column", **_NAME)
    for heading in shown:
        # Where there is no room, limits and errors take two lines, and no number is cut.
        parts = (part for row in rows for part in _apart(row.cells[heading]).split("\n"))
        table.add_column(named[heading], justify="right", min_width=max(map(len, parts)))
    for row in rows:
        table.add_row(Text(printable(row.name)), *(row.cells[heading] for heading in shown))
    return table


def _apart(cell: str) -> str:
    return cell.replace(" to ", " to\n").replace(" ± ", " ±\n")


def _listing(caption: str | None = None) -> Table:
    """Return a table whose lines take little room beside what stands in them."""
    return Table(
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        show_edge=False,
        pad_edge=False,
        caption=caption,
        caption_justify="left",
    )


def categories_table(card: Mapping[str, Any]) -> Table:
    """Return the first categories, each with its levels and their shares in a line."""
    rows = category_rows(card, _SHOWN_COLUMNS, most_levels=_SHOWN_LEVELS)
    table = _listing()
    table.add_column("category", **_NAME)
    if has_gaps(card):
        table.add_column("observed", justify="right")
    table.add_column("shares of its levels, and their largest standard error")
    for row in rows:
        shares = ", ".join(f"{printable(level)} {share}" for level, share in row.brief)
        more = row.n_levels - len(row.brief)
        shares += f" and {more:,} more" if more else ""
        observed = [row.observed] if has_gaps(card) else []
        table.add_row(Text(printable(row.name)), *observed, Text(f"{shares} (± {row.error} %)"))
    return table


def findings(card: Mapping[str, Any], tables: Mapping[str, Published]) -> Group:
    """Return what was found and what could not have been."""
    if card["estimate"] is None or "pairs" not in tables:
        own = "The estimate was made with a rule of the curator's own: nothing of it is shown."
        return Group(Text(own))
    related = card["related"]
    lines: list[RenderableType] = [
        Text(printable(sentence), style="bold" if place == 0 else "")
        for place, sentence in enumerate(related["in_words"])
    ]
    if related["number"]:
        lines.append(pairs_table(tables["pairs"]))
    if related["number"] > _SHOWN:
        more = related["number"] - _SHOWN
        lines.append(Text(f"… the surest; {more:,} more related pairs are in pairs.csv."))
    lines += _associations(card, tables)
    lines.append(Text(f"{printable(card['estimate']['detectable_in_words'])}\n".lstrip("\n")))
    if related["gaps"] is not None:
        words = " ".join(map(printable, related["gaps"]["in_words"]))
        lines.append(Text(f"{words}\n"))
    return Group(*lines)


def _associations(card: Mapping[str, Any], tables: Mapping[str, Published]) -> list[RenderableType]:
    """Return what goes with categories; nothing if there are none."""
    found = card["related"]["associations"]
    if found is None:
        return []
    lines: list[RenderableType] = [
        Text(printable(sentence), style="bold" if place == 0 else "")
        for place, sentence in enumerate(found["in_words"])
    ]
    if found["number"]:
        lines.append(associations_table(tables["associations"]))
    if found["number"] > _SHOWN:
        more = found["number"] - _SHOWN
        lines.append(Text(f"… the surest; {more:,} more related pairs are in associations.csv."))
    return lines


def associations_table(associations: Published) -> Table:
    """Return the surest related pairs with a category as a table."""
    rows = association_rows(associations, _SHOWN, related_only=True)
    table = _listing("\n".join(_marks(rows)) or None)
    for heading in ("column", "category"):
        table.add_column(heading, **_NAME)
    for heading in ("association", "95 % interval", "q-value"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        names = (Text(printable(row.first)), Text(printable(row.second)))
        value = f"{row.measure} {row.value}" if row.interval else row.value
        table.add_row(*names, value, row.interval, row.q_value)
    return table


def _marks(rows: Sequence[PairRow] | Sequence[AssociationRow]) -> list[str]:
    limited, gaps = any(row.limited for row in rows), any(row.gaps for row in rows)
    return explain_marks(limited=limited, gaps=gaps)


def pairs_table(pairs: Published) -> Table:
    """Return the surest related pairs as a table: correlation, interval, estimate, q-value."""
    rows = pair_rows(pairs, _SHOWN, related_only=True)
    table = _listing("\n".join([_TWO_DECISIONS, *_marks(rows)]))
    for heading in ("column", "column"):
        table.add_column(heading, **_NAME)
    for heading in ("correlation", "95 % interval", "estimate", "q-value"):
        # A word that says why there is no number may take several lines, and no heading is cut.
        wraps = heading == "correlation"
        table.add_column(heading, justify="right", no_wrap=not wraps, min_width=len(heading))
    for row in rows:
        names = (Text(printable(row.first)), Text(printable(row.second)))
        table.add_row(*names, row.correlation, row.interval, row.estimate, row.q_value)
    return table
