"""Run one method of one tool, in the tool's environment, and write what it found to a file.

``python -m benchmarks.comparison.runner MODULE METHOD QUESTION.npz ANSWER.json RUNS``
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path

from benchmarks.comparison.question import Question

__all__ = ["main"]


def main(module: str, method: str, question: str, answer: str, runs: str) -> None:
    """Answer the question as often as asked; a run takes as long as a later call would."""
    asked = Question.load(Path(question))
    tool = importlib.import_module(f"benchmarks.comparison.tools.{module}")
    found = []
    for _ in range(int(runs)):
        start = time.perf_counter()
        correlation = tool.METHODS[method](asked)
        seconds = time.perf_counter() - start
        found.append({"seconds": seconds, "correlation": correlation.tolist()})
        Path(answer).write_text(json.dumps(found))  # what is done by the limit of time counts


if __name__ == "__main__":
    main(*sys.argv[1:])
