"""Inference: intervals and trusted edges, from the release and its noise model.

Owns statements about single entries. They are about the released values, which are
unbiased for the second moments of the clipped rows, and not about the shrunk ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.columns import Units
from dpcov.detection import dense_detectable
from dpcov.errors import MissingExtraError
from dpcov.multiplicity import count_pairs, q_values, two_sided_cutoff
from dpcov.parameters import check_number
from dpcov.postprocess.noise_model import NoiseModel, row_blocks

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Edge",
    "Edges",
    "TrustedPairs",
    "find_edges",
    "interval_width",
    "load_pandas",
    "smallest_detectable_correlation",
]

_SHOWN = 10

Array = npt.NDArray[np.float64]


class Edge(NamedTuple):
    """One pair of columns whose covariance is not zero."""

    first: str
    second: str
    value: float
    standard_error: float
    q_value: float


@dataclass(frozen=True, eq=False)
class Edges:
    """A table of pairs, the surest first. Iterate over it, or turn it into a data frame.

    Parameters
    ----------
    first, second : tuple of str
        Column names.
    value, standard_error : ndarray
        The released covariance and its standard error. Read-only.
    q_value : ndarray
        The smallest false discovery rate at which the pair is on the list.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    value: Array
    standard_error: Array
    q_value: Array

    def __post_init__(self) -> None:
        # Whoever asks for the same list gets this one.
        for numbers in (self.value, self.standard_error, self.q_value):
            numbers.setflags(write=False)

    def __len__(self) -> int:
        return len(self.first)

    def __getitem__(self, place: int) -> Edge:
        return list(self)[place]

    def __iter__(self) -> Iterator[Edge]:
        return map(
            Edge._make,
            zip(
                self.first,
                self.second,
                self.value.tolist(),
                self.standard_error.tolist(),
                self.q_value.tolist(),
                strict=True,
            ),
        )

    def __repr__(self) -> str:
        lines = ["1 edge" if len(self) == 1 else f"{len(self)} edges"]
        lines += [
            f"  {edge.first} – {edge.second}: {edge.value:+.4g} "
            f"(se {edge.standard_error:.2g}, q {edge.q_value:.2g})"
            for edge, _ in zip(self, range(_SHOWN), strict=False)
        ]
        if len(self) > _SHOWN:
            lines.append(f"  … and {len(self) - _SHOWN} more")
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame."""
        frame: pd.DataFrame = load_pandas().DataFrame(list(self), columns=list(Edge._fields))
        return frame


@dataclass(frozen=True, eq=False)
class TrustedPairs:
    """Pairs of columns that are related, in units of correlation, the surest first.

    Parameters
    ----------
    first, second : ndarray of int
        Places of the columns.
    correlation : ndarray
        As released, before any shrinkage. Where noise leads beyond ±1 it is ±1.
    low, high : ndarray
        The ends of its interval, no further than ±1 either. Both are the same ±1 where all
        of it lay beyond.
    """

    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    correlation: Array
    low: Array
    high: Array

    def __post_init__(self) -> None:
        # No true correlation is lost: an interval that covers it still does.
        for numbers in (self.correlation, self.low, self.high):
            np.clip(numbers, -1.0, 1.0, out=numbers)
        for numbers in vars(self).values():
            numbers.setflags(write=False)

    def __len__(self) -> int:
        return len(self.first)


def interval_width(confidence: float) -> float:
    """Return how many standard errors an interval reaches to each side."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + check_number("confidence", confidence, low=0.0, high=1.0) / 2))


def find_edges(
    matrix: Array,
    covariance: Array,
    noise: NoiseModel,
    columns: tuple[str, ...],
    fdr: float,
    units: Units | None = None,
) -> Edges:
    """Return the pairs with a false discovery rate of at most `fdr`.

    Matrix, covariance and noise are in working units; the answer is in the columns' own.
    The test is on z = y / √v, v being the variance of an entry without covariance. Only
    entries with p ≤ fdr can be on the list, so no others are sorted.
    """
    rows_of, columns_of, sizes = _candidates(matrix, noise, fdr)
    surest = q_values(sizes, n_tests=count_pairs(len(matrix)))
    order = np.argsort(-sizes, kind="stable")
    chosen = order[surest[order] <= fdr]
    i, j = rows_of[chosen], columns_of[chosen]
    own = 1.0 if units is None else units.scale[i] * units.scale[j]
    return Edges(
        first=tuple(columns[index] for index in i),
        second=tuple(columns[index] for index in j),
        value=matrix[i, j] * own,
        standard_error=noise.pair_error(i, j, covariance[i, j]) * own,
        q_value=surest[chosen],
    )


def _candidates(
    matrix: Array, noise: NoiseModel, fdr: float
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Array]:
    """Return the pairs above the diagonal with a two-sided p-value of at most `fdr`."""
    cutoff = two_sided_cutoff(fdr)
    parts = []
    for rows in row_blocks(len(matrix)):
        columns = slice(rows.start, None)
        size = np.abs(matrix[rows, columns]) / np.sqrt(noise.block(rows, columns))
        i, j = np.nonzero(np.triu(size >= cutoff, k=1))
        parts.append((i + rows.start, j + rows.start, size[i, j]))
    i, j, sizes = (np.concatenate(column) for column in zip(*parts, strict=True))
    return i, j, sizes


def smallest_detectable_correlation(noise: NoiseModel, variance: float | None = None) -> float:
    """Return the correlation that a test of all pairs finds with probability one half.

    The test keeps the chance of any false edge at 5 % (Bonferroni). The two columns have
    the given variance, or the median one. Above 1 no relation between them can be shown.
    """
    variance = float(np.median(noise.variances)) if variance is None else variance
    return dense_detectable(
        n_columns=len(noise.variances),
        n_rows=noise.n_rows,
        noise_scale=float(
            np.sqrt(noise.privacy_variance(variance) / variance**2 + noise.clipping.covariance)
        ),
    )


def load_pandas() -> ModuleType:
    """Import pandas, or say how to install it."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise MissingExtraError("Data frames need pandas: pip install 'dpcov[frames]'") from None
    return pd
