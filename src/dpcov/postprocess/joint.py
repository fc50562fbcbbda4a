"""Joint moments of two columns of a table: of a category with all its levels, or a number.

Owns where they are found in a release, and what is known of their noise. They are about the rows
in which both cells are there, and about all people or the rows themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.parameters import check_choice
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.quadratic import NoisyLength
from dpcov.postprocess.sides import Side, category_side, number_side
from dpcov.releases import Release
from dpcov.releases.pairwise import Pairwise

__all__ = ["Joint", "JointMoments", "check_about"]

Array = npt.NDArray[np.float64]


def check_about(about: str) -> bool:
    """Return whether answers are about a population, of which the rows are a sample."""
    return check_choice("about", about, ("population", "table")) == "population"


@dataclass(frozen=True, eq=False)
class JointMoments:
    """The moments of all columns of a table with categories or gaps, two at a time."""

    release: Release
    noise: NoiseModel
    pairwise: Pairwise

    @classmethod
    def of(cls, release: Release) -> JointMoments | None:
        """Return the moments; None for a release of numbers without gaps."""
        found = release.pairwise
        return None if found is None else cls(release, NoiseModel.of(release), found)

    @property
    def design(self) -> Design:
        """Which working columns there are."""
        return self.release.design

    def name(self, place: int) -> str:
        """Return the name of a column."""
        return self.design.fields[place].name

    def values(self, place: int) -> slice:
        """Return the places of the values of a column."""
        start = int(self.design.value_of[place])
        return slice(start, start + max(1, self.design.n_levels(place)))

    def side(self, place: int, beside: int) -> Side:
        """Return a column over the rows in which the cell of another is there as well."""
        # Beside columns without gaps it is always the same.
        key = place, beside if self._has_gaps[beside] else -1
        if key not in self._sides:
            self._sides[key] = self._make_side(place, beside)
        return self._sides[key]

    @cached_property
    def _sides(self) -> dict[tuple[int, int], Side]:
        return {}

    @cached_property
    def _has_gaps(self) -> list[bool]:
        error = self.pairwise.observed_error.diagonal()[self.design.value_of]
        has: list[bool] = (error > 0).tolist()
        return has

    @cached_property
    def _variance_errors(self) -> Array:
        return np.sqrt(self.noise.without_tails.diagonal_variance())

    def _make_side(self, place: int, beside: int) -> Side:
        own, other = self.values(place), int(self.design.value_of[beside])
        found, units = self.pairwise, self.release.units
        offset = found.mean_with[own, other]
        variance = found.mean_with_variance[own, other]
        if self.design.fields[place].levels is None:
            return number_side(
                float(self.noise.variances[own.start]),
                float(self._variance_errors[own.start]),
                float(offset[0]),
                float(variance[0]),
            )
        size = own.stop - own.start
        shares = units.center[own] + units.scale[own] * offset
        n_rows = self.release.n_terms * float(found.observed[own.start, other])
        return category_side(
            np.maximum(shares, 0.0),
            scale=float(units.scale[own.start]),
            offset=offset,
            offset_noise=float(variance[0]) * size / max(size - 1, 1),
            n_rows=n_rows,
        )

    def pooled(self, place: int, side: Side) -> tuple[str, ...]:
        """Return the names of the levels that are read as one."""
        names = self.release.columns[self.values(place)]
        return tuple(name for name, is_one in zip(names, side.pooled, strict=True) if is_one)

    def joint(self, first: int, second: int) -> Joint:
        """Return the joint moments of two columns."""
        own, other = self.values(first), self.values(second)
        place = own.start, other.start
        share = float(self.pairwise.observed[place])
        return Joint(
            self.side(first, second),
            self.side(second, first),
            self.release.matrix[own, other],
            (self.release.noise_scale.off_diagonal / share) ** 2,
            self.release.n_terms * share,
            (float(self.pairwise.observed_error[place]) / share) ** 2,
            self.noise,
        )


@dataclass(frozen=True, eq=False)
class Joint:
    """Two sides and their covariances, in working units.

    Parameters
    ----------
    first, second : Side
        The two columns.
    covariance : ndarray, shape (n_first, n_second)
        Of all their values.
    product_noise : float
        The variance of the noise of a product.
    n_rows : float
        The number of rows in which both cells are there.
    rows_noise : float
        The variance of its relative error.
    model : NoiseModel
        What clipping of rows leaves uncertain.
    """

    first: Side
    second: Side
    covariance: Array
    product_noise: float
    n_rows: float
    rows_noise: float
    model: NoiseModel

    @property
    def is_told(self) -> bool:
        """Whether both sides have anything that could vary together."""
        return self.first.is_told and self.second.is_told

    def whitened(self) -> Array:
        """Return the covariances of the coordinates of both sides: correlations."""
        return np.asarray(self.first.whiten.T @ self.covariance @ self.second.whiten)

    def length(self, *, sampled: bool) -> NoisyLength:
        """Return what is known of the squared length of these correlations.

        In these coordinates noise and sampling of unrelated columns are not correlated.
        """
        one, two = self.first, self.second
        variances = self.product_noise * np.outer(one.noise, two.noise)
        # A covariance moves by dS − a dB − b dA where a, b are means, and A, B are summed.
        variances += two.offset_noise * np.outer(one.offset**2, two.noise)
        variances += one.offset_noise * np.outer(one.noise, two.offset**2)
        variances += self.model.clipping.covariance + (1 / self.n_rows if sampled else 0.0)
        seen = self.whitened()
        found = float((seen**2).sum())
        relative = 4 * (self.rows_noise + self.model.clipping.factor)
        relative += one.relative_noise(self.covariance @ two.whiten, found)
        relative += two.relative_noise(self.covariance.T @ one.whiten, found)
        return NoisyLength.of(seen, variances, relative=relative)
