"""What a card says of the table: how many rows and columns, what they weigh, means and spreads.

Owns these numbers and their sentences. A line of its columns is a number, or one level of a
category, whose mean is its share.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.identifiers import USING_ALL
from dpcov.digits import with_error
from dpcov.postprocess import AnyEstimate
from dpcov.postprocess.column_errors import deviation_errors, mean_errors
from dpcov.postprocess.estimate import Estimate
from dpcov.privacy import ApproxDP, Neighbors
from dpcov.releases import AnyRelease, Release

__all__ = ["describe_data"]

Array = npt.NDArray[np.float64]

_MOST_LISTED = 10


def describe_data(estimate: AnyEstimate) -> dict[str, Any]:
    """Return rows, weights and columns of the table behind an estimate."""
    release = estimate.release
    design = release.design if isinstance(release, Release) else None
    n_columns = release.n_columns if design is None else len(design.fields)
    n_categories = 0 if design is None else len(design.categories)
    return {
        "in_words": _size_in_words(release, n_columns, n_categories),
        "n_rows": release.n_rows,
        "n_terms": release.n_terms,
        "n_columns": n_columns,
        "n_categories": n_categories,
        "weights": _describe_weights(release),
        "left_out": _describe_left_out(release.provenance.left_out),
        "columns": _columns(estimate),
    }


def _columns(estimate: AnyEstimate) -> list[dict[str, Any]]:
    release = estimate.release
    units, unknown = release.units, [None] * release.n_columns
    mean_error, deviation_error = mean_errors(estimate), deviation_errors(estimate)
    if mean_error is not None and isinstance(estimate, Estimate):
        mean_error = _with_shares(estimate, mean_error)
    spread = estimate.released_deviations.tolist()
    columns, levels = _origins(release)
    observed, observed_error = _observed(release)
    vectors = {
        "name": release.columns,
        "column": columns,
        "level": levels,
        "center": units.center.tolist(),
        "scale": units.scale.tolist(),
        "mean": unknown if mean_error is None else release.location.tolist(),
        "mean_error": unknown if mean_error is None else mean_error.tolist(),
        "standard_deviation": unknown if deviation_error is None else spread,
        "standard_deviation_error": unknown
        if deviation_error is None
        else deviation_error.tolist(),
        "observed": observed,
        "observed_error": observed_error,
    }
    return [
        dict(zip(vectors, column, strict=True)) for column in zip(*vectors.values(), strict=True)
    ]


def _with_shares(estimate: Estimate, errors: Array) -> Array:
    """Return errors of means in which those of levels are the errors of shares."""
    shares = [line.standard_error for line in estimate.categories.shares()]
    result = errors.copy()
    result[~estimate.release.design.is_number] = shares
    return result


def _origins(release: AnyRelease) -> tuple[list[str], list[str | None]]:
    """Return for each value its column in the table, and which level of it."""
    if not isinstance(release, Release):
        return list(release.columns), [None] * release.n_columns
    fields = release.design.fields
    columns = [fields[place].name for place in release.design.field_of.tolist()]
    levels = [level for field in fields for level in field.levels or (None,)]
    return columns, levels


def _observed(release: AnyRelease) -> tuple[list[float | None], list[float | None]]:
    """Return the share of cells that are there, and its error, for each value."""
    size, missing = release.n_columns, release.provenance.missing
    if missing in ("center", "complete") or not isinstance(release, Release):
        # Where cells may be missing, nothing says how many are.
        known = missing == "refuse"
        return [1.0 if known else None] * size, [0.0 if known else None] * size
    found, place = release.observed, release.design.field_of
    share, error = (part.diagonal()[place] for part in (found.share, found.standard_error))
    return share.tolist(), error.tolist()


def _describe_weights(release: AnyRelease) -> dict[str, Any] | None:
    """Return how much rows count; None if they have no weights."""
    weights = release.weights if isinstance(release, Release) else None
    if weights is None:
        return None
    rows = weights.effective_rows(release.n_rows)
    complete = release.provenance.missing == "complete"
    # Of n w̄² / mean of w², to first order; the noise of both averages is independent.
    square = max(weights.mean_square, weights.mean**2)
    relative = math.hypot(2 * weights.error / weights.mean, weights.error / square)
    error = min(rows * relative, float(release.n_rows))
    return {
        "bound": weights.bound,
        "mean": weights.mean,
        "mean_square": weights.mean_square,
        "error": weights.error,
        "effective_rows": rows,
        "effective_rows_error": error,
        "in_words": (
            "Only complete rows count: "
            f"{with_error(weights.mean * release.n_rows, weights.error * release.n_rows)}."
            if complete and weights.may_count
            else f"Rows{' that are complete' if complete else ''} are weighted, with weights up to "
            f"a public bound of {weights.bound:g}: as to sampling they count as "
            f"{with_error(rows, error)} rows of equal weight."
        ),
    }


def _describe_left_out(names: tuple[str, ...]) -> dict[str, Any] | None:
    """Return which columns were not used because of their names; None if there are none."""
    if not names:
        return None
    more = len(names) - _MOST_LISTED
    listed = ", ".join(names[:_MOST_LISTED]) + (f" and {more:,} more" if more > 0 else "")
    are, these = "it is an identifier by its name", "this one"
    if len(names) > 1:
        are, these = "they are identifiers by their names", "these"
    return {
        "columns": list(names),
        "in_words": (
            f"Left out, since {are}: {listed}. To use all columns, {these} too, {USING_ALL}"
        ),
    }


def _size_in_words(release: AnyRelease, n_columns: int, n_categories: int) -> str:
    made = release.provenance
    stated, person = made.calibrated_for, made.person_column
    unit = stated.privacy_unit if isinstance(stated, ApproxDP) else None
    who, asks = "people (one row each)", ""
    if stated.neighbors is Neighbors.LOCAL:
        who = "reports, one for each person"
    elif unit is not None:
        most = "one" if made.rows_per_unit == 1 else f"{made.rows_per_unit:,}"
        who = f"rows, at most {most} of each {unit!r}, chosen at random"
    elif person is not None:
        who = "rows"
        asks = (
            f" Column {person!r} seems to say whose row it is. If somebody has several rows, state "
            f"privacy_unit={person!r}, rows_per_unit=3 (how many of each to use): without, only "
            "one row is protected."
        )
    columns = _count(n_columns, "column", "columns")
    if n_categories:
        kinds = [
            _count(n_columns - n_categories, "number", "numbers"),
            _count(n_categories, "category", "categories"),
        ]
        columns += f": {' and '.join(kinds if n_columns > n_categories else kinds[1:])}"
    return f"{release.n_rows:,} {who}; {columns}.{asks}"


def _count(number: int, one: str, many: str) -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many}"
