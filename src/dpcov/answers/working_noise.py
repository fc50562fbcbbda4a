"""From functions of a release back to the noise that was drawn.

Owns the derivative of pairwise-complete moments: what a linear function of them makes of the
noise of the working moments, which alone is independent from number to number. The count of the
cells of a column enters all of its covariances, and so does its mean: their errors go together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.columns.units import Units
from dpcov.releases.pairwise import Pairwise

__all__ = ["WorkingNoise"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class WorkingNoise:
    """The way back from pairwise-complete moments to working moments, to first order.

    Parameters
    ----------
    design : Design
        Of the columns of the table that are looked at.
    pairwise : Pairwise
        What is known of their values.
    about : ndarray, shape (n_values,)
        The share that the indicator of each value is about; 1 if gaps are not counted.
    units : Units
        Of the values.

    Notes
    -----
    With S, A and N the averages of products, of values where another cell is there, and of rows
    in which both are there, a covariance moves by
    (dS − a dA_ji − b dA_ij + (ab − cov) dN) / N with a = A_ij/N and b = A_ji/N. Products are
    released as they are; A_ij is a product of a value and an indicator about o_j, plus o_j times
    a mean; N_ij likewise. Within a category all follows from the shares of its levels.
    """

    design: Design
    pairwise: Pairwise
    about: Array
    units: Units

    @cached_property
    def counted(self) -> Mask:
        """Of which values the number of cells is noisy."""
        return np.asarray(self.pairwise.observed_error.diagonal() > 0)

    @cached_property
    def same(self) -> Mask:
        """Which values are of the same column of the table."""
        return np.equal.outer(self.design.field_of, self.design.field_of)

    @cached_property
    def _of_levels(self) -> Mask:
        """Which entries are between levels of one category, or the variance of one."""
        return self.same & ~np.diag(self.design.is_number)

    def pull(self, moments: Array, means: Array) -> tuple[Array, Array]:
        """Return what linear functions of covariances and means make of the working noise.

        Weights of covariances are symmetric, shape (n_functions, n_values, n_values); so are those
        of the noise of the working second moments that come back, with weights of the noise of the
        working means.
        """
        found, size = self.pairwise, self.design.n_values
        means = means + self._of_shares(np.where(self._of_levels, moments, 0.0))
        products_of = self.product_weights(moments)
        # Of A_ij and of N_ij; a symmetric pair of weights counts twice.
        crossed = -2 * products_of * found.mean_with.T
        counts = products_of * self.count_weights
        of_means = np.where(self.same, crossed, crossed * self.about).sum(axis=2)
        of_shares = np.where(self.same, counts, 2 * counts * self.about).sum(axis=2)
        # Of the means of the cells that are there.
        own = found.observed.diagonal()
        of_means += means / own
        of_shares -= means * found.mean / own

        gaps = self.gap_matrix
        products = np.zeros((len(moments), self.design.n_working, self.design.n_working))
        products[:, :size, :size] = products_of
        products[:, :size, size:] = np.where(self.same, 0.0, crossed) @ gaps / 2
        products[:, size:, size:] = gaps.T @ np.where(self.same, 0.0, counts) @ gaps
        averages = np.concatenate([of_means, of_shares @ gaps], axis=1)
        self._take_out_sums(products, averages)
        products[:, size:, :size] = products[:, :size, size:].transpose(0, 2, 1)
        return products, averages

    @property
    def count_weights(self) -> Array:
        """By what the count of the rows of an entry moves it, times that count."""
        found = self.pairwise
        return np.asarray(found.mean_with * found.mean_with.T - found.matrix)

    def product_weights(self, moments: Array) -> Array:
        """Return by what averages of products count: entries are divided by shares of rows."""
        told = self.pairwise.seen & ~self._of_levels
        return np.where(told, moments, 0.0) / np.where(told, self.pairwise.observed, 1.0)

    @cached_property
    def projection(self) -> Array:
        """The projection that takes out the sums of the levels of categories."""
        matrix = np.eye(self.design.n_values)
        for group in self.design.groups:
            matrix[group, group] -= 1 / (group.stop - group.start)
        return matrix

    @cached_property
    def gap_matrix(self) -> Array:
        """Which value has which indicator, of those that are counted."""
        matrix = np.zeros((self.design.n_values, self.design.n_gaps))
        has = np.flatnonzero((self.design.gap_of >= 0) & self.counted)
        matrix[has, self.design.gap_of[has]] = 1.0
        return matrix

    def mean_slopes(self, weights: Array) -> Array:
        """Return what noise of the working means makes of S w, and of m · w, which comes last."""
        found = self.pairwise
        shares = self.product_weights(np.broadcast_to(weights, found.matrix.shape))
        there, beside = shares * found.mean_with, shares * found.mean_with.T
        counts = shares * self.count_weights
        about = np.where(self.same, 1.0, self.about)
        of_means = -there * about.T - np.diag((beside * about).sum(axis=1))
        of_shares = np.where(self.same, 0.0, counts * about.T)
        of_shares += np.diag((counts * about).sum(axis=1))
        # Of the means of the cells that are there.
        means = np.vstack([self._products_of_shares(weights), weights])
        own = found.observed.diagonal()
        of_means = np.pad(of_means, ((0, 1), (0, 0))) + means / own
        of_shares = np.pad(of_shares, ((0, 1), (0, 0))) - means * found.mean / own
        return np.hstack([of_means @ self.projection, of_shares @ self.gap_matrix])

    def _products_of_shares(self, weights: Array) -> Array:
        """Return what means of levels make of S w by the covariances within a category."""
        means = np.zeros_like(self.pairwise.matrix)
        for group in self.design.groups:
            scale = self.units.scale[group]
            share = self.units.center[group] + scale * self.pairwise.mean[group]
            along = weights[group] / scale
            means[group, group] = np.diag(along - float(along @ share))
            means[group, group] -= np.outer(share / scale, weights[group])
        return means

    def _of_shares(self, moments: Array) -> Array:
        """Return what covariances of the levels of a category make of the means of the levels.

        The covariance of two levels is −π_k π_l, and the variance of one π (1 − π).
        """
        means = np.zeros(moments.shape[:2])
        for group in self.design.groups:
            scale = self.units.scale[group]
            share = self.units.center[group] + scale * self.pairwise.mean[group]
            weights = moments[:, group, group] / np.outer(scale, scale)
            slope = np.diagonal(weights, axis1=1, axis2=2) - 2 * weights @ share
            means[:, group] = slope * scale
        return means

    def _take_out_sums(self, products: Array, averages: Array) -> None:
        """Take out what noise makes of the sum of the levels of a category, which is nothing."""
        size = self.design.n_values
        for group in self.design.groups:
            averages[:, group] -= averages[:, group].mean(axis=1, keepdims=True)
            products[:, group] -= products[:, group].mean(axis=1, keepdims=True)
            values = products[:, :size, group]
            products[:, :size, group] = values - values.mean(axis=2, keepdims=True)
