"""Inference: which pairs are related, from the release and its noise model.

Owns statements about single entries. They are about the released values, which are
unbiased for the second moments of the clipped rows, and not about the shrunk ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.columns import Units
from dpcov.detection import dense_detectable
from dpcov.digits import probability_text
from dpcov.extras import load_pandas
from dpcov.multiplicity import q_values, q_values_of_two, two_sided_cutoff
from dpcov.notebook import show
from dpcov.parameters import check_number
from dpcov.postprocess.noise_model import NoiseModel, row_blocks
from dpcov.postprocess.pairs_table import TOO_NOISY, Pairs
from dpcov.releases.tails import explain_marks, with_mark

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Edge",
    "Edges",
    "Listed",
    "best_detectable_correlation",
    "find_edges",
    "interval_width",
    "smallest_detectable_correlation",
    "tested_pairs",
]

_SHOWN = 10

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


class Edge(NamedTuple):
    """One pair of columns that are related: see `Edges`."""

    first: str
    second: str
    value: float
    standard_error: float
    q_value: float
    correlation: float
    released: float
    low: float
    high: float
    told: bool
    with_level: bool
    limited: bool
    gaps: bool


@dataclass(frozen=True, eq=False)
class Edges:
    """The related pairs, the surest first. Iterate over it, or turn it into a data frame.

    With categories these are two lists, each with the stated false discovery rate: `numbers` and
    `levels`. A category with many levels would otherwise decide which numbers are related.

    Parameters
    ----------
    value, standard_error : ndarray
        The released covariance and its standard error. Read-only.
    pairs : Pairs
        The same pairs as correlations, with intervals and q-values.
    """

    HEADING: ClassVar = ("column", "column", "correlation", "interval", "q-value")

    value: Array
    standard_error: Array
    pairs: Pairs

    def __post_init__(self) -> None:
        # Whoever asks for the same list gets this one.
        for numbers in (self.value, self.standard_error):
            numbers.setflags(write=False)

    @property
    def first(self) -> tuple[str, ...]:
        """The name of the first column of each pair."""
        return tuple(self.pairs.columns[place] for place in self.pairs.first)

    @property
    def second(self) -> tuple[str, ...]:
        """The name of the second one."""
        return tuple(self.pairs.columns[place] for place in self.pairs.second)

    @property
    def numbers(self) -> Edges:
        """The list of pairs of two numbers: all of them, if there are no categories."""
        return self._chosen(~self.pairs.with_level)

    @property
    def levels(self) -> Edges:
        """The list of pairs with a level of a category.

        Examples
        --------
        >>> import numpy as np, pandas as pd, dpcov
        >>> sex = np.random.default_rng(0).integers(0, 2, 20_000)
        >>> people = pd.DataFrame({"sex": pd.Categorical.from_codes(sex, ["f", "m"])})
        >>> people["income"] = np.random.default_rng(1).normal(3000 + 500 * sex, 800)
        >>> facts = {"sex": {"levels": ["f", "m"]}, "income": {}}
        >>> release = dpcov.release(people, epsilon=1, delta=1e-6, columns=facts, seed=0)
        >>> edges = release.estimate().edges()
        >>> len(edges.numbers), sorted(edge.first for edge in edges.levels)
        (0, ['sex=f', 'sex=m'])
        """
        return self._chosen(self.pairs.with_level)

    def _chosen(self, which: npt.NDArray[np.bool_]) -> Edges:
        return Edges(self.value[which], self.standard_error[which], self.pairs.chosen(which))

    @property
    def q_value(self) -> Array:
        """The smallest false discovery rate at which each pair is on the list."""
        return self.pairs.q_value

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, place: int) -> Edge:
        return list(self)[place]

    def __iter__(self) -> Iterator[Edge]:
        pairs = self.pairs
        numbers = (
            self.value,
            self.standard_error,
            pairs.q_value,
            pairs.correlation,
            pairs.released,
            pairs.low,
            pairs.high,
            pairs.told,
            pairs.with_level,
            pairs.limited,
            pairs.gaps,
        )
        return map(
            Edge._make,
            zip(
                self.first,
                self.second,
                *(column.tolist() for column in numbers),
                strict=True,
            ),
        )

    def __repr__(self) -> str:
        number = "1 edge" if len(self) == 1 else f"{len(self):,} edges"
        with_level = int(self.pairs.with_level.sum())
        if with_level:
            number += f" ({len(self) - with_level:,} of numbers, {with_level:,} with a level)"
        lines = [
            f"{number}: released correlations, {100 * self.pairs.confidence:g} % intervals"
            if len(self)
            else number
        ]
        lines += [
            f"  {edge.first} – {edge.second}: {_in_words(edge)} "
            f"(q {probability_text(edge.q_value)})"
            for edge, _ in zip(self, range(_SHOWN), strict=False)
        ]
        if len(self) > _SHOWN:
            lines.append(f"  … and {len(self) - _SHOWN:,} more")
        told = self.pairs.chosen(self.pairs.told)
        lines += explain_marks(limited=bool(told.limited.any()), gaps=bool(told.gaps.any()))
        return "\n".join(lines)

    def cells(self) -> Iterator[tuple[str, ...]]:
        """Yield the rows of the list as text, as `HEADING` names them."""
        for edge in self:
            released = with_mark(f"{edge.released:+.3f}", edge.limited, edge.gaps)
            told = (released, f"{edge.low:+.3f} to {edge.high:+.3f}")
            yield (
                edge.first,
                edge.second,
                *(told if edge.told else (TOO_NOISY, "")),
                probability_text(edge.q_value),
            )

    def _repr_html_(self) -> str:
        title = repr(self).split("\n", maxsplit=1)[0]
        return show(title, heading=self.HEADING, rows=self.cells(), n_rows=len(self))

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame."""
        frame: pd.DataFrame = load_pandas().DataFrame(list(self), columns=list(Edge._fields))
        return frame


def _in_words(edge: Edge) -> str:
    if not edge.told:
        sign = "positive" if edge.value > 0 else "negative"
        return f"{sign}, how strong is {TOO_NOISY}"
    released = with_mark(f"{edge.released:+.3f}", edge.limited, edge.gaps)
    return f"{released}, {edge.low:+.3f} to {edge.high:+.3f}"


class Listed(NamedTuple):
    """Places, covariances, their standard errors and q-values of the pairs of a list."""

    first: Places
    second: Places
    value: Array
    standard_error: Array
    q_value: Array


def interval_width(confidence: float) -> float:
    """Return how many standard errors an interval reaches to each side."""
    from scipy.special import ndtri

    return float(ndtri(0.5 + check_number("confidence", confidence, low=0.0, high=1.0) / 2))


def find_edges(
    matrix: Array, covariance: Array, noise: NoiseModel, fdr: float, units: Units
) -> Listed:
    """Return the pairs with a false discovery rate of at most `fdr`, the surest first.

    Matrix, covariance and noise are in working units; the answer is in the columns' own.
    The test is on z = y / √v, v being the variance of an entry without covariance. Only
    entries with p ≤ fdr can be on the list, so no others are sorted.
    """
    rows_of, columns_of, sizes = _candidates(matrix, noise, two_sided_cutoff(fdr))
    surest = _q_values(noise, rows_of, columns_of, sizes)
    order = np.argsort(-sizes, kind="stable")
    chosen = order[surest[order] <= fdr]
    i, j = rows_of[chosen], columns_of[chosen]
    own = units.scale[i] * units.scale[j]
    error = noise.pair_error(i, j, covariance[i, j]) * own
    return Listed(i, j, matrix[i, j] * own, error, surest[chosen])


def tested_pairs(matrix: Array, noise: NoiseModel) -> tuple[Places, Places, Array]:
    """Return the places and q-values of all pairs, row by row above the diagonal."""
    first, second, sizes = _candidates(matrix, noise, 0.0)
    return first, second, _q_values(noise, first, second, sizes)


def _q_values(noise: NoiseModel, first: Places, second: Places, sizes: Array) -> Array:
    """Return q-values: of pairs of numbers in one list, and of pairs with a level in another.

    A category with many levels would otherwise decide which numbers are related.
    """
    if noise.is_level is None:
        return q_values(sizes, n_tests=noise.n_pairs)
    with_level = noise.is_level[first] | noise.is_level[second]
    of_numbers = noise.n_number_pairs
    return q_values_of_two(
        sizes, with_level, n_first=of_numbers, n_second=noise.n_pairs - of_numbers
    )


def _candidates(matrix: Array, noise: NoiseModel, cutoff: float) -> tuple[Places, Places, Array]:
    """Return the pairs above the diagonal that stand out by so many sd, and by how many.

    Levels of one category exclude each other, and are no candidates.
    """
    parts = []
    for rows in row_blocks(len(matrix)):
        columns = slice(rows.start, None)
        size = np.abs(matrix[rows, columns]) / np.sqrt(noise.block(rows, columns))
        i, j = np.nonzero(np.triu((size >= cutoff) & noise.are_apart(rows, columns), k=1))
        parts.append((i + rows.start, j + rows.start, size[i, j]))
    i, j, sizes = (np.concatenate(column) for column in zip(*parts, strict=True))
    return i, j, sizes


def best_detectable_correlation(noise: NoiseModel) -> float:
    """Return the correlation that would be found between the two columns that show most.

    Where noise is alike in all pairs, these are the two most variable ones.
    """
    if noise.pairwise is None or len(noise.variances) < 2:
        second = float(np.sort(noise.variances)[-min(2, len(noise.variances))])
        return smallest_detectable_correlation(noise, second)
    table, least = noise.of_table, np.inf
    for rows in row_blocks(len(noise.variances)):
        unit = np.outer(noise.variances[rows], noise.variances)
        ratio = np.where(noise.are_apart(rows), table.block(rows) / unit, np.inf)
        ratio[np.arange(len(ratio)), np.arange(rows.start, rows.stop)] = np.inf
        least = min(least, float(ratio.min()))
    return dense_detectable(
        n_columns=len(noise.variances), n_rows=noise.n_rows, noise_scale=float(np.sqrt(least))
    )


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
