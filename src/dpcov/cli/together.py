"""``dpcov show A B --together``: what several folders promise about the same people.

Owns these words. For folders whose releases were charged to no ledger; that they are about the
same people is the reader's to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dpcov import privacy
from dpcov.cli.terminal import new_console, print_json
from dpcov.errors import FolderError, ParameterError
from dpcov.ledger.account import up
from dpcov.publication.card_file import sha256_of
from dpcov.publication.folder_files import RELEASE_FILE
from dpcov.publication.leftovers import check_not_hidden
from dpcov.publication.verification import verify_folder
from dpcov.releases import AnyRelease, Release

__all__ = ["say_together"]


def say_together(folders: Sequence[Path], delta: float | None, *, as_json: bool) -> None:
    """Print what the releases of several folders promise together."""
    releases = _releases(folders)
    deltas = [_delta_of(release) for release in releases]
    stated = sum(deltas) if delta is None else delta
    whole = privacy.compose(*releases, delta=stated or None)
    alone = [release.provenance.calibrated_for.epsilon for release in releases]
    said: dict[str, Any] = {
        "releases": len(releases),
        "statement": str(whole),
        "epsilon": whole.epsilon,
        "delta": stated,
        "added_up": {"epsilon": sum(alone), "delta": sum(deltas)},
        "in_words": whole.in_words,
    }
    if as_json:
        print_json(said)
        return
    console = new_console()
    console.print(f"{len(releases)} releases. If they are about the same people:\n")
    rounded = replace(whole, epsilon=float(up(whole.epsilon)))
    console.print(f"Promised together: {rounded}.")
    console.print(f"Their promises alone add up to ({up(sum(alone))}, {sum(deltas):g}).\n")
    console.print(rounded.in_words)
    console.print(
        "This counts what is in these folders, and holds if the noise of all of them was fixed "
        "before the first was seen. A ledger counts budgets that are chosen later, too."
    )


def _releases(folders: Sequence[Path]) -> list[AnyRelease]:
    """Return the releases of folders that hold, each of them once."""
    found: dict[str, AnyRelease] = {}
    for folder in folders:
        check_not_hidden(folder)
        verified = verify_folder(folder)
        if verified.card is None:
            raise FolderError(f"{folder} is not as its card says: {verified.problems[0]}.")
        digest = sha256_of(folder / RELEASE_FILE)
        if not verified.card["guarantee"]["holds"]:
            raise ParameterError(f"{folder} is a simulation, which promises nothing.")
        found[digest] = Release.load(folder / RELEASE_FILE)
    return list(found.values())


def _delta_of(release: AnyRelease) -> float:
    made = release.provenance.calibrated_for
    return made.delta if isinstance(made, privacy.ApproxDP) else 0.0
