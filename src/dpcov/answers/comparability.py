"""What two releases have in common, and what of it can be compared.

Owns the refusals. A difference means something if both numbers are of the same thing: the same
column, with the same levels, rows that count alike, and limits that do not decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.answers.compared import Compared
from dpcov.answers.limit_effects import LimitEffects, limit_effects
from dpcov.columns.design import Design
from dpcov.columns.missing import Missing
from dpcov.columns.stated import did_you_mean
from dpcov.digits import quoted
from dpcov.errors import ParameterError
from dpcov.releases import Release
from dpcov.releases.saturation import is_saturated

__all__ = ["LeftOut", "Shared", "share_columns"]

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]

_OTHER_UNITS = 20.0
"""Standard deviations that differ by so much are hardly in the same units."""


class LeftOut(NamedTuple):
    """A column that is not compared, and why."""

    column: str
    why: str

    @property
    def in_words(self) -> str:
        """The reason, as a sentence."""
        return f"{quoted(self.column)} is left out: {self.why}."


@dataclass(frozen=True, eq=False)
class Shared:
    """The columns that two releases are compared by.

    Parameters
    ----------
    columns : tuple of str
        The names of their values: of numbers, and column=level for categories.
    first, second : Compared
        Their numbers in both releases, in this order.
    is_number : ndarray of bool
        Which are numbers, and not levels.
    field_of : ndarray of int
        For each value, which column of the table it is of.
    limits : LimitEffects
        How far limits alone may make them differ.
    left_out : tuple of LeftOut
        Columns that are not compared, and why.
    notes : tuple of str
        What to know of the two releases.
    """

    columns: tuple[str, ...]
    first: Compared
    second: Compared
    is_number: Mask
    field_of: Places
    limits: LimitEffects
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]


def share_columns(
    first: Release, second: object, columns: Sequence[str] | None, about: str
) -> Shared:
    """Return what two releases can be compared by, or refuse with a sentence."""
    other = _check_releases(first, second)
    left_out = list(_other_columns(first, other, columns))
    dropped = {each.column for each in left_out}
    wanted = _named(first, other, columns)
    names = [
        name
        for name, field in zip(first.columns, first.design.field_of.tolist(), strict=True)
        if (column := first.design.fields[field].name) not in dropped and column in wanted
    ]
    if not names:
        reason = left_out[0].in_words if left_out else "No column has the same name in both."
        raise ParameterError(f"There is nothing to compare. {reason}")
    one, two = (Compared.of(each, _places(each.design, names), about) for each in (first, other))
    effects = limit_effects(one, two)
    left_out += _limited(first.design, one.places, effects)
    keep = np.flatnonzero(~effects.forbid)
    if not len(keep):
        raise ParameterError(f"There is nothing to compare. {left_out[-1].in_words}")
    one, two = (Compared(each.release, each.places[keep], each.noise) for each in (one, two))
    effects = limit_effects(one, two)
    is_number = first.design.is_number[one.places]
    return Shared(
        columns=tuple(names[place] for place in keep.tolist()),
        first=one,
        second=two,
        is_number=is_number,
        field_of=first.design.field_of[one.places].astype(np.intp),
        limits=effects,
        left_out=tuple(left_out),
        notes=tuple(_notes(one, two, is_number)),
    )


def _check_releases(first: object, second: object) -> Release:
    """Refuse what cannot be compared as a whole."""
    if not (isinstance(first, Release) and isinstance(second, Release)):
        raise ParameterError(
            "A release is compared with another one of all second moments, as dpcov.release makes "
            "it. Of the strongest pairs, dpcov.plot.compare shows correlations that differ."
        )
    if first == second:
        raise ParameterError("Both are the same release: there is nothing to compare.")
    if (first.weights is None) != (second.weights is None):
        raise ParameterError(
            "The rows of one release have weights and those of the other have not, so they stand "
            "for other people: release both with weights, or both without."
        )
    rules = {first.provenance.missing, second.provenance.missing}
    # A table whose gaps are refused has none.
    if Missing.COMPLETE in rules and len(rules) > 1:
        raise ParameterError(
            "One release is about complete rows alone, and the other about all: release both with "
            "the same missing=."
        )
    if Missing.CENTER in rules and len(rules) > 1:
        raise ParameterError(
            "Missing cells were read as the center in one release and not in the other: release "
            "both with the same missing=, best 'pairwise'."
        )
    if first.has_mean != second.has_mean:
        raise ParameterError(
            "One release has covariances about its mean, and the other about stated centers: "
            "they are different numbers."
        )
    made = [(each.provenance.row_norm, each.units) for each in (first, second)]
    if made[0] != made[1] and any(map(is_saturated, (first, second))):
        raise ParameterError(
            "Nearly all rows of a release were clipped to its row norm, and the other has another "
            "one: state the same larger row_norm= for both, or none, to have it learned."
        )
    return second


def _named(first: Release, second: Release, columns: Sequence[str] | None) -> set[str]:
    """Return the columns of the tables that are asked for, by their names or those of a level."""
    designs = (first.design, second.design)
    if columns is None:
        return {field.name for field in designs[0].fields}
    if isinstance(columns, str):
        raise ParameterError("columns are a list of names: put the one name into a list.")
    found = set()
    for name in columns:
        known = [_fields_by_name(design) for design in designs]
        missing = [place for place, names in enumerate(known) if name not in names]
        if len(missing) == len(known):
            hint = did_you_mean(str(name), list(known[0] | known[1]))
            raise ParameterError(f"There is no column {quoted(str(name))}{hint} in either release.")
        found.add((known[0] | known[1])[name])
    return found


def _fields_by_name(design: Design) -> dict[str, str]:
    fields = [design.fields[place].name for place in design.field_of.tolist()]
    return dict(zip(design.names, fields, strict=True)) | {name: name for name in fields}


def _other_columns(
    first: Release, second: Release, columns: Sequence[str] | None
) -> Iterator[LeftOut]:
    """Yield columns that are not in both, or not of the same kind."""
    wanted = _named(first, second, columns)
    here, there = ({field.name: field for field in each.design.fields} for each in (first, second))
    for name in dict.fromkeys((*here, *there)):
        if columns is not None and name not in wanted:
            continue
        one, other = here.get(name), there.get(name)
        if one is None or other is None:
            yield LeftOut(name, f"only the {'second' if one is None else 'first'} release has it")
        elif (one.levels is None) != (other.levels is None):
            yield LeftOut(name, "it is a category in one release and a number in the other")
        elif one.levels is not None and set(one.levels) != set(other.levels or ()):
            yield LeftOut(name, "its levels differ: state the same levels for both")
        elif not first.has_mean and _center(first, name) != _center(second, name):
            yield LeftOut(name, "covariances are about another stated center")


def _center(release: Release, name: str) -> float:
    return float(release.units.center[release.columns.index(name)])


def _limited(design: Design, places: Places, effects: LimitEffects) -> Iterator[LeftOut]:
    """Yield columns whose limits are too different."""
    for place in places[effects.forbid].tolist():
        yield LeftOut(
            design.fields[int(design.field_of[place])].name,
            "the two releases limit its cells to limits so different that they alone may change "
            "its standard deviation by a tenth or more; state the same center and scale for both",
        )


def _notes(first: Compared, second: Compared, is_number: Mask) -> Iterator[str]:
    releases = first.release, second.release
    rehearsed = [word for word, each in zip(_ORDER, releases, strict=True) if each.simulated]
    if rehearsed:
        which = f"The {rehearsed[0]} release is a simulation" if len(rehearsed) == 1 else ""
        yield f"{which or 'Both releases are simulations'} with a seed. Nothing is promised."
    rows = [each.provenance.rows_per_unit for each in releases]
    if rows[0] != rows[1]:
        yield (
            f"The first release counts up to {rows[0]} rows of each person and the second up to "
            f"{rows[1]}: people with many rows do not weigh alike."
        )
    ratio = np.abs(np.log(second.deviations.values / first.deviations.values))
    told = first.deviations.told & second.deviations.told & is_number
    for place in np.flatnonzero(told & (ratio > np.log(_OTHER_UNITS))).tolist():
        name = first.release.columns[first.places[place]]
        yield (
            f"The standard deviations of {quoted(name)} differ by a factor of "
            f"{np.exp(ratio[place]):,.0f}: are both in the same units?"
        )


_ORDER = ("first", "second")


def _places(design: Design, names: Sequence[str]) -> Places:
    order = {name: place for place, name in enumerate(design.names)}
    return np.array([order[name] for name in names], dtype=np.intp)
