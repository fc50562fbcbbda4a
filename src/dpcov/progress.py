"""Progress: a bar for work that takes longer than a moment.

Owns when a bar is shown: in a terminal, after two seconds, if rich is installed. It is told
how many rows were read, and nothing about them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpcov.errors import ParameterError

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Tell", "check_progress", "show_progress"]

Tell = Callable[[str, int, "int | None"], None]
"""What a bar is told: which pass, rows read so far, and rows in all if known."""

_PATIENCE = 2.0


def check_progress(wish: object) -> None:
    """Refuse what is no wish for a bar."""
    if not (wish is None or isinstance(wish, bool) or callable(wish)):
        raise ParameterError("progress must be True, False, None or a function of three arguments.")


@contextmanager
def show_progress(wish: bool | Tell | None) -> Iterator[Tell | None]:
    """Give what an engine tells its progress to."""
    check_progress(wish)
    if callable(wish):
        yield wish
        return
    if wish is False or (wish is None and not sys.stderr.isatty()):
        yield None
        return
    bar = _Bar(_PATIENCE if wish is None else 0.0)
    try:
        yield bar
    finally:
        bar.close()


class _Bar:
    """A rich progress bar that appears when patience has ended."""

    def __init__(self, patience: float) -> None:
        self._begun, self._patience = time.monotonic(), patience
        self._bar: Progress | None = None
        self._tasks: dict[str, Any] = {}

    def __call__(self, name: str, done: int, total: int | None) -> None:
        if self._bar is None:
            if time.monotonic() - self._begun < self._patience:
                return
            self._bar = _new_bar()
            if self._bar is None:
                self._patience = float("inf")
                return
            self._bar.start()
        if name not in self._tasks:
            self._tasks[name] = self._bar.add_task(name, total=total)
        self._bar.update(self._tasks[name], completed=done, total=total)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def _new_bar() -> Progress | None:
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )
    except ModuleNotFoundError:
        return None
    return Progress(
        TextColumn("{task.description}", markup=False),  # a folder's name may have brackets
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("rows"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
