"""Which columns of a release an answer about numbers is computed from.

Owns the choice: all columns that are numbers, or those that are named. Levels of categories must
be named one by one, since an answer about scales has little to say of them; columns that do not
vary, as far as can be seen, have no correlations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpcov.answers.terms import find_place
from dpcov.digits import name_some, quoted
from dpcov.errors import ParameterError
from dpcov.postprocess.correlations import stands_out
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.releases import Release

__all__ = ["choose_numbers"]

Places = npt.NDArray[np.intp]


def choose_numbers(
    release: Release,
    columns: Sequence[str] | None,
    *,
    least: int,
    what: str,
    varying: bool = True,
) -> Places:
    """Return the places of the columns that are named, or of all numbers that are seen to vary.

    `what` is the answer that needs at least so many of them, as the beginning of a sentence.
    Named columns that are not seen to vary are refused, if `varying`.
    """
    if not isinstance(release, Release):
        raise ParameterError(
            f"{what} from all covariances of their columns, and a release of pairs has the "
            "strongest only: make a release of all second moments, with dpcov.release."
        )
    varies = stands_out(NoiseModel.of(release))
    if columns is None:
        places = np.flatnonzero(release.design.is_number & varies)
    else:
        places = _named(release, columns)
        if varying:
            _refuse_constant(release, places[~varies[places]])
    if len(places) < least:
        raise ParameterError(
            f"{what} from at least {least} columns that are numbers and vary; got {len(places)}."
        )
    return places


def _named(release: Release, columns: Sequence[str]) -> Places:
    if isinstance(columns, str):
        raise ParameterError("columns is a list of names: put the one name into a list.")
    places = np.array([find_place(release.design, name) for name in columns], dtype=np.intp)
    for place in places[:-1]:
        if (places == place).sum() > 1:
            raise ParameterError(f"{quoted(release.columns[place])} is named twice.")
    for group in release.design.groups:
        if set(range(group.start, group.stop)) <= set(places.tolist()):
            field = release.design.fields[int(release.design.field_of[group.start])].name
            raise ParameterError(
                f"All levels of {quoted(field)} are named, and they add up to one in every row: "
                "leave one of them out."
            )
    return places


def _refuse_constant(release: Release, places: Places) -> None:
    if len(places):
        names = name_some(quoted(release.columns[place]) for place in places)
        raise ParameterError(
            f"The variance of {names} does not stand out of the noise, so that correlations with "
            "it cannot be told: leave it out."
        )
