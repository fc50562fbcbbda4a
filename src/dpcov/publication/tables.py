"""The tables of a folder: which there are, and what stands in their columns.

Owns which there are, and the columns of the first four. ``columns`` is a view of the card, the
others are of the estimate: all pairs in one long table, and two matrices with names; those of
categories and gaps are in `dpcov.publication.category_tables`, those of components and partial
correlations in `dpcov.publication.structure_tables`. `dpcov.publication.table_files` owns how they
are written, `dpcov.publication.dictionary` what they mean in words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.postprocess import AnyEstimate, Pairs
from dpcov.postprocess.column_errors import covariances_of
from dpcov.postprocess.suppression import marks_of
from dpcov.publication.category_tables import CATEGORY_TABLES, category_table
from dpcov.publication.columns import hidden_numbers
from dpcov.publication.series import MOST_COLUMNS, MOST_PAIRS, TOLERANCE, Series, Table, text_of
from dpcov.publication.structure_tables import STRUCTURE_TABLES, structure_table
from dpcov.releases.tails import Tails

__all__ = [
    "columns_table",
    "free_name",
    "listed_pairs",
    "matrix_table",
    "pairs_table",
    "table_names",
    "tables_of",
    "tables_to_show",
]

Array = npt.NDArray[np.float64]


def table_names(card: Mapping[str, Any]) -> tuple[str, ...]:
    """Return which tables a release has.

    Without variances, nothing is a covariance; tables of categories, gaps, components and partial
    correlations are there where these are. The card may come from elsewhere.
    """
    released, related, data = (_part(card, name) for name in ("released", "related", "data"))
    components = _part(related, "components")
    n_categories, n_columns = data.get("n_categories"), data.get("n_columns")
    has = {
        "columns": True,
        "pairs": True,
        "correlation": True,
        "covariance": released.get("variances") != "not released",
        "categories": bool(n_categories),
        "associations": related.get("associations") is not None,
        "group_means": bool(n_categories) and n_columns != n_categories,
        "gaps": related.get("gaps") is not None,
        "components": bool(components),
        "loadings": bool(components.get("n_told")),
        "partial_correlations": related.get("partial") is not None,
    }
    return tuple(name for name, is_there in has.items() if is_there)


def _part(card: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = card.get(name)
    return part if isinstance(part, dict) else {}


def tables_to_show(card: Mapping[str, Any], estimate: AnyEstimate, fdr: float) -> dict[str, Table]:
    """Return the tables that the page and the terminal show: all but columns and matrices."""
    others = [name for name in table_names(card) if name in {*CATEGORY_TABLES, *STRUCTURE_TABLES}]
    return {"pairs": pairs_table(estimate, fdr)} | {
        name: _other_table(name, estimate, fdr) for name in others
    }


def _other_table(name: str, estimate: AnyEstimate, fdr: float) -> Table:
    made = category_table if name in CATEGORY_TABLES else structure_table
    return made(name, estimate, fdr)


def tables_of(
    card: Mapping[str, Any], estimate: AnyEstimate, fdr: float, *, own_rule: bool = False
) -> dict[str, Table]:
    """Return the tables of a folder, by name.

    With `own_rule`, the estimate stands for one that nobody else can make: numbers that would
    follow from that are marked.
    """
    made = {
        "columns": lambda: columns_table(card),
        "pairs": lambda: pairs_table(estimate, fdr, own_rule=own_rule),
        "correlation": lambda: matrix_table(estimate, "correlation", own_rule=own_rule),
        "covariance": lambda: matrix_table(estimate, "covariance", own_rule=own_rule),
    }
    return {
        name: made[name]() if name in made else _other_table(name, estimate, fdr)
        for name in table_names(card)
    }


def columns_table(card: Mapping[str, Any]) -> Table:
    """Return what the card says of each column."""
    columns, learned = card["data"]["columns"], card["learned"]
    found = [{} for _ in columns] if learned is None else learned["columns"]
    error = None if learned is None else learned["beyond_error"]
    hidden = hidden_numbers(card)

    def limits(name: str) -> Series:
        # Levels are not limited: a cell has one or it has not.
        known = [
            {} if column["level"] is not None else line
            for column, line in zip(columns, found, strict=True)
        ]
        return numbers(name, known)

    def numbers(name: str, listed: list[dict[str, Any]], near: float = 0.0) -> Series:
        values = [line.get(name) for line in listed]
        array = np.array([np.nan if value is None else value for value in values], np.float64)
        return Series(array, near * np.abs(np.nan_to_num(array)))

    def how(fact: str) -> Series:
        return Series([line.get(f"{fact}_is", _stated(column, fact)) for column, line in both])

    both = list(zip(columns, found, strict=True))
    return {
        "column": Series([text_of(column["name"]) for column in columns]),
        **_levels(columns),
        **{fact: how(fact) for fact in ("range", "center", "scale")},
        "lower_limit": limits("lower"),
        "upper_limit": limits("upper"),
        "beyond_limits": limits("beyond"),
        "beyond_limits_error": Series(
            np.array([_unless_level(column, error) for column in columns], dtype=np.float64)
        ),
        "tails": Series([_tails(column, learned, hidden) for column in columns]),
        "observed": numbers("observed", columns, TOLERANCE),
        "observed_error": numbers("observed_error", columns, TOLERANCE),
        "mean": numbers("mean", columns),
        "mean_error": numbers("mean_error", columns, TOLERANCE),
        "standard_deviation": numbers("standard_deviation", columns, TOLERANCE),
        "standard_deviation_error": numbers("standard_deviation_error", columns, TOLERANCE),
        "working_center": numbers("center", columns),
        "working_scale": numbers("scale", columns),
    }


def _levels(columns: list[dict[str, Any]]) -> Table:
    """Return of which category each column is a level, and of which; nothing without any."""
    if all(column["level"] is None for column in columns):
        return {}
    category = ["" if column["level"] is None else column["column"] for column in columns]
    return {
        "category": Series(list(map(text_of, category))),
        "level": Series([text_of(column["level"] or "") for column in columns]),
    }


def _unless_level(column: Mapping[str, Any], error: float | None) -> float:
    return np.nan if error is None or column["level"] is not None else error


def _tails(column: Mapping[str, Any], learned: Any, hidden: Mapping[str, Tails]) -> str:
    if learned is None or column["level"] is not None:
        return "none"
    return hidden.get(column["name"], Tails.NOT_SEEN).value


def _stated(column: Mapping[str, Any], fact: str) -> str:
    """Say how a fact is known where nothing was learned: a plain one was not stated."""
    plain = {"range": True, "center": column["center"] == 0, "scale": column["scale"] == 1}
    return "none" if plain[fact] else "stated"


def listed_pairs(estimate: AnyEstimate) -> Pairs:
    """Return the pairs of which something is known, the surest first; no more than are listed.

    Pairs of numbers come before those with a level of a category.
    """
    pairs = estimate.pairs()
    keys = (-np.abs(pairs.released), pairs.q_value, pairs.with_level)
    return pairs.chosen(np.lexsort(keys)[:MOST_PAIRS])


def pairs_table(estimate: AnyEstimate, fdr: float, *, own_rule: bool = False) -> Table:
    """Return the long table of pairs: correlations, intervals, and which are related."""
    pairs = listed_pairs(estimate)
    names = np.array([text_of(name) for name in estimate.columns], dtype=object)
    table = {
        "first": Series(names[pairs.first].tolist()),
        "second": Series(names[pairs.second].tolist()),
        "released": Series(pairs.released, TOLERANCE),
        "standard_error": Series(pairs.standard_error, TOLERANCE * pairs.standard_error),
        "low": Series(pairs.low, TOLERANCE),
        "high": Series(pairs.high, TOLERANCE),
        "estimate": Series(pairs.correlation, TOLERANCE, free=own_rule),
        "q_value": Series(pairs.q_value, 100 * TOLERANCE * pairs.q_value + 1e-300),
        "told": Series(pairs.told),
        "related": Series(pairs.q_value <= fdr),
    }
    if getattr(estimate.release, "learned", None) is not None:
        table["limited"] = Series(pairs.limited)
    if marks_of(estimate.release).dependent is not None:
        table["gaps"] = Series(pairs.gaps)
    levels = pairs.with_level
    if levels.any():
        table["with_level"] = Series(levels)
    if estimate.release.variances_are != "not released":
        value, error = covariances_of(estimate, pairs)
        near = TOLERANCE * error
        table["released_covariance"] = Series(value, near)
        table["covariance_error"] = Series(error, near, free=own_rule)
    return table


def matrix_table(estimate: AnyEstimate, what: str, *, own_rule: bool = False) -> Table:
    """Return a matrix with the names in its first column and a column for each name.

    Beyond `MOST_COLUMNS`, the entries above the diagonal (and on it, of a covariance) that are not
    zero.
    """
    names = [text_of(name) for name in estimate.columns]
    deviation = np.ones(len(names)) if what == "correlation" else estimate.deviations
    if len(names) > MOST_COLUMNS:
        return _entries(estimate, what, names, deviation, own_rule)
    matrix = estimate.correlation if what == "correlation" else estimate.covariance
    near = TOLERANCE * deviation
    columns = (
        Series(column, unit * near, free=own_rule)
        for column, unit in zip(matrix.T, deviation, strict=True)
    )
    return {free_name(names): Series(names)} | dict(zip(names, columns, strict=True))


def _entries(
    estimate: AnyEstimate, what: str, names: list[str], deviation: Array, own_rule: bool
) -> Table:
    first, second, values = estimate.entries()
    if what == "correlation":
        apart = first != second
        first, second = first[apart], second[apart]
        own = estimate.deviations
        values = np.clip(values[apart] / (own[first] * own[second]), -1.0, 1.0)
    listed = np.array(names, dtype=object)
    near = TOLERANCE * deviation[first] * deviation[second]
    return {
        "first": Series(listed[first].tolist(), free=own_rule),
        "second": Series(listed[second].tolist(), free=own_rule),
        what: Series(values, near, free=own_rule),
    }


def free_name(names: list[str]) -> str:
    """Return what the column of names is called: no name of a column itself."""
    name = "column"
    while name in names:
        name += "_"
    return name
