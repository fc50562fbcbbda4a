"""Means of a number in each level of a category, with errors and intervals.

Owns these answers. A level that is too rare to be told from noise gets a sentence and no number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.postprocess.inference import interval_width
from dpcov.postprocess.joint import JointMoments, check_about
from dpcov.postprocess.listing import Listing, number
from dpcov.postprocess.ratios import ratio_interval
from dpcov.postprocess.sides import LEAST_ROWS

__all__ = ["GroupMean", "find_group_means"]

_TOLD = 3.0
"""A level has a mean if its share is so many noise sd above zero."""

Array = npt.NDArray[np.float64]


class GroupMean(NamedTuple):
    """The mean of a number over the rows that have one level of a category.

    Where the level is too rare to be told from noise, the numbers are NaN.
    """

    number: str
    category: str
    level: str
    mean: float
    standard_error: float
    low: float
    high: float

    @property
    def is_told(self) -> bool:
        """Whether the level is frequent enough for a mean."""
        return not math.isnan(self.mean)

    @property
    def in_words(self) -> str:
        """The mean and its interval; or that there is none."""
        where = f"{self.category}={self.level}"
        if not self.is_told:
            return f"{where} is too rare to tell the mean of {self.number}"
        ends = f"{number(self.low)} to {number(self.high)}"
        return f"mean of {self.number} where {where}: {number(self.mean)} ({ends})"


def find_group_means(
    moments: JointMoments | None,
    *,
    number: str | None,
    category: str | None,
    confidence: float,
    about: str,
) -> Listing[GroupMean]:
    """Return the means of numbers in the levels of categories: of those named, or of all."""
    sampled, width = check_about(about), interval_width(confidence)
    numbers, categories = _chosen(moments, number, category)
    if moments is None:
        return Listing((), GroupMean._fields)
    lines = [
        GroupMean(moments.name(i), moments.name(j), level, *numbers)
        for i in numbers
        for j in categories
        for level, numbers in zip(
            moments.design.fields[j].levels or (),
            _Group.of(moments, i, j).means(moments, i, width, sampled),
            strict=True,
        )
    ]
    return Listing(tuple(lines), GroupMean._fields)


def _chosen(
    moments: JointMoments | None, number: str | None, category: str | None
) -> tuple[Sequence[int], Sequence[int]]:
    """Return the places of the columns that are asked for."""
    fields = () if moments is None else moments.design.fields
    answers: list[list[int]] = []
    for name, value, is_category in (("number", number, False), ("category", category, True)):
        places = [place for place, each in enumerate(fields) if each.is_category is is_category]
        if value is not None:
            places = [place for place in places if fields[place].name == value]
            if not places:
                kind = "a category" if is_category else "a number"
                raise ParameterError(f"{name} must be the name of a column that is {kind}.")
        answers.append(places)
    return answers[0], answers[1]


@dataclass(frozen=True, eq=False)
class _Group:
    """Averages of e and of e z, for the indicators e of levels and a working number z.

    Both are over the rows in which both cells are there, and their noise is not correlated.
    """

    share: Array
    share_noise: Array
    product: Array
    product_noise: Array
    n_rows: float
    variance: float

    @classmethod
    def of(cls, moments: JointMoments, number: int, category: int) -> _Group:
        design, found, units = moments.design, moments.pairwise, moments.release.units
        own, place = moments.values(category), int(design.value_of[number])
        center, scale = units.center[own], units.scale[own]
        together = float(found.observed[own.start, place])
        counted = (float(found.observed_error[own.start, place]) / together) ** 2
        share = center + scale * found.mean_with[own, place]
        # e = center + scale v, so that the average of e z is made of those of z and of v z.
        mean = float(found.mean_with[place, own.start])
        product = share * mean + scale * moments.release.matrix[own, place]
        size = own.stop - own.start
        clipping = moments.noise.clipping
        noise = (moments.release.noise_scale.off_diagonal / together) ** 2 * (1 - 1 / size)
        variance = float(moments.noise.variances[place])
        noise = noise + clipping.covariance * moments.noise.variances[own] * variance
        return cls(
            share,
            center**2 * counted + scale**2 * found.mean_with_variance[own, place],
            product,
            center**2 * float(found.mean_with_variance[place, own.start]) + scale**2 * noise,
            moments.release.n_terms * together,
            variance,
        )

    def means(
        self, moments: JointMoments, number: int, width: float, sampled: bool
    ) -> list[list[float]]:
        """Return mean, standard error and interval in the number's own units, for each level."""
        place = int(moments.design.value_of[number])
        error = np.sqrt(self.share_noise)
        told = self.share > np.maximum(max(_TOLD, 1.1 * width) * error, LEAST_ROWS / self.n_rows)
        share = np.where(told, self.share, 1.0)
        mean = np.where(told, self.product, 0.0) / share
        noise = self.product_noise
        if sampled:
            within = max(self.variance - float(share[told] @ mean[told] ** 2), 0.1 * self.variance)
            noise = noise + share * within / self.n_rows
        spread = np.sqrt(noise + mean**2 * self.share_noise) / share
        low, high = ratio_interval(self.product, share, noise, self.share_noise, width)
        units = moments.release.units
        numbers = np.column_stack([mean, spread, low, high]) * units.scale[place]
        numbers[:, [0, 2, 3]] += units.center[place]
        if moments.release.limits is not None:
            lowest, highest = (limit[place] for limit in moments.release.limits)
            # A mean that noise led beyond a limit is brought back with its interval, toward
            # every possible truth; what then lies beyond is cut.
            back = np.clip(numbers[:, 0], lowest, highest) - numbers[:, 0]
            numbers[:, [0, 2, 3]] += back[:, None]
            numbers[:, [0, 2, 3]] = np.clip(numbers[:, [0, 2, 3]], lowest, highest)
        numbers[~told] = np.nan
        listed: list[list[float]] = numbers.tolist()
        return listed
