"""Whole real tables: numbers, categories and gaps, through the command line in one command each.

Everything is compared with the truth, computed from the raw table: cells limited as the release
says, levels as indicators, and each pair by the rows in which both cells are there. Reads Parquet
files, each with a JSON file of what a person could state beside it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

import dpcov
from benchmarks.accuracy.readings import stated_columns
from benchmarks.measure import Table

__all__ = ["tables"]

_RUNS = 3
_EPSILON, _DELTA = 1.0, 1e-6

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Outcome:
    """What one release of one table came to."""

    error: float
    zeros: float
    covered: float
    means_covered: float
    seconds: float
    release: dpcov.Release


def tables(folder: str) -> Iterator[Table]:
    """Yield one table of errors, all columns included."""
    table = Table(
        f"Whole tables by one command each, epsilon = {_EPSILON:g}, delta = {_DELTA:g}, {_RUNS} "
        "runs: root mean square error of correlations between columns, against the pairwise-"
        "complete ones of the limited table; coverage of 95 % intervals of covariances and means",
        (
            "table",
            "rows",
            "columns",
            "of these categories",
            "cells missing",
            "zeros",
            "error",
            "coverage",
            "coverage of means",
            "seconds",
        ),
    )
    numbers: list[tuple[float, ...]] = []
    for path in sorted(Path(folder).glob("*.parquet")):
        frame = pd.read_parquet(path)
        runs = [_run(path, frame, seed) for seed in range(_RUNS)]
        design = runs[0].release.design
        measured = tuple(
            float(np.mean([getattr(run, name) for run in runs]))
            for name in ("zeros", "error", "covered", "means_covered", "seconds")
        )
        numbers.append(measured)
        gaps = float(frame[[field.name for field in design.fields]].isna().to_numpy().mean())
        table.rows.append(
            (
                path.stem,
                f"{len(frame)}",
                f"{len(design.fields)}",
                f"{len(design.categories)}",
                f"{gaps:.3f}",
                *(f"{number:.3f}" for number in measured[:-1]),
                f"{measured[-1]:.1f}",
            )
        )
    median = np.median(numbers, axis=0)
    table.rows.append(("median", "", "", "", "", *(f"{number:.3f}" for number in median[:-1]), ""))
    yield table


def _run(path: Path, frame: pd.DataFrame, seed: int) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        out, facts = Path(folder) / "out", Path(folder) / "columns.json"
        facts.write_text(json.dumps({"columns": stated_columns(path)}))
        start = time.perf_counter()
        subprocess.run(  # our own command
            [
                *(sys.executable, "-m", "dpcov", "release", str(path)),
                *("--columns", str(facts)),
                *("--epsilon", f"{_EPSILON:g}", "--delta", f"{_DELTA:g}", "--seed", f"{seed}"),
                *("--out", str(out), "--quiet"),
            ],
            check=True,
            capture_output=True,
        )
        seconds = time.perf_counter() - start
        release = dpcov.Release.load(out / "release.npz")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimate = release.estimate()
    limited = limit(frame, release)
    truth, correlation = limited.cov().to_numpy(), limited.corr().to_numpy()
    field = release.design.field_of
    apart = np.triu(np.not_equal.outer(field, field), 1) & np.isfinite(correlation)
    low, high = estimate.interval(about="table")
    covered = ((low <= truth) & (truth <= high))[apart]
    error = np.abs(release.location - limited.mean().to_numpy())
    return Outcome(
        error=_rms((estimate.correlation - correlation)[apart]),
        zeros=_rms(correlation[apart]),
        covered=float(covered.mean()),
        means_covered=float((error <= 1.96 * _mean_errors(release)).mean()),
        seconds=seconds,
        release=release,
    )


def limit(frame: pd.DataFrame, release: dpcov.Release) -> pd.DataFrame:
    """Return the raw table as a release is about it: cells limited, levels as indicators."""
    limits = release.limits
    if limits is None:
        raise AssertionError("unreachable: limits are learned without a row norm")
    values = {}
    for place, name in enumerate(release.columns):
        field = release.design.fields[release.design.field_of[place]]
        cells = frame[field.name]
        if field.levels is None:
            numbers = cells.astype(np.float64)
            values[name] = numbers.clip(limits[0][place], limits[1][place])
        else:
            text = cells.astype(str)
            known = text.isin(field.levels) & cells.notna()
            values[name] = (text == name[len(field.name) + 1 :]).astype(np.float64).where(known)
    return pd.DataFrame(values)


def _mean_errors(release: dpcov.Release) -> Array:
    pairwise = release.pairwise
    error = release.noise_scale.mean if pairwise is None else pairwise.mean_error
    return np.asarray(error * release.units.scale)


def _rms(numbers: Array) -> float:
    return float(np.sqrt(np.mean(numbers**2)))
