"""Columns: what is known of each column without looking at the data.

Owns the public facts and their refusals. Nothing in it is ever read from a table.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.spelling import has_hidden_characters
from dpcov.columns.units import LARGEST_FACT, Units
from dpcov.errors import ParameterError
from dpcov.parameters import check_number

__all__ = ["Column", "Columns"]

_FACTS = ("lower", "upper", "center", "scale")

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Column:
    """The public facts of one column, in its own units: as many as are known.

    Parameters
    ----------
    name : str
        As in the table.
    lower, upper : float, optional
        Bounds. Cells beyond them are read as the bound. An infinite one says nothing.
    center, scale : float, optional
        A typical value, between the bounds, and a typical deviation.

    Examples
    --------
    >>> age = Column("age", lower=0, upper=100)
    >>> age.center is None, age.known_center, age.known_scale
    (True, 50.0, 50.0)
    >>> Column("income", lower=0, upper=float("inf"))
    Column(name='income', lower=0.0, upper=None, center=None, scale=None)
    """

    name: str
    lower: float | None = None
    upper: float | None = None
    center: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        for fact, nothing in (("lower", -math.inf), ("upper", math.inf)):
            value = getattr(self, fact)
            if isinstance(value, Real) and value == nothing:
                object.__setattr__(self, fact, None)
        for fact in _FACTS:
            if getattr(self, fact) is not None:
                object.__setattr__(self, fact, self._checked(fact))
        low = -math.inf if self.lower is None else self.lower
        high = math.inf if self.upper is None else self.upper
        if not low < high:
            raise ParameterError(
                f"Column {self.name!r} has lower = {low:g} and upper = {high:g}; lower must be "
                "below upper, or nothing can vary between them."
            )
        if self.center is not None and not low <= self.center <= high:
            raise ParameterError(
                f"Column {self.name!r} has center = {self.center:g}, which is not between its "
                "bounds."
            )

    @property
    def known_center(self) -> float | None:
        """The center as stated, or the middle of both bounds; None if neither is known."""
        if self.center is None and self.lower is not None and self.upper is not None:
            return (self.lower + self.upper) / 2
        return self.center

    @property
    def known_scale(self) -> float | None:
        """The scale as stated, or half the distance of both bounds; None if neither is known."""
        if self.scale is None and self.lower is not None and self.upper is not None:
            return max((self.upper - self.lower) / 2, 1 / LARGEST_FACT)
        return self.scale

    @property
    def working_center(self) -> float:
        """Where zero is put if nothing is learned: the center, else a bound, else 0."""
        known = (self.known_center, self.lower, self.upper, 0.0)
        return next(value for value in known if value is not None)

    @property
    def working_scale(self) -> float:
        """What counts as one if nothing is learned: the scale, else 1."""
        return 1.0 if self.known_scale is None else self.known_scale

    def _checked(self, fact: str) -> float:
        smallest = 1 / LARGEST_FACT if fact == "scale" else -LARGEST_FACT
        return check_number(
            f"{fact} of column {self.name!r}",
            getattr(self, fact),
            low=smallest,
            high=LARGEST_FACT,
            open_low=False,
            open_high=False,
        )


@dataclass(frozen=True)
class Columns:
    """Public facts of the columns that a release uses, in their order.

    Parameters
    ----------
    facts : sequence of Column
        At least one. Columns of a table that are not among them are not read.

    Examples
    --------
    >>> age = Column("age", lower=0, upper=100)
    >>> columns = Columns([age, Column("income", center=3e4, scale=2e4)])
    >>> columns.names
    ('age', 'income')
    >>> columns.largest_norm is None
    True
    """

    facts: tuple[Column, ...]

    def __init__(self, facts: Iterable[Column]) -> None:
        listed = tuple(facts)
        if not listed or not all(isinstance(column, Column) for column in listed):
            raise ParameterError("Columns needs at least one dpcov.Column.")
        twice = [
            name for name, count in Counter(column.name for column in listed).items() if count > 1
        ]
        if twice:
            raise ParameterError(f"Column {twice[0]!r} is stated twice.")
        object.__setattr__(self, "facts", listed)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Columns:
        """Read a ``.toml`` or ``.json`` file of facts; `dpcov columns` writes a template.

        It may have 16 MiB, enough for 50,000 columns, and is looked through for deep nesting
        before it is parsed.

        Raises
        ------
        ParameterError
            There is no such file, it is neither, too large or too deep, or a fact in it is
            impossible.
        """
        from dpcov.columns.text import read_columns

        return read_columns(path)

    @classmethod
    def from_mapping(cls, facts: Mapping[str, Mapping[str, Any] | Sequence[Any]]) -> Columns:
        """Return the columns of a mapping from names to facts.

        The facts of a column are a mapping, empty if nothing is known, or short: a pair of
        bounds, of which either may be None or infinite.

        Examples
        --------
        >>> columns = Columns.from_mapping({"age": (18, 110), "income": (0, None), "sex": {}})
        >>> columns.names
        ('age', 'income', 'sex')
        """
        if not isinstance(facts, Mapping):
            raise ParameterError("columns must be a mapping from names to facts.")
        return cls([_column_of(name, stated) for name, stated in facts.items()])

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(column.name for column in self.facts)

    @property
    def units(self) -> Units:
        """Centers and scales where nothing is learned; 0 and 1 where nothing is known."""
        return Units(
            np.array([column.working_center for column in self.facts], dtype=np.float64),
            np.array([column.working_scale for column in self.facts], dtype=np.float64),
        )

    def check_known(self, *facts: str) -> None:
        """Refuse a column whose center or scale is neither stated nor follows from its bounds.

        For what has no way to learn them.
        """
        for column in self.facts:
            for fact in facts:
                if getattr(column, f"known_{fact}") is None:
                    raise ParameterError(
                        f"Column {column.name!r} needs a {fact}: state {fact}, or lower and upper. "
                        "They must come from knowledge, such as the questionnaire, and not from "
                        "the data. Or delete the column from the list if it is not to be used."
                    )

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds in the columns' own units; infinite where none is stated."""
        lower = [-math.inf if column.lower is None else column.lower for column in self.facts]
        upper = [math.inf if column.upper is None else column.upper for column in self.facts]
        return np.array(lower), np.array(upper)

    @property
    def largest_norm(self) -> float | None:
        """The largest norm that a row within the bounds can have, in working units."""
        units = self.units
        low, high = (np.abs(bound - units.center) / units.scale for bound in self.bounds)
        norm = math.sqrt(math.fsum(np.maximum(low, high) ** 2)) * (1 + 2.0**-50)
        return norm if math.isfinite(norm) else None

    def __len__(self) -> int:
        return len(self.facts)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.facts)


def _column_of(name: str, stated: object) -> Column:
    if isinstance(stated, (list, tuple)):
        if len(stated) != 2:
            raise ParameterError(
                f"The facts of column {name!r} must be two bounds, lower and upper; got "
                f"{len(stated)} of them. One that is not known is None in Python, inf in a file."
            )
        return Column(name, *stated)
    if not isinstance(stated, Mapping):
        raise ParameterError(
            f"The facts of column {name!r} must be a mapping, or two bounds in brackets."
        )
    unknown = sorted(str(fact) for fact in stated if fact not in _FACTS)
    if unknown:
        raise ParameterError(
            f"Column {name!r} has the unknown fact {unknown[0]!r}; known are {', '.join(_FACTS)}."
        )
    return Column(name, **stated)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise ParameterError("The name of a column must be a string.")
    if has_hidden_characters(name):
        raise ParameterError(
            "The name of a column has a line break, a control character, or is no valid Unicode "
            "text. Rename it."
        )
