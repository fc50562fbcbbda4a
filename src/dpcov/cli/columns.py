"""``dpcov columns``: a template of public facts, and whether a file of facts fits a table.

Both look at names and types alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as Grid

from dpcov.cli.options import Decimal, Delimiter, Json, Table, csv_form
from dpcov.cli.terminal import USAGE, guarded, in_options, new_console, print_json, tell
from dpcov.columns.csv_form import CsvForm
from dpcov.columns.fields import Field

__all__ = ["columns"]

_MOST_LISTED = 6
_NO_TYPES = "type not known"


def columns(
    data: Table,
    check: Annotated[
        Path | None,
        typer.Option(
            "--check", help="Say whether this file of facts fits the table, and how it is read."
        ),
    ] = None,
    header: Annotated[
        bool,
        typer.Option(
            "--header", help="Show the names, though they look like values: they are names."
        ),
    ] = False,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    as_json: Json = False,
) -> None:
    """Print a file of public facts to be filled in by hand. No cell is read.

    Names that may be somebody's row, as in a file without a header, are not
    printed unless --header says that they are names.

    Example: dpcov columns survey.csv > columns.toml

    Example: dpcov columns --check columns.toml survey.csv
    """
    with guarded():
        form = csv_form(delimiter, decimal)
        if check is not None:
            _check(data, check, True if header else None, form, as_json)
        else:
            _print_template(data, True if header else None, form, as_json)


def _print_template(data: Path, header: bool | None, form: CsvForm, as_json: bool) -> None:
    from dpcov.columns.template import TemplateColumn, column_template, is_aside
    from dpcov.sensitive.tables.description import describe_table

    kinds = {column.name: column.kind for column in describe_table(data, header=header, csv=form)}
    if as_json:
        print_json([{"name": name, "kind": kind} for name, kind in kinds.items()])
        return
    listed = [
        TemplateColumn(name, _NO_TYPES if kind == "unknown" else kind)
        for name, kind in kinds.items()
    ]
    typer.echo(column_template(listed, origin=_origin(kinds)), nl=False)
    aside = [column.name for column in listed if is_aside(column)]
    if aside:
        tell(f"commented out, since there is something to decide: {', '.join(aside)}")


def _origin(kinds: dict[str, str]) -> str:
    if "unknown" not in kinds.values():
        return "Names and types are\n# what the table declares: no cell was read."
    return (
        "Names are from the\n# header alone: a CSV file declares no types, and no cell was read to "
        "guess them."
    )


def _check(data: Path, path: Path, header: bool | None, form: CsvForm, as_json: bool) -> None:
    from dpcov.columns.text import read_facts
    from dpcov.errors import ParameterError
    from dpcov.sensitive.tables.checking import check_facts

    try:
        facts, defaults = read_facts(path)
    except ParameterError as error:
        tell(in_options(str(error)))
        raise typer.Exit(USAGE) from None
    made = check_facts(data, facts, defaults, header=header, csv=form)
    if as_json:
        print_json(
            {
                "columns": [
                    {
                        "name": column.field.name,
                        "kind": column.kind,
                        "read_as": _read_as(column.field),
                        "levels": column.field.levels,
                        "may_be_missing": column.field.may_be_missing,
                    }
                    for column in made.columns
                ],
                "problems": [in_options(problem) for problem in made.problems],
                "not_used": made.n_unused,
            }
        )
    elif made.columns:
        new_console().print(_grid(made.columns))
        if made.n_unused:
            some = ", ".join(made.unused[:_MOST_LISTED])
            more = made.n_unused - len(made.unused[:_MOST_LISTED])
            listed = f"{some}{f' and {more} more' if more and some else ''}" or str(made.n_unused)
            typer.echo(f"Not used: {listed}")
    for problem in made.problems:
        tell(in_options(problem))
    if made.problems:
        raise typer.Exit(USAGE)


def _grid(checked: Any) -> Grid:
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for heading in ("column", "type", "read as", "missing"):
        grid.add_column(heading, overflow="fold")
    for column in checked:
        field = column.field
        grid.add_row(
            field.name,
            _NO_TYPES if column.kind == "unknown" else column.kind,
            _read_as(field),
            _missing(field),
        )
    return grid


def _read_as(field: Field) -> str:
    """Say in words what the cells of a column become."""
    facts = field.facts
    if field.levels is not None:
        return f"category: {_list(field.levels)}"
    if facts is None:
        return "number"
    low, high = facts.limits
    within = f", {low:g} to {high:g}" if (low, high) != (-float("inf"), float("inf")) else ""
    if facts.levels is not None:
        numbers = facts.level_numbers or ()
        pairs = [
            f"{name} = {number:g}" for name, number in zip(facts.level_names, numbers, strict=True)
        ]
        return f"number: {_list(pairs)}"
    if facts.unit is not None:
        since = "" if facts.since is None else f" since {facts.since}"
        return f"{facts.unit}{since}{within}"
    if facts.text is not None:
        return f"number, written as {facts.text}{within}"
    return f"number{within}"


def _missing(field: Field) -> str:
    codes = () if field.facts is None else field.facts.missing
    if codes:
        return _list([code if isinstance(code, str) else f"{code:g}" for code in codes])
    return "may be" if field.may_be_missing else "none"


def _list(names: Any) -> str:
    some = ", ".join(names[:_MOST_LISTED])
    return some if len(names) <= _MOST_LISTED else f"{some}, … ({len(names)} in all)"
