"""Timing and memory of one run, and the table that shows them.

Machines are noisy: only ratios measured side by side, interleaved, in one run mean
anything. Each contestant's time is its best of several rounds.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Table", "best_times", "peak_memory"]


@dataclass
class Table:
    """A titled table of strings."""

    title: str
    headings: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def to_markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.headings, tuple("---" for _ in self.headings), *self.rows]
        body = "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
        return f"**{self.title}**\n\n{body}"


def best_times(rounds: int, **contestants: Callable[[], object]) -> dict[str, float]:
    """Return the best time of each contestant over interleaved rounds, in seconds."""
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(rounds):
        for name, work in contestants.items():
            start = time.perf_counter()
            work()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def peak_memory(setup: str, work: str) -> int:
    """Return by how many bytes `work` raises the peak memory of a process after `setup`.

    Reads the high-water mark of the process itself (Linux); getrusage would count what
    the process that started it had used.
    """
    code = (
        "import re, pathlib\n"
        "def peak():\n"
        "    status = pathlib.Path('/proc/self/status').read_text()\n"
        "    return int(re.search(r'VmHWM:\\s*(\\d+)', status).group(1)) * 1024\n"
        f"{setup}\nbefore = peak()\n{work}\nprint(peak() - before)"
    )
    return int(subprocess.check_output([sys.executable, "-c", code], text=True))
