"""The tables of categories and of gaps: shares, associations, means of groups, what gaps go with.

Owns their columns. All follow from the release, whatever estimate is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dpcov.postprocess import AnyEstimate
from dpcov.postprocess.association import Association
from dpcov.postprocess.estimate import Estimate
from dpcov.postprocess.suppression import marks_of
from dpcov.publication.card_associations import is_association_told
from dpcov.publication.series import MOST_PAIRS, TOLERANCE, Series, Table, text_of

__all__ = ["CATEGORY_TABLES", "category_table"]

_ROUGH = 100 * TOLERANCE
"""Ends of some intervals are found by halving, and p-values are far out in the tails."""
_JOINED = "; "


def category_table(name: str, estimate: AnyEstimate, fdr: float) -> Table:
    """Return one of these tables."""
    if not isinstance(estimate, Estimate):
        raise TypeError("Pairs of signs have no categories.")
    return CATEGORY_TABLES[name](estimate, fdr)


def _categories(estimate: Estimate, fdr: float) -> Table:
    lines = estimate.categories.shares().lines
    return {
        "category": _texts(line.column for line in lines),
        "level": _texts(line.level for line in lines),
        "share": _numbers(lines, "share"),
        "standard_error": _numbers(lines, "standard_error"),
        "low": _numbers(lines, "low"),
        "high": _numbers(lines, "high"),
    }


def _associations(estimate: Estimate, fdr: float) -> Table:
    lines = estimate.categories.associations().lines[:MOST_PAIRS]
    told = np.array([is_association_told(line) for line in lines], dtype=np.bool_)
    q_value = _numbers(lines, "q_value")
    return {
        "first": _texts(line.first for line in lines),
        "second": _texts(line.second for line in lines),
        "measure": _texts(line.measure for line in lines),
        "value": _numbers(lines, "value", near=_ROUGH),
        "low": _numbers(lines, "low", near=_ROUGH),
        "high": _numbers(lines, "high", near=_ROUGH),
        "q_value": _q_values(lines),
        "told": Series(told),
        "related": Series(np.asarray(q_value.values) <= fdr),
        "pooled": _texts(_JOINED.join(line.pooled) for line in lines),
        **_marks(estimate, lines),
    }


def _group_means(estimate: Estimate, fdr: float) -> Table:
    lines = estimate.categories.means().lines[:MOST_PAIRS]
    spread = dict(zip(estimate.columns, estimate.released_deviations.tolist(), strict=True))
    near = TOLERANCE * np.array([spread[line.number] for line in lines])
    return {
        "number": _texts(line.number for line in lines),
        "category": _texts(line.category for line in lines),
        "level": _texts(line.level for line in lines),
        "mean": _numbers(lines, "mean", near=near),
        "standard_error": _numbers(lines, "standard_error", near=near),
        "low": _numbers(lines, "low", near=near),
        "high": _numbers(lines, "high", near=near),
        "told": Series(np.array([line.is_told for line in lines], dtype=np.bool_)),
        **_limited(estimate, ((line.number,) for line in lines)),
    }


def _limited(estimate: Estimate, names: Iterable[tuple[str, ...]]) -> Table:
    """Return which lines have a column without a mean; nothing if cells were not limited."""
    if estimate.release.learned is None:
        return {}
    hidden = marks_of(estimate.release).limited_names
    return {"limited": Series(np.array([not hidden.isdisjoint(each) for each in names], np.bool_))}


def _marks(estimate: Estimate, lines: Sequence[Association]) -> Table:
    """Return which associations are marked, as far as there may be such."""
    marks = marks_of(estimate.release)
    each = [marks.of_association(line) for line in lines]
    limited, gaps = np.array(each, np.bool_).reshape(len(lines), 2).T.copy()
    return {
        **({} if estimate.release.learned is None else {"limited": Series(limited)}),
        **({} if marks.dependent is None else {"gaps": Series(gaps)}),
    }


def _gaps(estimate: Estimate, fdr: float) -> Table:
    lines = estimate.gaps(1.0).lines[:MOST_PAIRS]
    near = _ROUGH * np.array([max(abs(line.low), abs(line.high), 1e-300) for line in lines])
    return {
        "gaps_of": _texts(line.gaps_of for line in lines),
        "column": _texts(line.column for line in lines),
        "measure": _texts(line.measure for line in lines),
        "value": _numbers(lines, "value", near=near),
        "standard_error": _numbers(lines, "standard_error", near=near),
        "low": _numbers(lines, "low", near=near),
        "high": _numbers(lines, "high", near=near),
        "q_value": _q_values(lines),
        "found": Series(np.array([line.q_value <= fdr for line in lines], dtype=np.bool_)),
        "level": _texts(line.level or "" for line in lines),
        "level_is": _texts(line.level_is or "" for line in lines),
        "pooled": _texts(_JOINED.join(line.pooled) for line in lines),
        **_limited(estimate, ((line.column,) if line.limited else () for line in lines)),
    }


CATEGORY_TABLES: dict[str, Callable[[Estimate, float], Table]] = {
    "categories": _categories,
    "associations": _associations,
    "group_means": _group_means,
    "gaps": _gaps,
}
"""These tables, by name."""


def _texts(names: Iterable[str]) -> Series:
    return Series([text_of(name) for name in names])


def _numbers(lines: Sequence[Any], name: str, near: Any = TOLERANCE) -> Series:
    return Series(np.array([getattr(line, name) for line in lines], dtype=np.float64), near)


def _q_values(lines: Sequence[Any]) -> Series:
    values = np.array([line.q_value for line in lines], dtype=np.float64)
    return Series(values, _ROUGH * values + 1e-300)
