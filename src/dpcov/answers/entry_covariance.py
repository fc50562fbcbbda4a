"""The covariance of all entries of a release: how the errors of its numbers go together.

Owns that covariance, in an efficient form. An answer that is computed from a matrix is, to first
order, a linear function of its entries, and its error needs the covariance of all of them, of
which there are p⁴ numbers. They are not written down unless asked for: errors are sums over
sources, each of which knows what it makes of a linear function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.answers.error_sources import ErrorSources
from dpcov.answers.product_errors import product_covariance
from dpcov.errors import ParameterError
from dpcov.postprocess.joint import check_about
from dpcov.releases import AnyRelease, PairsRelease, Release

__all__ = ["EntryCovariance", "entry_covariance"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_MOST_WORK = 1 << 36
"""No more products are computed to write it down: 80 columns, and a gibibyte on the way."""
_BATCH_NUMBERS = 1 << 17
"""How many weights are looked at at once when only variances are asked for: a few megabytes with
what is made of them, which is faster than more."""


@dataclass(frozen=True, eq=False)
class EntryCovariance:
    """How the errors of the entries of a release, and of its means, go together.

    Made by `Release.entry_covariance`. Entries and means are in the columns' own units.

    Parameters
    ----------
    release : Release
        Where they come from.
    places : ndarray of int
        Which of its columns they are about.
    about : {"population", "table"}
        Of whom answers are: see `Release.entry_covariance`.
    at : ndarray, shape (n_columns, n_columns), optional
        The positive definite covariances at which errors are evaluated; those of the release,
        lifted, if they are not stated.
    """

    release: Release
    places: Places
    about: str = "population"
    at: Array | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.release.columns[place] for place in self.places.tolist())

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The order of the entries in `matrix`: row by row, on and above the diagonal."""
        names = self.columns
        return tuple((names[i], names[j]) for i, j in zip(*_triangle(len(names)), strict=True))

    def variance(self, moments: Array, means: Array | None = None) -> Array:
        """Return the variances of linear functions Σ C_ij S_ij + Σ c_i m_i.

        Parameters
        ----------
        moments : ndarray, shape (..., n_columns, n_columns)
            The weights C of the covariances S; what is not symmetric is made so.
        means : ndarray, shape (..., n_columns), optional
            The weights c of the means m.

        Returns
        -------
        ndarray, shape (...)
        """
        batch, vectors = self._weights(moments, means)
        total = np.empty(len(batch))
        step = max(1, _BATCH_NUMBERS // max(batch[0].size, 1)) if len(batch) else 1
        for start in range(0, len(batch), step):
            part = slice(start, start + step)
            total[part] = sum(
                np.einsum("ai,ai->a", each, each)
                for each in self._sources.features(batch[part], vectors[part])
            )
        return total.reshape(np.shape(moments)[:-2])

    def covariance(self, moments: Array, means: Array | None = None) -> Array:
        """Return the covariance matrix of several linear functions: see `variance`.

        Parameters
        ----------
        moments : ndarray, shape (n_functions, n_columns, n_columns)
            The weights of the covariances.
        means : ndarray, shape (n_functions, n_columns), optional
            The weights of the means.
        """
        batch, vectors = self._weights(moments, means)
        total = np.zeros((len(batch), len(batch)))
        for part in self._sources.features(batch, vectors):
            total += part @ part.T
        return total

    def of_product(self, weights: Array) -> Array:
        """Return the covariance of the errors of S w and of m · w, for one vector of weights.

        Parameters
        ----------
        weights : ndarray, shape (n_columns,)
            The vector w.

        Returns
        -------
        ndarray, shape (n_columns + 1, n_columns + 1)
            Of the products of the rows of S with w, and of the mean of w, which comes last. All
            errors of a regression follow from it, whatever the number of columns.
        """
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != self.places.shape:
            raise ParameterError("weights must have one number for each column.")
        sources, scale = self._sources, self.release.units.scale[self.places]
        inside = np.searchsorted(sources.places, self.places)
        whole = np.zeros(len(sources.places))
        whole[inside] = weights * scale
        found = product_covariance(sources, whole)
        chosen, unit = np.append(inside, len(whole)), np.append(scale, 1.0)
        return np.asarray(found[np.ix_(chosen, chosen)] * np.outer(unit, unit))

    def matrix(self) -> Array:
        """Return the covariance of all entries, written down.

        Returns
        -------
        ndarray, shape (n_entries, n_entries)
            In the order of `pairs`. Its size grows with the fourth power of the number of
            columns, so that it is refused where it would not fit.
        """
        size = len(self.places)
        first, second = _triangle(size)
        if (len(first) * size) ** 2 > _MOST_WORK:
            raise ParameterError(
                f"The covariance of the {len(first):,} entries of {size} columns is too large to "
                "be written down: name fewer columns, or ask for the variance of what you need."
            )
        order = np.arange(len(first))
        batch = np.zeros((len(first), size, size))
        batch[order, first, second] += 0.5
        batch[order, second, first] += 0.5
        return self.covariance(batch)

    def _weights(self, moments: Array, means: Array | None) -> tuple[Array, Array]:
        """Return weights of all values of the columns of the table, in working units."""
        size = len(self.places)
        moments = np.asarray(moments, dtype=np.float64)
        if moments.ndim < 2 or moments.shape[-2:] != (size, size):
            raise ParameterError(f"moments must have {size} rows and columns: one for each column.")
        batch = moments.reshape(-1, size, size)
        shape = (*moments.shape[:-2], size)
        means = np.zeros(shape) if means is None else np.asarray(means, dtype=np.float64)
        if means.shape != shape:
            raise ParameterError("means must have one number for each column and function.")
        scale = self.release.units.scale[self.places]
        sources = self._sources
        inside = np.searchsorted(sources.places, self.places)
        whole = np.zeros((len(batch), len(sources.places), len(sources.places)))
        own = (batch + batch.transpose(0, 2, 1)) / 2 * np.outer(scale, scale)
        whole[:, inside[:, None], inside] = own
        vectors = np.zeros((len(batch), len(sources.places)))
        vectors[:, inside] = means.reshape(-1, size) * scale
        return whole, vectors

    @cached_property
    def _sources(self) -> ErrorSources:
        scale = self.release.units.scale[self.places]
        at = None if self.at is None else self.at / np.outer(scale, scale)
        sampled = self.about == "population"
        return ErrorSources.of(self.release, self.places, sampled=sampled, at=at)


def entry_covariance(
    release: AnyRelease, columns: Sequence[str] | None = None, *, about: str = "population"
) -> EntryCovariance:
    """Return how the errors of some columns of a release go together."""
    check_about(about)
    if isinstance(release, PairsRelease):
        raise ParameterError(
            "A release of the strongest pairs has no covariance of all entries: dpcov.release "
            "makes a release of all second moments."
        )
    names = list(release.columns if columns is None else columns)
    unknown = [name for name in names if name not in release.columns]
    if unknown:
        raise ParameterError(f"There is no column {unknown[0]!r}: see release.columns.")
    if len(set(names)) != len(names) or not names:
        raise ParameterError("columns must be different columns of the release, at least one.")
    places = np.array([release.columns.index(name) for name in names])
    return EntryCovariance(release, places, about)


def _triangle(size: int) -> tuple[Places, Places]:
    return np.triu_indices(size)
