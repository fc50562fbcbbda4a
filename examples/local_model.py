"""A study in the local model, simulated: a million people, fifty answers each.

    python examples/local_model.py                      # about a minute
    python examples/local_model.py --people 100000 --epsilon 4

Every person's row is randomized as a device would do it, into a report of 50 bytes. Two
collectors take turns, are merged at the end, and release what they have; the ordinary
estimate follows. The rows are simulated, so the truth is known; the noise comes from seeds,
so nothing is promised. Needs dpcov[cli] for the progress bar.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track

from dpcov import local

BATCH = 20_000
TOPIC = 5  # answers of a topic are related, others are not


def true_correlation(size: int) -> npt.NDArray[np.float64]:
    """Return a correlation matrix with blocks of 0.7, 0.6, …, 0."""
    truth = np.eye(size)
    for topic, start in enumerate(range(0, size - TOPIC + 1, TOPIC)):
        block = slice(start, start + TOPIC)
        value = max(0.0, 0.7 - 0.1 * topic)
        truth[block, block] = value + (1 - value) * np.eye(TOPIC)
    return truth


def main() -> None:
    """Simulate, collect, estimate, and compare with the truth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=50)
    parser.add_argument("--epsilon", type=float, default=4.0)
    options = parser.parse_args()

    console = Console(highlight=False)
    size = options.columns
    plan = local.CollectionPlan(
        columns=[f"answer {i + 1}" for i in range(size)],
        row_norm=1.2 * size**0.5,  # standardized answers: most rows are shorter
        epsilon=options.epsilon,
        mechanism="cap",
    )
    console.print(f"{plan!r}\n{plan.report_bytes} bytes a report")
    # What one person's device runs. It knows the owner's limits: delta has one by default, and
    # a plan that refuses missing cells is refused, since silence would tell of them.
    device = local.Device(most_epsilon=options.epsilon)
    answer = device.report(dict.fromkeys(plan.columns, 0.0), plan)
    same = device.report(dict.fromkeys(plan.columns, 1.0), plan) == answer
    console.print(f"a device answers a plan once: asked again, {'the same' if same else 'another'}")
    needed = {c: plan.people_needed(c, variance=1.0) for c in (0.7, 0.5, 0.3)}
    console.print("people needed to see a correlation:", needed)

    truth = true_correlation(size)
    root, generator = np.linalg.cholesky(truth).T, np.random.default_rng(0)
    collectors = [local.Collector(plan, simulated=True) for _ in range(2)]
    start = time.perf_counter()
    batches = range(0, options.people, BATCH)
    for number, first in enumerate(track(batches, description="reports", console=console)):
        people = min(BATCH, options.people - first)
        rows = generator.standard_normal((people, size)) @ root
        reports = local.simulate_reports(rows, plan, seed=number)
        collectors[number % 2].add_many(reports)
    release = collectors[0].merge(collectors[1]).release()
    console.print(f"{release!r} in {time.perf_counter() - start:.0f} s")

    estimate = release.estimate()
    edges = estimate.edges(fdr=0.05)
    names = {name: place for place, name in enumerate(plan.columns)}
    right = sum(truth[names[edge.first], names[edge.second]] > 0 for edge in edges)
    related = int((np.triu(truth, 1) > 0).sum())
    console.print(
        f"standard error of a covariance: {plan.standard_error(options.people, variance=1.0):.3f}\n"
        f"pairs found: {right} of the {related} related ones, and {len(edges) - right} others"
    )


if __name__ == "__main__":
    main()
