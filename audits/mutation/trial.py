"""Trials: tests run in a process of their own, with one place of the library changed.

Owns both ways to change it. A mutant of what functions do is patched into functions that are
loaded, in a fork of a process that has collected all tests: that takes a tenth of a second. One of
what runs at loading is loaded in the place of its module, in a fork of a process that has loaded
what tests need, and nothing of dpcov: that takes one or two. A trial during which everything was
paused is made again.
"""

from __future__ import annotations

import gc
import importlib.machinery
import importlib.util
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from audits.mutation.forks import end_after, in_a_fork
from audits.mutation.listing import KEPT
from audits.mutation.mutants import PACKAGE, ROOT, Mutant, path_of
from audits.mutation.patch import Loaded

# What tests load, and what is not tested here.
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
# polars must not compute while tests are collected: its threads do not live on in a fork.
# Loading and collecting, in seconds; without a mutant it is one, or two.
_LOADING = 10.0
# pytest would compile the files that it is given by itself, and not as they are replaced. Forks
# close what is open, so that nothing is captured.
QUIET = (
    "-q",
    "--assert=plain",
    "--capture=no",
    "--continue-on-collection-errors",
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
    """"killed", "timeout" or "survived"; "elsewhere" for a mutant that must be loaded instead."""
    by: str
    """The first test that failed, or that did not end."""
    seconds: float


Limits = Mapping[str, float]
"""Tests in their order, and the seconds after which each does not end."""


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


class Trier:
    """Tries mutants out, in whichever way shows them."""

    def __init__(self, files: Sequence[Path]) -> None:
        context = multiprocessing.get_context("fork")
        self._collected, there = context.Pipe()
        serving = context.Process(target=_serve, args=(there, self._collected, files), daemon=True)
        serving.start()
        there.close()
        self._sound: dict[tuple[str, bool], bool] = {}

    def judge(self, mutant: Mutant, stages: Sequence[Limits], *, load: bool) -> Verdict:
        """Return what the first stage says that notices the mutant.

        A test may fail because of those before it in the same process, or of the process, and not
        of the mutant: it must notice alone, too, and notice nothing where there is nothing.
        """
        started = time.monotonic()
        for stage in stages:
            left = {test: stage[test] for test in stage if self._sound.get((test, load), True)}
            while left:
                verdict = self._try_out(mutant, left, load)
                if verdict.outcome == "survived":
                    break
                by = verdict.by
                if by not in left:  # the module cannot be loaded
                    return verdict
                alone, names = {by: left[by]}, list(left)
                noticed = by == names[0] or self._try_out(mutant, alone, load).outcome != "survived"
                if noticed and self._is_sound(alone, load):
                    return verdict
                left = {test: left[test] for test in names[names.index(by) + 1 :]}
        return Verdict("survived", "", round(time.monotonic() - started, 2))

    def _is_sound(self, alone: Limits, load: bool) -> bool:
        (test,) = alone
        if (test, load) not in self._sound:
            passed = self._try_out(None, alone, load).outcome == "survived"
            self._sound[test, load] = passed
        return self._sound[test, load]

    def _try_out(self, mutant: Mutant | None, limits: Limits, load: bool) -> Verdict:
        if not load:
            self._collected.send((mutant, limits))
            verdict: Verdict = self._collected.recv()
            if verdict.outcome != "elsewhere":
                return verdict
        return _load_and_try(mutant, limits)


def _load_and_try(mutant: Mutant | None, limits: Limits) -> Verdict:
    """Run tests with the mutant in the place of its module, until one fails."""

    def run(tell: Callable[[str], None]) -> Any:
        chosen = _Chosen(limits, tell)
        if mutant is not None:
            _replace(path_of(mutant.module), mutant.source)
        files = list(dict.fromkeys(each.split("::")[0] for each in limits))
        code = int(pytest.main([*QUIET, temporary, "-x", *files], plugins=[chosen]))
        return ["killed" if code else "survived", chosen.failed]

    temporary = _temporary()
    return _verdict(run, limits)


def _serve(asked: Connection, mine: Connection, files: Sequence[Path]) -> None:
    mine.close()  # so that the end of whoever asks is noticed
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with Path(os.devnull).open("w", encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 1)
    pytest.main([*QUIET, _temporary(), *map(str, files)], plugins=[_Serving(asked)])


def _temporary() -> str:
    """Say where files of tests go, one trial after the other."""
    folder = KEPT / "temporary"
    folder.mkdir(parents=True, exist_ok=True)
    return f"--basetemp={folder / str(os.getpid())}"


class _Serving:
    """A plugin of pytest: when all tests are collected, mutants are tried out instead."""

    def __init__(self, asked: Connection) -> None:
        self._asked = asked

    def pytest_collection(self) -> None:
        use_plain_examples()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        loaded = Loaded(PACKAGE)
        gc.freeze()
        try:
            while True:
                mutant, limits = self._asked.recv()
                self._asked.send(_patched(mutant, limits, items, loaded))
        except EOFError:
            return True


def _patched(
    mutant: Mutant | None, limits: Limits, items: Mapping[str, pytest.Item], loaded: Loaded
) -> Verdict:
    """Run tests with the mutant in loaded functions; "elsewhere" if it cannot be put there."""

    def run(tell: Callable[[str], None]) -> Any:
        if mutant is not None and not loaded.patch(path_of(mutant.module), mutant.source):
            return ["elsewhere", ""]
        chosen = [items[name] for name in limits if name in items]
        for item, after in zip(chosen, [*chosen[1:], None], strict=True):
            tell(item.nodeid)
            end_after(limits[item.nodeid])
            if _fails(item, after):
                return ["killed", item.nodeid]
        return ["survived", ""]

    return _verdict(run, limits)


def _fails(item: pytest.Item, after: pytest.Item | None) -> bool:
    failed: list[str] = []
    watching = _Reports(failed.append)
    item.config.pluginmanager.register(watching)
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
    item.config.pluginmanager.unregister(watching)
    return bool(failed)


class _Reports:
    """A plugin of pytest: tells which tests failed."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._tell(report.nodeid)


def _verdict(run: Callable[[Callable[[str], None]], Any], limits: Limits) -> Verdict:
    started = time.monotonic()
    whole, longest = sum(limits.values()), max(limits.values())
    for _ in range(5):
        heard = in_a_fork(
            run, seconds=_LOADING + whole, first=_LOADING, silent=_LOADING + 4 * longest
        )
        if not heard.paused:
            break
    took = round(time.monotonic() - started, 2)
    if heard.said is None:
        return Verdict("timeout" if heard.too_long else "killed", heard.last, took)
    outcome, by = heard.said
    return Verdict(outcome, by, took)


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

    def __init__(self, limits: Limits, tell: Callable[[str], None]) -> None:
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
        end_after(self._limits[nodeid])

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
