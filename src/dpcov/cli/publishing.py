"""From something that makes a release to a folder, with what is said about it.

Owns the order that `dpcov release` and `dpcov local collect` share.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpcov.cli.summary import findings, promise
from dpcov.cli.terminal import new_console, print_json, tell
from dpcov.errors import DpcovError, MissingExtraError
from dpcov.parameters import check_number
from dpcov.releases import PairsRelease, Release
from dpcov.report.card import check_date
from dpcov.report.folder import Identity, fill_folder, write_aside
from dpcov.report.verification import read_card

__all__ = ["publish", "write_and_say"]

AnyRelease = Release | PairsRelease


def publish(
    make: Callable[[], AnyRelease],
    out: Path,
    identity: Identity,
    *,
    fdr: float,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make a release, write its folder, and say what is in it.

    Whatever can be refused without the data is refused before `make` spends anything.
    """
    check_number("fdr", fdr, low=0.0, high=1.0)
    check_date(identity.date)
    _check_extras()
    if force:
        _warn_of_the_release_before(out)
    write_and_say(
        lambda: make().estimate(),
        out,
        identity,
        fdr=fdr,
        force=force,
        as_json=as_json,
        quiet=quiet,
    )


def write_and_say(
    make: Callable[[], Any],
    out: Path,
    identity: Identity,
    *,
    fdr: float,
    force: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make an estimate, write its folder, and say what is in it."""
    with write_aside(out, force=force) as folder:
        estimate = make()
        card = fill_folder(folder, estimate.release, estimate, identity, fdr=fdr)
    if quiet:
        return
    if as_json:
        print_json({"folder": str(out), "card": card})
        return
    console = new_console()
    console.print(promise(card))
    at = f" at a false discovery rate of {fdr:g}"
    console.print(findings(card, list(estimate.edges(fdr)), at))
    console.print(f"Written to {out}: {', '.join([*card['files'], 'card.json'])}")


def _check_extras() -> None:
    try:
        import jinja2  # noqa: F401
        import matplotlib  # noqa: F401
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtraError(
            "The folder needs jinja2, matplotlib and pyarrow: pip install 'dpcov[cli]'"
        ) from None


def _warn_of_the_release_before(out: Path) -> None:
    """Say that budgets add up, when a release is about to be replaced by another."""
    try:
        guarantee = read_card(out)["guarantee"]
        if not guarantee["holds"]:
            return
        before = str(guarantee["statement"])
    except (DpcovError, KeyError):
        return
    tell(
        f"warning: {out} holds a release already: {before}. If the new one is about the same "
        "people, both count, published or replaced: epsilons add up, and so do deltas."
    )
