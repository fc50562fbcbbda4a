"""What commands of answers read and write.

Owns the way from a folder, or a file, to its release, and from an answer to the terminal, to
machines and to a folder of its own. A folder that is altered answers nothing.
"""

from __future__ import annotations

import math
import os
import secrets
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcov.cli.terminal import new_console, print_json, printable, tell
from dpcov.errors import FolderError, ParameterError
from dpcov.publication.folder_files import RELEASE_FILE
from dpcov.publication.leftovers import check_not_hidden
from dpcov.publication.table_files import FLAGS
from dpcov.publication.verification import verify_folder
from dpcov.releases import AnyRelease, Release
from dpcov.writing import check_apart, locate_target, sync_file, sync_folder

__all__ = ["Answer", "Printed", "read_release"]


def read_release(path: Path, *, answer: str) -> Any:
    """Return the release of a folder that holds, or of a file, if it has an answer.

    A rehearsal answers as well, and that is said.
    """
    release: AnyRelease = Release.load(_release_file(path))
    if not hasattr(release, answer):
        raise ParameterError(
            f"{path} holds the strongest pairs, and this needs all second moments, which dpcov "
            f"release gives. `dpcov show {shlex.quote(str(path))}` says what is known of the pairs."
        )
    if release.simulated:
        tell(f"note: {path} is a rehearsal with a seed: nothing is promised.")
    return release


def _release_file(path: Path) -> Path:
    check_not_hidden(path)
    if not path.is_dir():
        if not path.exists():
            raise FolderError(f"There is no folder {str(path)!r}.")
        return path
    found = verify_folder(path)
    if found.card is None:
        raise FolderError(
            f"{path} is not as its card says: {printable(found.problems[0])}. "
            f"`dpcov verify {shlex.quote(str(path))}` lists all problems."
        )
    return path / RELEASE_FILE


@dataclass(frozen=True, kw_only=True)
class Printed:
    """How an answer is given: for readers or for machines, and to which folder."""

    as_json: bool
    out: Path | None
    sources: Sequence[Path]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """An answer: its text, its tables by the names of their files, and facts for machines.

    Tables are made when they are asked for: data frames need an extra that a text does not.
    """

    text: str
    tables: Mapping[str, Callable[[], Any]]
    facts: Mapping[str, Any]

    def give(self, printed: Printed) -> None:
        """Write the answer to a folder, if one is stated, and print it."""
        if printed.out is not None:
            self._write(printed.out, printed.sources)
        if printed.as_json:
            tables = {name: _records(table()) for name, table in self.tables.items()}
            print_json(_finite({**self.facts, **tables}))
        else:
            new_console().print(_safe(self.text))
        if printed.out is not None:
            written = ", ".join([*(f"{name}.csv" for name in self.tables), "summary.txt"])
            tell(f"written to {printed.out}: {written}")

    def _write(self, out: Path, sources: Sequence[Path]) -> None:
        """Write a folder that is there when all of its files are."""
        check_apart(out, sources)
        target = locate_target(out)
        if os.path.lexists(target.path):
            raise FolderError(f"{str(out)!r} is there already. Choose another name.")
        aside = target.aside(secrets.token_hex(8))
        aside.mkdir()
        try:
            for name, table in self.tables.items():
                frame = _with_flags(table())
                frame.to_csv(aside / f"{name}.csv", index=False, lineterminator="\n")
            (aside / "summary.txt").write_text(f"{self.text}\n", encoding="utf-8", newline="\n")
            for file in aside.iterdir():
                sync_file(file)
            aside.rename(target.path)
            sync_folder(target.path.parent)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _with_flags(frame: Any) -> Any:
    """Return a data frame whose truth values are written as in all CSV files."""
    flags = frame.select_dtypes("bool").columns
    return frame.assign(**{name: frame[name].map(FLAGS) for name in flags})


def _records(frame: Any) -> list[dict[str, Any]]:
    """Return the lines of a data frame for machines."""
    return [
        {str(name): cell.item() if hasattr(cell, "item") else cell for name, cell in line.items()}
        for line in frame.to_dict(orient="records")
    ]


def _finite(value: Any) -> Any:
    """Return a value for machines, in which what is not finite is null."""
    if isinstance(value, Mapping):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _safe(text: str) -> str:
    """Return text in its lines that cannot steer a terminal: names may come from anybody."""
    return "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in text)
