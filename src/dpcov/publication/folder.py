"""The folder to publish: a release, its estimate, its card and a page.

Owns what is in it. `dpcov.publication.replacement` owns how it gets its name, so that nobody finds
half of one and nothing else is lost.
"""

from __future__ import annotations

import datetime
import os
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from dpcov.errors import MissingExtraError
from dpcov.ledger.ledger import Ledger
from dpcov.ledger.receipt import Receipt
from dpcov.parameters import check_number
from dpcov.postprocess import AnyEstimate
from dpcov.publication.card import card_to_json, make_card, with_files
from dpcov.publication.card_file import CARD_FILE, sha256_of
from dpcov.publication.card_text import card_to_markdown, readme_to_markdown
from dpcov.publication.folder_files import PAGE_FILE, RELEASE_FILE
from dpcov.publication.replacement import write_aside
from dpcov.publication.table_files import write_table
from dpcov.publication.tables import tables_of
from dpcov.releases import AnyRelease

__all__ = ["Identity", "check_extras", "fill_folder", "write_folder"]

_EXTRAS = {"jinja2": "publication", "matplotlib": "publication", "pyarrow": "files"}


@dataclass(frozen=True)
class Identity:
    """What a curator says of a release: see `make_card`."""

    name: str = ""
    curator: str = ""
    description: str = ""
    date: str | datetime.date | None = None
    receipt: Receipt | None = None


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
    ledger: Ledger | None = None,
) -> dict[str, Any]:
    """Write everything that there is to publish into a new folder.

    ``release.npz``; the tables ``pairs``, ``columns``, ``correlation`` and ``covariance``, and
    where there are categories or missing cells also ``categories``, ``associations``,
    ``group_means`` and ``gaps``, where columns are seen to have more in common than pairs
    ``components``, ``loadings`` and ``partial_correlations``, as ``.csv`` and ``.parquet``;
    ``README.md``, which says what stands in them; ``card.json``, ``card.md`` and ``page.html``.
    Costs no privacy.

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
        The expected share of false ones among the pairs that count as related, at most.
    force : bool, default False
        Replace a folder that this function wrote before. One that holds any other file, or
        one that was changed since, is never replaced.
    ledger : Ledger, optional
        The ledger that was charged: the card says which release about these people it is, and
        what they promise together.

    Returns
    -------
    dict
        The card.

    Raises
    ------
    MissingExtraError
        jinja2, matplotlib or pyarrow is not installed. Nothing was written.
    FolderError
        The folder cannot be written or replaced, or somebody else is writing it.

    Examples
    --------
    >>> import numpy as np, dpcov, tempfile, pathlib
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = pathlib.Path(place, "survey")
    ...     card = dpcov.publication.write_folder(release, release.estimate(), folder)
    ...     dpcov.publication.verify_folder(folder).holds
    True
    """
    check_extras()
    identity = Identity(name, curator, description, date)
    with write_aside(path, force=force) as aside:
        return fill_folder(aside.folder, release, estimate, identity, fdr=fdr, ledger=ledger)


def check_extras() -> None:
    """Refuse to begin a folder without the packages that it needs."""
    missing = [name for name in _EXTRAS if not _can_import(name)]
    if missing:
        extras = ",".join(sorted({_EXTRAS[name] for name in missing}))
        raise MissingExtraError(
            f"The folder needs {' and '.join(missing)}: pip install 'dpcov[{extras}]'"
        )


def fill_folder(
    folder: Path,
    release: AnyRelease,
    estimate: AnyEstimate,
    identity: Identity,
    *,
    fdr: float = 0.1,
    ledger: Ledger | None = None,
) -> dict[str, Any]:
    """Write the files into an empty folder, and return the card."""
    from dpcov.publication.html import write_card_page

    fdr = check_number("fdr", fdr, low=0.0, high=1.0)
    release.save(folder / RELEASE_FILE)
    if ledger is not None:
        identity = replace(identity, receipt=ledger.receipt(sha256_of(folder / RELEASE_FILE)))
    card = make_card(release, estimate, **vars(identity), fdr=fdr)
    tables = tables_of(card, estimate, fdr)
    for name, table in tables.items():
        write_table(table, folder / name)
    # Texts and page cannot hold their own digests, nor the card's: they show those of the data.
    card = with_files(card, _digests(folder))
    texts = {"README.md": readme_to_markdown(card), "card.md": card_to_markdown(card)}
    for name, text in texts.items():
        _write_text(folder / name, text)
    write_card_page(card, estimate, tables, folder / PAGE_FILE)
    card = with_files(card, _digests(folder))
    _write_text(folder / CARD_FILE, card_to_json(card))
    return card


def _can_import(name: str) -> bool:
    try:
        import_module(name)
    except ModuleNotFoundError:
        return False
    return True


def _digests(folder: Path) -> dict[str, str]:
    return {file.name: sha256_of(file) for file in sorted(folder.iterdir())}


def _write_text(path: Path, text: str) -> None:
    # Half a surrogate pair has no bytes in UTF-8; its escape is the one that JSON has too.
    with path.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
        file.write(text)
