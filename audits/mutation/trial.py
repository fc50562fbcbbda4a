"""Trials: tests run in a process of their own, with one module replaced.

Owns the process. It is forked from one that has loaded what tests need, and nothing of dpcov: a
trial takes a fifth of a second instead of five. Time is CPU time, since machines are busy, and a
trial during which everything was paused is made again.
"""

from __future__ import annotations

import gc
import importlib.machinery
import importlib.util
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from audits.mutation.mutants import ROOT, Mutant, path_of

# What tests load, and what is not tested here. polars is not among them: its threads and a fork
# wait for each other.
_LOADED_BEFORE = (
    "numpy",
    "scipy.special",
    "scipy.stats",
    "scipy.sparse",
    "hypothesis",
    "cryptography.hazmat.primitives.ciphers",
    "mpmath",
    "threadpoolctl",
    "cloudpickle",
    "doctest",
    "pdb",
    "concurrent.futures",
    "multiprocessing",
    "pandas",
    "pyarrow.parquet",
    "pyarrow.dataset",
    "pyarrow.csv",
    "dask.array",
    "dask.dataframe",
)
_MEMORY = 8 << 30
# Loading and collecting, in seconds; without a mutant it is one, or two.
_LOADING = 10.0
# In seconds: how long is waited at once, and after how much more everything was paused.
_TICK, _PAUSE = 1.0, 4.0
# pytest would compile the files that it is given by itself, and not as they are replaced.
QUIET = (
    "-q",
    "--assert=plain",
    "-p",
    "no:randomly",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "--no-header",
)


@dataclass(frozen=True)
class Verdict:
    """What tests said of a mutant."""

    outcome: str
    """"killed", "timeout" or "survived"."""
    by: str
    """The first test that failed, or that did not end."""
    seconds: float


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


def load_before() -> None:
    """Load what a trial needs, once, before anything is forked."""
    os.chdir(ROOT)
    # Who ends this process ends its trial, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in _LOADED_BEFORE:
        if importlib.util.find_spec(name.split(".")[0]) is not None:
            __import__(name)
    gc.collect()
    gc.freeze()


def try_out(mutant: Mutant, limits: Mapping[str, float]) -> Verdict:
    """Run tests with the mutant in the place of its module, until one fails.

    `limits` has the tests in their order, and the seconds after which one does not end.
    """

    def run(tell: Callable[[str], None]) -> Any:
        chosen = _Chosen(limits, tell)
        _replace(path_of(mutant.module), mutant.source)
        files = list(dict.fromkeys(each.split("::")[0] for each in limits))
        code = int(pytest.main([*QUIET, "-x", *files], plugins=[chosen]))
        return [code, chosen.failed]

    started = time.monotonic()
    for _ in range(5):
        heard = in_a_fork(run, seconds=_LOADING + sum(limits.values()), loading=_LOADING)
        if not heard.paused:
            break
    took = round(time.monotonic() - started, 2)
    if heard.said is None:
        return Verdict("timeout" if heard.too_long else "killed", heard.last, took)
    code, failed = heard.said
    return Verdict("survived" if code == 0 else "killed", failed, took)


def in_a_fork(
    run: Callable[[Callable[[str], None]], Any], *, seconds: float, loading: float | None = None
) -> Heard:
    """Return what a function returns, and what it told, in a process of its own."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        # What is open belongs to the parent: a lock must not outlive it.
        os.closerange(3, writing)
        os.closerange(writing + 1, 1024)
        _limit(seconds, loading or seconds)
        _say(writing, run)
    os.close(writing)
    try:
        # A process that waits uses no CPU.
        lines, in_time, paused = _listen(reading, ticks=8 * (int(seconds) + 1))
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
    came, paused = b"", False
    while ticks > 0:
        before = time.monotonic()
        ready, _, _ = select.select([reading], [], [], _TICK)
        paused |= time.monotonic() - before > _TICK + _PAUSE
        part = os.read(reading, 1 << 16) if ready else None
        ticks -= part is None
        came += part or b""
        if part == b"" or (b'{"said"' in came and came.endswith(b"\n")):
            break
    whole = came[: came.rfind(b"\n") + 1].decode()
    return [json.loads(line) for line in whole.splitlines()], ticks > 0, paused


def _end_of(child: int) -> int | None:
    """Return how a process ended that is about to."""
    for _ in range(50):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    return None


def _limit(seconds: float, loading: float) -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    whole = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 2))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _end_after(loading)


def _end_after(seconds: float) -> None:
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
        said = run(lambda text: write({"told": text}))
    except BaseException as error:
        said = [-1, type(error).__name__]
    write({"said": said})
    os._exit(0)


def _end_group(child: int) -> None:
    """End what tests of the child may have started and left."""
    try:
        os.killpg(child, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _replace(path: Path, source: str) -> None:
    """Let the import of a file give other code."""
    original: Callable[[Any, str], CodeType | None] = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: Any, fullname: str) -> CodeType | None:
        if Path(self.path) == path:
            return compile(source, str(path), "exec", dont_inherit=True)
        return original(self, fullname)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


class _Chosen:
    """A plugin of pytest: only these tests, in this order; no search for smaller examples."""

    def __init__(self, limits: Mapping[str, float], tell: Callable[[str], None]) -> None:
        self._limits, self._tell = limits, tell
        self._order = {test: place for place, test in enumerate(limits)}
        self.failed = ""

    def pytest_collection(self) -> None:
        use_plain_examples()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order),
            key=lambda item: self._order[item.nodeid],
        )

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._tell(nodeid)
        _end_after(self._limits[nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid


def use_plain_examples() -> None:
    """Let hypothesis try the examples that it always tries, and stop at the first that fails."""
    from hypothesis import Phase, settings

    settings.register_profile(
        "mutants",
        deadline=None,
        derandomize=True,
        phases=(Phase.explicit, Phase.generate),
        database=None,
        report_multiple_bugs=False,
    )
    settings.load_profile("mutants")
