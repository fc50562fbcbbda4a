"""What makes the entries of a release uncertain: privacy noise, clipping of rows, sampling.

Owns these sources, in working units. Each gives, for linear functions of the entries and the
means, numbers whose products add up to the covariance of the functions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.answers.lifting import lift
from dpcov.answers.shared_rows import SharedRows
from dpcov.answers.working_noise import WorkingNoise
from dpcov.columns.design import Design
from dpcov.columns.units import Units
from dpcov.postprocess.clipped import Clipped
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.releases import Release
from dpcov.releases.pairwise import Pairwise

__all__ = ["UNSEEN", "ErrorSources"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

UNSEEN = 10.0
"""The sd, as a correlation, of what is not known of two columns that are never seen together."""


@dataclass(frozen=True, eq=False)
class ErrorSources:
    """What makes the entries of some columns uncertain.

    Categories are there with all of their levels, in the order of the release, since the noise of
    one goes with that of the others. `root` is a root L of the covariance L Lᵀ of those that were
    asked for, and has zeros for the rest: a level that is lost in noise would make all errors of
    sampling too large. Levels add up to nothing in it. `block` has the moments of all.
    """

    release: Release
    places: Places
    noise: NoiseModel
    root: Array
    block: Array
    way_back: WorkingNoise | None
    sampled: bool

    @classmethod
    def of(
        cls, release: Release, places: Places, *, sampled: bool, at: Array | None = None
    ) -> ErrorSources:
        """Return the sources of the columns of the table that have values at these places.

        `at` are covariances of these values, if not those of the release.
        """
        columns = np.unique(release.design.field_of[places])
        whole = np.flatnonzero(np.isin(release.design.field_of, columns))
        noise = NoiseModel.of(release)
        asked = np.unique(places)
        inside = np.searchsorted(whole, asked)
        root = np.zeros((len(whole), len(asked)))
        block = release.matrix[np.ix_(whole, whole)]
        if at is None:
            root[inside] = lift(release.matrix, noise, asked).root
        else:
            order = np.argsort(places)
            block[np.ix_(inside, inside)] = at[np.ix_(order, order)]
            root[inside] = np.linalg.cholesky(at[np.ix_(order, order)])
        for group in release.design.groups:
            own = np.searchsorted(whole, np.arange(group.start, group.stop))
            if np.isin(np.arange(group.start, group.stop), asked).all():
                root[own] -= root[own].mean(axis=0)
        way_back = _way_back(release, columns, whole)
        return cls(release, whole, noise, root, block, way_back, sampled)

    @cached_property
    def covariance(self) -> Array:
        """The covariance of those that were asked for, lifted."""
        return np.asarray(self.root @ self.root.T)

    @cached_property
    def deviations(self) -> Array:
        """The standard deviations of all."""
        return np.asarray(np.sqrt(self.noise.variances[self.places]))

    @property
    def clipping(self) -> Clipped:
        """What clipping of rows leaves uncertain."""
        return self.noise.clipping

    @cached_property
    def mean(self) -> Array:
        """Their released means."""
        mean = self.release.mean
        return np.zeros(len(self.places)) if mean is None else mean[self.places]

    @cached_property
    def unit(self) -> Array:
        """What correlations of 1 are in working units."""
        return np.outer(self.deviations, self.deviations)

    @property
    def product_noise(self) -> float:
        """The variance of the noise of an entry off the diagonal, where no gaps are counted.

        Noise e of a mean m moves an entry by m_i e_j + m_j e_i + e_i e_j: this has the last part.
        """
        noise = self.release.noise_scale
        return noise.off_diagonal**2 + (self.release.factor * noise.mean**2) ** 2

    def features(self, moments: Array, means: Array) -> Iterator[Array]:
        """Yield numbers of each function, shape (n_functions, ·)."""
        yield from self._privacy(moments, means)
        yield from self._clipping(moments, means)
        if self.sampled:
            yield from self._sampling(moments, means)

    def _privacy(self, moments: Array, means: Array) -> Iterator[Array]:
        noise = self.release.noise_scale
        if self.way_back is not None:
            products, averages = self.way_back.pull(moments, means)
            yield math.sqrt(2) * noise.off_diagonal * _flat(products)
            yield noise.mean * averages
            unseen = ~self.way_back.pairwise.seen
            if unseen.any():
                yield math.sqrt(2) * UNSEEN * _flat(np.where(unseen, moments, 0.0) * self.unit)
            return
        yield math.sqrt(2 * self.product_noise) * _flat(moments)
        if noise.mean:
            yield noise.mean * (means - 2 * self.release.factor * moments @ self.mean)
        if noise.signal:
            about_center = np.column_stack([self.root, self.mean])
            yield 2 * math.sqrt(noise.signal) * _flat(moments @ about_center)

    def _clipping(self, moments: Array, means: Array) -> Iterator[Array]:
        clipping = self.clipping
        if clipping.variance:
            weights = moments * (math.sqrt(2 * clipping.covariance) * self.unit)
            own = math.sqrt(clipping.variance - clipping.factor) * self.unit.diagonal()
            diagonal = np.arange(len(own))
            weights[:, diagonal, diagonal] = moments[:, diagonal, diagonal] * own
            yield _flat(weights)
            yield means * (math.sqrt(clipping.covariance) * self.deviations)
        tails = np.broadcast_to(clipping.tails, self.noise.variances.shape)[self.places]
        if tails.any():
            yield np.sqrt(tails) * (moments * self.block).sum(axis=-1)
        if clipping.factor:
            common = np.einsum("aij,ij->a", moments, self.block)
            yield math.sqrt(clipping.factor) * common[:, None]

    def _sampling(self, moments: Array, means: Array) -> Iterator[Array]:
        """Yield what the choice of rows does, for Gaussian rows."""
        yield from self.rows.features(moments, means, self.root)

    @cached_property
    def rows(self) -> SharedRows:
        """Which rows entries share."""
        observed = None if self.way_back is None else self.way_back.pairwise.observed
        field_of = self.release.design.field_of[self.places]
        return SharedRows.of(self.release.n_terms, observed, field_of)


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
