"""Options that several commands have, so that they mean the same everywhere."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Center",
    "Curator",
    "Date",
    "Delta",
    "Description",
    "Epsilon",
    "Fdr",
    "Folder",
    "Force",
    "Header",
    "Json",
    "Keys",
    "Name",
    "Neighbors",
    "Out",
    "Psd",
    "Quiet",
    "Table",
]


class Neighbors(str, Enum):
    """Central neighboring relations."""

    REPLACE = "replace"
    ADD_REMOVE = "add-remove"


class Center(str, Enum):
    """What moments are about."""

    PUBLIC = "public"
    PRIVATE = "private"
    LEARNED = "learned"
    DIFFERENCES = "differences"


class Psd(str, Enum):
    """How an estimate is made positive semi-definite."""

    SPARSE = "sparse"
    CLIP = "clip"
    NONE = "none"


_IDENTITY = "What the card says"

Table = Annotated[
    Path,
    typer.Argument(
        help="A .csv, .parquet, .npy or (trusted) .h5ad file, or a folder of Parquet files.",
        show_default=False,
    ),
]
Folder = Annotated[
    Path, typer.Argument(help="A folder that dpcov release wrote.", show_default=False)
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="The table's names are names, though they look like values; or a CSV file has none, "
        "and --columns names all of its columns in their order.",
        show_default="names must look like names",
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
Keys = Annotated[
    list[Path] | None,
    typer.Option(
        "--key",
        help="A public key. The card must be signed with it, or with another that is stated.",
        show_default=False,
    ),
]
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
