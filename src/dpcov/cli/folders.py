"""``dpcov show``, ``dpcov verify`` and ``dpcov card``: what a published folder says.

Owns reading a folder for the terminal. Files of a folder come from outside: what is printed
was computed from the release, or is a curator's word in a folder that holds.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

from dpcov.cli.options import Folder, Json, Quiet
from dpcov.cli.summary import findings, learned, promise
from dpcov.cli.terminal import FAILED, guarded, new_console, print_json, printable, tell
from dpcov.cli.together import say_together
from dpcov.publication.card import card_to_json
from dpcov.publication.card_text import card_to_markdown
from dpcov.publication.category_views import listed_for_machines
from dpcov.publication.leftovers import check_not_hidden
from dpcov.publication.verification import Verification, verify_folder

__all__ = ["card", "show", "verify"]


class _Format(str, Enum):
    MARKDOWN = "markdown"
    JSON = "json"


def show(
    folders: Annotated[
        list[Path], typer.Argument(help="A folder that dpcov release wrote.", show_default=False)
    ],
    together: Annotated[
        bool, typer.Option("--together", help="Say what several folders promise together.")
    ] = False,
    delta: Annotated[
        float | None,
        typer.Option(help="With --together: at which delta.", show_default="their sum"),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what a published folder promises and what was found.

    All of it is computed from the release, and compared with the card.

    Example: dpcov show survey/
    """
    if together:
        with guarded():
            say_together(folders, delta, as_json=as_json)
        return
    if len(folders) > 1 or delta is not None:
        raise typer.BadParameter("Several folders, and a --delta, need --together.")
    (folder,) = folders
    with guarded():
        check_not_hidden(folder)
        found = verify_folder(folder)
        if found.card is None:  # a promise that the release does not keep is not repeated
            _tell_problems(found)
        if as_json:
            shown = {"card": found.card, **_listed(found), "intact": found.holds}
            _print_anyway(shown)
        if found.card is None:
            raise typer.Exit(FAILED)
        if as_json:
            return
        console = new_console()
        console.print(promise(found.card))
        console.print(learned(found.card))
        console.print(findings(found.card, found.tables))


def verify(folder: Folder, as_json: Json = False, quiet: Quiet = False) -> None:
    """Check the files of a folder against its card, and all of the card against the release.

    Exit code 0: all is as it was written; 1: it is not.

    Example: dpcov verify survey/
    """
    with guarded():
        check_not_hidden(folder)
        found = verify_folder(folder)
        for name in found.unlisted:
            tell(f"note: {name} is not in the card")
        for note in found.notes:
            tell(f"note: {note}")
        if not found.holds:
            _tell_problems(found)
        if as_json:
            _print_anyway(_for_machines(found))
        if not found.holds:
            raise typer.Exit(FAILED)
        if not as_json and not quiet:
            _say_what_was_compared(found)


def card(
    folder: Folder,
    form: Annotated[_Format, typer.Option("--format", help="For readers or for machines.")] = (
        _Format.MARKDOWN
    ),
) -> None:
    """Print the card of a published folder, as it follows from the release.

    Example: dpcov card survey/ --format json
    """
    with guarded():
        check_not_hidden(folder)
        found = verify_folder(folder)
        if found.card is None:
            _tell_problems(found)
            raise typer.Exit(FAILED)
        typer.echo(_written(found.card, form), nl=False)


def _listed(found: Verification) -> dict[str, Any]:
    """Return what is related, as lines of the tables of pairs, associations and gaps."""
    return listed_for_machines(found.tables) if found.tables else {"related": []}


def _written(stated: dict[str, Any], form: _Format) -> str:
    if form is _Format.MARKDOWN:
        return card_to_markdown(stated)
    return card_to_json(stated)


def _say_what_was_compared(found: Verification) -> None:
    console = new_console()
    if found.card is not None:
        holds, statement = (found.card["guarantee"][name] for name in ("holds", "statement"))
        console.print(f"{'It promises' if holds else 'NOTHING IS PROMISED'}: {statement}.")
    console.print("The card says what the release says.")
    console.print(f"Computed again from the release: {', '.join(found.recomputed)}.")
    alone = [name for name in found.checked if name not in found.recomputed]
    pictures = ["the pictures of page.html"] if "page.html" in found.recomputed else []
    console.print(f"Compared by digest alone: {', '.join([*alone, *pictures])}.")
    console.print(f"sha256 of card.json: {found.card_sha256}")


def _print_anyway(said: dict[str, Any]) -> None:
    """Print for machines. A reader that left does not change what was found."""
    with suppress(BrokenPipeError):
        print_json(said)
        sys.stdout.flush()


def _for_machines(found: Verification) -> dict[str, Any]:
    names = ("checked", "recomputed", "problems", "notes", "unlisted", "card_sha256")
    said = {name: getattr(found, name) for name in names}
    return {"holds": found.holds} | said


def _tell_problems(found: Verification) -> None:
    for problem in found.problems:
        tell(printable(problem))
