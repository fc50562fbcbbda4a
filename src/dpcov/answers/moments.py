"""Moments: what an answer needs to know of some columns of a release, of whichever kind.

Owns that interface: covariances, means and their errors, in the columns' own units. A release of
all second moments has them for any columns; one of the strongest pairs for columns of which all
pairs were released.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from dpcov.answers.entry_covariance import EntryCovariance
from dpcov.answers.lifting import Lifted, lift
from dpcov.answers.pairs_moments import PairsMoments
from dpcov.answers.shared_rows import SharedRows
from dpcov.answers.tangents import Independent
from dpcov.answers.terms import Terms
from dpcov.postprocess.correlations import stands_out
from dpcov.postprocess.joint import check_about
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.releases import AnyRelease, PairsRelease, Release

__all__ = ["Moments", "moments_of", "moments_that_stand_out"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


class Moments(Protocol):
    """Moments of some columns, and how sure they are. All are in the columns' own units."""

    @property
    def about(self) -> str:
        """Of whom its errors are: ``"population"`` or ``"table"``."""

    @property
    def matrix(self) -> Array:
        """The covariances as released."""

    @property
    def location(self) -> Array | None:
        """The means; None if there are none."""

    @property
    def deviations(self) -> Array:
        """The standard deviations: positive."""

    @property
    def stands_out(self) -> Mask:
        """Which columns have a variance that stands out of its noise."""

    @property
    def noise(self) -> Array:
        """The variance of each covariance, sampling left out."""

    @property
    def independent(self) -> tuple[Independent, ...]:
        """The same, as noise that is independent from entry to entry.

        A common factor of all moments, which no correlation depends on, is left out.
        """

    @property
    def rows(self) -> SharedRows | None:
        """Which rows entries share, for errors of sampling as for Gaussian rows.

        None if there are none, or if sampling does something else: `variance` knows.
        """

    @property
    def of_unrelated(self) -> Array:
        """The variances of correlations of unrelated pairs, all errors counted."""

    @property
    def lifted(self) -> Lifted:
        """The block with eigenvalues of at least a floor."""

    def variance(self, moments: Array, means: Array | None = None) -> Array:
        """Return the variances of linear functions: see `EntryCovariance.variance`."""

    def covariance(self, moments: Array, means: Array | None = None) -> Array:
        """Return the covariance of linear functions: see `EntryCovariance.covariance`."""

    def of_product(self, weights: Array) -> Array:
        """Return the errors of S w and of the mean of w: see `EntryCovariance.of_product`."""


def moments_of(release: AnyRelease, places: Places, about: str) -> Moments:
    """Return the moments of some columns of a release."""
    check_about(about)
    if isinstance(release, PairsRelease):
        return PairsMoments.of(release, places, about)
    return _DenseMoments(release, places, about)


def moments_that_stand_out(
    release: AnyRelease, terms: Terms, about: str, *, fewest: int
) -> tuple[Terms, Moments]:
    """Return the columns whose variance stands out of the noise, and their moments.

    One that is lost in noise has correlations that are noise alone, and would spoil the inverse of
    all others. Where fewer than are needed stand out, all are there, and nothing will be told.
    """
    moments = moments_of(release, terms.places, about)
    used = moments.stands_out
    if used.all() or int(used.sum()) < fewest:
        return terms, moments
    return terms.only(used), moments_of(release, terms.places[used], about)


@dataclass(frozen=True, eq=False)
class _DenseMoments:
    """Moments of a release of all second moments."""

    release: Release
    places: Places
    about: str

    @cached_property
    def _model(self) -> NoiseModel:
        return NoiseModel.of(self.release)

    @cached_property
    def _unit(self) -> Array:
        scale = self.release.units.scale[self.places]
        return np.outer(scale, scale)

    @property
    def matrix(self) -> Array:
        return np.asarray(self.release.matrix[np.ix_(self.places, self.places)] * self._unit)

    @property
    def location(self) -> Array | None:
        return self.release.location[self.places]

    @property
    def deviations(self) -> Array:
        variances = self._model.variances[self.places]
        return np.asarray(np.sqrt(variances) * self.release.units.scale[self.places])

    @property
    def stands_out(self) -> Mask:
        return stands_out(self._model)[self.places]

    @cached_property
    def noise(self) -> Array:
        table, places = self._model.of_table.without_tails, self.places
        variances = table.pair_error(places[:, None], places[None, :], np.zeros(())) ** 2
        np.fill_diagonal(variances, table.diagonal_variance()[places])
        return np.asarray(variances * self._unit**2)

    @cached_property
    def independent(self) -> tuple[Independent, ...]:
        """See `Moments`. Noise of levels that changes their sum was taken out of a release.

        What is left is independent before that, as if a function were of what is left itself.
        Within a category it is the noise of shares.
        """
        design, factor = self.release.design, self._model.clipping.factor
        common = np.diag(factor * self.deviations**4)
        if design.is_number[self.places].all():
            return (Independent(None, self.noise - common),)
        columns = np.unique(design.field_of[self.places])
        whole = np.flatnonzero(np.isin(design.field_of, columns))
        everything = _DenseMoments(self.release, whole, self.about)
        projection, kept = np.eye(len(whole)), np.ones(len(whole))
        for group in design.groups:
            inside = np.flatnonzero((whole >= group.start) & (whole < group.stop))
            if len(inside):
                projection[np.ix_(inside, inside)] -= 1 / len(inside)
                kept[inside] = 1 - 1 / len(inside)
        scale = self.release.units.scale
        # Sums are taken out in working units.
        projection *= np.outer(scale[whole], 1 / scale[whole])
        within = np.equal.outer(design.field_of[whole], design.field_of[whole])
        within &= ~np.diag(design.is_number[whole])
        apart = np.where(within, 0.0, everything.noise / np.outer(kept, kept))
        number = design.is_number[self.places]
        own = np.searchsorted(whole, self.places)
        apart[own, own] -= np.where(number, common.diagonal(), 0.0)
        inner = np.where(within[np.ix_(own, own)], self.noise, 0.0)
        return Independent(projection[own], apart), Independent(None, inner)

    @cached_property
    def rows(self) -> SharedRows | None:
        if self.about == "table":
            return None
        found = self.release.pairwise
        observed = None if found is None else found.observed[np.ix_(self.places, self.places)]
        field_of = self.release.design.field_of[self.places]
        return SharedRows.of(self.release.n_terms, observed, field_of)

    @property
    def of_unrelated(self) -> Array:
        variances = self.deviations**2
        noise = self.noise / np.outer(variances, variances)
        return noise if self.rows is None else np.asarray(noise + self.rows.of_pairs)

    @cached_property
    def lifted(self) -> Lifted:
        found = lift(self.release.matrix, self._model, self.places)
        return found.scaled(self.release.units.scale[self.places])

    @cached_property
    def _errors(self) -> EntryCovariance:
        return EntryCovariance(self.release, self.places, self.about)

    def variance(self, moments: Array, means: Array | None = None) -> Array:
        return self._errors.variance(moments, means)

    def covariance(self, moments: Array, means: Array | None = None) -> Array:
        return self._errors.covariance(moments, means)

    def of_product(self, weights: Array) -> Array:
        return self._errors.of_product(weights)
