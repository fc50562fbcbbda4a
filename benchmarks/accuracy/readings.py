"""Real tables with all of their columns: whether they are read as pandas reads them.

Owns the comparison of numbers, gaps and codes of categories.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.measure import Table
from dpcov import Columns
from dpcov.sensitive.tables import open_table

__all__ = ["stated_columns", "tables"]


def stated_columns(path: Path) -> dict[str, dict[str, Any]]:
    """Return the facts that stand beside a Parquet file, of all of its columns that can vary."""
    facts: dict[str, dict[str, Any]] = json.loads(path.with_suffix(".json").read_text())
    return {name: each for name, each in facts.items() if _can_vary(each)}


def _can_vary(facts: dict[str, Any]) -> bool:
    if "levels" in facts:
        return len(facts["levels"]) > 1
    low, high = facts.get("lower"), facts.get("upper")
    return low is None or high is None or low < high


def tables(folder: str) -> Iterator[Table]:
    """Yield a table of how each Parquet file of a folder is read."""
    table = Table(
        "Real tables, all columns: cells that differ from what pandas reads, and seconds of one "
        "reading",
        ("table", "rows", "columns", "categories", "levels", "gaps", "cells that differ", "s"),
    )
    for path in sorted(Path(folder).glob("*.parquet")):
        stated = stated_columns(path)
        begun = time.perf_counter()
        source = open_table(path, facts=Columns.from_mapping(stated), header=True)
        cells = np.concatenate(list(source.blocks(1 << 14)))
        took = time.perf_counter() - begun
        expected = _as_pandas_has_it(pd.read_parquet(path), stated)
        same = (cells == expected) | (np.isnan(cells) & np.isnan(expected))
        levels = [len(field.levels) for field in source.fields if field.levels is not None]
        table.rows.append(
            (
                path.stem,
                str(len(cells)),
                str(cells.shape[1]),
                str(len(levels)),
                str(sum(levels)),
                str(int(np.isnan(cells).sum())),
                str(int((~same).sum())),
                f"{took:.2f}",
            )
        )
    yield table


def _as_pandas_has_it(
    frame: pd.DataFrame, stated: dict[str, dict[str, Any]]
) -> npt.NDArray[np.float64]:
    """Return numbers as they are, and categories as pandas codes them."""
    columns = []
    for name, facts in stated.items():
        if "levels" in facts:
            codes = pd.Categorical(frame[name], facts["levels"]).codes.astype(np.float64)
            columns.append(np.where(codes < 0, np.nan, codes))
        else:
            columns.append(frame[name].to_numpy(np.float64))
    return np.stack(columns, axis=1)
