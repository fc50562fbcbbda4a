"""What every covariance estimate offers, however it was made.

Owns correlations, the inverse, synthetic rows and the data frame of an estimate.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.parameters import check_count
from dpcov.postprocess.inference import load_pandas
from dpcov.postprocess.psd import components

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CovarianceFace"]

Array = npt.NDArray[np.float64]


class CovarianceFace:
    """A covariance matrix with names."""

    if TYPE_CHECKING:

        @property
        def covariance(self) -> Array:
            """The matrix."""

        @property
        def columns(self) -> tuple[str, ...]:
            """The column names."""

        @property
        def location(self) -> Array:
            """The center of the columns."""

    @cached_property
    def correlation(self) -> Array:
        """The correlation matrix of the estimate, with ones on its diagonal."""
        deviation = np.sqrt(np.diag(self.covariance))
        result: Array = self.covariance / np.outer(deviation, deviation)
        np.fill_diagonal(result, 1.0)
        result.setflags(write=False)
        return result

    @cached_property
    def precision(self) -> Array:
        """The inverse of the covariance; its pseudo-inverse where that is singular."""
        from scipy.linalg import pinvh

        result = np.diag(1.0 / np.diag(self.covariance))
        for members in components(self.covariance):
            place = np.ix_(members, members)
            inverse = pinvh(self.covariance[place])
            result[place] = (inverse + inverse.T) / 2
        result.setflags(write=False)
        return result

    def sample(self, n_rows: int, *, seed: int | None = None) -> Array:
        """Draw synthetic rows from the Gaussian with this covariance, about `location`.

        Parameters
        ----------
        n_rows : int
            How many.
        seed : int, optional
            For repeatable rows. They cost no privacy either way.
        """
        from scipy.linalg import eigh

        n_rows = check_count("n_rows", n_rows, low=1)
        generator = np.random.default_rng(
            None if seed is None else check_count("seed", seed, low=0)
        )
        rows = generator.standard_normal((n_rows, len(self.columns)))
        deviation = np.sqrt(np.diag(self.covariance))
        linked = components(self.covariance)
        for members in linked:
            values, vectors = eigh(self.covariance[np.ix_(members, members)])
            # The symmetric root: it does not depend on the signs of the eigenvectors.
            root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
            rows[:, members] = rows[:, members] @ root
        alone = np.setdiff1d(np.arange(len(deviation)), np.concatenate([[], *linked]))
        rows[:, alone.astype(np.intp)] *= deviation[alone.astype(np.intp)]
        rows += self.location
        return rows

    def to_frame(self) -> pd.DataFrame:
        """Return the covariance as a pandas data frame with the column names."""
        names = list(self.columns)
        frame: pd.DataFrame = load_pandas().DataFrame(self.covariance, index=names, columns=names)
        return frame
