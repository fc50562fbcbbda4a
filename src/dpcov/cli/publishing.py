"""From something that makes a release to a folder, with what is said about it.

Owns the order that `dpcov release` and `dpcov local collect` share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcov.cli.stopping import stoppable_until
from dpcov.cli.summary import findings, learned, promise
from dpcov.cli.terminal import afterwards, new_console, print_json, tell
from dpcov.errors import DpcovError
from dpcov.ledger import Ledger
from dpcov.mechanisms.door import refused_for_free
from dpcov.parameters import check_number
from dpcov.publication.card import check_date
from dpcov.publication.card_file import read_card
from dpcov.publication.folder import Identity, check_extras, fill_folder
from dpcov.publication.folder_files import RELEASE_FILE
from dpcov.publication.replacement import Aside, write_aside
from dpcov.publication.tables import tables_to_show
from dpcov.releases import AnyRelease
from dpcov.writing import check_apart

__all__ = ["Output", "publish", "write_and_say"]


@dataclass(frozen=True, kw_only=True)
class Output:
    """The folder that a command writes, the paths that it reads, and what it says."""

    out: Path
    identity: Identity
    sources: Sequence[Path]
    fdr: float
    force: bool
    as_json: bool
    quiet: bool
    ledger: Ledger | None = None
    request_id: str | None = None
    """The request in the ledger: asked again, it returns the same release and is not charged."""


def publish(make: Callable[[], AnyRelease], output: Output, *, spends: bool = True) -> None:
    """Make a release, write its folder, and say what is in it.

    Whatever can be refused without the data is refused before `make` spends anything. With
    `spends=False` it only adds up what was paid for elsewhere.
    """
    begun: list[bool] = []
    drawn: list[AnyRelease] = []

    def spend() -> Any:
        if output.force and spends:
            _warn_of_the_release_before(output)
        begun.append(True)  # from here on `make` says itself whether something was spent
        drawn.append(make())
        return drawn[0].estimate()

    with refused_for_free(lambda: bool(begun) or not spends):
        check_date(output.identity.date)
        write_and_say(spend, output, is_spent=lambda: spends and bool(drawn))


def write_and_say(
    make: Callable[[], Any], output: Output, *, is_spent: Callable[[], bool] = lambda: False
) -> None:
    """Make an estimate, write its folder, and say what is in it.

    From the moment that the folder is complete, nothing makes this fail. If it fails before, and
    privacy `is_spent` by then, that is said.
    """
    out, fdr = output.out, output.fdr
    check_number("fdr", fdr, low=0.0, high=1.0)
    check_extras()
    check_apart(out, [*output.sources, *_file_of(output.ledger)])
    aside: Aside | None = None
    try:
        with write_aside(out, force=output.force) as aside:
            stoppable_until(lambda made=aside: made.complete)  # type: ignore[misc]
            estimate = make()
            card = fill_folder(
                aside.folder,
                estimate.release,
                estimate,
                output.identity,
                fdr=fdr,
                ledger=output.ledger,
            )
        if not output.quiet:
            with afterwards(f"{out} is complete"):
                _say(card, estimate, output)
    except BaseException as error:
        if aside is not None and aside.complete and isinstance(error, KeyboardInterrupt):
            return
        if aside is not None and not (aside.complete or aside.kept) and is_spent():
            again = " The same request id writes it at no further cost."
            tell(
                "warning: noise had been drawn, and then the folder could not be written. Nothing "
                f"was published, and the budget counts as spent."
                f"{'' if output.request_id is None else again}"
            )
        raise


def _file_of(ledger: Ledger | None) -> list[Path]:
    """Return the file of a ledger, if it is one."""
    return [] if ledger is None or "://" in ledger.address else [Path(ledger.address)]


def _say(card: dict[str, Any], estimate: Any, output: Output) -> None:
    out = output.out
    if output.as_json:
        print_json({"folder": str(out), "card": card})
        return
    console = new_console()
    console.print(promise(card))
    console.print(learned(card))
    console.print(findings(card, tables_to_show(card, estimate, output.fdr)))
    console.print(f"Written to {out}: {', '.join([*card['files'], 'card.json'])}")


def _warn_of_the_release_before(output: Output) -> None:
    """Say that budgets add up, when a release is about to be replaced by another."""
    try:
        card = read_card(output.out)
        guarantee, stated = card["guarantee"], card["files"][RELEASE_FILE]
        if not guarantee["holds"]:
            return
        before = str(guarantee["statement"])
    except (DpcovError, KeyError):
        return
    if stated == f"sha256:{_release_kept_for(output)}":
        return  # the ledger returns this very release
    tell(
        f"warning: {output.out} holds a release already: {before}. If the new one is about the "
        "same people, both count, published or replaced: epsilons add up, and so do deltas."
    )


def _release_kept_for(output: Output) -> str | None:
    """Return the digest of what the ledger has recorded for the request, if it has."""
    if output.ledger is None or output.request_id is None:
        return None
    found = output.ledger.look()[0].find(output.request_id)
    return None if found is None else found.sha256
