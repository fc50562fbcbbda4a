"""The folder to publish: a release, its estimate, its card and a report.

Owns how it is written: aside, and renamed when it is complete, so that nobody finds half of
one. A folder that is there already is replaced only if that is asked for, and only if it is
one of these.
"""

from __future__ import annotations

import datetime
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcov.errors import FolderError
from dpcov.parameters import check_number
from dpcov.postprocess import Estimate, PairsEstimate
from dpcov.releases import PairsRelease, Release
from dpcov.report.card import card_to_json, make_card
from dpcov.report.card_text import card_to_markdown
from dpcov.report.tables import write_covariance, write_edges
from dpcov.report.verification import CARD_FILE, RELEASE_FILE, read_card, sha256_of

__all__ = ["Identity", "fill_folder", "write_aside", "write_folder"]

AnyRelease = Release | PairsRelease
AnyEstimate = Estimate | PairsEstimate


@dataclass(frozen=True)
class Identity:
    """What a curator says of a release: see `make_card`."""

    name: str = ""
    curator: str = ""
    description: str = ""
    date: str | datetime.date | None = None


def write_folder(
    release: AnyRelease,
    estimate: AnyEstimate,
    path: str | os.PathLike[str],
    *,
    name: str = "",
    curator: str = "",
    description: str = "",
    date: str | datetime.date | None = None,
    fdr: float = 0.1,
    force: bool = False,
) -> dict[str, Any]:
    """Write everything that there is to publish into a new folder.

    ``release.npz``, ``covariance.parquet`` and ``.csv``, ``edges.csv``, ``card.json``,
    ``card.md``, ``report.html``. Costs no privacy.

    Parameters
    ----------
    release : Release or PairsRelease
        What was released.
    estimate : Estimate or PairsEstimate
        What was made of it.
    path : path
        The folder. It must not exist, unless `force` is stated.
    name, curator, description, date
        See `make_card`.
    fdr : float, default 0.1
        The expected share of false pairs in ``edges.csv`` and in the report, at most.
    force : bool, default False
        Replace a folder that this function wrote before.

    Returns
    -------
    dict
        The card.

    Examples
    --------
    >>> import numpy as np, dpcov, tempfile, pathlib
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = pathlib.Path(place, "survey")
    ...     card = dpcov.report.write_folder(release, release.estimate(), folder, name="Survey")
    ...     dpcov.report.verify_folder(folder).holds
    True
    """
    identity = Identity(name, curator, description, date)
    with write_aside(path, force=force) as folder:
        return fill_folder(folder, release, estimate, identity, fdr=fdr)


@contextmanager
def write_aside(path: str | os.PathLike[str], *, force: bool = False) -> Iterator[Path]:
    """Give an empty folder to write to, which becomes `path` at the end, or vanishes.

    A release that is paid for must not be lost because its folder cannot be written: enter
    this before anything is spent.
    """
    target = Path(os.path.abspath(path))  # noqa: PTH100  # resolve() would follow a link
    _check_target(target, force)
    aside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:  # from before the folder is there: Ctrl-C may come between any two steps
        _make_folder(aside)
        yield aside
        _put_in_place(aside, target, force)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def fill_folder(
    folder: Path,
    release: AnyRelease,
    estimate: AnyEstimate,
    identity: Identity,
    *,
    fdr: float = 0.1,
) -> dict[str, Any]:
    """Write the files into an empty folder, and return the card."""
    from dpcov.report.html import write_report

    fdr = check_number("fdr", fdr, low=0.0, high=1.0)
    release.save(folder / RELEASE_FILE)
    write_covariance(estimate, folder)
    write_edges(estimate.edges(fdr), estimate, folder / "edges.csv")
    about = vars(identity)
    # The page cannot hold its own digest, nor that of the card: it shows those of the data.
    card = make_card(release, estimate, **about, files=_digests(folder), fdr=fdr)
    _write_text(folder / "card.md", card_to_markdown(card))
    write_report(
        release,
        estimate,
        folder / "report.html",
        title=identity.name or "Private covariance report",
        description=identity.description,
        fdr=fdr,
        card=card,
    )
    card = make_card(release, estimate, **about, files=_digests(folder), fdr=fdr)
    _write_text(folder / CARD_FILE, card_to_json(card))
    return card


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir()
    except OSError:
        raise FolderError(
            f"{str(folder.parent)!r} is not a folder that can be written to."
        ) from None


def _check_target(target: Path, force: bool) -> None:
    if not os.path.lexists(target):
        return
    if not force:
        raise FolderError(
            f"{str(target)!r} exists and is never overwritten. Choose another folder, or ask for "
            "it with --force (in Python, force=True)."
        )
    if target.is_symlink() or not target.is_dir():
        raise FolderError(f"{str(target)!r} is not a folder and is not replaced.")
    if any(target.iterdir()):
        read_card(target)  # anything else is not ours to delete


def _put_in_place(aside: Path, target: Path, force: bool) -> None:
    _check_target(target, force)  # it may have come into being in the meantime
    if not target.exists():
        aside.rename(target)
        return
    old = target.with_name(f"{aside.name}.old")
    try:
        target.rename(old)
        aside.rename(target)
    except OSError:
        raise FolderError(f"{str(target)!r} cannot be replaced; it is as it was.") from None
    finally:  # of Ctrl-C too, which may come between the two
        if not target.exists():
            old.rename(target)
        shutil.rmtree(old, ignore_errors=True)


def _digests(folder: Path) -> dict[str, str]:
    return {file.name: sha256_of(file) for file in sorted(folder.iterdir())}


def _write_text(path: Path, text: str) -> None:
    # Half a surrogate pair has no bytes in UTF-8; its escape is the one that JSON has too.
    with path.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(text)
