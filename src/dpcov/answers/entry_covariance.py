"""The covariance of all entries of a release: how the errors of its numbers go together.

Owns that covariance, in an efficient form. An answer that is computed from a matrix is, to first
order, a linear function of its entries, and its error needs the covariance of all of them, of
which there are p⁴ numbers. They are not written down unless asked for: errors are sums over
sources, each of which knows what it makes of a linear function.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.answers.lifting import Lifted, lift
from dpcov.answers.shared_rows import SharedRows
from dpcov.answers.working_noise import WorkingNoise
from dpcov.columns.design import Design
from dpcov.columns.units import Units
from dpcov.errors import ParameterError
from dpcov.postprocess.joint import check_about
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.releases import AnyRelease, PairsRelease, Release
from dpcov.releases.pairwise import Pairwise

__all__ = ["EntryCovariance", "entry_covariance"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_UNSEEN = 10.0
"""The sd, as a correlation, of what is not known of two columns that are never seen together."""
_MOST_WRITTEN = 1 << 27
"""No more numbers are written down: a gibibyte."""
_BATCH_NUMBERS = 1 << 23
"""How many weights are looked at at once when only variances are asked for."""


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
    """

    release: Release
    places: Places
    about: str = "population"

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
                for each in self._features(batch[part], vectors[part])
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
        for part in self._features(batch, vectors):
            total += part @ part.T
        return total

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
        if len(first) * size**2 > _MOST_WRITTEN:
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

    def _features(self, moments: Array, means: Array) -> Iterator[Array]:
        yield from self._sources.features(moments, means)

    @cached_property
    def _sources(self) -> _Sources:
        return _Sources.of(self.release, self.places, sampled=self.about == "population")


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


@dataclass(frozen=True, eq=False)
class _Sources:
    """What makes the entries of some columns uncertain, in working units.

    Categories are there with all of their levels, in the order of the release. Each source gives,
    for a batch of linear functions, numbers whose products add up to their covariance.
    """

    release: Release
    places: Places
    noise: NoiseModel
    lifted: Lifted
    way_back: WorkingNoise | None
    sampled: bool

    @classmethod
    def of(cls, release: Release, places: Places, *, sampled: bool) -> _Sources:
        columns = np.unique(release.design.field_of[places])
        whole = np.flatnonzero(np.isin(release.design.field_of, columns))
        noise = NoiseModel.of(release)
        lifted = lift(release.matrix, noise, whole)
        way_back = _way_back(release, columns, whole)
        return cls(release, whole, noise, lifted, way_back, sampled)

    def features(self, moments: Array, means: Array) -> Iterator[Array]:
        """Yield numbers of each function, shape (n_functions, ·)."""
        yield from self._privacy(moments, means)
        yield from self._clipping(moments, means)
        if self.sampled:
            yield from self._sampling(moments, means)

    def _privacy(self, moments: Array, means: Array) -> Iterator[Array]:
        noise, factor = self.release.noise_scale, self.release.factor
        if self.way_back is not None:
            products, averages = self.way_back.pull(moments, means)
            yield math.sqrt(2) * noise.off_diagonal * _flat(products)
            yield noise.mean * averages
            unseen = ~self.way_back.pairwise.seen
            if unseen.any():
                yield math.sqrt(2) * _UNSEEN * _flat(np.where(unseen, moments, 0.0) * self._unit)
            return
        # Noise e of a mean m moves an entry by m_i e_j + m_j e_i + e_i e_j.
        squared = noise.off_diagonal**2 + (factor * noise.mean**2) ** 2
        yield math.sqrt(2 * squared) * _flat(moments)
        if noise.mean and self.release.mean is not None:
            yield noise.mean * (means - 2 * factor * moments @ self.release.mean[self.places])
        if noise.signal:
            yield 2 * math.sqrt(noise.signal) * _flat(moments @ self.lifted.root)

    def _clipping(self, moments: Array, means: Array) -> Iterator[Array]:
        clipping = self.noise.clipping
        if clipping.variance:
            weights = moments * (math.sqrt(2 * clipping.covariance) * self._unit)
            own = math.sqrt(clipping.variance - clipping.factor) * self._unit.diagonal()
            diagonal = np.arange(len(own))
            weights[:, diagonal, diagonal] = moments[:, diagonal, diagonal] * own
            yield _flat(weights)
            yield means * (math.sqrt(clipping.covariance) * self.lifted.deviations)
        if clipping.factor:
            block = self.release.matrix[np.ix_(self.places, self.places)]
            common = np.einsum("aij,ij->a", moments, block)
            yield math.sqrt(clipping.factor) * common[:, None]

    def _sampling(self, moments: Array, means: Array) -> Iterator[Array]:
        """Yield what the choice of rows does, for Gaussian rows."""
        observed = None
        if self.way_back is not None:
            observed = self.way_back.pairwise.observed
        field_of = self.release.design.field_of[self.places]
        rows = SharedRows.of(self.release.n_terms, observed, field_of)
        yield from rows.features(moments, means, self.lifted.root)

    @cached_property
    def _unit(self) -> Array:
        return np.outer(self.lifted.deviations, self.lifted.deviations)


def _way_back(release: Release, columns: Places, values: Places) -> WorkingNoise | None:
    found = release.pairwise
    if found is None or release.working is None:
        return None
    design, units = release.design, release.units
    chosen = Design(tuple(design.fields[place] for place in columns.tolist()))
    parts: dict[str, Any] = {
        field.name: _part(getattr(found, field.name), values) for field in fields(Pairwise)
    }
    counted = found.observed_error.diagonal() > 0
    # Values without an indicator have the place −1, which is the last.
    about = np.append(release.working.observed, 1.0)[design.gap_of]
    return WorkingNoise(
        chosen,
        replace(found, **parts),
        np.where(counted, about, 1.0)[values],
        Units(units.center[values].copy(), units.scale[values].copy()),
    )


def _part(array: npt.NDArray[np.generic], values: Places) -> npt.NDArray[np.generic]:
    return array[np.ix_(*(values,) * array.ndim)]


def _flat(weights: Array) -> Array:
    return weights.reshape(len(weights), -1)


def _triangle(size: int) -> tuple[Places, Places]:
    return np.triu_indices(size)
