"""``dpcov release`` and ``dpcov release-pairs``: from a table to a folder to publish.

Both spend the privacy budget. Owns the order: everything that can be refused is refused, and the
folder is there to be written to, before anything is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import typer

import dpcov
from dpcov.cli.options import (
    CellBound,
    Curator,
    Date,
    Delta,
    Description,
    Epsilon,
    Facts,
    Fdr,
    Force,
    Header,
    Json,
    MaxPairs,
    MissingCells,
    Name,
    Neighbors,
    Out,
    PairsCenter,
    PairsRowNorm,
    PairsScales,
    PairsShares,
    PrivacyUnit,
    Quiet,
    Relation,
    RowNorm,
    RowsPerUnit,
    Seed,
    Shares,
    Table,
    WhichEngine,
)
from dpcov.cli.publishing import Output, publish
from dpcov.cli.terminal import guarded
from dpcov.columns.missing import Missing
from dpcov.publication.folder import Identity
from dpcov.releases import AnyRelease

__all__ = ["release", "release_pairs"]


def release(
    table: Table,
    epsilon: Epsilon,
    delta: Delta,
    out: Out,
    columns: Facts = None,
    row_norm: RowNorm = None,
    missing: MissingCells = Missing.REFUSE,
    privacy_unit: PrivacyUnit = None,
    rows_per_unit: RowsPerUnit = None,
    header: Header = None,
    engine: WhichEngine = None,
    neighbors: Relation = Neighbors.REPLACE,
    shares: Shares = None,
    seed: Seed = None,
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

    Writes a folder: release.npz, covariance.csv and .parquet, edges.csv,
    card.json, card.md, page.html.

    Example: dpcov release survey.csv --epsilon 1 --delta 1e-6 --out survey/
    """
    stated = {
        "epsilon": epsilon,
        "delta": delta,
        "columns": columns,
        "row_norm": row_norm,
        "missing": missing,
        "privacy_unit": privacy_unit,
        "rows_per_unit": rows_per_unit,
        "header": header,
        "engine": engine,
        "neighbors": neighbors,
        "shares": _shares(shares),
        "seed": seed,
    }
    output = Output(
        out=out,
        identity=Identity(name, curator, description, date),
        sources=[table] if columns is None else [table, columns],
        fdr=fdr,
        force=force,
        as_json=as_json,
        quiet=quiet,
    )
    _publish(dpcov.release, table, stated, output)


def release_pairs(
    table: Table,
    epsilon: Epsilon,
    delta: Delta,
    max_pairs: MaxPairs,
    out: Out,
    columns: Facts = None,
    row_norm: PairsRowNorm = None,
    cell_bound: CellBound = None,
    missing: MissingCells = Missing.REFUSE,
    privacy_unit: PrivacyUnit = None,
    rows_per_unit: RowsPerUnit = None,
    header: Header = None,
    engine: WhichEngine = None,
    center: PairsCenter = None,
    scales: PairsScales = None,
    neighbors: Relation = Neighbors.REPLACE,
    shares: PairsShares = None,
    seed: Seed = None,
    name: Name = "",
    curator: Curator = "",
    description: Description = "",
    date: Date = None,
    fdr: Fdr = 0.1,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Publish the strongest pairs of columns of a table. Spends the privacy budget.

    For hundreds or thousands of columns of which few are related. Writes a
    folder, as dpcov release does.

    Example: dpcov release-pairs genes.parquet --max-pairs 200 --epsilon 1 --delta 1e-6 --out genes/
    """
    stated = {
        "epsilon": epsilon,
        "delta": delta,
        "max_pairs": max_pairs,
        "columns": columns,
        "row_norm": row_norm,
        "cell_bound": cell_bound,
        "missing": missing,
        "privacy_unit": privacy_unit,
        "rows_per_unit": rows_per_unit,
        "header": header,
        "engine": engine,
        "center": center,
        "scales": scales,
        "neighbors": neighbors,
        "shares": _shares(shares),
        "seed": seed,
    }
    output = Output(
        out=out,
        identity=Identity(name, curator, description, date),
        sources=[table] if columns is None else [table, columns],
        fdr=fdr,
        force=force,
        as_json=as_json,
        quiet=quiet,
    )
    _publish(dpcov.release_pairs, table, stated, output)


def _publish(
    spend: Callable[..., AnyRelease], table: Path, stated: Mapping[str, Any], output: Output
) -> None:
    """Release the table and write its folder."""
    given = {
        key: value.value if isinstance(value, Enum) else value for key, value in stated.items()
    }
    progress = False if output.quiet else None
    with guarded("Nothing was written, and nothing was published."):
        publish(lambda: spend(table, progress=progress, **given), output)


def _shares(given: list[str] | None) -> dict[str, float] | None:
    """Return shares of the budget that were given as NAME=NUMBER."""
    shares = {}
    for text in given or ():
        name, _, number = text.partition("=")
        try:
            shares[name.strip()] = float(number)
        except ValueError:
            raise typer.BadParameter(
                "--share takes the name of a step and a number, as in NAME=0.1."
            ) from None
    return shares or None
