"""``dpcov show``, ``dpcov verify`` and ``dpcov card``: what a published folder says.

Owns reading a folder for the terminal. Files of a folder come from outside: they are
looked at, never trusted.
"""

from __future__ import annotations

import csv
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpcov.cli.options import Folder, Json, Quiet
from dpcov.cli.summary import findings, promise
from dpcov.cli.terminal import FAILED, guarded, new_console, print_json, printable, tell
from dpcov.errors import DpcovError, FolderError
from dpcov.report.card import card_to_json
from dpcov.report.card_text import card_to_markdown
from dpcov.report.leftovers import check_not_hidden
from dpcov.report.registry import TO_FILL_IN, registry_entry
from dpcov.report.verification import Verification, read_card, verify_folder

__all__ = ["card", "show", "verify"]


class _Format(str, Enum):
    MARKDOWN = "markdown"
    JSON = "json"
    REGISTRY = "opendp-registry"


def show(folder: Folder, as_json: Json = False) -> None:
    """Print what a published folder promises and what was found.

    Example: dpcov show survey/
    """
    with guarded():
        check_not_hidden(folder)
        found, stated = verify_folder(folder), read_card(folder)
        edges = _read_edges(folder / "edges.csv") if "edges.csv" in found.checked else []
        if as_json:
            print_json({"card": stated, "edges": edges, "intact": found.holds})
            return
        if not found.holds:  # a promise that the release does not keep is not repeated
            _tell_problems(found)
            raise typer.Exit(FAILED)
        try:
            text = (promise(stated), findings(stated, edges, ""))
        except (KeyError, TypeError, ValueError):
            raise FolderError("card.json is not a card of dpcov, or was altered.") from None
        console = new_console()
        for part in text:
            console.print(part)


def verify(folder: Folder, as_json: Json = False, quiet: Quiet = False) -> None:
    """Check the files of a folder against its card, and the card against the release.

    Exit code 0: all is as it was written; 1: it is not.

    Example: dpcov verify survey/
    """
    with guarded():
        check_not_hidden(folder)
        found = verify_folder(folder)
        if as_json:
            print_json({"holds": found.holds} | vars(found))
        elif not quiet and found.holds:
            console = new_console()
            console.print(
                f"{len(found.checked)} files are as the card says, and so is the release."
            )
            console.print(f"sha256 of card.json: {found.card_sha256}")
        for name in found.unlisted:
            tell(f"note: {name} is not in the card")
        if not found.holds:
            _tell_problems(found)
            raise typer.Exit(FAILED)


def card(
    folder: Folder,
    form: Annotated[
        _Format, typer.Option("--format", help="opendp-registry: a draft for OpenDP's registry.")
    ] = _Format.MARKDOWN,
) -> None:
    """Print the card of a published folder.

    Example: dpcov card survey/ --format opendp-registry
    """
    with guarded():
        check_not_hidden(folder)
        stated = read_card(folder)
        try:
            text = _written(stated, form)
        except DpcovError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError):
            raise FolderError("card.json is not a card of dpcov, or was altered.") from None
        typer.echo(text, nl=False)
        if form is _Format.REGISTRY:
            tell(f"fill in by hand: {', '.join(TO_FILL_IN)}")


def _written(stated: dict[str, Any], form: _Format) -> str:
    if form is _Format.MARKDOWN:
        return card_to_markdown(stated)
    return card_to_json(stated if form is _Format.JSON else registry_entry(stated))


def _tell_problems(found: Verification) -> None:
    for problem in found.problems:
        tell(printable(problem))


def _read_edges(file: Path) -> list[tuple[str | float, ...]]:
    try:
        with file.open(encoding="utf-8", newline="") as content:
            _, *rows = csv.reader(content)
        return [(first, second, *map(float, rest)) for first, second, *rest in rows]
    except (ValueError, csv.Error):
        raise FolderError("edges.csv cannot be read as a table of pairs.") from None
