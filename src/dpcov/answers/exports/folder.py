"""The folder of an export: written at once, and replaced only if nobody changed it.

Owns how it gets its name. ``export.json`` lists the digests of its files, so that a model that
somebody wrote into one of them is never lost: such a folder is not replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpcov.errors import FolderError
from dpcov.writing import Target, locate_target, reserve, sync_file, sync_folder, uninterrupted

__all__ = ["EXPORT_FILE", "check_free", "write_export"]

EXPORT_FILE = "export.json"
_MOST_BYTES = 1 << 20  # of that file


def write_export(
    out: str | os.PathLike[str],
    files: Mapping[str, bytes],
    facts: Mapping[str, Any],
    *,
    force: bool = False,
) -> Path:
    """Write files and what is said of them into a new folder, and return it."""
    target = locate_target(out)
    check_free(target, force=force)
    digests = {name: _digest(data) for name, data in files.items()}
    said = json.dumps({**facts, "files": digests}, indent=2, ensure_ascii=True) + "\n"
    with reserve(target) as held:
        for token in held.dead:
            _mend(target, token)
        check_free(target, force=force)
        aside, old = target.aside(held.token), target.old(held.token)
        try:
            aside.mkdir()
            for name, data in {**files, EXPORT_FILE: said.encode("ascii")}.items():
                (aside / name).write_bytes(data)
                sync_file(aside / name)
            sync_folder(aside)
            with uninterrupted():
                if os.path.lexists(target.path):
                    check_free(target, force=force)  # something may have come there meanwhile
                    target.path.rename(old)
                aside.rename(target.path)
                sync_folder(target.path.parent)
        finally:
            with uninterrupted():
                _mend(target, held.token)
    return target.path


def check_free(target: Target, *, force: bool) -> None:
    """Refuse a name that is taken, unless by an export that nobody changed, and `force`."""
    if not os.path.lexists(target.path):
        return
    if not force:
        raise FolderError(
            f"{target.stated!r} exists and is not overwritten. Choose another folder; or replace "
            "it, if it is an export of dpcov, with --force (in Python, force=True)."
        )
    if target.path.is_symlink() or not target.path.is_dir():
        raise FolderError(f"{target.stated!r} is not a folder and is not replaced.")
    changed = _changed(target.path)
    if changed:
        listed = ", ".join(name if name.isprintable() else ascii(name) for name in changed[:5])
        raise FolderError(
            f"{target.stated!r} holds what dpcov did not export, or what was changed since: "
            f"{listed}. It is not replaced, and nothing was changed. Move these files, or choose "
            "another folder."
        )


def _changed(folder: Path) -> list[str]:
    """Return the names in a folder that are not as an export left them."""
    try:
        stated = _stated(folder / EXPORT_FILE)
        return [
            file.name
            for file in sorted(folder.iterdir())
            if file.name != EXPORT_FILE
            and (
                file.is_symlink()
                or not file.is_file()
                or stated.get(file.name) != _digest(file.read_bytes())
            )
        ]
    except OSError:
        raise FolderError(f"{str(folder)!r} cannot be read and is not replaced.") from None


def _stated(file: Path) -> dict[str, Any]:
    if file.is_symlink() or not file.is_file() or file.stat().st_size > _MOST_BYTES:
        return {}
    try:
        found = json.loads(file.read_text(encoding="ascii"))["files"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _mend(target: Target, token: str) -> None:
    """Undo or finish what a writer left under names that only it had."""
    aside, old = target.aside(token), target.old(token)
    with suppress(OSError):
        if os.path.lexists(old) and not os.path.lexists(target.path):
            old.rename(target.path)
    shutil.rmtree(aside, ignore_errors=True)
    if os.path.lexists(target.path):
        shutil.rmtree(old, ignore_errors=True)


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
