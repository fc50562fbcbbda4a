"""Run the benchmarks and print their tables: ``python -m benchmarks [name ...]``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from benchmarks import dask_engine, estimate, files, local, pairs, release
from benchmarks.accuracy import pairs as accuracy_of_pairs
from benchmarks.accuracy import scales, study
from benchmarks.measure import Table

_TABLES: dict[str, Callable[[], Iterator[Table]]] = {
    "release": release.tables,
    "estimate": estimate.tables,
    "pairs": pairs.tables,
    "accuracy": study.tables,
    "accuracy-pairs": accuracy_of_pairs.tables,
    "accuracy-scales": scales.tables,
    "local": local.tables,
    "files": files.tables,
    "dask": dask_engine.tables,
}


def main(names: list[str]) -> None:
    """Print the tables of the named benchmarks, or of all."""
    unknown = set(names) - _TABLES.keys()
    if unknown:
        raise SystemExit(f"Unknown benchmark; choose from: {', '.join(_TABLES)}")
    for name in names or _TABLES:
        for table in _TABLES[name]():
            print(table.to_markdown(), end="\n\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
