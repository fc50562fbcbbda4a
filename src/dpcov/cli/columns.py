"""``dpcov columns``: a template of public facts, from names and types alone."""

from __future__ import annotations

from typing import Annotated

import typer

from dpcov.cli.options import Json, Table
from dpcov.cli.terminal import guarded, print_json, tell

__all__ = ["columns"]

_USABLE = {"number", "whole number", "boolean", "unknown"}


def columns(
    data: Table,
    header: Annotated[
        bool,
        typer.Option(
            "--header", help="Show the names, though they look like values: they are names."
        ),
    ] = False,
    as_json: Json = False,
) -> None:
    """Print a file of public facts to be filled in by hand. No cell is read.

    Names that may be somebody's row, as in a file without a header, are not
    printed unless --header says that they are names.

    Example: dpcov columns survey.csv > columns.toml
    """
    from dpcov.columns.text import column_template
    from dpcov.sensitive.tables.description import describe_table

    with guarded():
        found = describe_table(data, header=True if header else None)
        if as_json:
            print_json([{"name": column.name, "kind": column.kind} for column in found])
            return
        listed = [(column.name, column.kind) for column in found if column.kind in _USABLE]
        others = [column.name for column in found if column.kind not in _USABLE]
        typer.echo(column_template(listed), nl=False)
        if others:
            tell(f"left out, since they are no numbers: {', '.join(others)}")
