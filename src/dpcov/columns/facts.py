"""Columns: what is known of each column without looking at the data.

Owns the public facts and their refusals. Nothing in it is ever read from a table.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
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
    """The public facts of one column, in its own units.

    Parameters
    ----------
    name : str
        As in the table.
    lower, upper : float, optional
        Bounds, both or none. Cells beyond them are read as the bound.
    center, scale : float, optional
        Where its zero is put and what counts as one, such as a typical value and a typical
        deviation; both or none. By default the middle of the bounds and half their distance.

    Examples
    --------
    >>> age = Column("age", lower=0, upper=100)
    >>> age.center, age.scale
    (50.0, 50.0)
    """

    name: str
    lower: float | None = None
    upper: float | None = None
    center: float | None = None
    scale: float | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        for fact in _FACTS:
            if getattr(self, fact) is not None:
                object.__setattr__(self, fact, self._checked(fact))
        if (self.lower is None) != (self.upper is None):
            raise ParameterError(f"Column {self.name!r} needs both lower and upper, or neither.")
        if (self.center is None) != (self.scale is None):
            raise ParameterError(f"Column {self.name!r} needs both center and scale, or neither.")
        if self.lower is not None and self.upper is not None:
            if not self.lower < self.upper:
                raise ParameterError(
                    f"Column {self.name!r} has lower = {self.lower:g} and upper = {self.upper:g}; "
                    "lower must be below upper, or nothing can vary between them."
                )
            if self.center is None:
                object.__setattr__(self, "center", (self.lower + self.upper) / 2)
                object.__setattr__(self, "scale", (self.upper - self.lower) / 2)
        if self.center is None:
            raise ParameterError(
                f"Column {self.name!r} states no facts: give lower and upper, or center and scale. "
                "They must come from knowledge, such as the questionnaire, and not from the data. "
                "Or delete the column from the list if it is not to be used."
            )

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds in working units; infinite if none are stated."""
        if self.lower is None or self.upper is None:
            return -math.inf, math.inf
        center, scale = float(self.center), float(self.scale)  # type: ignore[arg-type]
        return (self.lower - center) / scale, (self.upper - center) / scale

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
    def from_mapping(cls, facts: Mapping[str, Mapping[str, Any]]) -> Columns:
        """Return the columns of a mapping from names to facts.

        Examples
        --------
        >>> Columns.from_mapping({"age": {"lower": 0, "upper": 100}}).names
        ('age',)
        """
        if not isinstance(facts, Mapping):
            raise ParameterError("columns must be a mapping from names to facts.")
        columns = []
        for name, stated in facts.items():
            if not isinstance(stated, Mapping):
                raise ParameterError(f"The facts of column {name!r} must be a mapping.")
            unknown = sorted(str(fact) for fact in stated if fact not in _FACTS)
            if unknown:
                raise ParameterError(
                    f"Column {name!r} has the unknown fact {unknown[0]!r}; known are "
                    f"{', '.join(_FACTS)}."
                )
            columns.append(Column(name, **stated))
        return cls(columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(column.name for column in self.facts)

    @property
    def units(self) -> Units:
        """Centers and scales."""
        return Units(
            np.array([column.center for column in self.facts], dtype=np.float64),
            np.array([column.scale for column in self.facts], dtype=np.float64),
        )

    @property
    def limits(self) -> tuple[Array, Array]:
        """Lower and upper bounds in working units; infinite where none are stated."""
        low, high = zip(*(column.limits for column in self.facts), strict=True)
        return np.array(low), np.array(high)

    @property
    def largest_norm(self) -> float | None:
        """The largest norm that a row within the bounds can have, in working units."""
        low, high = self.limits
        farthest = np.maximum(np.abs(low), np.abs(high))
        norm = math.sqrt(math.fsum(farthest**2)) * (1 + 2.0**-50)
        return norm if math.isfinite(norm) else None

    def __len__(self) -> int:
        return len(self.facts)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.facts)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise ParameterError("The name of a column must be a string.")
    if has_hidden_characters(name):
        raise ParameterError(
            "The name of a column has a line break, a control character, or is no valid Unicode "
            "text. Rename it."
        )
