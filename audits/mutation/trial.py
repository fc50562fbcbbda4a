"""Trials: tests run in a process of their own, with one module replaced.

Owns the process. It is forked from one that has loaded what all tests need, and nothing of
dpcov: a trial takes a second instead of five. Time is CPU time, since machines are busy.
"""

from __future__ import annotations

import importlib.machinery
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from audits.mutation.mutants import ROOT, Mutant, path_of

# What nearly all tests load, and what is not tested here.
_LOADED_BEFORE = ("numpy", "scipy.special", "scipy.stats", "hypothesis", "cryptography", "mpmath")
_MEMORY = 8 << 30
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
    """The first test that failed."""
    seconds: float


def load_before() -> None:
    """Load what a trial needs, once, before anything is forked."""
    os.chdir(ROOT)
    # Who ends this process ends its trial, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    for name in _LOADED_BEFORE:
        __import__(name)


def try_out(mutant: Mutant, tests: Sequence[str], *, seconds: float) -> Verdict:
    """Run tests with the mutant in the place of its module, until one fails."""
    chosen = _Chosen(tests)

    def run() -> Any:
        _replace(path_of(mutant.module), mutant.source)
        files = list(dict.fromkeys(each.split("::")[0] for each in tests))
        code = int(pytest.main([*QUIET, "-x", *files], plugins=[chosen]))
        return [code, chosen.failed]

    started = time.monotonic()
    said = in_a_fork(run, seconds=seconds)
    took = round(time.monotonic() - started, 2)
    if said is None:
        return Verdict("timeout", "", took)
    code, failed = said
    return Verdict("survived" if code == 0 else "killed", failed, took)


def in_a_fork(run: Callable[[], Any], *, seconds: float) -> Any:
    """Return what a function returns in a process of its own; None if it takes too long."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        # What is open belongs to the parent: a lock must not outlive it.
        os.closerange(3, writing)
        os.closerange(writing + 1, 1024)
        _limit(seconds)
        _say(writing, run)
    os.close(writing)
    try:
        with os.fdopen(reading, encoding="utf-8") as pipe:
            said = pipe.read()
    finally:
        _end_group(child)
        os.waitpid(child, 0)
    return json.loads(said) if said else None


def _limit(seconds: float) -> None:
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    whole = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole + 2))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # A process that waits uses no CPU.
    signal.alarm(8 * whole)


def _say(writing: int, run: Callable[[], Any]) -> None:
    """Write what the function returns, and end without a look back."""
    with Path(os.devnull).open("r+b") as nothing:
        for stream in (0, 1, 2):
            os.dup2(nothing.fileno(), stream)
    try:
        said = json.dumps(run())
    except BaseException as error:
        said = json.dumps([-1, type(error).__name__])
    rest = said.encode()
    while rest:
        rest = rest[os.write(writing, rest) :]
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

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign,assignment]


class _Chosen:
    """A plugin of pytest: only these tests, in this order; no search for smaller examples."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._order = {test: place for place, test in enumerate(tests)}
        self.failed = ""

    def pytest_collection(self) -> None:
        use_plain_examples()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self._order),
            key=lambda item: self._order[item.nodeid],
        )

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
