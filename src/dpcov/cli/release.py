"""``dpcov release``: from a table to a folder to publish. Spends the privacy budget.

Owns the order: everything that can be refused is refused, and the folder is there to be
written to, before anything is spent.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import dpcov
from dpcov.cli.options import (
    Center,
    Curator,
    Date,
    Delta,
    Description,
    Epsilon,
    Fdr,
    Force,
    Header,
    Json,
    Name,
    Neighbors,
    Out,
    Quiet,
    Table,
)
from dpcov.cli.publishing import publish
from dpcov.cli.terminal import guarded
from dpcov.columns.missing import Missing
from dpcov.publication.folder import Identity

__all__ = ["release"]

_READING = "How rows are read"
_MECHANISM = "What is released"


def release(
    data: Table,
    epsilon: Epsilon,
    delta: Delta,
    out: Out,
    columns: Annotated[
        Path | None,
        typer.Option(help="Public facts: see dpcov columns.", rich_help_panel=_READING),
    ] = None,
    row_norm: Annotated[
        float | None,
        typer.Option(
            help="A public bound on the norm of a row. Never read it from the data.",
            rich_help_panel=_READING,
        ),
    ] = None,
    private_radius: Annotated[
        bool,
        typer.Option(
            "--private-radius", help="Learn that bound, and pay for it.", rich_help_panel=_READING
        ),
    ] = False,
    radius_share: Annotated[
        float | None,
        typer.Option(
            help="Share of epsilon that learning it may use.",
            rich_help_panel=_READING,
            show_default="0.1",
        ),
    ] = None,
    center: Annotated[
        Center | None,
        typer.Option(
            help="Covariances about stated centers, about a mean that is paid for, or of "
            "differences of rows.",
            rich_help_panel=_READING,
            show_default="private; public with --heavy-tails, differences with --pairs",
        ),
    ] = None,
    private_scales: Annotated[
        bool,
        typer.Option(
            "--private-scales",
            help="Learn what counts as one in each column, and pay for it.",
            rich_help_panel=_READING,
        ),
    ] = False,
    heavy_tails: Annotated[
        bool,
        typer.Option("--heavy-tails", help="For data with outliers.", rich_help_panel=_READING),
    ] = False,
    missing: Annotated[
        Missing,
        typer.Option(help="Refuse missing cells, or read the center.", rich_help_panel=_READING),
    ] = Missing.REFUSE,
    unit: Annotated[
        str | None,
        typer.Option(help="The column that says whose row it is.", rich_help_panel=_READING),
    ] = None,
    rows_per_unit: Annotated[
        int | None,
        typer.Option(help="How many rows of each are used.", rich_help_panel=_READING),
    ] = None,
    header: Header = None,
    neighbors: Annotated[
        Neighbors,
        typer.Option(help="Which tables must not be told apart.", rich_help_panel=_MECHANISM),
    ] = Neighbors.REPLACE,
    pairs: Annotated[
        int | None,
        typer.Option(help="Release only so many pairs, the strongest.", rich_help_panel=_MECHANISM),
    ] = None,
    cell_bound: Annotated[
        float | None,
        typer.Option(
            help="With --pairs and --row-norm: a bound on a cell.", rich_help_panel=_MECHANISM
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            help="Rehearse with a seed. Promises nothing; never for real data.",
            rich_help_panel=_MECHANISM,
        ),
    ] = None,
    name: Name = "",
    curator: Curator = "",
    description: Description = "",
    date: Date = None,
    fdr: Fdr = 0.1,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish the covariance of a table. Spends the privacy budget.

    Writes a folder: release.npz, covariance.csv and .parquet, edges.csv, card.json, card.md,
    page.html.

    Example: dpcov release survey.csv --columns columns.toml --epsilon 1 --delta 1e-6 --out survey/
    """
    if row_norm is not None and private_radius:
        raise typer.BadParameter("State --row-norm, or learn it with --private-radius; not both.")
    if radius_share is not None and not private_radius:
        raise typer.BadParameter("--radius-share goes with --private-radius.")
    if columns is None and row_norm is None and not private_radius and pairs is None:
        raise typer.BadParameter(
            "A bound is needed: --columns with lower and upper for all columns (dpcov columns "
            "writes a template), or --row-norm, from knowledge and never from the data; or "
            "--private-radius, which pays for one."
        )
    with guarded("Nothing was written, and nothing was published."):
        stated: dict[str, Any] = {
            "row_norm": _radius(radius_share) if private_radius else row_norm,
            "center": _center(center, plain=pairs is None and not heavy_tails),
            "scales": "private" if private_scales else None,
            "heavy_tails": heavy_tails,
            "columns": columns,
            "missing": missing.value,
            "unit": unit,
            "rows_per_unit": rows_per_unit,
            "header": header,
            "neighbors": neighbors.value,
            "mechanism": "dense" if pairs is None else "pairs",
            "max_pairs": pairs,
            "cell_bound": cell_bound,
            "seed": seed,
        }
        publish(
            lambda: dpcov.release(
                data, epsilon=epsilon, delta=delta, progress=False if quiet else None, **stated
            ),
            out,
            Identity(name, curator, description, date),
            sources=[data] if columns is None else [data, columns],
            fdr=fdr,
            force=force,
            as_json=as_json,
            quiet=quiet,
        )


def _radius(share: float | None) -> dpcov.PrivateRadius:
    return dpcov.PrivateRadius() if share is None else dpcov.PrivateRadius(share=share)


def _center(stated: Center | None, *, plain: bool) -> str | None:
    """Return the center, by default a mean that is paid for.

    The middle of a column's bounds is rarely its mean, and about anything else second moments
    are no covariances: unrelated columns would be listed as related.
    """
    if stated is not None:
        return stated.value
    return "private" if plain else None
