"""The tables of components, their loadings, and partial correlations.

Owns their columns. All follow from the release, whatever estimate is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.postprocess import AnyEstimate
from dpcov.postprocess.suppression import marks_of
from dpcov.publication.series import TOLERANCE, Series, Table, text_of
from dpcov.publication.structure import components_of, partials_of

__all__ = ["STRUCTURE_TABLES", "structure_table"]

_ROUGH = 100 * TOLERANCE
"""Eigenvectors and inverses answer for more than one entry."""
_JOINED = "; "


def structure_table(name: str, estimate: AnyEstimate, fdr: float) -> Table:
    """Return one of these tables."""
    return STRUCTURE_TABLES[name](estimate, fdr)


def _components(estimate: AnyEstimate, fdr: float) -> Table:
    found = components_of(estimate)
    if found is None:
        raise TypeError("No component stands out.")
    values, count = found.eigenvalues, found.n_components
    low, high = values.interval()
    share_low, share_high = values.share_interval()
    alike = [""] * count
    for group in found.groups:
        for place in (place for place in group if place < count):
            alike[place] = _JOINED.join(f"C{other + 1}" for other in group if other != place)
    return {
        "component": Series(list(found.names)),
        "eigenvalue": _numbers(values.values),
        "standard_error": _numbers(values.standard_errors),
        "low": _numbers(low),
        "high": _numbers(high),
        "share": _numbers(values.shares),
        "share_low": _numbers(share_low),
        "share_high": _numbers(share_high),
        "released": _numbers(values.seen[:count]),
        "unrelated": _numbers(values.unrelated[:count]),
        "told": Series(np.array(found.told)),
        "alike": Series(alike),
        **_gaps(estimate, np.full(count, _touched(estimate, found.columns).any())),
    }


def _loadings(estimate: AnyEstimate, fdr: float) -> Table:
    found = components_of(estimate)
    if found is None or not found.told.any():
        raise TypeError("No loading is told.")
    told = np.flatnonzero(found.told)
    low, high = found.loading_interval()

    def listed(numbers: Any) -> Series:
        return _numbers(numbers[:, told].T.ravel())

    return {
        "component": Series([found.names[place] for place in told for _ in found.columns]),
        "column": Series([text_of(name) for _ in told for name in found.columns]),
        "loading": listed(found.loadings),
        "standard_error": listed(found.loading_errors),
        "low": listed(low),
        "high": listed(high),
        **_limited(estimate, np.tile(_hidden(estimate, found.columns), len(told))),
        **_gaps(estimate, np.tile(_touched(estimate, found.columns), len(told))),
    }


def _hidden(estimate: AnyEstimate, columns: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return of which columns no mean is shown."""
    return np.isin(columns, list(marks_of(estimate.release).limited_names))


def _touched(estimate: AnyEstimate, columns: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return which columns have gaps that go with another, or are such another."""
    return marks_of(estimate.release).touched(columns)


def _gaps(estimate: AnyEstimate, which: npt.NDArray[np.bool_]) -> Table:
    """Return which lines rest on such columns; nothing if no cells are seen to be missing."""
    seen = marks_of(estimate.release).dependent is not None
    return {"gaps": Series(which)} if seen else {}


def _limited(estimate: AnyEstimate, which: npt.NDArray[np.bool_]) -> Table:
    """Return which lines have such a column; nothing if cells were not limited."""
    learned = getattr(estimate.release, "learned", None)
    return {} if learned is None else {"limited": Series(which)}


def _partials(estimate: AnyEstimate, fdr: float) -> Table:
    found = partials_of(estimate, fdr)
    if found is None:
        raise TypeError("No pair is related given all others.")
    with_level = found.with_level
    order = np.lexsort((-np.abs(found.values), found.q_values, with_level))
    known = np.isfinite(found.standard_errors)
    names = np.array([text_of(name) for name in found.columns], dtype=object)
    q_values = found.q_values[order]

    def listed(numbers: Any) -> Series:
        return _numbers(np.where(known, numbers, np.nan)[order])

    table = {
        "first": Series(names[found.first[order]].tolist()),
        "second": Series(names[found.second[order]].tolist()),
        "partial_correlation": listed(found.values),
        "standard_error": listed(found.standard_errors),
        "low": listed(found.low),
        "high": listed(found.high),
        "q_value": Series(q_values, _ROUGH * q_values + 1e-300),
        "told": Series(found.told[order]),
        "related": Series(q_values <= fdr),
    }
    hidden = _hidden(estimate, found.columns)
    table |= _limited(estimate, (hidden[found.first] | hidden[found.second])[order])
    touched = _touched(estimate, found.columns)
    table |= _gaps(estimate, (touched[found.first] | touched[found.second])[order])
    if with_level.any():
        table["with_level"] = Series(with_level[order])
    return table


STRUCTURE_TABLES: dict[str, Callable[[AnyEstimate, float], Table]] = {
    "components": _components,
    "loadings": _loadings,
    "partial_correlations": _partials,
}
"""These tables, by name."""


def _numbers(values: Any) -> Series:
    array = np.array(values, dtype=np.float64)
    return Series(array, _ROUGH * np.maximum(np.abs(np.nan_to_num(array)), 1.0))
