"""What was found, as numbers and names that are ready to be written.

Owns the table of pairs. Names are untrusted: they are made printable here and escaped by
the template.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcov.plot.look import shown_name
from dpcov.postprocess import AnyEstimate, TrustedPairs

__all__ = ["Findings", "PairRow", "find"]

_MOST_ROWS = 200
_LONGEST_NAME = 60


@dataclass(frozen=True)
class PairRow:
    """One line of the table, as text."""

    first: str
    second: str
    value: str
    standard_error: str
    correlation: str
    q_value: str


@dataclass(frozen=True, eq=False)
class Findings:
    """What a page says of an estimate.

    Parameters
    ----------
    n_columns, n_pairs : int
        How many columns there are, and pairs of them.
    fdr : float
        The false discovery rate of the list.
    pairs : TrustedPairs
        All pairs that can be trusted, in units of correlation.
    rows : tuple of PairRow
        The surest of them.
    quantity : {"covariance", "correlation"}
        What the values of the rows are.
    """

    n_columns: int
    n_pairs: int
    fdr: float
    pairs: TrustedPairs
    rows: tuple[PairRow, ...]
    quantity: str

    @property
    def at_one(self) -> bool:
        """Whether noise led a released correlation to ±1 or beyond."""
        return bool((abs(self.pairs.correlation) == 1).any())


def find(estimate: AnyEstimate, fdr: float) -> Findings:
    """Return what can be said of an estimate at a false discovery rate."""
    pairs, edges = estimate.trusted_pairs(fdr), estimate.edges(fdr)
    rows = tuple(
        PairRow(
            first=shown_name(edge.first, _LONGEST_NAME),
            second=shown_name(edge.second, _LONGEST_NAME),
            value=_to_two_digits_of(edge.standard_error, edge.value, "+"),
            standard_error=_to_two_digits_of(edge.standard_error, edge.standard_error),
            correlation=f"{correlation:+.3f}",
            q_value=_small(edge.q_value),
        )
        for edge, correlation, _ in zip(edges, pairs.correlation, range(_MOST_ROWS), strict=False)
    )
    correlations_only = estimate.release.variances_are == "not released"
    return Findings(
        n_columns=len(estimate.columns),
        n_pairs=estimate.n_pairs,
        fdr=fdr,
        pairs=pairs,
        rows=rows,
        quantity="correlation" if correlations_only else "covariance",
    )


def _to_two_digits_of(error: float, number: float, sign: str = "") -> str:
    """Write a number as far as its standard error says that its digits mean something."""
    decimals = 1 - math.floor(math.log10(error))
    if not 0 <= decimals <= 6:
        return f"{number:{sign}.4g}"
    return f"{number:{sign}.{decimals}f}"


def _small(probability: float) -> str:
    if probability < 1e-99:
        return "< 1e-99"
    return f"{probability:.1e}" if probability < 1e-3 else f"{probability:.2g}"
