"""Real tables: how often intervals hold the means and correlations of cells that nothing limited.

A release is about the table with its cells limited, and says of which columns that may be far from
the whole cells (`dpcov.releases.tails`). Compared are those columns and all others, with the truth
of the raw table: its numeric columns, and the rows that are complete in them.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import dpcov
from benchmarks.accuracy.tables import RealTable
from benchmarks.measure import Table
from dpcov.postprocess.column_errors import mean_errors
from dpcov.releases.tails import withheld

__all__ = ["tables"]

_RUNS = 3
_MOST_COLUMNS = 15
_EPSILON, _DELTA = 1.0, 1e-6
_WIDTH, _FAR = 1.96, 4.0

Held = dict[str, list[tuple[bool, bool]]]
"""Of each kind: whether the interval holds the truth, and whether that is far outside."""


def tables(folder: str) -> Iterator[Table]:
    """Yield one table of means and correlations, by what is known of their tails."""
    found: Held = defaultdict(list)
    for path in sorted(Path(folder).glob("*.parquet")):
        real = RealTable.read(path)
        names = list(real.frame.columns[:_MOST_COLUMNS])
        real = RealTable(real.name, real.frame[names], {name: real.bounds[name] for name in names})
        for columns in (real.bounds, None):
            for seed in range(_RUNS):
                _add(found, real, columns, seed)
    if not found:
        raise SystemExit(f"There are no Parquet files in {folder}.")
    table = Table(
        f"Whole cells of real tables, epsilon = {_EPSILON:g}, {_RUNS} runs with bounds and {_RUNS} "
        "without: how many 95 % intervals hold the truth of the raw table, and how many are off by "
        f"more than {_FAR:g} standard errors",
        ("what", "number", "held", "far off"),
    )
    for kind, held in sorted(found.items()):
        share, far = (np.mean([each[part] for each in held]) for part in (0, 1))
        table.rows.append((kind, f"{len(held):,}", f"{100 * share:.0f} %", f"{100 * far:.1f} %"))
    yield table


def _add(
    found: Held,
    real: RealTable,
    columns: dict[str, tuple[float | None, float | None]] | None,
    seed: int,
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        made = dpcov.release(real.frame, columns=columns, epsilon=_EPSILON, delta=_DELTA, seed=seed)
        estimate = made.estimate()
    hidden = withheld(made)
    errors = np.asarray(mean_errors(estimate))  # which are there: means are released
    away = np.abs(estimate.location - real.frame.to_numpy().mean(axis=0)) / errors
    for place, ratio in enumerate(away.tolist()):
        kind = "means not shown" if place in hidden else "means shown"
        found[kind].append((ratio <= _WIDTH, ratio > _FAR))
    pairs, truth = estimate.pairs(), real.correlation[np.triu_indices(len(real.frame.columns), 1)]
    width = (pairs.high - pairs.low) / (2 * _WIDTH)
    beyond = np.maximum(pairs.low - truth, truth - pairs.high)
    far = beyond > (_FAR - _WIDTH) * width
    both = np.isin(pairs.first, list(hidden)).astype(int) + np.isin(pairs.second, list(hidden))
    listed = pairs.q_value <= 0.1
    for place in np.flatnonzero(pairs.told).tolist():
        on = "listed" if listed[place] else "not listed"
        kind = f"correlations, {both[place]} of both columns marked, {on}"
        found[kind].append((bool(beyond[place] <= 0), bool(far[place])))
