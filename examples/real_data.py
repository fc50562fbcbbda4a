"""Real tables, honestly: what a privacy budget leaves of them.

    python examples/real_data.py [FOLDER]

Releases scikit-learn's digits (1,797 scans of 64 pixels) and breast cancer (569 patients, 30
measurements) and, if scanpy is installed, 700 blood cells with 765 genes. All are far smaller
than a table should be for a promise of ε = 1; the example says so with numbers, and shows what
larger budgets or a larger table would show. With a folder, plots are written to it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpcov


@dataclass(frozen=True)
class Study:
    """A table, and what is known of it without looking."""

    name: str
    table: Any
    known: dict[str, Any]
    max_pairs: int
    release: Callable[..., Any] = dpcov.release


def studies() -> Iterator[Study]:
    """Yield the tables that are installed."""
    from sklearn.datasets import load_breast_cancer, load_digits

    digits = load_digits(as_frame=True).data
    # Ink is between 0 and 16 by the construction of the scanner.
    ink = dict.fromkeys(digits.columns, (0, 16))
    yield Study("digits", digits, {"columns": ink}, max_pairs=128)

    cancer = load_breast_cancer(as_frame=True).data
    # Lengths, areas and shapes in units that differ by a factor of 100,000, and no bounds in the
    # description. Signs of differences of rows need neither scales nor a center.
    yield Study("breast cancer", cancer, {"max_pairs": 60}, 60, dpcov.release_pairs)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import scanpy

            cells = scanpy.datasets.pbmc68k_reduced()
    except ModuleNotFoundError:
        return
    # Standardized expression: about 0 and 1 by construction, hence a public scale.
    yield Study("pbmc68k_reduced", cells, {"row_norm": 765**0.5}, max_pairs=200)


def tell(study: Study, folder: Path | None) -> None:
    """Print what each budget shows, and draw the largest."""
    n_rows, size = study.table.shape
    print(f"\n{study.name}: {n_rows} rows × {size} columns")
    known = {name: fact for name, fact in study.known.items() if name != "max_pairs"}
    forecast = dpcov.plan(
        n=n_rows, p=size, epsilon=1.0, delta=0.1 / n_rows, max_pairs=study.max_pairs, **known
    )
    for mechanism in ("dense", "pairs"):
        shown = forecast.outlook(mechanism).shown_half
        can = f"correlations of {shown:.2f}" if shown <= 1 else "no correlation, however strong"
        print(f"  planned, ε = 1, {mechanism}: shows {can}")
    if forecast.rows_needed(0.5) > n_rows:
        print(f"  a correlation of 0.5 would need {forecast.rows_needed(0.5):,} rows at ε = 1")
    for epsilon in (1.0, 10.0, 100.0):
        # At ε = 1 some of them are refused: nothing could be seen in so few rows.
        stated = {"epsilon": epsilon, "delta": 0.1 / n_rows, "allow": {"small"}}
        made = study.release(study.table, **stated, **study.known)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dpcov.errors.NothingDetectableWarning)
            estimate = made.estimate()
        seen = estimate.smallest_detectable_correlation
        found = len(estimate.edges())
        words = f"{seen:.2f}" if seen <= 1 else "none"
        print(
            f"  ε = {epsilon:g}: {found} of {size * (size - 1) // 2} pairs found; smallest "
            f"correlation that shows between middling columns: {words}"
        )
    if folder is not None:
        draw(estimate, folder / f"{study.name.replace(' ', '-')}.png")


def draw(estimate: dpcov.Estimate | dpcov.PairsEstimate, path: Path) -> None:
    """Draw the matrix and the strongest pairs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13, 6), layout="constrained")
    left, right = figure.subplots(1, 2)
    dpcov.plot.heatmap(estimate, ax=left)
    dpcov.plot.intervals(estimate, ax=right)
    figure.savefig(path, dpi=80)
    print(f"  drawn with the largest ε: {path}")


def main(arguments: list[str]) -> None:
    """Run all studies."""
    folder = Path(arguments[0]) if arguments else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    for study in studies():
        tell(study, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
