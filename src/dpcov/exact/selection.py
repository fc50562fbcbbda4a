"""Selection: which of many integer scores are largest, with exact noise.

Owns the noisy top-k: k rounds of the exponential mechanism without replacement, which is the
law of the k largest scores with Gumbel noise (Durfee and Rogers 2019). Candidates of equal
score are alike, so a round chooses a score and then one of its candidates: millions of
candidates have some thousand scores.

A round draws a uniform number and finds the score in whose interval it falls. Floating point
decides only where it cannot be wrong; every other draw is settled in decimals, with as many
digits and further bits as it takes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.exact.randomness import RandomStream

__all__ = ["select_largest"]

# Trust a float decision only when it is this clear: weights are off by less than 2^-42 of
# their size, and the sum of m of them by less than (m + 1) 2^-52 more (docs/privacy.md, P11).
_MARGIN, _MARGIN_PER_SCORE = 2.0**-28, 2.0**-48
_WORD_BITS = 64
_FIRST_DIGITS = 40

_SMALL_TABLE = 1 << 16
_RUN = 1 << 17  # candidates that fit a cache

Integers = npt.NDArray[np.int64]
Parts = Iterable[npt.NDArray[np.integer[Any]]]


def select_largest(
    scores: Callable[[], Parts], *, count: int, scale: float, stream: RandomStream
) -> Integers:
    """Return the places of the `count` largest noisy scores, in rising order.

    Notes
    -----
    Claim P11. Round by round the place i is chosen with probability exactly proportional to
    exp(score_i / scale) among those left. A round in which any score can move by Δ has a
    privacy loss with a range of 2Δ/scale; k rounds cost what accounting says. The
    set of the chosen is a post-processing of their order.

    Examples
    --------
    >>> parts = [np.array([3, 900, 5]), np.array([1000, 2])]
    >>> select_largest(lambda: parts, count=2, scale=1.0, stream=RandomStream.from_seed(0))
    array([1, 3])
    """
    values, how_many = _count_classes(scores())
    candidates = int(how_many.sum())
    if count >= candidates:
        return np.arange(candidates)
    urn = _Urn(values, how_many, scale, stream)
    classes, ranks = np.array([urn.draw() for _ in range(count)]).T
    return _places(scores(), values[classes], ranks)


def _count_classes(parts: Parts) -> tuple[Integers, Integers]:
    """Return the scores that there are, in rising order, and how many candidates have each."""
    values, how_many = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    for part in parts:
        more, times = _count_part(part)
        both = np.union1d(values, more)
        total = np.zeros(len(both), dtype=np.int64)
        total[np.searchsorted(both, values)] = how_many
        total[np.searchsorted(both, more)] += times
        values, how_many = both, total
    return values, how_many


def _count_part(part: npt.NDArray[np.integer[Any]]) -> tuple[Integers, Integers]:
    # A table of counts needs no sorting, and is small unless there are very many people.
    if part.max(initial=0) <= max(len(part), _SMALL_TABLE):
        table = np.bincount(part)
        values = np.flatnonzero(table)
        return values, table[values]
    values, how_many = np.unique(part, return_counts=True)
    return values.astype(np.int64), how_many


class _Urn:
    """Candidates by score, drawn without replacement."""

    def __init__(
        self, values: Integers, how_many: Integers, scale: float, stream: RandomStream
    ) -> None:
        self._values, self._scale, self._stream = values, scale, stream
        self._size, self._left = how_many, how_many.copy()
        self._ranks: dict[int, _Ranks] = {}
        self._margin = max(_MARGIN, len(values) * _MARGIN_PER_SCORE)
        self._top = len(values)
        self._lower_top()

    def draw(self) -> tuple[int, int]:
        """Return the class of a score and the rank of a candidate in it, and take it out."""
        place = self._draw_class()
        rank = self._draw_rank(place)
        self._left[place] -= 1
        if self._left[self._top] == 0:
            self._lower_top()
        return place, rank

    def _lower_top(self) -> None:
        """Weigh scores relative to the largest that is left: the weights add up to 1 or more.

        What underflows then is far below the margin.
        """
        self._top = int(np.flatnonzero(self._left[: self._top])[-1])
        below = self._values[: self._top + 1] - self._values[self._top]
        self._weight = np.exp(below / self._scale)

    def _draw_class(self) -> int:
        word = int(self._stream.words(1)[0])
        ends = np.cumsum(self._left[: self._top + 1] * self._weight)
        share = word * 2.0**-_WORD_BITS
        low, high = np.searchsorted(
            ends, [(share - self._margin) * ends[-1], (share + self._margin) * ends[-1]], "right"
        )
        if low == high < len(ends):
            return int(low)
        return _settle(word, self._values, self._left, self._scale, self._stream)

    def _draw_rank(self, place: int) -> int:
        """Return a uniform rank in the class among those that are left, and take it out."""
        if place not in self._ranks:
            self._ranks[place] = _Ranks(int(self._size[place]))
        return self._ranks[place].draw(self._stream)


class _Ranks:
    """The numbers below `size`, drawn uniformly without replacement."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._taken: set[int] = set()
        self._left: list[int] | None = None

    def draw(self, stream: RandomStream) -> int:
        if self._left is None and 2 * len(self._taken) >= self._size:
            # Most guesses would be taken already: list what is left.
            self._left = [rank for rank in range(self._size) if rank not in self._taken]
        if self._left is not None:
            place = _uniform(len(self._left), stream)
            self._left[place], self._left[-1] = self._left[-1], self._left[place]
            return self._left.pop()
        while (rank := _uniform(self._size, stream)) in self._taken:
            pass
        self._taken.add(rank)
        return rank


def _uniform(size: int, stream: RandomStream) -> int:
    """Return a uniform number below `size`: words that would favor small ones are drawn anew."""
    usable = (1 << _WORD_BITS) - (1 << _WORD_BITS) % size
    while (word := int(stream.words(1)[0])) >= usable:
        pass
    return word % size


def _settle(word: int, values: Integers, left: Integers, scale: float, stream: RandomStream) -> int:
    """Find the class of a uniform number that is known by its first 64 bits, exactly."""
    bits, digits = _WORD_BITS, _FIRST_DIGITS
    present = np.flatnonzero(left)
    while True:
        found = _find(word, bits, digits, values[present], left[present], scale)
        if found is not None:
            return int(present[found])
        word = (word << _WORD_BITS) | stream.spare_word()
        bits, digits = bits + _WORD_BITS, digits + 20


def _find(
    word: int, bits: int, digits: int, values: Integers, left: Integers, scale: float
) -> int | None:
    """Return the class in which all of [word, word + 1) / 2^bits lies, if digits suffice."""
    context = Context(prec=digits)
    step, top = Fraction(scale), int(values[-1])
    # Scores so far below the top that all of them together weigh less than 10^-digits are left
    # out: `folded` is what that may hide.
    depth = Fraction(math.ceil(digits * math.log(10) + math.log(int(left.sum())) + 1))
    first = int(np.searchsorted(values, top - math.ceil(depth * step)))
    folded = Fraction(10) ** -digits if first else Fraction(0)
    total, ends = Fraction(0), [Fraction(0)]
    for value, number in zip(values[first:].tolist(), left[first:].tolist(), strict=True):
        exponent = Fraction(value - top) / step
        quotient = context.divide(Decimal(exponent.numerator), Decimal(exponent.denominator))
        total += number * Fraction(context.exp(quotient))
        ends.append(total)
    # The quotient and its exponential are off by half a unit in their last digits: a weight
    # by at most (|exponent| + 1) · 10^(1 − digits) of its size, and so are sums of weights.
    slip = 2 * (depth + 3) * Fraction(10) ** (1 - digits)
    low, high = Fraction(word, 1 << bits) * total, Fraction(word + 1, 1 << bits) * total
    for place, (start, end) in enumerate(itertools.pairwise(ends)):
        above = low * (1 - slip) >= (start + folded) * (1 + slip) or not (start or folded)
        # The last class ends at 1, whatever the digits.
        below = high * (1 + slip) + folded <= end * (1 - slip) or place == len(ends) - 2
        if above and below:
            return first + place
    return None


def _places(parts: Parts, scores: Integers, ranks: Integers) -> Integers:
    """Return where the drawn candidates are: ranks count equal scores from the left."""
    values, drawn = np.unique(scores, return_inverse=True)
    places: list[np.int64] = []
    seen, start = np.zeros(len(values), dtype=np.int64), 0
    # As long as the table of its counts, at least.
    length = max(_RUN, int(values[-1]))
    for part in parts:
        # Few of the drawn are in a run, which is looked through once for each of them.
        for run in np.split(part, range(length, len(part), length)):
            how_many = _count_values(run, values)
            rank = ranks - seen[drawn]
            here = np.flatnonzero((rank >= 0) & (rank < how_many[drawn]))
            places += [start + np.flatnonzero(run == scores[each])[rank[each]] for each in here]
            seen += how_many
            start += len(run)
    return np.sort(np.array(places, dtype=np.int64))


def _count_values(run: npt.NDArray[np.integer[Any]], values: Integers) -> Integers:
    """Return how many candidates of a run have each of some scores, which rise."""
    found, times = _count_part(run)
    places = np.minimum(np.searchsorted(found, values), max(0, len(found) - 1))
    return np.where(found[places] == values, times[places], 0) if len(found) else 0 * values
