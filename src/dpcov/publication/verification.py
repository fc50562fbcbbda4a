"""Whether a published folder is what its card says, and the card what its release says.

Owns the order of the checks. The card is made again from ``release.npz`` and from the
curator's own words, and compared with the one that is there; so are the tables and the card
in plain language. What remains a curator's word is covered by digests, which detect damage
and not a forger who writes new ones: for that there are signatures.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcov.errors import FolderError, MissingExtraError, ReleaseFileError
from dpcov.publication.card import CARD_VERSION
from dpcov.publication.card_file import (
    CARD_FILE,
    parse_card,
    problems_of_text,
    read_card,
    read_card_text,
    sha256_of,
)
from dpcov.publication.card_text import card_to_markdown
from dpcov.publication.comparison import compare_cards
from dpcov.publication.file_sizes import most_bytes
from dpcov.publication.recomputation import Recomputed, recompute
from dpcov.publication.signature import SIGNATURE_FILE, Signature, check_signature
from dpcov.publication.table_check import (
    covariance_csv_differs,
    covariance_parquet_differs,
    edges_differ,
)
from dpcov.publication.table_form import covariance_has_form, edges_have_form
from dpcov.publication.tables import edge_rows
from dpcov.releases import Release
from dpcov.version import __version__

__all__ = [
    "CARD_FILE",
    "RELEASE_FILE",
    "SIGNATURE_FILE",
    "Verification",
    "read_card",
    "sha256_of",
    "verify_folder",
]

RELEASE_FILE = "release.npz"
_TEXT_FILE, _PAGE = "card.md", "page.html"
_TABLES = ("covariance.csv", "covariance.parquet", "edges.csv")
_FILES = [_TEXT_FILE, *_TABLES, RELEASE_FILE, _PAGE]  # in the order of the card


@dataclass(frozen=True, eq=False)
class Verification:
    """What a look at a folder found.

    Parameters
    ----------
    checked : tuple of str
        The files whose digests are those in the card.
    recomputed : tuple of str
        Those of them that also follow from the release; the others are compared by digest
        alone.
    problems : tuple of str
        What is wrong.
    notes : tuple of str
        What could not be compared, and why.
    unlisted : tuple of str
        Files that the card says nothing about.
    card_sha256 : str
        The digest of the card itself, to be compared with one from elsewhere.
    signature : Signature or None
        A valid signature of the card; None if there is none.
    card : dict or None
        The card as it follows from the release and from the curator's words; None if
        anything is wrong.
    edges : tuple
        The related pairs, computed from the release: the rows of ``edges.csv``.
    """

    checked: tuple[str, ...]
    recomputed: tuple[str, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    unlisted: tuple[str, ...]
    card_sha256: str
    signature: Signature | None
    card: dict[str, Any] | None
    edges: tuple[tuple[str | float, ...], ...]

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify_folder(
    path: str | os.PathLike[str], *, keys: Sequence[str | os.PathLike[str]] = ()
) -> Verification:
    """Compare a folder with its card, and all that the card says with the release.

    The card, the tables and the card in plain language are computed again from the release,
    with the curator's words and options. Numbers that depend on a machine's arithmetic may
    differ by 1e-8 of their scale, everything else must be equal.

    Parameters
    ----------
    path : path
        A folder that `write_folder` wrote.
    keys : sequence of paths
        Public keys in PEM. If any is stated, the card must be signed with one of them.

    Raises
    ------
    FolderError
        There is no such folder, it has no card that can be read, or a key is none.

    Examples
    --------
    >>> import numpy as np, dpcov, tempfile, pathlib
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = pathlib.Path(place, "survey")
    ...     card = dpcov.publication.write_folder(release, release.estimate(), folder)
    ...     intact = dpcov.publication.verify_folder(folder)
    ...     text = (folder / "card.json").read_text(encoding="utf-8")
    ...     _ = (folder / "card.json").write_text(text.replace('"power": 0.13', '"power": 0.03'))
    ...     dpcov.publication.verify_folder(folder).problems[-1]
    'the card states another guarantee.attack.power than the release'
    >>> intact.holds, intact.recomputed
    (True, ('card.md', 'covariance.csv', 'covariance.parquet', 'edges.csv', 'release.npz'))
    """
    folder = Path(path)
    text = read_card_text(folder)
    stated = parse_card(text, folder)
    if stated["version"] != CARD_VERSION:
        raise FolderError(
            f"The card has version {stated['version']}, of which not everything can be computed "
            "again. Write the folder anew, which is free: dpcov estimate FOLDER --out ANOTHER."
        )
    problems = problems_of_text(text, stated)
    checked, damaged = _compare_files(folder, stated)
    problems += damaged
    computed: Recomputed | None = None
    recomputed: list[str] = []
    notes: list[str] = []
    if RELEASE_FILE in checked:
        computed, found = _recompute(folder, stated)
        problems += found
    if computed is not None:
        recomputed, notes, found = _compare_derived(folder, checked, stated, computed)
        problems += found
    signature, found = check_signature(folder, text, keys)
    problems += found
    listed = {*_FILES, CARD_FILE, SIGNATURE_FILE}
    return Verification(
        checked=tuple(checked),
        recomputed=tuple(recomputed),
        problems=tuple(problems),
        notes=tuple(notes),
        unlisted=tuple(sorted(file.name for file in folder.iterdir() if file.name not in listed)),
        card_sha256=hashlib.sha256(text).hexdigest(),
        signature=signature,
        card=None if problems or computed is None else computed.card,
        edges=() if problems or computed is None else _rows(computed),
    )


def _compare_files(folder: Path, card: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the names of the files whose digests are right, and what is wrong."""
    checked, problems, files = [], [], card["files"]
    most = most_bytes(card)
    for name, stated in files.items():
        problem = _compare(folder, name, stated, most.get(name, 0))
        if problem is None:
            checked.append(name)
        else:
            problems.append(problem)
    problems += [f"the card does not list {name}" for name in _FILES if name not in files]
    return checked, problems


def _compare(folder: Path, name: str, stated: object, most: int) -> str | None:
    if name not in _FILES:
        return "the card names a file that dpcov does not write, or not a file of this folder"
    if not (folder / name).is_file():
        return f"{name} is missing"
    try:
        if (folder / name).stat().st_size > most:
            return f"{name} is longer than dpcov writes it for the columns in the card"
        found = sha256_of(folder / name)
    except OSError:
        return f"{name} cannot be read"
    return None if stated == f"sha256:{found}" else f"{name} was altered"


def _recompute(folder: Path, stated: dict[str, Any]) -> tuple[Recomputed | None, list[str]]:
    """Make the card again, and say what the stated one has otherwise."""
    try:
        release = Release.load(folder / RELEASE_FILE)
    except ReleaseFileError:
        return None, [f"{RELEASE_FILE} cannot be read as a release"]
    computed = recompute(release, stated)
    differ = compare_cards(stated, computed.card, sentences=computed.wording == __version__)
    return computed, [f"the card states another {part} than the release" for part in differ]


def _compare_derived(
    folder: Path, checked: list[str], stated: dict[str, Any], computed: Recomputed
) -> tuple[list[str], list[str], list[str]]:
    """Return the files that follow from the release, notes, and what is wrong."""
    differs: dict[str, bool | None] = {RELEASE_FILE: False}
    notes = []
    if computed.wording != __version__:
        notes.append(
            f"the card states that dpcov {computed.wording} wrote its sentences: those of "
            f"{CARD_FILE} and {_TEXT_FILE} were not compared. Its numbers were. Do not rely on "
            "these sentences; dpcov card prints them anew"
        )
    elif _TEXT_FILE in checked:
        differs[_TEXT_FILE] = _text_differs(folder / _TEXT_FILE, stated, computed)
        if differs[_TEXT_FILE] is None:
            notes.append(f"{_TEXT_FILE} was compared by digest alone: writing it needs jinja2")
    differs |= _compare_tables(folder, checked, computed)
    if computed.estimate is None:
        notes.append(
            "the card states a rule of the curator's own for the estimate, which cannot be "
            f"computed again: {', '.join(_TABLES)} were compared by digest, and only their form "
            f"with the release; what {CARD_FILE} and {_TEXT_FILE} say of the estimate is the "
            "curator's word"
        )
    elif differs.get("covariance.parquet", False) is None:
        notes.append("covariance.parquet was compared by digest alone: reading it needs pyarrow")
    recomputed = [name for name in _FILES if differs.get(name) is False and name in checked]
    if computed.estimate is None and _TEXT_FILE in recomputed:
        recomputed.remove(_TEXT_FILE)  # it repeats the card, of which a part is only stated
    wrong = [name for name, differ in differs.items() if differ]
    return recomputed, notes, [f"{name} does not follow from the release" for name in wrong]


def _compare_tables(
    folder: Path, checked: list[str], computed: Recomputed
) -> dict[str, bool | None]:
    estimate, edges = computed.estimate, computed.edges
    differs: dict[str, bool | None] = {}
    csv_file, parquet, listed = _TABLES
    if estimate is None and computed.other is not None:
        # None if nothing is wrong: it was not computed.
        if csv_file in checked and not covariance_has_form(folder / csv_file, computed.other):
            differs[csv_file] = True
        if listed in checked and (edges is None or not edges_have_form(folder / listed, edges)):
            differs[listed] = True
    if estimate is None:
        return differs
    if csv_file in checked:
        differs[csv_file] = covariance_csv_differs(folder / csv_file, estimate)
    if parquet in checked:
        differs[parquet] = covariance_parquet_differs(folder / parquet, estimate)
    if listed in checked:
        differs[listed] = edges is None or edges_differ(folder / listed, edges, estimate)
    return differs


def _text_differs(file: Path, stated: dict[str, Any], computed: Recomputed) -> bool | None:
    """Return whether ``card.md`` does not say what the card says; None without jinja2."""
    card = dict(computed.card)
    if computed.estimate is None:
        card["estimate"] = stated["estimate"]
    # The text was written before the page, and cannot hold its own digest.
    early = {*_TABLES, RELEASE_FILE}
    card["files"] = {name: digest for name, digest in card["files"].items() if name in early}
    try:
        expected = card_to_markdown(card).encode()
    except MissingExtraError:
        return None
    except (KeyError, TypeError, ValueError):
        return True
    return file.stat().st_size != len(expected) or file.read_bytes() != expected


def _rows(computed: Recomputed) -> tuple[tuple[str | float, ...], ...]:
    if computed.edges is None or computed.estimate is None:
        return ()
    return tuple(edge_rows(computed.edges, computed.estimate))
