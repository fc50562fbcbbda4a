"""What is to be exported: a release, some of its columns, and the words that go with them.

Owns which columns an export is about, and the sentences that stand in each of its files.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.answers.exports.legal_names import legal_names
from dpcov.answers.terms import read_terms
from dpcov.errors import ParameterError
from dpcov.postprocess.correlations import stands_out
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.releases import AnyRelease, Release
from dpcov.version import __version__

__all__ = ["Asked", "ask", "one_line"]

Places = npt.NDArray[np.intp]

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


@dataclass(frozen=True, eq=False)
class Asked:
    """Columns of a release that are to be exported, and how the release is cited, if stated."""

    release: AnyRelease
    places: Places
    citation: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, levels of categories as column=level."""
        return tuple(self.release.columns[place] for place in self.places.tolist())

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Names for the columns that every program takes, in the same order."""
        return legal_names(self.names)

    @property
    def moments(self) -> Release:
        """The release, which has all second moments: a format that needs them asks for it."""
        if not isinstance(self.release, Release):
            raise ParameterError(
                "A release of the strongest pairs has no whole matrix, which this format needs. "
                "Export it to 'r', or release all second moments of fewer columns."
            )
        return self.release

    def check_variances(self) -> None:
        """Refuse columns of which no model can be computed."""
        told = stands_out(NoiseModel.of(self.moments))[self.places]
        if not told.all():
            untold = [name for name, is_told in zip(self.names, told, strict=True) if not is_told]
            raise ParameterError(
                f"The variance of {untold[0]!r} does not stand out of the noise, so that nothing "
                "can be computed with it. Name the columns to export without it: columns=."
            )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What each file says of the release, one line each."""
        release = self.release
        cited = [f"Cite as: {self.citation}"] if self.citation else []
        lines = [
            f"Written by dpcov {__version__} from a release of {release.n_rows:,} rows and "
            f"{release.n_columns:,} columns.",
            *([] if release.simulated else [f"Promise: {release.promise}."]),
            release.promise.in_words,
            *cited,
        ]
        return tuple(map(one_line, lines))


def ask(release: AnyRelease, columns: Sequence[str] | None, *, citation: str = "") -> Asked:
    """Return what is to be exported; categories as contrasts with their first level."""
    if isinstance(release, Release):
        names = [field.name for field in release.design.fields] if columns is None else columns
        places = read_terms(release.design, names).places
    else:
        places = _places(release.columns, columns)
    if not len(places):
        raise ParameterError("Name at least one column to export.")
    return Asked(release, places, citation)


def one_line(text: str) -> str:
    r"""Return a text without line breaks, control characters and halves of characters.

    Examples
    --------
    >>> one_line("a name\nand more")
    'a name and more'
    """
    shown = (" " if unicodedata.category(each) in _HIDDEN else each for each in text)
    return " ".join("".join(shown).split())


def _places(known: Sequence[str], columns: Sequence[str] | None) -> Places:
    if columns is None:
        return np.arange(len(known))
    if isinstance(columns, str):
        raise ParameterError("Columns are a list of names: put the one name into a list.")
    places = {name: place for place, name in enumerate(known)}
    unknown = [name for name in columns if name not in places]
    if unknown:
        raise ParameterError(f"There is no column {unknown[0]!r}: see release.columns.")
    if len(set(columns)) != len(columns):
        raise ParameterError("A column is named twice.")
    return np.array([places[name] for name in columns], dtype=np.intp)
