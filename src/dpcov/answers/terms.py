"""Names of an answer → places in a release.

Owns what a name may stand for: a number, a level of a category (``sex=f``), or a category as a
whole, which becomes contrasts of its levels with one of them. What does not go together is
refused here, before anything is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.columns.stated import did_you_mean
from dpcov.errors import ParameterError

__all__ = ["Terms", "find_name", "find_place", "read_columns", "read_terms"]

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Terms:
    """Columns of a release that something is computed from.

    Parameters
    ----------
    names : tuple of str
        Their names, levels as column=level.
    places : ndarray of int
        Where they are in the release.
    references : dict
        For each category that was named as a whole, the level that the others are compared with.
    left_out : tuple of str
        Those that were named as well, and are lost in noise.
    """

    names: tuple[str, ...]
    places: Places
    references: dict[str, str]
    left_out: tuple[str, ...] = ()

    def only(self, chosen: npt.NDArray[np.bool_]) -> Terms:
        """Return some of them, with the others left out."""
        names = list(zip(self.names, chosen.tolist(), strict=True))
        return replace(
            self,
            names=tuple(name for name, is_in in names if is_in),
            places=self.places[chosen],
            left_out=(*self.left_out, *(name for name, is_in in names if not is_in)),
        )


def find_place(design: Design, name: str) -> int:
    """Return the place of a value; a category as a whole has none."""
    if not isinstance(name, str):
        raise ParameterError("A column is called by its name, which is a text.")
    if name in design.names:
        return design.names.index(name)
    fields = {field.name: field for field in design.fields}
    if name in fields:
        levels = fields[name].levels or ()
        raise ParameterError(
            f"{name!r} is a category: name one of its levels, such as {f'{name}={levels[0]}'!r}."
        )
    raise ParameterError(_unknown(design, name))


def find_name(names: Sequence[str], name: str) -> int:
    """Return the place of a name among those of an answer."""
    if name not in names:
        close = did_you_mean(name, names) if isinstance(name, str) else ""
        raise ParameterError(f"There is no column {name!r} in this answer{close}.")
    return list(names).index(name)


def read_terms(
    design: Design, names: Sequence[str], *, references: Mapping[str, str] | None = None
) -> Terms:
    """Return the columns that are named, with categories taken apart.

    The levels of a category are compared with the first of them, unless another is stated.
    """
    if isinstance(names, str):
        raise ParameterError("Columns are a list of names: put the one name into a list.")
    references = _check_references(design, dict(references or {}), names)
    fields = {field.name: field for field in design.fields}
    found: list[str] = []
    compared: dict[str, str] = {}
    for name in names:
        levels = fields[name].levels if isinstance(name, str) and name in fields else None
        if levels is None:
            found.append(design.names[find_place(design, name)])
            continue
        compared[name] = references.get(name, levels[0])
        found += [f"{name}={level}" for level in levels if level != compared[name]]
    if len(set(found)) != len(found):
        raise ParameterError("A column is named twice.")
    _refuse_whole_groups(design, found)
    places = np.array([design.names.index(name) for name in found], dtype=np.intp)
    return Terms(tuple(found), places, compared)


def read_columns(
    design: Design,
    names: Sequence[str] | None,
    *,
    fewest: int,
    references: Mapping[str, str] | None = None,
) -> Terms:
    """Return the columns that are named, or all; refuse fewer than an answer needs."""
    chosen = [field.name for field in design.fields] if names is None else names
    terms = read_terms(design, chosen, references=references)
    if len(terms.places) < fewest:
        raise ParameterError(
            f"This needs at least {fewest} columns, levels of categories counted without the one "
            f"that they are compared with; got {len(terms.places)}."
        )
    return terms


def _check_references(
    design: Design, references: dict[str, str], names: Iterable[str]
) -> dict[str, str]:
    levels = {field.name: field.levels for field in design.fields if field.levels}
    for name, level in references.items():
        if name not in levels or name not in names:
            raise ParameterError(
                f"{name!r} has a reference, and is not among the categories that are named."
            )
        if level not in levels[name]:
            listed = ", ".join(map(repr, levels[name][:5]))
            raise ParameterError(f"{name!r} has no level {level!r}: it has {listed}.")
    return references


def _refuse_whole_groups(design: Design, found: Sequence[str]) -> None:
    for group in design.groups:
        if set(design.names[group]) <= set(found):
            field = design.fields[int(design.field_of[group.start])].name
            raise ParameterError(
                f"All levels of {field!r} are named, and they add up to one in every row: name "
                f"{field!r} itself, which compares them with one of them, or leave one out."
            )


def _unknown(design: Design, name: str) -> str:
    known = list(dict.fromkeys((*design.names, *(field.name for field in design.fields))))
    return f"There is no column {name!r}{did_you_mean(name, known)}: see release.columns."
