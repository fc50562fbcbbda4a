"""Whether a published folder is what its card says, and the card what its release says.

Owns the order of the checks. The card is made again from ``release.npz`` and from the
curator's own words, and compared with the one that is there; so are the tables, the texts and the
page, but for its pictures. What remains a curator's word is covered by digests, which detect damage
and not a forger who writes new ones: docs/cli.md has a line that signs a card.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcov.errors import FolderError, MissingExtraError, ReleaseFileError
from dpcov.publication.card import with_files
from dpcov.publication.card_file import (
    CARD_FILE,
    parse_card,
    problems_of_text,
    read_card_text,
    sha256_of,
)
from dpcov.publication.card_text import card_to_markdown, readme_to_markdown
from dpcov.publication.category_tables import CATEGORY_TABLES
from dpcov.publication.comparison import compare_cards
from dpcov.publication.file_sizes import most_bytes
from dpcov.publication.folder_files import (
    PAGE_FILE,
    RELEASE_FILE,
    TEXT_FILES,
    data_files,
    files_of,
)
from dpcov.publication.recomputation import Recomputed, recompute
from dpcov.publication.series import Table
from dpcov.publication.structure_tables import STRUCTURE_TABLES
from dpcov.publication.table_check import csv_differs, parquet_differs
from dpcov.publication.tables import tables_of
from dpcov.releases import Release
from dpcov.version import __version__

__all__ = ["Verification", "verify_folder"]

_FOLLOWING = ("columns", *CATEGORY_TABLES, *STRUCTURE_TABLES)
"""Tables that follow from the release, whatever estimate is made of it."""
_TEXTS = {"README.md": readme_to_markdown, "card.md": card_to_markdown}


@dataclass(frozen=True, eq=False)
class Verification:
    """What a look at a folder found.

    Parameters
    ----------
    checked : tuple of str
        The files whose digests are those in the card.
    recomputed : tuple of str
        Those of them that also follow from the release, the page but for its pictures; the
        others are compared by digest alone.
    problems : tuple of str
        What is wrong.
    notes : tuple of str
        What could not be compared, and why.
    unlisted : tuple of str
        Files that the card says nothing about.
    card_sha256 : str
        The digest of the card itself, to be compared with one from elsewhere.
    card : dict or None
        The card as it follows from the release and from the curator's words; None if
        anything is wrong.
    tables : dict of str to Table
        The tables of the folder, computed from the release; none if anything is wrong, or if some
        follow from a rule of the curator's own.
    """

    checked: tuple[str, ...]
    recomputed: tuple[str, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    unlisted: tuple[str, ...]
    card_sha256: str
    card: dict[str, Any] | None
    tables: dict[str, Table]

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


def verify_folder(path: str | os.PathLike[str]) -> Verification:
    """Compare a folder with its card, and all that the card says with the release.

    The card, the tables, the texts and the page, but for its pictures, are computed again from
    the release, with the curator's words and options. Numbers that depend on a machine's
    arithmetic may differ by 1e-8 of their scale, everything else must be equal.

    Parameters
    ----------
    path : path
        A folder that `write_folder` wrote.

    Raises
    ------
    FolderError
        There is no such folder, or it has no card that can be read.

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
    >>> intact.holds, intact.recomputed == intact.checked
    (True, True)
    """
    folder = Path(path)
    text = read_card_text(folder)
    stated = parse_card(text, folder)
    problems = problems_of_text(text, stated)
    checked, damaged = _compare_files(folder, stated)
    problems += damaged
    computed: Recomputed | None = None
    derived = _Derived({}, [], {})
    if RELEASE_FILE in checked:
        computed, found = _recompute(folder, stated)
        problems += found
    if computed is not None:
        derived = _compare_derived(folder, checked, stated, computed)
        problems += derived.problems
    if computed is not None and not problems and PAGE_FILE in checked:
        # A page repeats card and tables: where these are wrong, there is nothing to compare.
        derived.differs[PAGE_FILE] = _page_differs(folder / PAGE_FILE, computed, derived.tables)
        problems += derived.problems
    listed = {*files_of(stated), CARD_FILE}
    return Verification(
        checked=tuple(checked),
        recomputed=tuple(name for name in checked if derived.differs.get(name) is False),
        problems=tuple(problems),
        notes=tuple(derived.notes),
        unlisted=tuple(sorted(file.name for file in folder.iterdir() if file.name not in listed)),
        card_sha256=hashlib.sha256(text).hexdigest(),
        card=None if problems or computed is None else computed.card,
        tables={} if problems else derived.tables,
    )


def _compare_files(folder: Path, card: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return the names of the files whose digests are right, and what is wrong."""
    checked, problems, files = [], [], card["files"]
    most, known = most_bytes(card), files_of(card)
    for name, stated in files.items():
        problem = _compare(folder, name, stated, most[name] if name in known else None)
        if problem is None:
            checked.append(name)
        else:
            problems.append(problem)
    problems += [f"the card does not list {name}" for name in known if name not in files]
    return checked, problems


def _compare(folder: Path, name: str, stated: object, most: int | None) -> str | None:
    if most is None:
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


@dataclass(frozen=True)
class _Derived:
    """Which files do not follow from the release (None: that was not computed), and why not."""

    differs: dict[str, bool | None]
    notes: list[str]
    tables: dict[str, Table]

    @property
    def problems(self) -> list[str]:
        wrong = [name for name, differ in self.differs.items() if differ]
        return [f"{name} does not follow from the release" for name in wrong]


def _compare_derived(
    folder: Path, checked: list[str], stated: dict[str, Any], computed: Recomputed
) -> _Derived:
    """Compare all that follows from the release."""
    differs: dict[str, bool | None] = {RELEASE_FILE: False}
    notes = []
    if computed.wording != __version__:
        notes.append(
            f"the card states that dpcov {computed.wording} wrote its sentences: those of "
            f"{CARD_FILE}, {' and '.join(TEXT_FILES)} were not compared. Its numbers were. Do not "
            f"rely on these sentences; `dpcov card {shlex.quote(str(folder))}` prints them anew"
        )
    else:
        texts = _compare_texts(folder, checked, stated, computed)
        differs |= texts
        if None in texts.values():
            notes.append(
                f"{' and '.join(texts)} were compared by digest alone: writing them needs jinja2"
            )
    tables = _tables(computed)
    compared = _compare_tables(folder, checked, tables)
    if computed.estimate is None:
        notes.append(_own_rule(compared))
        # What is a curator's word in part was not computed.
        differs |= dict.fromkeys(set(differs) & set(TEXT_FILES) - _wrong(differs), None)
        follows = [f"{name}.{kind}" for name in _FOLLOWING for kind in ("csv", "parquet")]
        compared = {
            name: differ if differ or name in follows else None for name, differ in compared.items()
        }
        return _Derived(differs | compared, notes, {})
    if None in compared.values():
        notes.append("Parquet files were compared by digest alone: reading them needs pyarrow")
    return _Derived(differs | compared, notes, tables)


def _page_differs(file: Path, computed: Recomputed, tables: Mapping[str, Table]) -> bool | None:
    """Return whether the page says something else, pictures aside; None if nobody can tell."""
    card, estimate = computed.card, computed.estimate
    if estimate is None or not tables or computed.wording != __version__:
        return None
    try:
        from dpcov.publication.html import page_differs
    except ModuleNotFoundError:  # of its packages
        return None
    try:
        page = file.read_bytes().decode("utf-8")
    except ValueError:
        return True
    return page_differs(page, with_files(card, _early(card)), estimate, tables)


def _early(card: dict[str, Any]) -> dict[str, str]:
    """Return the digests that were known before texts and page were written."""
    listed = card["files"]
    return {
        name: listed[name].removeprefix("sha256:") for name in data_files(card) if name in listed
    }


def _wrong(differs: dict[str, bool | None]) -> set[str]:
    return {name for name, differ in differs.items() if differ}


def _own_rule(compared: dict[str, bool | None]) -> str:
    tables = sorted(name for name in compared if name.partition(".")[0] not in _FOLLOWING)
    return (
        "the card states a rule of the curator's own for the estimate, which cannot be computed "
        f"again: of {', '.join(tables)} the numbers that follow from it were compared by digest, "
        f"and only their form with the release; what {CARD_FILE} and {' and '.join(TEXT_FILES)} "
        "say of the estimate is the curator's word"
    )


def _tables(computed: Recomputed) -> dict[str, Table]:
    own_rule = computed.estimate is None
    estimate = computed.other if computed.estimate is None else computed.estimate
    if estimate is None:
        raise FolderError("There is nothing to compare the tables with.")
    return tables_of(computed.card, estimate, computed.fdr, own_rule=own_rule)


def _compare_tables(
    folder: Path, checked: list[str], tables: dict[str, Table]
) -> dict[str, bool | None]:
    differs: dict[str, bool | None] = {}
    for table, expected in tables.items():
        for name, differ in ((f"{table}.csv", csv_differs), (f"{table}.parquet", parquet_differs)):
            if name in checked:
                differs[name] = differ(folder / name, expected)
    return differs


def _compare_texts(
    folder: Path, checked: list[str], stated: dict[str, Any], computed: Recomputed
) -> dict[str, bool | None]:
    """Return which texts do not say what the card says; None without jinja2."""
    card = dict(computed.card)
    if computed.estimate is None:
        card["estimate"] = stated["estimate"]
    card = with_files(card, _early(card))
    return {
        name: _text_differs(folder / name, write, card)
        for name, write in _TEXTS.items()
        if name in checked
    }


def _text_differs(
    file: Path, write: Callable[[dict[str, Any]], str], card: dict[str, Any]
) -> bool | None:
    try:
        expected = write(card).encode("utf-8", "backslashreplace")
    except MissingExtraError:
        return None
    except (LookupError, TypeError, ValueError, AttributeError):
        return True
    return file.stat().st_size != len(expected) or file.read_bytes() != expected
