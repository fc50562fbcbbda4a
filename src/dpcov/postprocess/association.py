"""Association of two columns, one or both of them categories: Cramér's V and η².

Owns both measures, their intervals and the list of all pairs. The plain formulas are too large
with noise, and with few rows, so both are made of a squared length without its noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.multiplicity import q_values
from dpcov.postprocess.joint import Joint, JointMoments, check_about
from dpcov.postprocess.listing import Listing, number
from dpcov.postprocess.quadratic import NoisyLength, NoisyLengths

__all__ = ["CRAMER", "ETA", "Association", "find_associations", "sizes_of"]

CRAMER, ETA = "V", "η²"
_CLEAR = 3.0
"""An association is clear if it is so many noise sd above none."""

Array = npt.NDArray[np.float64]


class Association(NamedTuple):
    """How far two columns go together, at least one of them a category.

    `measure` is Cramér's ``"V"`` of two categories, or ``"η²"``: the share of the variance of a
    number, `first`, that a category, `second`, explains. Levels that are too rare to be told from
    noise are read as one; `pooled` names them. Where too few levels are left, value and interval
    are NaN.
    """

    first: str
    second: str
    measure: str
    value: float
    low: float
    high: float
    q_value: float
    pooled: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """What was found, in a line."""
        pair = f"{self.first} and {self.second}"
        if np.isnan(self.value):
            return f"{pair}: too few levels stand out of the noise to tell"
        name = "Cramér's V" if self.measure == CRAMER else self.measure
        shown = ", ".join(self.pooled)
        rare = f"; read as one: {shown}" if self.pooled else ""
        ends = f"{number(self.low)} to {number(self.high)}"
        return f"{pair}: {name} {number(self.value)} ({ends}){rare}"


def find_associations(
    moments: JointMoments | None, *, confidence: float, about: str
) -> Listing[Association]:
    """Return the associations of all pairs of columns with a category, the surest first."""
    sampled = check_about(about)
    if moments is None or not len(moments.design.categories):
        return Listing((), Association._fields)
    pairs = _pairs(moments)
    joints = [moments.joint(*pair) for pair in pairs]
    told = [place for place, joint in enumerate(joints) if joint.is_told]
    lengths = NoisyLengths([_length(joints[place], sampled) for place in told])
    tested = lengths
    if not sampled:
        # That two columns are related at all is a statement about a population.
        tested = NoisyLengths([joints[place].length(sampled=True) for place in told])
    sizes = sizes_of(tested.p_values())
    q_value = q_values(sizes, n_tests=max(len(told), 1))
    most = np.array([float(min(joints[place].whitened().shape)) for place in told])
    low, high = lengths.interval(confidence, most=most)
    found = dict(
        zip(told, zip(lengths.estimate, low, high, most, q_value, strict=True), strict=True)
    )
    order = [told[place] for place in np.argsort(-sizes, kind="stable")]
    order += [place for place in range(len(pairs)) if place not in found]
    untold = (np.nan, np.nan, np.nan, 1.0, 1.0)
    lines = [
        _line(moments, pairs[place], joints[place], *found.get(place, untold)) for place in order
    ]
    return Listing(tuple(lines), Association._fields)


def sizes_of(p_values: Array) -> Array:
    """Return how many sd a normal number with these two-sided p-values is away from zero."""
    from scipy.special import ndtri

    return np.asarray(-ndtri(p_values / 2))


def _pairs(moments: JointMoments) -> list[tuple[int, int]]:
    """Return the pairs of columns with a category; of a number and a category, the number first."""
    categories = moments.design.categories.tolist()
    both = [(i, j) for place, i in enumerate(categories) for j in categories[place + 1 :]]
    return both + [(i, j) for i in moments.design.numbers.tolist() for j in categories]


def _line(
    moments: JointMoments,
    pair: tuple[int, int],
    joint: Joint,
    value: float,
    low: float,
    high: float,
    most: float,
    q_value: float,
) -> Association:
    number_first = moments.design.fields[pair[0]].levels is None
    ends = np.clip(np.array([value, low, high]) / most, 0.0, 1.0)
    shown, least, highest = (ends if number_first else np.sqrt(ends)).tolist()
    sides = zip(pair, (joint.first, joint.second), strict=True)
    pooled = tuple(name for place, side in sides for name in moments.pooled(place, side))
    names = moments.name(pair[0]), moments.name(pair[1])
    measure = ETA if number_first else CRAMER
    return Association(*names, measure, shown, least, highest, float(q_value), pooled)


def _length(joint: Joint, sampled: bool) -> NoisyLength:
    """Return the length behind a measure, its sampling error as strong associations have it."""
    length = joint.length(sampled=sampled)
    clear = length.estimate > _CLEAR * np.sqrt(2 * length.squares)
    if not (sampled and clear):
        return length
    is_number = len(joint.first.shares) == 1
    spread = _spread_of_eta(joint, length) if is_number else _spread_of_cramer(joint, length)
    # Of unrelated columns the variance grows by 4ψ/n, which the slope has already.
    slope = max(length.slope + (spread / length.estimate - 4) / joint.n_rows, 0.0)
    return NoisyLength(
        length.found, length.excess, length.squares, length.cubes, slope, length.relative
    )


def _spread_of_cramer(joint: Joint, length: NoisyLength) -> float:
    """Return the variance of what one row adds to φ² = Σ p²/(πρ) − 1."""
    rows, columns = joint.first.shares, joint.second.shares
    scale = joint.first.scale * joint.second.scale
    apart = scale * joint.first.pools @ joint.covariance @ joint.second.pools.T
    # Noise makes the table more uneven than it is.
    expected = np.outer(rows, columns)
    table = np.maximum(expected + apart * np.sqrt(length.estimate / length.found), 0.0)
    table /= table.sum()
    ratio = table / expected
    own = (table * ratio).sum(axis=1) / rows
    other = (table * ratio).sum(axis=0) / columns
    influence = 2 * ratio - own[:, None] - other
    mean = float((table * influence).sum())
    return float((table * (influence - mean) ** 2).sum())


def _spread_of_eta(joint: Joint, length: NoisyLength) -> float:
    """Return the variance of what one row adds to η², for groups of one normal spread."""
    share = min(length.estimate, 1.0)
    side = joint.second
    apart = side.scale * (joint.covariance[0] @ side.pools.T) * joint.first.whiten[0, 0]
    apart = apart / side.shares * np.sqrt(length.estimate / length.found)
    fourth = float(side.shares @ apart**4) - share**2
    rest = 1 - share
    return float(rest**2 * (max(fourth, 0.0) + 4 * share * rest + 2 * share**2))
