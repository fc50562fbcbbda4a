"""Run the benchmarks and print their tables: ``python -m benchmarks [name ...]``.

``python -m benchmarks tables DIR`` measures on the Parquet files of a folder, ``whole DIR`` with
all of their columns and gaps, ``whole-cells DIR`` against cells that nothing limited,
``regressions DIR`` what is answered from their releases, ``physlm DIR`` how a rare column of one of
them is limited, ``readings DIR`` compares what is read of
them with pandas, and ``gather DIR`` writes tables that come with packages to such folders.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from benchmarks import (
    collect,
    command_line,
    dask_engine,
    estimate,
    files,
    local,
    pairs,
    release,
    scale,
    spark_engine,
)
from benchmarks.accuracy import (
    categories,
    kinds,
    ranges,
    readings,
    regression,
    scales,
    study,
    tails,
    whole,
    whole_cells,
)
from benchmarks.accuracy import pairs as accuracy_of_pairs
from benchmarks.accuracy import tables as real_tables
from benchmarks.accuracy.gather import gather
from benchmarks.measure import Table

_TABLES: dict[str, Callable[[], Iterator[Table]]] = {
    "release": release.tables,
    "estimate": estimate.tables,
    "pairs": pairs.tables,
    "accuracy": study.tables,
    "accuracy-pairs": accuracy_of_pairs.tables,
    "accuracy-scales": scales.tables,
    "accuracy-kinds": kinds.tables,
    "accuracy-ranges": ranges.tables,
    "accuracy-tails": tails.tables,
    "accuracy-categories": categories.tables,
    "accuracy-regression": regression.tables,
    "local": local.tables,
    "collect": collect.tables,
    "files": files.tables,
    "command-line": command_line.tables,
    "dask": dask_engine.tables,
    "scale": scale.tables,
    "spark": spark_engine.tables,
}
_OF_A_FOLDER: dict[str, Callable[[str], Iterator[Table]]] = {
    "tables": real_tables.tables,
    "whole": whole.tables,
    "whole-cells": whole_cells.tables,
    "regressions": regression.real_tables,
    "readings": readings.tables,
    "physlm": ranges.tables_of_physlm,
}


def main(names: list[str]) -> None:
    """Print the tables of the named benchmarks, or of all."""
    if names and (names[0] in _OF_A_FOLDER or names[0] == "gather"):
        if len(names) != 2:
            raise SystemExit(f"Say where the tables are: python -m benchmarks {names[0]} DIR")
        if names[0] == "gather":
            gather(names[1])
        else:
            _print(_OF_A_FOLDER[names[0]](names[1]))
        return
    unknown = set(names) - _TABLES.keys()
    if unknown:
        raise SystemExit(
            f"Unknown benchmark; choose from: {', '.join(_TABLES)}, or, with a folder, from: "
            f"{', '.join(_OF_A_FOLDER)}, gather"
        )
    for name in names or _TABLES:
        _print(_TABLES[name]())


def _print(tables: Iterator[Table]) -> None:
    for table in tables:
        print(table.to_markdown(), end="\n\n", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
