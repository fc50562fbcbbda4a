"""What releasing pairs costs, against the product of signs that it cannot do without."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

import dpcov
from benchmarks.measure import Table, best_times, peak_memory
from dpcov.exact.population import counting
from dpcov.exact.sign_products import SignProducts, pack_rows
from dpcov.exact.threads import allowed_threads
from dpcov.exact.triangle import Triangle

__all__ = ["tables"]

_ROWS, _COLUMNS, _PAIRS = 50_000, 5_000, 1_000
_TILE_ROWS, _TILE_COLUMNS = 8192, 200  # what the slow ways are tried on

Signs = npt.NDArray[np.int8]


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    yield _products()
    yield _release()


def _products() -> Table:
    """Compare ways to multiply signs with BLAS, all on the same number of products a second."""
    generator = np.random.default_rng(0)
    signs = generator.choice(np.array([-1, 1], dtype=np.int8), size=(_TILE_ROWS, _COLUMNS))
    gaps = signs * (generator.random(signs.shape) < 0.9).astype(np.int8)
    floats, tile = signs.astype(np.float32), signs[:, :_TILE_COLUMNS].copy()
    ways: dict[str, Callable[[], object]] = {
        "BLAS, float32 `S.T @ S`": lambda: floats.T @ floats,
        "bits, compiled, packed and checked; no sign is 0": lambda: _by_bits(signs),
        "the same where a tenth of the signs is 0": lambda: _by_bits(gaps),
    }
    small = {
        "bits, numpy's `bitwise_count`, on one core": lambda: _by_numpy(tile),
        "numpy's int8 `matmul`, on one core": lambda: tile.T @ tile,
    }
    counting()  # is compiled once
    best = best_times(3, **ways)
    best |= {
        name: seconds * (_COLUMNS / _TILE_COLUMNS) ** 2
        for name, seconds in best_times(1, **small).items()
    }
    table = Table(
        f"Products of signs: {_TILE_ROWS} × {_COLUMNS}, {allowed_threads()} threads",
        ("way", "BLAS / way", "goal"),
    )
    blas = next(iter(best.values()))
    for name, seconds in best.items():
        goal = "≥ 3" if "compiled" in name else "–"
        table.rows.append((name, f"{blas / seconds:.2g}", goal))
    return table


def _by_bits(signs: Signs) -> None:
    sums = Triangle.zeros(signs.shape[1], np.int32)
    with ThreadPoolExecutor(allowed_threads()) as pool:
        products = SignProducts(sums, pool)
        products.add(signs)
        products.finish()


def _by_numpy(signs: Signs) -> npt.NDArray[np.int64]:
    """Return Σ s_i s_j, i ≤ j, of signs that are not 0, with a column that waits in a cache."""
    words = np.ascontiguousarray(pack_rows(signs < 0).T).view(np.uint64)
    sums = np.zeros((len(words), len(words)), dtype=np.int64)
    for place, column in enumerate(words):
        apart = np.bitwise_count(column ^ words[place:]).sum(axis=1, dtype=np.uint32)
        sums[place, place:] = len(signs) - 2 * apart.astype(np.int64)
    return sums


def _release() -> Table:
    rows = np.random.default_rng(0).standard_normal((_ROWS, _COLUMNS), dtype=np.float32)
    signs = np.sign(rows[::2] - rows[1::2])

    def release() -> None:
        dpcov.release_pairs(rows, epsilon=1.0, delta=1e-6, max_pairs=_PAIRS)

    release()  # compiles
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
    return table
