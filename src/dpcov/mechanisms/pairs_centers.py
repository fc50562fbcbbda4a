"""Centers of signs that nobody stated: medians of all columns, by noisy bisection.

Owns the search. It asks, twenty times, how many cells of each column lie below a place minus
how many lie above, with noise. How often is public; where follows from noisy answers alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.exact.randomness import RandomStream
from dpcov.exact.ruler import TOP, Ruler, ruler_bits
from dpcov.mechanisms.noise import add_noise
from dpcov.mechanisms.pairs_calibration import CENTER_STEPS, FINER_BITS
from dpcov.sensitive.engines.serial import Engine
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.tables import Rows

__all__ = ["learn_centers", "passes"]

_COARSE_STEPS = 12  # after these a column's bins are too coarse, if there are many columns
_FINE_BITS = 10  # with so many bits they are not
_CLEAR = 1.0  # an answer of so many noise sd moves an end; another is asked for again
_NEAREST = 0.1  # a place is no nearer to an end of its interval, as a share of it
_ALIKE = 1e-9
_LOWEST_TOP = 900  # within the floats
_SMOOTH = 0.8  # if the answers at the ends are no farther apart, there is mass between them

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def passes(n_columns: int) -> int:
    """Return how often the rows are read to learn the centers, by the number of columns."""
    return 1 if ruler_bits(n_columns) >= _FINE_BITS else 2


@np.errstate(all="ignore")  # whatever a caller does about underflow
def learn_centers(
    rows: Rows, scale: int, *, missing: Missing, engine: Engine, stream: RandomStream
) -> Array:
    """Return a center for each column: about as many cells are above it as below.

    `scale` is that of the noise of each answer, in counts / 2^20.
    No cell is at a center but by accident: it lies beside the end of a bin, so that a column
    of few values is cut between two of them.

    Notes
    -----
    Claim P30. An answer is Σ over rows of −1, 1 or 0 for each column, by whether its cell is
    above the place, below it or missing: P22 says how far one person moves it. All answers
    together are one Gaussian step.
    """
    if rows.n_rows is None:
        raise AssertionError("unreachable: a stream that is read several times is spooled")
    size = len(rows.columns)
    ruler = Ruler(np.zeros(size), np.full(size, TOP, dtype=np.int64), ruler_bits(size))
    search = _Search(ruler)
    stream.begin("centers")
    asking = _Asking(rows, scale, missing, engine, stream)
    if passes(size) == 1:
        asking.run(search, ruler, CENTER_STEPS)
        return search.center(ruler)
    asking.run(search, ruler, _COARSE_STEPS)
    finer = search.finer_ruler()
    asking.run(search, finer, CENTER_STEPS - _COARSE_STEPS)
    return search.center(finer)


@dataclass(frozen=True, eq=False)
class _Asking:
    """What it takes to ask: the rows, and the scale of the noise of each answer."""

    rows: Rows
    scale: int
    missing: Missing
    engine: Engine
    stream: RandomStream

    def run(self, search: _Search, ruler: Ruler, steps: int) -> None:
        """Count the cells on a ruler in one pass, and let the search take some steps."""
        far = np.full(ruler.n_columns, np.inf)
        counts = self.engine.run("centers", self.rows, CellKernel(ruler, -far, far, self.missing))
        columns = np.arange(ruler.n_columns)
        first, observed = np.zeros_like(columns), counts.observed(columns)
        whole = float(counts.n_rows << FINER_BITS)
        for _ in range(steps):
            bins, cut = search.cut(ruler, search.place)
            exact = (2 * counts.between(first, bins - 1, columns) - observed) << FINER_BITS
            answer = add_noise(exact, self.scale, self.stream)
            search.take(answer / whole, self.scale / whole, cut)


class _Search:
    """Where the median of each column is sought. Places are bins of a ruler, and parts of bins.

    Bins are fine near zero: halving an interval of bins finds the size of a column first, and
    then a place among its cells.
    """

    def __init__(self, ruler: Ruler) -> None:
        size = ruler.n_columns
        self._ruler, self._whole_bins = ruler, True
        self._low, self._high = np.zeros(size), np.full(size, float(ruler.n_bins))
        # Answers at the ends: all cells are above the lowest, and below the highest.
        self._at_low, self._at_high = np.full(size, -1.0), np.full(size, 1.0)
        self._low_cut, self._high_cut = np.full(size, -np.inf), np.full(size, np.inf)
        self._total, self._times = np.zeros(size), np.zeros(size)
        self.place = self._between()

    def cut(self, ruler: Ruler, place: Array) -> tuple[Integers, Array]:
        """Return the bins of a ruler before which a place cuts it, and numbers at these cuts.

        Bins hold their end that is nearer to the origin. The numbers lie beside such ends, so
        that no cell is at them but by accident.
        """
        whole = np.clip(np.floor(place), 1, self._ruler.n_bins - 2).astype(np.int64)
        if ruler is self._ruler:
            bins = whole
        else:
            low, high = self._ruler.ends(whole)
            bins = ruler.index(low + (high - low) * np.clip(place - whole, 0.0, 1.0))
            bins = np.clip(bins, 1, ruler.n_bins - 1)
        away = np.where(bins > ruler.half, -np.inf, np.inf)
        return bins, np.nextafter(ruler.ends(bins)[0], away)

    def take(self, answer: Array, sd: float, cut: Array) -> None:
        """Move an end to the place if the answer is clear there; else ask again."""
        self._total += answer
        self._times += 1
        mean = self._total / self._times
        clear = np.abs(mean) * np.sqrt(self._times) > _CLEAR * sd
        bounded = np.clip(mean, -1.0, 1.0)
        up, down = clear & (mean < 0), clear & (mean > 0)
        for side, old, new in (
            (up, (self._low, self._at_low, self._low_cut), (self.place, bounded, cut)),
            (down, (self._high, self._at_high, self._high_cut), (self.place, bounded, cut)),
        ):
            for before, after in zip(old, new, strict=True):
                before[side] = after[side]
        self._total[clear] = self._times[clear] = 0.0
        self.place = np.where(clear, self._between(), self.place)

    def finer_ruler(self) -> Ruler:
        """Look within bins from now on, on a ruler that is finest where a column is sought.

        A column that is sought in more than an octave keeps the ruler about zero.
        """
        self._whole_bins = False
        low, high = (self.cut(self._ruler, end)[1] for end in (self._low, self._high))
        middle = low + (high - low) / 2
        narrow = self._high - self._low <= 1 << self._ruler.bits
        reach = np.maximum(high - middle, np.spacing(np.abs(middle)))
        top = np.maximum(np.frexp(reach)[1], -_LOWEST_TOP).astype(np.int64)
        return Ruler(np.where(narrow, middle, 0.0), np.where(narrow, top, TOP), self._ruler.bits)

    def center(self, ruler: Ruler) -> Array:
        """Return the cut at the best place."""
        between = self.cut(ruler, self.place)[1]
        ends, at_ends = self._better_end()
        apart = self._at_high - self._at_low
        # If the answers at the ends are far apart, many cells may be at one value between
        # them, and a place between is no better than the worse end.
        expected = np.where(apart < _SMOOTH, apart / 4, apart / 2)
        is_end = (at_ends < expected) & (self._times == 0)
        found: Array = np.where(is_end, ends, between)
        return found

    def _better_end(self) -> tuple[Array, Array]:
        """Return the end with about as many cells above as below, and how far off it is."""
        low, high = np.abs(self._at_low), np.abs(self._at_high)
        return np.where(low < high, self._low_cut, self._high_cut), np.minimum(low, high)

    def _between(self) -> Array:
        """Return a place between the ends, nearer to the one whose answer is nearer to zero."""
        span = np.maximum(self._at_high - self._at_low, _ALIKE)
        share = np.clip(-self._at_low / span, _NEAREST, 1 - _NEAREST)
        place: Array = self._low + (self._high - self._low) * share
        if self._whole_bins:
            place = np.minimum(np.maximum(np.rint(place), self._low + 1), self._high - 1)
        return place
