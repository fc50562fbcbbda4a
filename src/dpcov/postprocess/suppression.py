"""Which numbers are marked, and why: the one decision that all views ask.

A number is marked where the release itself shows that it may be far from what a reader takes it
for, by more than its interval says. There are two reasons. The tails of a column are cut or its
range is guessed (`dpcov.releases.tails`). Or the gaps of one column go with the other: the
covariance of a pair is that of the rows in which both cells are there, the standard deviations are
those of all cells of each column, and these rows are then others. Evidence is the covariance of a
column with the indicator of another's cells, so only gaps are seen that go with its level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from dpcov.digits import name_some
from dpcov.postprocess.association import CRAMER, Association
from dpcov.postprocess.gaps import columns_with_gaps, find_dependent
from dpcov.releases import AnyRelease, Release
from dpcov.releases.pairwise import Pairwise
from dpcov.releases.tails import withheld

__all__ = ["Marks", "marks_of"]

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Marks:
    """What is marked in a release, by the places of its columns, levels of categories included.

    Parameters
    ----------
    columns : tuple of str
        Their names.
    categories : dict of str to int
        The place of the first level of each category.
    limited : ndarray of bool
        Columns whose tails are cut, or may be.
    dependent : ndarray of bool, or None
        Pairs of columns of which the gaps of one go with the other: a symmetric matrix. None if no
        missing cells are seen.
    """

    columns: tuple[str, ...]
    categories: dict[str, int]
    limited: Mask
    dependent: Mask | None

    @cached_property
    def limited_names(self) -> frozenset[str]:
        """The names of the columns whose tails are cut, or may be."""
        return frozenset(self.columns[place] for place in np.flatnonzero(self.limited).tolist())

    def limited_pairs(self, first: Places, second: Places) -> Mask:
        """Return which pairs have such a column."""
        return np.asarray(self.limited[first] | self.limited[second])

    def dependent_pairs(self, first: Places, second: Places) -> Mask:
        """Return of which pairs the gaps of one column go with the other."""
        if self.dependent is None:
            return np.zeros(len(first), dtype=np.bool_)
        return np.asarray(self.dependent[first, second])

    def of_association(self, line: Association) -> tuple[bool, bool]:
        """Return whether an association with a category is marked for tails, and for gaps.

        V is that of the rows with both cells; eta squared divides by the variance of all cells.
        """
        names = line.first, line.second
        limited = not self.limited_names.isdisjoint(names)
        if self.dependent is None or line.measure == CRAMER:
            return limited, False
        first, second = (self._places[name] for name in names)
        return limited, bool(self.dependent[first, second])

    def touched(self, names: Sequence[str]) -> Mask:
        """Return which of these columns are in a dependent pair with another of them."""
        if self.dependent is None:
            return np.zeros(len(names), dtype=np.bool_)
        places = [self._places[name] for name in names]
        return np.asarray(self.dependent[np.ix_(places, places)].any(axis=1))

    def dependent_names(self, names: Sequence[str]) -> list[str]:
        """Return the dependent pairs among some columns, in words."""
        if self.dependent is None:
            return []
        places = sorted({self._places[name] for name in names})
        pairs = np.argwhere(np.triu(self.dependent[np.ix_(places, places)])).tolist()
        return [
            " with ".join(repr(self.columns[places[place]]) for place in pair) for pair in pairs
        ]

    def sentences(self, names: Sequence[str]) -> list[str]:
        """Return what to know of an answer that rests on these columns."""
        said, cut = [], [repr(name) for name in names if name in self.limited_names]
        if cut:
            said.append(
                f"More than 1 % of the cells of {name_some(cut)} lie beyond, or may lie beyond "
                "limits that are guessed: what holds for the whole cells may be far from this."
            )
        pairs = self.dependent_names(names)
        if pairs:
            said.append(
                f"Whether cells are missing goes with other columns: {name_some(pairs)}. What the "
                "rows with all these cells would say may lie outside of the intervals. A release "
                'with missing="complete" is about these rows.'
            )
        return said

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.columns)} | self.categories


# Pairs, tables, page and pictures ask for the same; it lives as long as the moments of a release.
_found: WeakKeyDictionary[Pairwise, Mask | None] = WeakKeyDictionary()


def marks_of(release: AnyRelease) -> Marks:
    """Return what is marked in a release. It follows from what was released, so it is free.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 3))
    >>> rows[:, 1] += rows[:, 0]
    >>> rows[rows[:, 0] > 0.5, 1] = np.nan
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, seed=0)
    >>> marks_of(release).dependent_names(release.columns)
    ["'x0' with 'x1'"]
    """
    design = release.design
    limited = np.zeros(len(release.columns), dtype=np.bool_)
    limited[list(withheld(release))] = True
    limited.setflags(write=False)
    starts = zip(design.fields, design.value_of.tolist(), strict=True)
    categories = {field.name: start for field, start in starts if field.levels is not None}
    dependent = None
    if isinstance(release, Release) and release.pairwise is not None:
        if release.pairwise not in _found:
            _found[release.pairwise] = _dependent(release)
        dependent = _found[release.pairwise]
    return Marks(release.columns, categories, limited, dependent)


def _dependent(release: Release) -> Mask | None:
    if not columns_with_gaps(release):
        return None
    of = release.design.field_of
    fields = np.zeros((len(release.design.fields),) * 2, dtype=np.bool_)
    for pair in find_dependent(release):
        fields[pair] = fields[pair[::-1]] = True
    result = np.asarray(fields[np.ix_(of, of)])
    result.setflags(write=False)
    return result
