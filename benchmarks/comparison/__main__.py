"""Compare with other tools: ``python -m benchmarks.comparison DIR [tool …] [--minutes 4]``.

Makes an environment for each tool in DIR, asks it about each table, keeps the answers there, and
prints what is known so far. What is kept is not asked again: delete it to measure again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparison.contestants import CONTESTANTS, Contestant
from benchmarks.comparison.question import Array, Question
from benchmarks.comparison.subjects import SUBJECTS
from benchmarks.measure import Table

__all__ = ["main"]

_ROOT = Path(__file__).parents[2]

Answers = str | list[dict[str, Any]]


def main(arguments: list[str]) -> None:
    """Ask what was not asked before, and print two tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison")
    parser.add_argument("folder", type=Path, help="for environments and answers")
    parser.add_argument("tools", nargs="*", help="all by default")
    parser.add_argument("--tables", nargs="*", default=list(SUBJECTS), choices=list(SUBJECTS))
    parser.add_argument("--minutes", type=float, default=4, help="for one method and one table")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    questions = {name: make() for name, make in SUBJECTS.items()}
    for contestant in CONTESTANTS:
        if not options.tools or contestant.name in options.tools:
            asked = {name: questions[name] for name in options.tables}
            _ask(contestant, asked, folder, 60 * options.minutes)
    for table in _tables(questions, folder):
        print(table.to_markdown(), end="\n\n")


def _ask(
    contestant: Contestant, questions: dict[str, Question], folder: Path, limit: float
) -> None:
    for name, question in questions.items():
        asked = folder / f"{name}.npz"
        question.save(asked)
        for method in contestant.methods:
            answer = _answer(folder, contestant, method, name)
            if answer.exists():
                continue
            python = _environment(contestant, folder)
            if python is None:
                answer.write_text(json.dumps("could not be installed"))
                continue
            command = [str(python), "-m", "benchmarks.comparison.runner", contestant.module]
            command += [method, str(asked), str(answer), str(contestant.runs)]
            try:
                subprocess.run(command, cwd=_ROOT, check=True, timeout=limit, capture_output=True)
            except subprocess.TimeoutExpired:
                if not answer.exists():
                    answer.write_text(json.dumps(f"> {limit:.0f} s"))
            except subprocess.CalledProcessError as error:
                answer.write_text(json.dumps("failed"))
                print(error.stderr.decode()[-2000:], file=sys.stderr)


def _answer(folder: Path, contestant: Contestant, method: str, subject: str) -> Path:
    place = contestant.methods.index(method)
    return folder / f"{contestant.module}-{place}-{subject}.json"


def _environment(contestant: Contestant, folder: Path) -> Path | None:
    """Return the interpreter of a tool's environment, or None if it cannot be installed."""
    if not contestant.requires:
        return Path(sys.executable)
    place = folder / f"environment-{contestant.module}"
    python = place / "bin" / "python"
    if not python.exists():
        venv.create(place, with_pip=True)
        install = [str(python), "-m", "pip", "install", "--quiet"]
        try:
            subprocess.run([*install, *contestant.requires], check=True)
        except subprocess.CalledProcessError:
            (place / "failed").touch()
    return None if (place / "failed").exists() else python


def _tables(questions: dict[str, Question], folder: Path) -> list[Table]:
    sizes = [f"{name}, {len(q.rows):,} × {q.rows.shape[1]}" for name, q in questions.items()]
    errors = Table(
        "Root mean square error of correlations against those of the raw table, ε = 1, δ = 1e-6",
        ("tool", "way", *sizes),
    )
    times = Table("Seconds for one answer", ("tool", "way", *sizes))
    truths = {name: _true_correlations(question) for name, question in questions.items()}
    zeros = [_error(np.eye(len(truth)), truth) for truth in truths.values()]
    errors.rows.append(("zeros", "", *(f"{zero:.3f}" for zero in zeros)))
    for contestant in CONTESTANTS:
        for method in contestant.methods[: 1 if contestant.has_norms else None]:
            found = [_read(_answer(folder, contestant, method, name)) for name in truths]
            start = (contestant.name, method)
            errors.rows.append((*start, *map(_shown_error, found, truths.values())))
            times.rows.append((*start, *map(_shown_seconds, found)))
        if contestant.has_norms:
            best = [_best(folder, contestant, name, truth) for name, truth in truths.items()]
            errors.rows.append((contestant.name, "the norm that turned out best", *best))
    return [errors, times]


def _read(path: Path) -> Answers:
    """Return what was found in each run, or why there is nothing."""
    found: Answers = json.loads(path.read_text()) if path.exists() else "not asked"
    return found


def _mean_error(found: list[dict[str, Any]], truth: Array) -> float:
    return float(np.mean([_error(np.array(run["correlation"]), truth) for run in found]))


def _shown_error(found: Answers, truth: Array) -> str:
    return found if isinstance(found, str) else f"{_mean_error(found, truth):.3f}"


def _shown_seconds(found: Answers) -> str:
    if isinstance(found, str):
        return found
    seconds = float(np.median([run["seconds"] for run in found]))
    return f"{seconds:.2g}" if seconds < 10 else f"{seconds:.0f}"


def _best(folder: Path, contestant: Contestant, subject: str, truth: Array) -> str:
    """Return the smallest error of any norm."""
    found = [_read(_answer(folder, contestant, each, subject)) for each in contestant.methods]
    known = [_mean_error(each, truth) for each in found if not isinstance(each, str)]
    return f"{min(known):.3f}" if known else _shown_error(found[0], truth)


def _true_correlations(question: Question) -> Array:
    with np.errstate(invalid="ignore"):  # of a constant column
        return np.asarray(np.nan_to_num(np.corrcoef(question.rows.T)))


def _error(correlation: Array, truth: Array) -> float:
    pairs = np.triu_indices(len(truth), k=1)
    return float(np.sqrt(np.mean((correlation - truth)[pairs] ** 2)))


if __name__ == "__main__":
    main(sys.argv[1:])
