"""Reach: which tests run which lines, and how long they take.

Owns the measurement: each file of tests runs once, under coverage. What was measured is kept, and
made again for a file that changed, or for all when the library did.
"""

from __future__ import annotations

import json
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from audits.mutation.forks import in_a_fork
from audits.mutation.listing import KEPT, ROOMS, digest
from audits.mutation.mutants import PACKAGE, ROOT, Mutant, path_of
from audits.mutation.trial import QUIET, use_plain_examples

# Rooms whose tests are about what these rooms promise. Others (pages, plots, commands) use it.
_TESTS = (
    "privacy",
    "exact",
    "mechanisms",
    "sensitive",
    "statistical",
    "wiring",
    "local",
    "releases",
    "audit",
    "contracts",
    "ledger",
)
_LONGEST = 600.0
_SHORTEST = 4.0


@dataclass(frozen=True)
class Reached:
    """Tests, what each takes, and which lines of which file each runs."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, frozenset[str]]]
    at_loading: dict[str, frozenset[int]]
    """Lines that run while modules are loaded and tests are collected."""

    def __post_init__(self) -> None:
        longest: dict[str, float] = defaultdict(float)
        for test, seconds in self.seconds.items():
            file = test.split("::")[0]
            longest[file] = max(longest[file], seconds)
        object.__setattr__(self, "_longest", longest)

    def limit(self, test: str) -> float:
        """Return after how many seconds of CPU time a test does not end, under no coverage.

        The first test of a file may pay for what others share.
        """
        longest: dict[str, float] = self._longest  # type: ignore[attr-defined]
        return _SHORTEST + 2 * self.seconds[test] + 2 * longest[test.split("::")[0]]

    def tests_of(self, path: Path, first: int, last: int) -> set[str]:
        """Return the tests that run one of these lines."""
        here = self.lines.get(path.relative_to(ROOT).as_posix(), {})
        return {test for line in range(first, last + 1) for test in here.get(line, ())}

    def runs_at_loading(self, mutant: Mutant) -> bool:
        """Return whether what a mutant changes has run before the first test."""
        path = path_of(mutant.module).relative_to(ROOT).as_posix()
        first, last = mutant.lines
        return not self.at_loading.get(path, frozenset()).isdisjoint(range(first, last + 1))

    def tests_of_module(self, path: Path) -> set[str]:
        """Return the tests that run anything in a file, after it was loaded."""
        here = self.lines.get(path.relative_to(ROOT).as_posix(), {})
        return {test for tests in here.values() for test in tests}


def test_files() -> list[Path]:
    """Return all files whose tests are tried: of the rooms, and examples in docstrings."""
    files = [path for room in _TESTS for path in (ROOT / "tests" / room).rglob("test_*.py")]
    examples = [path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")]
    return sorted(files) + sorted(path for path in examples if ">>>" in path.read_text("utf-8"))


def collected(files: Sequence[Path]) -> list[str]:
    """Return the names of all tests in some files."""

    def collect(_: Any) -> Any:
        names = _Names()
        pytest.main([*QUIET, "--collect-only", *map(str, files)], plugins=[names])
        return names.found

    found: list[str] = in_a_fork(collect, seconds=_LONGEST).said
    return found


def measure(files: Sequence[Path], *, jobs: int) -> Iterator[Path]:
    """Measure each file that is new or changed, several at once, and yield it."""
    library = digest(*sorted(path for room in ROOMS for path in (PACKAGE / room).rglob("*.py")))
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("fork")) as pool:
        yield from pool.map(_measure, files, [library] * len(files))


def _measure(path: Path, library: str) -> Path:
    kept = _kept(path)
    stamp = f"{library} {digest(path)}"
    if not kept.exists() or json.loads(kept.read_text("utf-8"))["stamp"] != stamp:
        found = in_a_fork(lambda _: _measure_file(path), seconds=_LONGEST).said
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps({"stamp": stamp, "found": found}), encoding="utf-8")
    return path


def reached(files: Sequence[Path]) -> Reached:
    """Return what was measured."""
    seconds: dict[str, float] = {}
    lines: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for path in files:
        kept = _kept(path)
        found = json.loads(kept.read_text("utf-8"))["found"] if kept.exists() else None
        if not isinstance(found, dict):
            continue
        seconds |= found["seconds"]
        names = found["tests"]
        for file, by_line in found["lines"].items():
            for line, tests in by_line.items():
                lines[file][int(line)].update(names[each] for each in tests)
    return Reached(
        seconds,
        {
            file: {line: frozenset(tests & seconds.keys()) for line, tests in by_line.items()}
            for file, by_line in lines.items()
        },
        _measure_loading(files),
    )


def _measure_loading(files: Sequence[Path]) -> dict[str, frozenset[int]]:
    """Return the lines that run when all tests are collected, after modules were loaded.

    Those of definitions are among them, and are not asked about.
    """

    def collect(_: Any) -> Any:
        measured = _coverage()
        measured.start()
        pytest.main([*QUIET, "--collect-only", *map(str, files)])
        measured.stop()
        data = measured.get_data()
        return {
            Path(file).relative_to(ROOT).as_posix(): sorted(data.lines(file) or ())
            for file in data.measured_files()
        }

    found = in_a_fork(collect, seconds=_LONGEST).said
    return {file: frozenset(lines) for file, lines in found.items()}


def _kept(path: Path) -> Path:
    name = path.relative_to(ROOT).with_suffix("").as_posix().replace("/", ".")
    return KEPT / "reach" / f"{name}.json"


def _coverage() -> Any:
    import coverage

    rooms = [str(PACKAGE / room) for room in ROOMS]
    return coverage.Coverage(data_file=None, source=rooms, messages=False, config_file=False)


def _measure_file(path: Path) -> Any:
    measured = _coverage()
    watching = _Watching(measured)
    measured.start()
    pytest.main([*QUIET, str(path)], plugins=[watching])
    measured.stop()
    data = measured.get_data()
    tests = sorted(watching.seconds)
    places = {test: place for place, test in enumerate(tests)}
    lines = {}
    for file in data.measured_files():
        by_line = {
            line: sorted(places[each] for each in contexts if each in places)
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        lines[Path(file).relative_to(ROOT).as_posix()] = {
            line: found for line, found in by_line.items() if found
        }
    return {"seconds": watching.seconds, "tests": tests, "lines": lines}


class _Names:
    """A plugin of pytest: keeps the names of what was collected."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.found = [item.nodeid for item in session.items]


class _Watching:
    """A plugin of pytest: says whose lines are run, and how long each test that passes takes."""

    def __init__(self, measured: Any) -> None:
        self._measured = measured
        self.seconds: dict[str, float] = {}

    def pytest_collection(self) -> None:
        use_plain_examples()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._measured.switch_context(item.nodeid)
        started, began = time.process_time(), time.monotonic()
        self._failed = False
        done = yield
        if not self._failed:
            # One that waits for other processes takes long, too.
            took = max(time.process_time() - started, (time.monotonic() - began) / 3)
            self.seconds[item.nodeid] = round(took, 4)
        self._measured.switch_context("")
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if not report.passed:
            self._failed = True
