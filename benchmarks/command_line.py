"""The command line: how long the manual and a release of a small table take, and what in it.

Every contestant is a process of its own, with bytecode from a run before, as an installed
package has it. Ratios are to the bare interpreter, and to importing what the command needs.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.measure import Table

__all__ = ["tables"]

_ROWS, _COLUMNS = 20_000, 12
_ROUNDS = 5
_COMMAND = ("-m", "dpcov")
_PARTS = {
    "numpy": "import numpy",
    "typer and rich": "import typer, typer.rich_utils",
    "scipy.special, for the promise": "import scipy.special",
    "pyarrow": "import pyarrow.csv, pyarrow.parquet",
    "matplotlib": "import matplotlib.figure, matplotlib.backends.backend_svg",
    "pandas (not imported)": "import pandas",
}
_NEEDED = (
    "import typer, typer.rich_utils, numpy, scipy.special, scipy.sparse.csgraph, "
    "scipy.cluster.hierarchy, pyarrow.csv, pyarrow.parquet, jinja2, matplotlib.figure, "
    "matplotlib.backends.backend_svg, cryptography.hazmat.primitives.ciphers"
)


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        _write(place / "x.csv")
        budget = ("--epsilon", "1", "--delta", "1e-6", "--seed", "0", "--force", "--quiet")
        release = (*_COMMAND, "release", str(place / "x.csv"), *budget)
        times = _medians(
            place,
            {
                "bare": ("-c", "pass"),
                "help": (*_COMMAND, "--help"),
                "release": (*release, "--out", str(place / "out")),
                "needed": ("-c", _NEEDED),
                **{part: ("-c", statement) for part, statement in _PARTS.items()},
            },
        )
    yield _commands(times)
    yield _imports(times)


def _commands(times: Mapping[str, float]) -> Table:
    table = Table(
        f"Time of commands, against the bare interpreter ({times['bare'] * 1e3:.0f} ms) and "
        f"importing what a release needs ({times['needed']:.2f} s)",
        ("command", "s", "bare interpreters", "imports", "goal, s"),
    )
    for command, name, goal in (
        ("dpcov --help", "help", "≤ 0.4"),
        (f"dpcov release, {_ROWS:,} × {_COLUMNS}, with page", "release", "≤ 3"),
    ):
        ratios = (f"{times[name] / times[other]:.3g}" for other in ("bare", "needed"))
        table.rows.append((command, f"{times[name]:.2f}", *ratios, goal))
    return table


def _imports(times: Mapping[str, float]) -> Table:
    table = Table(
        "Time to import parts of it, beyond the bare interpreter", ("what", "s", "of the release")
    )
    for part in _PARTS:
        seconds = times[part] - times["bare"]
        table.rows.append((part, f"{seconds:.2f}", f"{seconds / times['release']:.0%}"))
    return table


def _write(path: Path) -> None:
    """Write a table with three factors, so that there is something to draw."""
    generator = np.random.default_rng(0)
    factors = generator.standard_normal((_ROWS, 3))
    loadings = 0.6 * generator.standard_normal((3, _COLUMNS))
    rows = factors @ loadings + generator.standard_normal((_ROWS, _COLUMNS))
    names = ",".join(f"q{place}" for place in range(_COLUMNS))
    np.savetxt(path, rows, delimiter=",", header=names, comments="", fmt="%.6g")


def _medians(place: Path, contestants: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the median time of each process over interleaved rounds, after one to warm up."""
    # An environment may forbid to write bytecode, which pip writes when it installs.
    usual = {key: text for key, text in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment = usual | {"PYTHONPYCACHEPREFIX": str(place / "bytecode")}

    def seconds(arguments: Sequence[str]) -> float:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, *arguments], env=environment, check=True, stdout=subprocess.DEVNULL
        )
        return time.perf_counter() - start

    for arguments in contestants.values():
        seconds(arguments)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(_ROUNDS):
        for name, arguments in contestants.items():
            times[name].append(seconds(arguments))
    return {name: statistics.median(found) for name, found in times.items()}
