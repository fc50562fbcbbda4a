"""``dpcov export``: a release for another program. Free, and never touches data.

Owns where the release comes from: a folder, which must hold, or a file of its own.
"""

from __future__ import annotations

import csv
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

import dpcov
from dpcov.answers.exports.export import export as write
from dpcov.answers.exports.registry import FORMATS
from dpcov.cli.options import Json, Quiet
from dpcov.cli.stopping import stoppable_until
from dpcov.cli.terminal import (
    FAILED,
    afterwards,
    guarded,
    new_console,
    print_json,
    printable,
    tell,
)
from dpcov.publication.citation import cite
from dpcov.publication.folder_files import RELEASE_FILE
from dpcov.publication.leftovers import check_not_hidden
from dpcov.publication.verification import verify_folder
from dpcov.releases import AnyRelease
from dpcov.writing import check_apart

__all__ = ["export"]

_Format = Enum("_Format", {name: name for name in FORMATS}, type=str)  # type: ignore[misc]


def export(
    source: Annotated[
        Path,
        typer.Argument(
            help="A folder that dpcov release wrote, or a release.npz.", show_default=False
        ),
    ],
    to: Annotated[_Format, typer.Option(help="The program that will read it.")],
    out: Annotated[
        Path | None,
        typer.Option(help="The folder to write. It must not exist.", show_default="SOURCE-FORMAT"),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help='Which columns, as in age,income,sex or "a, b",c; a category is compared with '
            "its first level.",
            show_default="all",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an export that nobody changed since.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a release for another program: R or SPSS.

    Example: dpcov export survey/ --to lavaan --columns age,income,sleep
    """
    with guarded():
        place = Path(f"{source.absolute().name.removesuffix('.npz')}-{to.value}")
        folder = place if out is None else out
        check_apart(folder, [source])
        release, citation = _load(source)
        chosen = None if columns is None else _names(columns)
        write(release, to.value, folder, columns=chosen, citation=citation, force=force)
        stoppable_until(lambda: True)
        with afterwards(f"{folder} is written"):
            files = sorted(file.name for file in folder.iterdir())
            if as_json:
                print_json({"folder": str(folder), "to": to.value, "files": files})
            elif not quiet:
                new_console().print(f"Written to {folder}: {', '.join(files)}")


def _load(source: Path) -> tuple[AnyRelease, str]:
    """Return a release and how it is cited; of a folder, only if all in it holds."""
    if not source.is_dir():
        return dpcov.Release.load(source), ""
    check_not_hidden(source)
    found = verify_folder(source)
    if found.card is None:
        for problem in found.problems:
            tell(printable(problem))
        raise typer.Exit(FAILED)
    return dpcov.Release.load(source / RELEASE_FILE), cite(found.card)


def _names(text: str) -> list[str]:
    """Return names that are written with commas between them, quoted where they have some."""
    (names,) = csv.reader([text], skipinitialspace=True)
    return [name.strip() for name in names]
