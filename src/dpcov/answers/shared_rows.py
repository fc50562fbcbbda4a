"""Which rows two entries share: what gaps make of the errors of sampling.

Owns that. Where cells are missing, each entry is about the rows in which its own cells are there.
Two entries go together in their errors as far as they are about the same rows, and columns in
common make these more: what cancels in a complete table does not where rows differ.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["SharedRows"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SharedRows:
    """How much more errors of sampling go together than those of a complete table would.

    Parameters
    ----------
    n_rows : float
        The number of rows.
    common : float
        By how much the errors of any two entries: 1, or more if gaps fall into the same rows.
    own : ndarray, shape (n_values,)
        … and how much more if both are about this value.
    both : ndarray, shape (n_values, n_values)
        … and beyond that if both are about these two.

    Notes
    -----
    The errors of the covariances of (i, j) and (k, l) go together as those of a complete table,
    times n_ijkl n / (n_ij n_kl), with n the number of rows in which these cells are there. For
    gaps that are independent of each other that is the product of 1/π over the columns that both
    have in common, with π the share of cells that are there.
    """

    n_rows: float
    common: float
    own: Array
    both: Array

    @classmethod
    def of(
        cls, n_rows: float, observed: Array | None, field_of: npt.NDArray[np.int64]
    ) -> SharedRows:
        """Return them for values of which these shares are observed, two at a time."""
        if observed is None:
            nothing = np.zeros(len(field_of))
            return cls(n_rows, 1.0, nothing, np.diag(nothing))
        seen = np.clip(observed, 1 / n_rows, 1.0)
        share = seen.diagonal()
        apart = np.not_equal.outer(field_of, field_of)
        together = (seen / np.outer(share, share))[apart]
        common = max(1.0, float(together.mean())) if together.size else 1.0
        own = np.maximum(1 / share - common, 0.0)
        both = np.maximum(1 / seen - common - np.add.outer(own, own), 0.0)
        return cls(n_rows, common, own, np.where(apart, both, 0.0))

    @property
    def of_pairs(self) -> Array:
        """What the choice of rows gives the correlation of an unrelated pair, as a variance."""
        inflated = self.common + np.add.outer(self.own, self.own) + self.both
        return np.asarray(inflated / self.n_rows)

    def entries(self, covariance: Array) -> Array:
        """Return the variances that single entries have for themselves, beside what goes together.

        Those on the diagonal are of variances. See `Tangents.of_columns` for the rest.
        """
        variances = covariance.diagonal()
        unit = np.outer(variances, variances)
        result = self.both * (unit + covariance**2) / self.n_rows
        np.fill_diagonal(result, 2 * self.own * variances**2 / self.n_rows)
        return np.asarray(result)

    def features(self, moments: Array, means: Array, root: Array) -> Iterator[Array]:
        """Yield numbers of linear functions whose products add up to their covariance.

        For Gaussian rows of covariance root rootᵀ.
        """
        covariance = root @ root.T
        deviations = np.sqrt(covariance.diagonal())
        yield np.sqrt(2 * self.common / self.n_rows) * _flat(root.T @ moments @ root)
        yield np.sqrt(self.common / self.n_rows) * (means @ root)
        if not self.own.any() and not self.both.any():
            return
        # The part of a function that is about value c is Σ_j w_j S_cj, in both triangles.
        weights = moments.copy()
        diagonal = np.arange(len(root))
        weights[:, diagonal, diagonal] /= 2
        along = weights @ root
        scale = np.sqrt(4 * self.own / self.n_rows)
        yield _flat((scale * deviations)[:, None] * along)
        yield scale * np.einsum("acl,cl->ac", along, root)
        unit = np.outer(deviations, deviations) ** 2 + covariance**2
        yield _flat(np.sqrt(2 * self.both * unit / self.n_rows) * moments)
        yield np.sqrt(self.own / self.n_rows) * deviations * means


def _flat(weights: Array) -> Array:
    return weights.reshape(len(weights), -1)
