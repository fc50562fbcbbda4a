"""What releasing pairs costs, against the product of signs that it cannot do without."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import dpcov
from benchmarks.measure import Table, best_times, peak_memory

__all__ = ["tables"]

_ROWS, _COLUMNS, _PAIRS = 50_000, 5_000, 1_000


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    rows = np.random.default_rng(0).standard_normal((_ROWS, _COLUMNS), dtype=np.float32)
    signs = np.sign(rows[::2] - rows[1::2])

    def release() -> None:
        dpcov.release_pairs(rows, epsilon=1.0, delta=1e-6, max_pairs=_PAIRS)

    best = best_times(2, product=lambda: signs.T @ signs, release=release)
    memory = peak_memory(
        "import numpy as np, dpcov\n"
        f"rows = np.empty(({_ROWS}, {_COLUMNS}), dtype=np.float32)\n"
        "generator = np.random.default_rng(0)\n"
        "for row in rows: row[:] = generator.standard_normal(rows.shape[1], dtype=np.float32)",
        "dpcov.release_pairs(rows, epsilon=1, delta=1e-6, max_pairs=1000)",
    )
    table = Table(
        f"Pairs: {_ROWS} × {_COLUMNS}, {_PAIRS} of {_COLUMNS * (_COLUMNS - 1) // 2} pairs",
        ("what", "measured", "goal"),
    )
    ratio = best["release"] / best["product"]
    table.rows.append(("release / float32 `S.T @ S`", f"{ratio:.2f}", "4"))
    table.rows.append(("memory beyond the table", f"{memory / 2**30:.2f} GiB", "8 GiB in all"))
    yield table
