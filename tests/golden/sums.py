"""Integer sums of one table, and noise of one seed, by their digests."""

import hashlib

import numpy as np

from dpcov.columns.missing import Missing
from dpcov.exact.grid import Grid
from dpcov.exact.randomness import RandomStream
from dpcov.exact.rounded_gaussian import draw_rounded_gaussian
from dpcov.exact.ruler import Ruler
from dpcov.exact.selection import select_largest
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.gram import Gram
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel
from dpcov.sensitive.sums.rows import quantize_rows
from dpcov.sensitive.sums.signs import CoMovement

GRID = Grid(row_norm=2.5, bits=18)


def _rows():
    """Return rows of all sizes, most of them clipped, with cells that are missing."""
    rng = np.random.default_rng(3)
    rows = np.ldexp(rng.integers(-(2**30), 2**30, size=(3000, 7)), -30) * 4
    rows[rng.random(rows.shape) < 0.02] = np.nan
    rows[:3] = [[1e300] * 7, [5e-324] * 7, [0.0] * 7]
    return rows


def _digest(array):
    values = np.ascontiguousarray(array, dtype="<i8")
    return hashlib.sha256(str(values.shape).encode() + values.tobytes()).hexdigest()


def _gram():
    gram = Gram.from_rows(_rows(), grid=GRID, missing=Missing.CENTER, threads=2)
    return _digest(gram._sums.full())


def _signs():
    rows = CoMovement.from_blocks(
        [_rows()], n_columns=7, center=np.zeros(7), squares=None, missing="center"
    )
    return _digest(rows.triangle.full())


def _bins():
    ruler = Ruler(np.zeros(7), np.full(7, 40), 6)
    open_ended = np.full(7, np.inf)
    counts = CellKernel(ruler, -open_ended, open_ended, Missing.CENTER).sum_over([_rows()])
    index, columns = np.arange(ruler.n_bins), np.arange(7)
    found = [counts.between(np.full(7, each), np.full(7, each), columns) for each in index]
    return _digest(np.array(found))


def _lengths():
    edges = np.ldexp(1.0, np.arange(-4, 8))
    bins = NormBinsKernel(edges, 7, Missing.CENTER).sum_over([_rows()])
    return _digest(bins.sums(np.eye(len(edges) + 1, dtype=np.int64)))


def _noise(scale):
    return _digest(draw_rounded_gaussian(scale, 20_000, RandomStream.from_seed(7)))


def _quantized():
    whole = np.empty((3000, 7))
    quantize_rows(_rows(), GRID, Missing.CENTER, whole)
    return _digest(whole)


def _selection():
    scores = np.random.default_rng(4).integers(0, 500, size=400)
    stream = RandomStream.from_seed(8)
    return _digest(select_largest(lambda: [scores], count=12, scale=20.0, stream=stream))


SUMS = {
    "quantized rows": _quantized,
    "Gram matrix": _gram,
    "products of signs": _signs,
    "cells in bins": _bins,
    "lengths of rows": _lengths,
    "noise of scale 3": lambda: _noise(3),
    "noise of scale 2^40": lambda: _noise(1 << 40),
    "selection": _selection,
}
