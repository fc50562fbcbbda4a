"""Gaps that are not at random: which of them go with other columns, and with their gaps.

Owns the tests, their list at a false discovery rate, and which pairs of columns are surely such.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.multiplicity import q_values, two_sided_cutoff
from dpcov.parameters import check_number
from dpcov.postprocess.association import sizes_of
from dpcov.postprocess.gap_findings import CORRELATION, CRAMER, DIFFERENCE, GapFinding
from dpcov.postprocess.inference import interval_width
from dpcov.postprocess.joint import Joint, JointMoments, check_about
from dpcov.postprocess.listing import Listing
from dpcov.postprocess.quadratic import NoisyLengths
from dpcov.postprocess.ratios import ratio_interval
from dpcov.postprocess.sides import number_side
from dpcov.releases import Release
from dpcov.releases.tails import withheld_names
from dpcov.releases.working import WorkingMoments

__all__ = ["columns_with_gaps", "find_dependent", "find_gaps"]

_SEEN = 4.0
"""Gaps are looked at if their share is so many noise sd above none."""
_SEEN_BESIDE = 3.0
"""… and so are those among the rows in which another cell is there."""
_LIKELY, _FALSE_ALARMS = 2.0, 0.1
"""A pair is said to depend at so many sd, and of all pairs by noise alone so many on average."""

Array = npt.NDArray[np.float64]
Tested = Iterator[tuple[float, GapFinding]]


def find_gaps(
    release: Release, *, fdr: float, confidence: float, about: str
) -> Listing[GapFinding]:
    """Return the findings with a false discovery rate of at most `fdr`, the surest first."""
    fdr = check_number("fdr", fdr, low=0.0, high=1.0, open_high=False)
    sampled, width = check_about(about), interval_width(confidence)
    moments = JointMoments.of(release)
    if moments is None or release.working is None:
        return Listing((), GapFinding._fields)
    gaps = _Gaps.of(moments, release.working)
    tested = [
        *gaps.with_numbers(width, sampled),
        *gaps.with_categories(confidence, sampled),
        *gaps.with_gaps(width, sampled),
    ]
    sizes = np.array([size for size, _ in tested])
    surest = q_values(sizes, n_tests=len(tested))
    order = np.argsort(-sizes, kind="stable").tolist()
    listed = [tested[i][1]._replace(q_value=float(surest[i])) for i in order if surest[i] <= fdr]
    return Listing(tuple(listed), GapFinding._fields)


def find_dependent(release: Release) -> list[tuple[int, int]]:
    """Return pairs of columns, by place: if cells of the first are missing goes with the other.

    As many sd are asked for as let noise and sampling name a tenth of a pair on average, in all.
    """
    moments = JointMoments.of(release)
    if moments is None or release.working is None:
        return []
    gaps = _Gaps.of(moments, release.working)
    tested = [*gaps.with_numbers(1.0, True), *gaps.with_categories(0.95, True)]
    if not tested:
        return []
    least = max(_LIKELY, two_sided_cutoff(min(_FALSE_ALARMS / len(tested), 1.0)))
    place = {field.name: place for place, field in enumerate(moments.design.fields)}
    return [(place[found.gaps_of], place[found.column]) for size, found in tested if size > least]


def columns_with_gaps(release: Release) -> tuple[int, ...]:
    """Return the places of the columns of the table in which missing cells stand out of noise."""
    moments = JointMoments.of(release)
    return () if moments is None else tuple(_seen(moments))


def _seen(moments: JointMoments) -> list[int]:
    first, found = moments.design.value_of, moments.pairwise
    share = found.observed.diagonal()[first]
    counted = found.observed_error.diagonal()[first] > 0
    least = _SEEN * moments.release.noise_scale.mean
    seen: list[int] = np.flatnonzero(counted & (1 - share > least)).tolist()
    return seen


@dataclass(frozen=True, eq=False)
class _Gaps:
    """Covariances of values with indicators that a cell is there, and the gaps that are seen.

    `covariance[i, j]` is over the rows in which the cell of value i is there, `there[i, j]` the
    share of them in which that of column j is, and `noise[i, j]` the variance of the noise.
    `spread` is the variance of the indicator there, and `told` whether it can be told from none.
    """

    moments: JointMoments
    working: WorkingMoments
    seen: list[int]
    covariance: Array
    noise: Array
    spread: Array
    spread_noise: Array
    told: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, moments: JointMoments, working: WorkingMoments) -> _Gaps:
        design, found, scale = moments.design, moments.pairwise, moments.release.noise_scale
        first = design.value_of
        own = found.observed.diagonal()[:, None]
        there, error = found.observed[:, first] / own, found.observed_error[:, first]
        mean = found.mean_with.diagonal()[:, None]
        sizes = np.array([max(1, design.n_levels(place)) for place in design.field_of.tolist()])
        kept = np.where(design.is_number, 1.0, 1 - 1 / sizes)[:, None]
        # The covariance times its share of rows moves by dA − mean dN; the noise of the mean
        # itself cancels.
        noise = scale.off_diagonal**2 * kept + (mean * error) ** 2
        told = (1 - there) * own > np.maximum(_SEEN * scale.mean, _SEEN_BESIDE * error)
        told &= ~np.equal.outer(design.field_of, np.arange(len(first)))
        return cls(
            moments,
            working,
            _seen(moments),
            there * (found.mean_with[:, first] - mean),
            noise / own**2,
            np.where(told, there * (1 - there), 1.0),
            ((1 - 2 * there) * error / own) ** 2,
            told,
        )

    def with_numbers(self, width: float, sampled: bool) -> Tested:
        """Yield tests of all numbers: how their means differ where a cell is missing."""
        moments, design = self.moments, self.moments.design
        numbers = design.value_of[design.numbers]
        place = np.ix_(numbers, np.array(self.seen, dtype=np.intp))
        spread, spread_noise = self.spread[place], self.spread_noise[place]
        varying = moments.noise.variances[numbers, None] * spread
        noise = self.noise[place] + moments.noise.clipping.covariance * varying
        sampling = varying / self._rows(numbers)[:, None]
        # The indicator is of cells that are there, the difference about those that are not.
        top = -self.covariance[place]
        sizes = np.abs(top) / np.sqrt(noise + sampling)
        noise += sampling if sampled else 0.0
        error = np.sqrt(noise + (top / spread) ** 2 * spread_noise) / spread
        ends = ratio_interval(top, spread, noise, spread_noise, width)
        shown = np.stack([top / spread, error, *ends], axis=2)
        shown *= moments.release.units.scale[numbers, None, None]
        hidden = withheld_names(moments.release)
        for row, number in enumerate(design.numbers.tolist()):
            for column, gap in enumerate(self.seen):
                if self.told[numbers[row], gap]:
                    names = moments.name(gap), moments.name(number)
                    value, error_, low, high = shown[row, column].tolist()
                    finding = GapFinding(*names, DIFFERENCE, value, error_, low, high, 1.0)
                    finding = finding._replace(limited=names[1] in hidden)
                    yield float(sizes[row, column]), finding

    def with_categories(self, confidence: float, sampled: bool) -> Tested:
        """Yield tests of all categories: Cramér's V with whether a cell is missing."""
        pairs = [
            (place, gap)
            for place in self.moments.design.categories.tolist()
            for gap in self.seen
            if self.told[self.moments.design.value_of[place], gap]
        ]
        found = [(*pair, self._joint(*pair)) for pair in pairs]
        told = [each for each in found if each[2].is_told]
        lengths = NoisyLengths([joint.length(sampled=sampled) for *_, joint in told])
        tested = lengths
        if not sampled:
            tested = NoisyLengths([joint.length(sampled=True) for *_, joint in told])
        low, high = lengths.interval(confidence, most=np.ones(len(told)))
        shown = np.sqrt(np.clip(np.column_stack([lengths.estimate, low, high]), 0.0, 1.0))
        for (place, gap, joint), numbers, size in zip(
            told, shown.tolist(), sizes_of(tested.p_values()).tolist(), strict=True
        ):
            value, least, most = numbers
            names = self.moments.name(gap), self.moments.name(place)
            level = self._level(place, joint)
            pooled = self.moments.pooled(place, joint.first)
            yield (
                size,
                GapFinding(*names, CRAMER, value, math.nan, least, most, 1.0, *level, pooled),
            )

    def with_gaps(self, width: float, sampled: bool) -> Tested:
        """Yield tests of pairs of gaps: whether cells are missing together."""
        moments, design, release = self.moments, self.moments.design, self.moments.release
        size = design.n_values
        seen = np.flatnonzero(np.isin(design.with_gaps, self.seen))
        own = moments.pairwise.observed.diagonal()[design.value_of[self.seen]]
        spread = own * (1 - own)
        unit = np.sqrt(np.outer(spread, spread))
        found = self.working.matrix[size:, size:][np.ix_(seen, seen)] / unit
        noise = (release.noise_scale.off_diagonal / unit) ** 2 + moments.noise.clipping.covariance
        sizes = np.abs(found) / np.sqrt(noise + 1 / release.n_terms)
        relative = ((1 - 2 * own) * release.noise_scale.mean / spread) ** 2 / 4
        variance = noise + found**2 * np.add.outer(relative, relative)
        variance += np.maximum(1 - found**2, 0.0) ** 2 / release.n_terms if sampled else 0.0
        error = np.sqrt(variance)
        ends = np.stack([found, found - width * error, found + width * error]).clip(-1, 1)
        for i, j in zip(*np.triu_indices(len(seen), 1), strict=True):
            names = moments.name(self.seen[i]), moments.name(self.seen[j])
            value, low, high = ends[:, i, j].tolist()
            finding = GapFinding(*names, CORRELATION, value, float(error[i, j]), low, high, 1.0)
            yield float(sizes[i, j]), finding

    def _rows(self, values: npt.NDArray[np.int64]) -> Array:
        """Return in how many rows the cells of values are there."""
        own = self.moments.pairwise.observed.diagonal()[values]
        return np.asarray(self.moments.release.n_terms * own)

    def _joint(self, place: int, gap: int) -> Joint:
        """Return a category beside whether the cell of another column is there."""
        values = self.moments.values(place)
        spread = float(self.spread[values.start, gap])
        spread_error = math.sqrt(self.spread_noise[values.start, gap])
        share = float(self.moments.pairwise.observed[values.start, values.start])
        return Joint(
            self.moments.side(place, place),
            number_side(spread, spread_error, 0.0, 0.0),
            self.covariance[values, gap, None],
            (self.moments.release.noise_scale.off_diagonal / share) ** 2,
            self.moments.release.n_terms * share,
            0.0,
            self.moments.noise,
        )

    def _level(self, place: int, joint: Joint) -> tuple[str, str]:
        """Return the level that goes most with gaps, and which way."""
        pools, shares = joint.first.pools, joint.first.shares
        apart = (pools @ joint.covariance)[:, 0] / np.sqrt(shares)
        names = self.moments.release.columns[self.moments.values(place)]
        most = int(np.abs(apart).argmax())
        members = [name for name, part in zip(names, pools[most], strict=True) if part]
        return " or ".join(members), "rarer" if apart[most] > 0 else "more frequent"
