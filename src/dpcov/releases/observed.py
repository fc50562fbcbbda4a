"""Observed: which share of the cells is there, of each column and of each two together.

Owns that value. It follows from what was released, so it costs no privacy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.extras import load_pandas
from dpcov.releases.pairwise import Pairwise

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Observed", "observed_shares"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Observed:
    """Shares of rows in which cells are there, by the columns of the table.

    A category is one column here, and not one for each level.

    Parameters
    ----------
    columns : tuple of str
        The columns of the table.
    share : ndarray, shape (n_fields, n_fields)
        The share of rows in which both cells are there; of one column on the diagonal. It is 1
        where cells cannot be missing, or none were seen to be. Read-only.
    standard_error : ndarray, shape (n_fields, n_fields)
        The sd of its privacy noise; 0 where cells cannot be missing. Read-only.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 3))
    >>> rows[:4000, 0] = np.nan
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, seed=0)
    >>> release.observed.share.round(1)
    array([[0.8, 0.8, 0.8],
           [0.8, 1. , 1. ],
           [0.8, 1. , 1. ]])
    """

    columns: tuple[str, ...]
    share: Array
    standard_error: Array

    def __post_init__(self) -> None:
        for array in (self.share, self.standard_error):
            array.setflags(write=False)

    def to_frame(self) -> pd.DataFrame:
        """Return the shares as a pandas data frame with the column names."""
        return self._framed(self.share)

    def error_frame(self) -> pd.DataFrame:
        """Return their standard errors as a pandas data frame with the column names."""
        return self._framed(self.standard_error)

    def _framed(self, array: Array) -> pd.DataFrame:
        names = list(self.columns)
        frame: pd.DataFrame = load_pandas().DataFrame(array, index=names, columns=names)
        return frame

    def __repr__(self) -> str:
        least = self.share.diagonal()
        gaps = int((least < 1).sum())
        of = f"{gaps} of {len(least)} columns have gaps"
        return f"Observed({of})" if gaps else f"Observed({len(least)} columns, no gaps seen)"


def observed_shares(design: Design, found: Pairwise | None, *, mean_noise: float) -> Observed:
    """Return the shares of the columns of a table; all of them, if nothing says otherwise."""
    names = tuple(field.name for field in design.fields)
    size = len(names)
    if found is None:
        return Observed(names, np.ones((size, size)), np.zeros((size, size)))
    places = np.ix_(design.value_of, design.value_of)
    share, error = found.observed[places], found.observed_error[places]
    # Gaps that did not stand out of the noise may be there all the same.
    quiet = np.zeros(size)
    quiet[design.with_gaps] = mean_noise
    quiet[error.diagonal() > 0] = 0.0
    hidden = np.add.outer(quiet**2, quiet**2)
    hidden[np.diag_indices(size)] = quiet**2
    return Observed(names, share, np.sqrt(error**2 + hidden))
