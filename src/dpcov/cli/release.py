"""``dpcov release`` and ``dpcov release-pairs``: from a table to a folder to publish.

Both spend the privacy budget. Owns the order: everything that can be refused is refused, and the
folder is there to be written to, before anything is spent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any

import typer

import dpcov
from dpcov.cli.options import (
    Allow,
    CellBound,
    Curator,
    Date,
    Decimal,
    Delimiter,
    Delta,
    Description,
    Epsilon,
    Facts,
    Fdr,
    Force,
    Header,
    Json,
    LedgerAccounts,
    LedgerAddress,
    LedgerDataSet,
    LedgerRequest,
    MaxPairs,
    MissingCells,
    MissingCodes,
    Name,
    Neighbors,
    Out,
    PairsCenter,
    PairsMissingCells,
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
    Weight,
    WeightBound,
    WhichEngine,
    csv_form,
)
from dpcov.cli.publishing import Output, publish
from dpcov.cli.terminal import guarded
from dpcov.columns.codes import code_of_text
from dpcov.columns.missing import Missing
from dpcov.mechanisms.door import refused_for_free
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
    missing: MissingCells = None,
    weight: Weight = None,
    weight_bound: WeightBound = None,
    privacy_unit: PrivacyUnit = None,
    rows_per_unit: RowsPerUnit = None,
    header: Header = None,
    missing_codes: MissingCodes = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    engine: WhichEngine = None,
    neighbors: Relation = Neighbors.REPLACE,
    shares: Shares = None,
    allow: Allow = None,
    seed: Seed = None,
    ledger: LedgerAddress = None,
    account: LedgerAccounts = None,
    data_set: LedgerDataSet = "",
    request_id: LedgerRequest = None,
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

    Writes a folder: the release, tables of pairs and columns, matrices, a card,
    a page, and a README.md that says what is in them.

    Example: dpcov release survey.csv --epsilon 1 --delta 1e-6 --out survey/
    """
    stated = {
        "epsilon": epsilon,
        "delta": delta,
        "columns": columns,
        "row_norm": row_norm,
        "missing": missing,
        "weight": weight,
        "weight_bound": weight_bound,
        "privacy_unit": privacy_unit,
        "rows_per_unit": rows_per_unit,
        "header": header,
        "missing_codes": [code_of_text(code) for code in missing_codes or ()],
        "delimiter": delimiter,
        "decimal": decimal,
        "engine": engine,
        "neighbors": neighbors,
        "shares": _shares(shares),
        "allow": [each.value for each in allow or ()],
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
    charged = _Charged(ledger, account, data_set, request_id)
    _publish(dpcov.release, table, stated, output, charged)


def release_pairs(
    table: Table,
    epsilon: Epsilon,
    delta: Delta,
    max_pairs: MaxPairs,
    out: Out,
    columns: Facts = None,
    row_norm: PairsRowNorm = None,
    cell_bound: CellBound = None,
    missing: PairsMissingCells = Missing.REFUSE,
    privacy_unit: PrivacyUnit = None,
    rows_per_unit: RowsPerUnit = None,
    header: Header = None,
    missing_codes: MissingCodes = None,
    delimiter: Delimiter = None,
    decimal: Decimal = None,
    engine: WhichEngine = None,
    center: PairsCenter = None,
    scales: PairsScales = None,
    neighbors: Relation = Neighbors.REPLACE,
    shares: PairsShares = None,
    allow: Allow = None,
    seed: Seed = None,
    ledger: LedgerAddress = None,
    account: LedgerAccounts = None,
    data_set: LedgerDataSet = "",
    request_id: LedgerRequest = None,
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
        "missing_codes": [code_of_text(code) for code in missing_codes or ()],
        "delimiter": delimiter,
        "decimal": decimal,
        "engine": engine,
        "center": center,
        "scales": scales,
        "neighbors": neighbors,
        "shares": _shares(shares),
        "allow": [each.value for each in allow or ()],
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
    charged = _Charged(ledger, account, data_set, request_id)
    _publish(dpcov.release_pairs, table, stated, output, charged)


@dataclass(frozen=True)
class _Charged:
    """Which accounts of which ledger are charged, as it was stated."""

    address: str | None
    accounts: list[str] | None
    data_set: str
    request_id: str | None

    def open(self) -> dpcov.Ledger | None:
        """Return the ledger, if one is stated."""
        if self.address is None:
            if self.accounts or self.data_set:
                raise typer.BadParameter("--account and --data-set are for a --ledger.")
            return None
        accounts = self.accounts or None
        return dpcov.Ledger(self.address, accounts=accounts, data_set=self.data_set)


def _publish(
    spend: Callable[..., AnyRelease],
    table: Path,
    stated: Mapping[str, Any],
    output: Output,
    charged: _Charged,
) -> None:
    """Release the table and write its folder."""
    given = {
        key: value.value if isinstance(value, Enum) else value for key, value in stated.items()
    }
    progress = False if output.quiet else None
    with guarded("Nothing was written, and nothing was published."):
        given["csv"] = csv_form(given.pop("delimiter"), given.pop("decimal"))
        with refused_for_free():
            ledger = charged.open()
        given |= {"ledger": ledger, "request_id": charged.request_id}
        output = replace(output, ledger=ledger, request_id=charged.request_id)
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
