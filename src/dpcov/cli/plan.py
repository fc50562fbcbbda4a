"""``dpcov plan``: what can be learned, before any data is touched."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

import dpcov
from dpcov.cli.options import Epsilon, Json
from dpcov.cli.terminal import guarded, in_options, new_console, print_json

__all__ = ["plan"]


class _Relation(str, Enum):
    REPLACE = "replace"
    ADD_REMOVE = "add-remove"
    LOCAL = "local"


def plan(
    rows: Annotated[int, typer.Option(help="How many rows, or people who report.")],
    columns: Annotated[
        str, typer.Option(help="How many columns, or the file of their public facts.")
    ],
    epsilon: Epsilon,
    delta: Annotated[
        float | None, typer.Option(help="Well below 1 / rows. Reports of cap need none.")
    ] = None,
    max_pairs: Annotated[
        int | None,
        typer.Option(help="Pairs that would be released.", show_default="as many as columns"),
    ] = None,
    row_norm: Annotated[
        float | None,
        typer.Option(
            help="A public bound on the norm of a row, if you will state one.",
            show_default="learned, and paid for",
        ),
    ] = None,
    neighbors: Annotated[
        _Relation, typer.Option(help="Which tables must not be told apart.")
    ] = _Relation.REPLACE,
    correlation: Annotated[
        float | None, typer.Option(help="Also say how many rows would show this correlation.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what can be learned, before any data is touched.

    Example: dpcov plan --rows 20000 --columns columns.toml --epsilon 1 --delta 1e-6
    """
    is_number = columns.lstrip("+-").isdecimal()
    with guarded():
        made = dpcov.plan(
            n=rows,
            p=int(columns) if is_number else None,
            columns=None if is_number else Path(columns),
            row_norm=row_norm,
            epsilon=epsilon,
            delta=delta,
            max_pairs=max_pairs,
            neighbors=neighbors.value,
        )
        needed = None if correlation is None else made.rows_needed(correlation)
        if as_json:
            print_json(_for_machines(made, needed))
            return
        console = new_console()
        console.print(f"{rows:,} rows, {made.n_columns:,} columns, {made.promise}")
        console.print(_table(made))
        if made.budget:
            console.print(in_options(made.budget))
        console.print(_advice(made))
        console.print(_assumed(made))
        if needed is not None:
            console.print(f"A correlation of {correlation:g} takes {needed:,} rows.")


def _advice(made: dpcov.Forecast) -> str:
    """Return the advice with the commands and their options in it."""
    advice = made.advice.replace(" with max_pairs=", " --max-pairs ")
    return in_options(advice.replace(", center=", " center="))


def _assumed(made: dpcov.Forecast) -> str:
    """Say what the numbers are for."""
    one = "If people have several rows, less will show."
    if not made.budget or made.row_norm is not None:
        return f"This is for columns of equal variance and rows of their usual length. {one}"
    return (
        "How long rows are is not known before they are read. This is for rows as real tables have "
        f"them: the noise of most of these was within a factor of 1.6 of the forecast. {one}"
    )


def _table(made: dpcov.Forecast) -> Table:
    table = Table()
    table.add_column("mechanism")
    for heading in ("noise", "shown 1 in 2", "shown 9 in 10"):
        table.add_column(heading, justify="right")
    for outlook in made.outlooks:
        table.add_row(
            outlook.mechanism,
            f"{outlook.noise_scale:.3g}",
            _shown(outlook.shown_half),
            _shown(outlook.shown_most),
        )
    return table


def _shown(correlation: float) -> str:
    return f"{correlation:.3g}" if correlation <= 1 else "none"


def _for_machines(made: dpcov.Forecast, needed: int | None) -> dict[str, object]:
    def shown(correlation: float) -> float | None:
        return correlation if correlation <= 1 else None

    return {
        "promise": str(made.promise),
        "n_rows": made.n_rows,
        "n_columns": made.n_columns,
        "max_pairs": made.max_pairs,
        "shares": made.shares,
        "row_norm": made.row_norm,
        "mechanisms": [
            {
                "name": outlook.mechanism,
                "noise": outlook.noise_scale,
                "shown_half": shown(outlook.shown_half),
                "shown_most": shown(outlook.shown_most),
            }
            for outlook in made.outlooks
        ],
        "recommended": made.recommended,
        "advice": made.advice,
        "rows_needed": needed,
    }
