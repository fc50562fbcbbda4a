"""The steps that learn facts of columns from counts of their cells.

Owns what each step asks and what it makes of the noisy answer. A step takes facts that are
public or were paid for, and asks only the columns that need it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.exact.randomness import RandomStream
from dpcov.exact.ruler import OCTAVES
from dpcov.mechanisms.learning.noisy import Noisy
from dpcov.mechanisms.learning.quantiles import (
    Payment,
    Quantile,
    Questions,
    Window,
    count_noise,
)
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.tuning import Tuning, answer_margin
from dpcov.sensitive.sums.cell_counts import CellCounts
from dpcov.sensitive.sums.field_counts import WEIGHT_STEPS, FieldCounts

__all__ = [
    "Ranges",
    "Reach",
    "Setting",
    "count_beyond",
    "find_centers",
    "find_levels",
    "find_limits",
    "find_mean_squares",
    "find_means",
    "find_observed",
    "find_ranges",
    "find_reach",
    "find_weights",
    "level_shares",
    "observed_shares",
]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Setting:
    """What the steps about numbers work with.

    Sensitive counts, the share of cells that are taken to be there, what is stated, constants,
    and randomness.
    """

    counts: CellCounts
    there: Array
    stated: Stated
    tuning: Tuning
    stream: RandomStream

    def find_octaves(
        self,
        window: Window,
        columns: Integers,
        payment: Payment,
        *,
        low: Array,
        high: Array,
        steps: int,
        least: float,
        in_noise: float,
    ) -> tuple[Array, Array, Mask]:
        """Seek the octaves whose windows hold all cells but a tail that stands out of the noise.

        Return them, the shares of the cells that their tails may have, and whether cells are seen
        near them, which one more answer says. A column with gaps has fewer cells, and so a larger
        share.
        """
        tuning, sd = self.tuning, count_noise(payment, len(columns), self.counts.n_rows, steps + 1)
        there = self.counts.n_rows * self.there[columns]
        tail = np.minimum(tuning.most_tail, np.maximum(least, in_noise * sd / there))
        questions = Questions(
            self.counts,
            window,
            quantile=Quantile(1, 1),
            columns=columns,
            steps=steps + 1,
            payment=payment,
            stream=self.stream,
        )
        _, octave = questions.bisect(low, high, steps=steps, spare=tail * there)
        near, far = octave - tuning.shell_octaves, octave + 1
        seen = questions.are_between(near, far, answer_margin(len(columns), tuning))
        return octave, tail, seen


@dataclass(frozen=True, eq=False)
class Ranges:
    """Where the cells of each column lie: with some room, and the inner ends without it.

    `unseen` are the columns of which nothing was seen: those with both bounds have no cells
    between them that stand out, and keep them.
    """

    lower: Array
    upper: Array
    inner_lower: Array
    inner_upper: Array
    unseen: Mask


def find_ranges(setting: Setting, payment: Payment) -> Ranges:
    """Put the ends of each column as far from its origin as most cells are, within its bounds."""
    stated, tuning, ruler = setting.stated, setting.tuning, setting.counts.ruler
    columns = np.flatnonzero(stated.with_limit_sought)
    origin, top = ruler.origin[columns], ruler.top[columns].astype(np.float64)
    closed = stated.is_closed[columns]

    def window(octave: Array) -> tuple[Integers, Integers]:
        size = np.exp2(octave)
        return ruler.index(origin - size, columns), ruler.index(origin + size, columns)

    octave, tail, seen = setting.find_octaves(
        window,
        columns,
        payment,
        low=top - np.where(closed, tuning.closed_octaves, OCTAVES),
        high=top,
        steps=tuning.range_steps,
        least=tuning.range_tail,
        in_noise=answer_margin(len(columns), tuning),
    )
    # Where gaps leave too few cells for a tail that noise cannot hide, nothing was found.
    seen &= tail < tuning.most_tail
    unknown = np.where(closed, np.exp2(top), tuning.range_guess)
    inner = np.where(seen, np.exp2(octave) * room_beyond(tail), unknown)
    # The ruler ends at its top.
    inner = np.minimum(inner, np.exp2(top))
    outer = np.where(seen, np.minimum(tuning.range_factor * inner, np.exp2(top)), unknown)
    unseen = np.zeros(stated.n_columns, dtype=np.bool_)
    unseen[columns] = ~seen
    return Ranges(
        *_within(stated, columns, origin, outer), *_within(stated, columns, origin, inner), unseen
    )


def room_beyond(tail: Array) -> Array:
    """Return by how much a distance grows that leaves more than a fifth of the cells beyond.

    In a normal column it then leaves a fifth.

    Examples
    --------
    >>> room_beyond(np.array([0.02, 0.2, 0.4])).round(2)
    array([1.  , 1.  , 1.52])
    """
    from scipy.special import ndtri  # lazily: it takes longer to import than dpcov

    room: Array = np.maximum(1.0, ndtri(0.9) / ndtri(1 - tail / 2))
    return room


def _within(stated: Stated, columns: Integers, origin: Array, size: Array) -> tuple[Array, Array]:
    """Return the bounds, those of some columns at most so far from their origins."""
    lower, upper = stated.lower.copy(), stated.upper.copy()
    lower[columns] = np.maximum(lower[columns], origin - size)
    upper[columns] = np.minimum(upper[columns], origin + size)
    return lower, upper


def find_centers(setting: Setting, ranges: Ranges, payment: Payment) -> tuple[Array, Array]:
    """Return the stated centers, or medians, and how far to each side a median may lie."""
    stated, ruler = setting.stated, setting.counts.ruler
    columns = np.flatnonzero(stated.without_center)
    first = np.zeros(len(columns), dtype=np.int64)
    questions = Questions(
        setting.counts,
        lambda middle: (first, ruler.index(middle, columns)),
        quantile=Quantile(1, 2),
        columns=columns,
        steps=setting.tuning.center_steps,
        payment=payment,
        stream=setting.stream,
    )
    steps = setting.tuning.center_steps
    low, high = questions.bisect(ranges.lower[columns], ranges.upper[columns], steps=steps)
    center, doubt = stated.center.copy(), np.zeros(stated.n_columns)
    center[columns] = (low + high) / 2
    doubt[columns] = (high - low) / 2
    return center, doubt


def find_limits(
    setting: Setting,
    center: Array,
    doubt: Array,
    far: Array,
    inner: Array,
    kept: Mask,
    payment: Payment,
) -> Array:
    """Return how far from the center cells may lie while means are learned.

    `far` is the distance to the farther end of the range, and `inner` to that without room. A
    column most of whose cells are at the center keeps the latter: the others are what varies. So
    do those that are `kept`.
    """
    stated, tuning, ruler = setting.stated, setting.tuning, setting.counts.ruler
    columns = np.flatnonzero(stated.with_limit_sought)
    about, near, most = center[columns], doubt[columns], far[columns]

    def window(octave: Array) -> tuple[Integers, Integers]:
        # Cells that may be the median itself are within every window.
        size = near + most * np.exp2(octave)
        return ruler.index(about - size, columns), ruler.index(about + size, columns)

    octave, tail, seen = setting.find_octaves(
        window,
        columns,
        payment,
        low=np.full(len(columns), -float(tuning.limit_octaves)),
        high=np.zeros(len(columns)),
        steps=tuning.limit_steps,
        least=tuning.limit_tail,
        in_noise=tuning.limit_noise,
    )
    seen &= ~kept[columns]
    distance = near + most * np.exp2(octave) * room_beyond(tail)
    limit = far.copy()
    limit[columns] = np.where(
        seen, np.minimum(most, tuning.limit_factor * distance), np.minimum(most, inner[columns])
    )
    return limit


def find_means(
    setting: Setting, columns: Integers, center: Array, limit: Array, payment: Payment
) -> Noisy:
    """Return noisy means of some columns, about their centers and in units of their limits.

    Notes
    -----
    Claim P24. A cell stands for an integer from −G to G that follows from its bin and from
    facts that are public or paid for; a missing one for 0. P22 says how far one person moves
    the sums.
    """
    counts, steps = setting.counts, setting.tuning.cell_steps
    noise = payment.noise(low=-steps, high=steps, columns=len(columns), n_rows=counts.n_rows)
    sums = counts.sums(_limited(counts, center, limit, steps), columns)
    unit = steps * counts.n_rows
    return Noisy(noise.on(sums, setting.stream) / unit, noise.sd / unit)


def find_mean_squares(
    setting: Setting, columns: Integers, center: Array, limit: Array, payment: Payment
) -> Noisy:
    """Return noisy mean squares of some columns, about their centers, in squared limits.

    Notes
    -----
    Claim P24. As for means, with integers from 0 to G.
    """
    counts, steps = setting.counts, setting.tuning.square_steps
    noise = payment.noise(low=0, high=steps, columns=len(columns), n_rows=counts.n_rows)
    sums = counts.sums(_limited(counts, center, limit, steps, power=2), columns)
    unit = steps * counts.n_rows
    return Noisy(noise.on(sums, setting.stream) / unit, noise.sd / unit)


@dataclass(frozen=True, eq=False)
class Reach:
    """The limits of the release, and the first and the last bin within them."""

    lower: Array
    upper: Array
    first: Integers
    last: Integers


def find_reach(setting: Setting, center: Array, distance: Array) -> Reach:
    """Return the limits of the release: a distance about the center, within stated bounds.

    They are moved outward to ends of bins, so that cells beyond them can be counted. Asks
    nothing of the cells.
    """
    stated, ruler = setting.stated, setting.counts.ruler
    inner = (1, ruler.n_bins - 2)  # the outermost bins have no end
    first = np.clip(ruler.index(center - distance), *inner)
    last = np.clip(ruler.index(center + distance), *inner)
    # Beside a large center a bin may be too narrow for floats; the limits must lie apart.
    with np.errstate(under="ignore"):  # next to zero numbers are subnormal
        low = np.minimum(ruler.ends(first)[0], np.nextafter(center, -np.inf))
        high = np.maximum(ruler.ends(last)[1], np.nextafter(center, np.inf))
    lower, upper = np.maximum(stated.lower, low), np.minimum(stated.upper, high)
    return Reach(lower, upper, first, last)


def count_beyond(setting: Setting, reach: Reach, payment: Payment) -> Noisy:
    """Return, for each column, the noisy share of the rows whose cell is at or beyond a limit.

    Notes
    -----
    Claim P24. A cell stands for 1 beyond the limits and for 0 within; P22.
    """
    counts = setting.counts
    columns = np.arange(counts.n_columns)
    noise = payment.noise(low=0, high=1, columns=len(columns), n_rows=counts.n_rows)
    beyond = counts.observed(columns) - counts.between(reach.first, reach.last, columns)
    return Noisy(noise.on(beyond, setting.stream) / counts.n_rows, noise.sd / counts.n_rows)


def find_observed(
    counts: FieldCounts, places: Integers, payment: Payment, stream: RandomStream
) -> Noisy:
    """Return the noisy share of cells that are there, for some columns of the table.

    Notes
    -----
    Claim P26. A cell that is there stands for 1 and a missing one for 0; P22.
    """
    noise = payment.noise(low=0, high=1, columns=len(places), n_rows=counts.n_rows)
    noisy = noise.on(counts.observed(places), stream)
    return Noisy(noisy / counts.n_rows, noise.sd / counts.n_rows)


def observed_shares(noisy: Noisy, tuning: Tuning) -> Array:
    """Return likely shares of cells that are there: 1 where gaps do not stand out of the noise."""
    seen = 1 - noisy.values > tuning.complete * noisy.sd
    return np.where(seen, np.clip(noisy.values, tuning.least_observed, 1.0), 1.0)


def find_levels(counts: FieldCounts, payment: Payment, stream: RandomStream) -> Noisy:
    """Return the noisy share of rows with each level, of one category after the other.

    Notes
    -----
    Claim P26. A row adds 1 to the number of one level of each category, or to none.
    """
    size = len(counts.design.categories)
    noise = payment.level_noise(categories=size, n_rows=counts.n_rows)
    return Noisy(noise.on(counts.levels, stream) / counts.n_rows, noise.sd / counts.n_rows)


def level_shares(design: Design, noisy: Noisy) -> list[Array]:
    """Return likely shares of the levels of each category, which add up to 1."""
    positive = np.maximum(noisy.values, 0.0)
    shares, start = [], 0
    for place in design.categories.tolist():
        own = positive[start : start + design.n_levels(place)]
        start += len(own)
        total = own.sum()
        shares.append(own / total if total > 0 else np.full(len(own), 1 / len(own)))
    return shares


def find_weights(counts: FieldCounts, payment: Payment, stream: RandomStream) -> Noisy:
    """Return the noisy averages of weights and of their squares, in units of their bound.

    Notes
    -----
    Claim P27. A row stands for two integers from 0 to G; P22, with two sums.
    """
    noise = payment.noise(low=0, high=WEIGHT_STEPS, columns=2, n_rows=counts.n_rows)
    unit = WEIGHT_STEPS * counts.n_rows
    return Noisy(noise.on(counts.weights, stream) / unit, noise.sd / unit)


def _limited(
    counts: CellCounts, center: Array, limit: Array, steps: int, power: int = 1
) -> Callable[[Integers, Integers], Integers]:
    """Return what a cell stands for: its distance from the center in limits, in whole steps."""

    def value(columns: Integers, index: Integers) -> Integers:
        cells = counts.ruler.nearest(index, columns)
        cells -= center[columns]
        cells /= limit[columns]
        np.clip(cells, -1.0, 1.0, out=cells)
        cells **= power
        cells *= steps
        return np.rint(cells, out=cells).astype(np.int64)

    return value
