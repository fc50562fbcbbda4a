"""Options that several commands have, so that they mean the same everywhere."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from dpcov.columns.csv_form import CsvForm
from dpcov.columns.missing import Missing

__all__ = [
    "About",
    "Allow",
    "AnswerOut",
    "CellBound",
    "Center",
    "Confidence",
    "Curator",
    "Date",
    "Decimal",
    "Delimiter",
    "Delta",
    "Description",
    "Engine",
    "Epsilon",
    "Facts",
    "Fdr",
    "Folder",
    "Force",
    "Header",
    "Json",
    "LedgerAccounts",
    "LedgerAddress",
    "LedgerDataSet",
    "LedgerRequest",
    "MaxPairs",
    "MissingCells",
    "MissingCodes",
    "Name",
    "Neighbors",
    "Out",
    "PairsCenter",
    "PairsMissingCells",
    "PairsRowNorm",
    "PairsScales",
    "PrivacyUnit",
    "Psd",
    "Quiet",
    "Relation",
    "RowNorm",
    "RowsPerUnit",
    "Scales",
    "Seed",
    "Shares",
    "Source",
    "Table",
    "Weight",
    "WeightBound",
    "WhichEngine",
    "Whom",
    "csv_form",
]


class Neighbors(str, Enum):
    """Central neighboring relations."""

    REPLACE = "replace"
    ADD_REMOVE = "add-remove"


class Center(str, Enum):
    """What signs are about."""

    LEARNED = "learned"
    DIFFERENCES = "differences"
    STATED = "stated"


class Scales(str, Enum):
    """Whether variances are left out."""

    NONE = "none"


class Engine(str, Enum):
    """Who adds up the rows, if not this process."""

    DASK = "dask"


class Allowed(str, Enum):
    """What is released in spite of a warning."""

    SMALL = "small"
    MISMATCH = "mismatch"


class Psd(str, Enum):
    """How an estimate is made positive semi-definite."""

    SPARSE = "sparse"
    CLIP = "clip"
    NONE = "none"


class Whom(str, Enum):
    """Of whom an answer is."""

    POPULATION = "population"
    TABLE = "table"


_IDENTITY = "What the card says"
_READING = "How rows are read"
_MECHANISM = "What is released"
_ACCOUNT = "Which account is charged"

Table = Annotated[
    Path,
    typer.Argument(
        help="A .csv, .csv.gz, .parquet, .npy file, or a folder of Parquet files.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path, typer.Argument(help="A folder that dpcov release wrote.", show_default=False)
]
Source = Annotated[
    Path,
    typer.Argument(
        help="A folder that dpcov release wrote, or its release.npz.", show_default=False
    ),
]
About = Annotated[
    Whom | None,
    typer.Option(
        help="Of whom: the people of whom the rows are a sample, or these very rows.",
        show_default="population",
    ),
]
Confidence = Annotated[float, typer.Option(help="How often an interval covers the truth.")]
AnswerOut = Annotated[
    Path | None,
    typer.Option(help="Write tables and text to this folder, too. It must not exist."),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="The table's names are names, though they look like values; or a CSV file has none, "
        "and --columns names all of its columns in their order.",
        show_default="names must look like names",
        rich_help_panel=_READING,
    ),
]
Facts = Annotated[
    Path | None,
    typer.Option("--columns", help="Public facts: see dpcov columns.", rich_help_panel=_READING),
]
RowNorm = Annotated[
    float | None,
    typer.Option(
        help="A public bound on the norm of a row. Never read it from the data.",
        show_default="learned, and paid for",
        rich_help_panel=_READING,
    ),
]
PairsRowNorm = Annotated[
    float | None,
    typer.Option(
        help="A public bound on the norm of a row, to release variances.",
        rich_help_panel=_READING,
    ),
]
CellBound = Annotated[
    float | None,
    typer.Option(help="With --row-norm: a bound on a cell.", rich_help_panel=_READING),
]
MissingCells = Annotated[
    Missing | None,
    typer.Option(
        "--missing",
        help="Each pair by the rows in which both cells are there, which is the default; complete "
        "rows alone; refuse missing cells; or read the center.",
        rich_help_panel=_READING,
    ),
]
PairsMissingCells = Annotated[
    Missing,
    typer.Option(
        "--missing", help="Refuse missing cells, or read the center.", rich_help_panel=_READING
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(help="The column that says how much a row counts.", rich_help_panel=_READING),
]
WeightBound = Annotated[
    float | None,
    typer.Option(help="With --weight: a public bound of weights.", rich_help_panel=_READING),
]
MissingCodes = Annotated[
    list[str] | None,
    typer.Option(
        "--missing-code",
        help="A code that means no answer, in all columns, such as -9. May be given several times.",
        show_default=False,
        rich_help_panel=_READING,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What stands between the cells of a CSV file, such as ';'.",
        show_default="a comma",
        rich_help_panel=_READING,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        help="What stands before decimals in a CSV file: '.' or ','.",
        show_default="a point",
        rich_help_panel=_READING,
    ),
]
PrivacyUnit = Annotated[
    str | None,
    typer.Option(help="The column that says whose row it is.", rich_help_panel=_READING),
]
RowsPerUnit = Annotated[
    int | None,
    typer.Option(help="How many rows of each are used, drawn at random.", rich_help_panel=_READING),
]
WhichEngine = Annotated[
    Engine | None,
    typer.Option("--engine", help="Let Dask add up the rows.", rich_help_panel=_READING),
]
Relation = Annotated[
    Neighbors,
    typer.Option(
        "--neighbors", help="Which tables must not be told apart.", rich_help_panel=_MECHANISM
    ),
]
MaxPairs = Annotated[
    int, typer.Option(help="How many pairs, the strongest.", rich_help_panel=_MECHANISM)
]
PairsCenter = Annotated[
    Center | None,
    typer.Option(
        "--center",
        help="Signs of differences of rows, or about centers that are learned or stated.",
        show_default="learned where differences would show less",
        rich_help_panel=_MECHANISM,
    ),
]
PairsScales = Annotated[
    Scales | None,
    typer.Option("--scales", help="Release correlations only.", rich_help_panel=_MECHANISM),
]
Shares = Annotated[
    list[str] | None,
    typer.Option(
        "--share",
        help="A step's share of the budget, such as center=0.1: dpcov plan lists the steps. May "
        "be given several times.",
        show_default=False,
        rich_help_panel=_MECHANISM,
    ),
]
PairsShares = Annotated[
    list[str] | None,
    typer.Option(
        "--share",
        help="A relative share of the budget, such as values=0.6. May be given several times.",
        show_default=False,
        rich_help_panel=_MECHANISM,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="Rehearse with a seed. Promises nothing; never for real data.",
        rich_help_panel=_MECHANISM,
    ),
]
Allow = Annotated[
    list[Allowed] | None,
    typer.Option(
        "--allow",
        help="Release in spite of a warning: a table too small to show anything, or columns whose "
        "cells do not match. May be given several times.",
        show_default=False,
        rich_help_panel=_MECHANISM,
    ),
]
LedgerAddress = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="The account of what was promised about these people: a file, or postgresql://…",
        show_default="none is kept",
        rich_help_panel=_ACCOUNT,
    ),
]
LedgerAccounts = Annotated[
    list[str] | None,
    typer.Option(
        "--account",
        help="A population of the ledger. Several are charged all at once.",
        show_default="the only one",
        rich_help_panel=_ACCOUNT,
    ),
]
LedgerDataSet = Annotated[
    str,
    typer.Option("--data-set", help="What the ledger calls the table.", rich_help_panel=_ACCOUNT),
]
LedgerRequest = Annotated[
    str | None,
    typer.Option(
        "--request-id",
        help="A name for this request: the same again is not charged twice.",
        rich_help_panel=_ACCOUNT,
    ),
]
Epsilon = Annotated[float, typer.Option(help="How much one person may be exposed.")]
Delta = Annotated[float, typer.Option(help="Well below 1 / rows.")]
Out = Annotated[Path, typer.Option(help="The folder to write. It must not exist.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace a folder that dpcov wrote, and nothing else.")
]
Fdr = Annotated[float, typer.Option(help="Share of false pairs among those listed, at most.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but warnings.")]
Name = Annotated[str, typer.Option(help="What it is called. Published.", rich_help_panel=_IDENTITY)]
Curator = Annotated[
    str, typer.Option(help="Who answers for it. Published.", rich_help_panel=_IDENTITY)
]
Description = Annotated[
    str, typer.Option(help="What the data are about. Published.", rich_help_panel=_IDENTITY)
]
Date = Annotated[
    str | None,
    typer.Option(help="YYYY-MM-DD.", show_default="today", rich_help_panel=_IDENTITY),
]


def csv_form(delimiter: str | None, decimal: str | None) -> CsvForm:
    """Return how a CSV file is written, from options."""
    stated = {"delimiter": delimiter, "decimal": decimal}
    # A tab is hard to type.
    tabs = {"\\t": "\t", "tab": "\t"}
    return CsvForm.parse(
        {option: tabs.get(value, value) for option, value in stated.items() if value is not None}
    )
