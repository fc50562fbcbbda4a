"""Try mutants out: `python -m audits.mutation --help`."""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatch

from audits.mutation import page, reach, record
from audits.mutation.mutants import PACKAGE, Mutant, mutants_of, path_of
from audits.mutation.trial import Verdict, load_before, try_out
from rich.console import Console
from rich.progress import track

# What tests of one mutant may take, in seconds of coverage's slow time: first those of its own
# file and room, then all others. Files take time to load, too.
_STAGES = ((6.0, 6), (10.0, 4))
_STARTING = 15.0


def modules(patterns: Sequence[str]) -> list[str]:
    """Return the modules below dpcov that have one of these names, as `exact.*`."""
    found = [
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        for room in reach.ROOMS
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if path.name != "__init__.py"
    ]
    return [name for name in found if any(fnmatch(name, each) for each in patterns)]


def tests_for(mutant: Mutant, reached: reach.Reached) -> list[list[str]]:
    """Return tests that run the changed lines, in stages: those that are near, and others."""
    path = path_of(mutant.module)
    found = reached.tests_of(path, *mutant.lines)
    if mutant.at_loading or not found:
        found = reached.tests_of_module(path)
    own, room = f"test_{path.stem}.py", f"/{mutant.module.split('.')[0]}/"
    order = sorted(found, key=lambda test: (own not in test, reached.seconds[test]))
    near = _within([test for test in order if room in test], reached, *_STAGES[0])
    others = _within([test for test in order if test not in near], reached, *_STAGES[1])
    return [each for each in (near, others) if each]


def _within(
    tests: Sequence[str], reached: reach.Reached, seconds: float, most_files: int
) -> list[str]:
    chosen: list[str] = []
    files: set[str] = set()
    for test in tests:
        seconds -= reached.seconds[test]
        file = test.split("::")[0]
        if seconds > 0 and (file in files or len(files) < most_files):
            chosen.append(test)
            files.add(file)
    return chosen


def judge(mutant: Mutant, reached: reach.Reached) -> Verdict:
    """Return what the first stage says that notices the mutant."""
    verdict = Verdict("survived", "", 0.0)
    for tests in tests_for(mutant, reached):
        verdict = try_out(mutant, tests, seconds=_STARTING + 2 * _time(tests, reached))
        if verdict.outcome != "survived":
            break
    return verdict


def check_that_trials_notice(mutant: Mutant, reached: reach.Reached) -> None:
    """Refuse to go on if a module that cannot be loaded at all would survive."""
    broken = replace(mutant, source="raise RuntimeError")
    for tests in tests_for(mutant, reached):
        if try_out(broken, tests[:1], seconds=_STARTING).outcome == "survived":
            raise SystemExit(f"{tests[0]} did not run the changed {mutant.module}.")


def _time(tests: Sequence[str], reached: reach.Reached) -> float:
    return sum(reached.seconds[test] for test in tests)


def main() -> int:
    """Try mutants out until all are done or the time is over, and say what survived."""
    given = _parser().parse_args()
    if given.page:
        page.write(modules(given.modules))
        return 0
    load_before()
    ends = time.monotonic() + 60 * given.minutes
    files = reach.test_files()
    for _ in track(reach.measure(files), "tests", total=len(files), console=Console(stderr=True)):
        if time.monotonic() > ends:
            return _over()
    reached = reach.reached(files)
    survived, checked = 0, set()
    todo = _todo(given)
    for mutant in track(todo, "mutants", console=Console(stderr=True)):
        if time.monotonic() > ends:
            return _over()
        if mutant.module not in checked:
            check_that_trials_notice(mutant, reached)
            checked.add(mutant.module)
        verdict = judge(mutant, reached)
        record.note(mutant.name, verdict)
        if verdict.outcome == "survived" and mutant.name not in record.known_survivors():
            survived += 1
            print(f"survived, and is not known: {mutant.name}", flush=True)
    return 1 if survived else 0


def _todo(given: argparse.Namespace) -> list[Mutant]:
    done = record.results()
    todo = []
    for module in modules(given.modules):
        mutants = mutants_of(module)
        if given.sample is not None and given.sample < len(mutants):
            mutants = random.Random(f"{given.seed} {module}").sample(mutants, given.sample)  # noqa: S311
        for mutant in mutants:
            before = done.get(mutant.name)
            if before is None or (given.again and before.outcome == "survived"):
                todo.append(mutant)
    return todo


def _over() -> int:
    print("The time is over; what was found is kept. Run it again to go on.")
    return 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m audits.mutation", description=__doc__)
    parser.add_argument("--modules", nargs="+", default=["*"], help="such as privacy.gaussian")
    parser.add_argument("--minutes", type=float, default=1e9, help="stop then, and go on later")
    parser.add_argument("--sample", type=int, help="so many mutants of each module, at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--again", action="store_true", help="try survivors again")
    parser.add_argument("--page", action="store_true", help="write the tables of docs/mutation.md")
    return parser


if __name__ == "__main__":
    sys.exit(main())
