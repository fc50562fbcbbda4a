"""Forks: a function runs in a process of its own, with limits, and says what came of it.

Owns the process and its limits. Time is CPU time, since machines are busy.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MEMORY = 8 << 30
# In seconds: how long is waited at once, and after how much more everything was paused.
_TICK, _PAUSE = 1.0, 4.0


@dataclass(frozen=True)
class Heard:
    """What came out of a fork."""

    said: Any
    """What its function returned; None if it did not end by itself."""
    last: str
    """What it told last."""
    too_long: bool
    """Whether it was ended because its time was over, and not by an error of its own."""
    paused: bool
    """Whether this process was paused meanwhile: what hangs on clocks may have failed."""


def in_a_fork(
    run: Callable[[Callable[[str], None]], Any],
    *,
    seconds: float,
    first: float | None = None,
    silent: float | None = None,
) -> Heard:
    """Return what a function returns, and what it told, in a process of its own.

    It may take `seconds` of CPU time, `first` of them unless it asks for more by `end_after`, and
    `silent` seconds by the clock without a word, since a process that waits uses no CPU.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        # What is open belongs to the parent: a lock must not outlive it.
        os.closerange(3, writing)
        os.closerange(writing + 1, 1024)
        _limit(seconds, first or seconds)
        _say(writing, run)
    os.close(writing)
    try:
        lines, in_time, paused = _listen(reading, ticks=int(silent or 8 * seconds) + 1)
        status = _end_of(child) if in_time else None
    finally:
        os.close(reading)
        _end_group(child)
    if status is None:
        status = os.waitpid(child, 0)[1]
    told = [line["told"] for line in lines if "told" in line]
    said = next((line["said"] for line in lines if "said" in line), None)
    ended = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    over = ended in (signal.SIGPROF, signal.SIGXCPU, signal.SIGKILL)
    return Heard(said, told[-1] if told else "", said is None and over, paused)


def _listen(reading: int, *, ticks: int) -> tuple[list[dict[str, Any]], bool, bool]:
    """Return lines until the last, whether it came in time, and whether all was paused."""
    came, paused, left = b"", False, ticks
    while left > 0:
        before = time.monotonic()
        ready, _, _ = select.select([reading], [], [], _TICK)
        paused |= time.monotonic() - before > _TICK + _PAUSE
        part = os.read(reading, 1 << 16) if ready else None
        left = left - 1 if part is None else ticks
        came += part or b""
        if part == b"" or (b'{"said"' in came and came.endswith(b"\n")):
            break
    whole = came[: came.rfind(b"\n") + 1].decode()
    return [json.loads(line) for line in whole.splitlines()], left > 0, paused


def _end_of(child: int) -> int | None:
    """Return how a process ended that is about to."""
    for _ in range(50):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    return None


def _limit(seconds: float, first: float) -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    whole = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 2))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    end_after(first)


def end_after(seconds: float) -> None:
    """End this process after so many seconds of CPU time, unless it is asked again."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _say(writing: int, run: Callable[[Callable[[str], None]], Any]) -> None:
    """Write what the function returns, and end without a look back."""

    def write(line: dict[str, Any]) -> None:
        rest = (json.dumps(line) + "\n").encode()
        while rest:
            rest = rest[os.write(writing, rest) :]

    with Path(os.devnull).open("r+b") as nothing:
        for stream in (0, 1, 2):
            os.dup2(nothing.fileno(), stream)
    try:
        write({"said": run(lambda text: write({"told": text}))})
    finally:
        os._exit(0)


def _end_group(child: int) -> None:
    """End what tests of the child may have started and left."""
    try:
        os.killpg(child, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
