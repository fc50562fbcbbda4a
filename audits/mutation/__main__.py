"""Try mutants out: `python -m audits.mutation --help`."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from pathlib import Path

from audits.mutation import reach, record
from audits.mutation.listing import listed, modules
from audits.mutation.mutants import Mutant, path_of
from audits.mutation.trial import Trier, Verdict, load_before
from rich.console import Console
from rich.progress import track

# What tests of one mutant may take, in seconds of coverage's slow time: first those that noticed
# its neighbors, then those of its own file and room, then all others. Files take time to load, too.
_FAVORITES = (2.0, 2)
_STAGES = ((5.0, 5), (6.0, 3))
# Ends of ranges of what a caller states: nearly all that survive are as private as their neighbors,
# and only tests of the room are asked.
_EDGES = (3.0, 3)
_EDGE = re.compile(r"\b(low|high|open_low|open_high)=")

Stages = list[dict[str, float]]
"""Tests with the limit of each, in the order in which they are run."""


class Killers:
    """Which tests noticed mutants, in which function: the next one there is noticed by the same."""

    def __init__(self) -> None:
        self._by: dict[str, Counter[str]] = defaultdict(Counter)

    def note(self, name: str, verdict: Verdict) -> None:
        """Remember who noticed a mutant."""
        where = name.split(" | ")[0].split(" ")[0]
        if verdict.outcome == "killed" and "::" in verdict.by:
            self._by[where][verdict.by] += 1
            self._by[where.split(":")[0]][verdict.by] += 1

    def favorites(self, mutant: Mutant) -> list[str]:
        """Return tests that are likely to notice, the likeliest first."""
        here = self._by[f"{mutant.module}:{mutant.place}"].most_common(5)
        return [test for test, _ in (*here, *self._by[mutant.module].most_common(3))]


def tests_for(mutant: Mutant, reached: reach.Reached, killers: Killers) -> Stages:
    """Return tests that run the changed lines, in stages: likely, near, and others."""
    path = path_of(mutant.module)
    found = reached.tests_of(path, *mutant.lines)
    if mutant.at_loading or not found:
        found = reached.tests_of_module(path)
    own, room = f"/test_{path.stem}.py", f"/{mutant.module.split('.')[0]}/"
    if mutant.at_loading or reached.runs_at_loading(mutant):
        # Their parameters may have run it, and they themselves only look at what came of it.
        found = found | {test for test in reached.seconds if own in test}
    order = sorted(found, key=lambda test: (own not in test, reached.seconds[test]))
    likely = [test for test in dict.fromkeys(killers.favorites(mutant)) if test in found]
    stages = [_within(likely, reached, *_FAVORITES)]
    near = [test for test in order if room in test]
    rounds = [(near, _STAGES[0]), (order, _STAGES[1])]
    if near and mutant.becomes != "pass" and _EDGE.search(mutant.was):
        rounds = [(near, _EDGES)]
    for tests, within in rounds:
        before = {test for stage in stages for test in stage}
        stages.append(_within([test for test in tests if test not in before], reached, *within))
    return [{test: reached.limit(test) for test in stage} for stage in stages if stage]


def _within(
    tests: Sequence[str], reached: reach.Reached, seconds: float, most_files: int
) -> list[str]:
    chosen: list[str] = []
    files: set[str] = set()
    for test in tests:
        file = test.split("::")[0]
        if reached.seconds[test] < seconds and (file in files or len(files) < most_files):
            seconds -= reached.seconds[test]
            chosen.append(test)
            files.add(file)
    return chosen


_trier: Trier  # of this process, if it is one that tries mutants out


def _begin(files: Sequence[Path]) -> None:
    global _trier
    _trier = Trier(files)


def _judge(mutant: Mutant, stages: Stages, load: bool) -> Verdict:
    return _trier.judge(mutant, stages, load=load)


def _notices(mutant: Mutant, stages: Stages) -> bool:
    """Return whether a module that cannot be loaded at all is noticed."""
    return _judge(replace(mutant, source="raise RuntimeError"), stages, True).outcome == "killed"


def verdicts(
    todo: Iterable[Mutant],
    files: Sequence[Path],
    reached: reach.Reached,
    killers: Killers,
    *,
    jobs: int,
    ends: float,
) -> Iterator[tuple[Mutant, Verdict]]:
    """Yield what became of each mutant, several at once, until the time is over."""
    checked: set[str] = set()
    forks = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(jobs, mp_context=forks, initializer=_begin, initargs=(files,)) as pool:
        running: dict[Future[Verdict], Mutant] = {}
        for mutant in todo:
            if time.monotonic() > ends:
                break
            stages = tests_for(mutant, reached, killers)
            if mutant.module not in checked:
                if not pool.submit(_notices, mutant, stages).result():
                    raise SystemExit(f"No test notices that {mutant.module} cannot be loaded.")
                checked.add(mutant.module)
            load = mutant.at_loading or reached.runs_at_loading(mutant)
            running[pool.submit(_judge, mutant, stages, load)] = mutant
            if len(running) > jobs:
                yield from _ended(running)
        while running:
            yield from _ended(running)


def _ended(running: dict[Future[Verdict], Mutant]) -> Iterator[tuple[Mutant, Verdict]]:
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        yield running.pop(future), future.result()


def main() -> int:
    """Try mutants out until all are done or the time is over, and say what survived."""
    given = _parser().parse_args()
    load_before()
    ends = time.monotonic() + 60 * given.minutes
    files = reach.test_files()
    measured = reach.measure(files, jobs=given.jobs)
    for _ in track(measured, "tests", total=len(files), console=Console(stderr=True)):
        if time.monotonic() > ends:
            return _over()
    reached, killers = reach.reached(files), Killers()
    for name, verdict in record.results().values():
        killers.note(name, verdict)
    todo = _todo(given)
    found = verdicts(todo, files, reached, killers, jobs=given.jobs, ends=ends)
    return _noted(found, todo, killers)


def _noted(
    found: Iterable[tuple[Mutant, Verdict]], todo: Sequence[Mutant], killers: Killers
) -> int:
    """Write down what became of each mutant, and say what survived."""
    done = 0
    for mutant, verdict in track(found, "mutants", total=len(todo), console=Console(stderr=True)):
        record.note(mutant, verdict)
        killers.note(mutant.name, verdict)
        done += 1
        if verdict.outcome == "survived":
            print(f"survived: {mutant.name}", flush=True)
    return 0 if done == len(todo) else _over()


def _todo(given: argparse.Namespace) -> list[Mutant]:
    results = record.results()
    before = {key: verdict.outcome for key, (_, verdict) in results.items()}
    todo: list[Mutant] = []
    for module in modules(given.modules):
        mutants: Sequence[Mutant] = listed(module)
        if given.sample is not None and given.sample < len(mutants):
            mutants = random.Random(f"{given.seed} {module}").sample(mutants, given.sample)  # noqa: S311
        todo += [
            mutant
            for mutant in mutants
            if mutant.key not in before or (given.again and before[mutant.key] == "survived")
        ]
    if given.mixed:
        random.Random(given.seed).shuffle(todo)  # noqa: S311
    return todo


def _over() -> int:
    print("The time is over; what was found is kept. Run it again to go on.")
    return 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m audits.mutation", description=__doc__)
    parser.add_argument("--modules", nargs="+", default=["*"], help="such as privacy.gaussian")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop then, and go on later")
    parser.add_argument("--jobs", type=int, default=1, help="so many mutants at once")
    parser.add_argument("--sample", type=int, help="so many mutants of each module, at random")
    parser.add_argument("--mixed", action="store_true", help="in random order, of all modules")
    parser.add_argument("--seed", type=int, default=0, help="of the sample and the order")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    return parser


if __name__ == "__main__":
    sys.exit(main())
