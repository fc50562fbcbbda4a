"""The pairs of a folder's table, as text that is ready to be shown.

Owns how a line of the table looks on the page and in the terminal. Names are untrusted: who shows
them makes them printable.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpcov.digits import (
    correlation_text,
    in_digits_of,
    interval_text,
    probability_text,
)
from dpcov.postprocess import TOO_NOISY
from dpcov.publication.series import Table
from dpcov.releases.tails import with_mark

__all__ = ["PairRow", "pair_row", "pair_rows", "related_lines", "table_lines"]


@dataclass(frozen=True)
class PairRow:
    """One line of the table.

    Parameters
    ----------
    first, second : str
        The columns.
    correlation, interval : str
        As released; or that it is too noisy to tell, and nothing.
    estimate : str
        That of the estimate.
    q_value : str
        The smallest false discovery rate at which it is related.
    related : bool
        Whether it is.
    size, estimated_size, q : float
        What a reader sorts by: the sizes of both, and the q-value.
    covariance, covariance_error : str
        As released, in the columns' own units; empty without variances.
    limited, gaps : bool
        Whether it is marked: the correlation of the whole cells, or of the rows with both, may be
        far from it.
    """

    first: str
    second: str
    correlation: str
    interval: str
    estimate: str
    q_value: str
    related: bool
    size: float
    estimated_size: float
    q: float
    covariance: str
    covariance_error: str
    limited: bool
    gaps: bool


def pair_rows(table: Table, most: int, *, related_only: bool = False) -> list[PairRow]:
    """Return the first pairs of a table, as text; where it has levels, those of numbers."""
    lines = [line for line in table_lines(table) if not line.get("with_level")]
    if related_only:
        lines = [line for line in lines if line["related"]]
    return [pair_row(line) for line in lines[:most]]


def related_lines(table: Table) -> list[dict[str, Any]]:
    """Return the related pairs as lines of their table, for machines."""
    return [line for line in table_lines(table) if line["related"]]


def table_lines(table: Table) -> list[dict[str, Any]]:
    """Return a table line by line."""
    columns = [
        values if isinstance(values, list) else values.tolist()
        for values in (series.values for series in table.values())
    ]
    return [dict(zip(table, line, strict=True)) for line in zip(*columns, strict=True)]


def pair_row(cells: dict[str, Any]) -> PairRow:
    """Return one line of a table of pairs, as text."""
    low, high = cells["low"], cells["high"]
    width, told = high - low, cells["told"]
    released, estimate = cells["released"], cells["estimate"]
    limited, gaps = (bool(cells.get(name)) and told for name in ("limited", "gaps"))
    value, error = cells.get("released_covariance", 0.0), cells.get("covariance_error", 0.0)
    return PairRow(
        first=cells["first"],
        second=cells["second"],
        correlation=with_mark(correlation_text(released, width), limited, gaps)
        if told
        else TOO_NOISY,
        interval=interval_text(low, high) if told else "",
        estimate=correlation_text(estimate, width),
        q_value=probability_text(cells["q_value"]),
        related=cells["related"],
        size=abs(released) if told else math.nan,
        estimated_size=abs(estimate),
        q=cells["q_value"],
        covariance=in_digits_of(error, value) if error else "",
        covariance_error=in_digits_of(error, error) if error else "",
        limited=limited,
        gaps=gaps,
    )
