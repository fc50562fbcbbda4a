"""Columns: what is known of the columns that a release uses, without looking at the data.

Owns the list: names, patterns, and facts that hold for all. Nothing in it is ever read from a
table.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.column import Column
from dpcov.columns.patterns import expand, is_pattern
from dpcov.columns.stated import column_of, with_defaults
from dpcov.columns.units import Units
from dpcov.errors import ParameterError

__all__ = ["Column", "Columns"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """Public facts of the columns that a release uses, in their order.

    Parameters
    ----------
    facts : sequence of Column
        At least one. Columns of a table that are not among them are not read. A name with ``*``
        or ``?`` is a pattern: it stands for the columns of a table that it matches, in the
        table's order, and that are not named themselves.
    is_about_all : bool, default False
        The facts are about all columns, and name none: identifiers are left out all the same.

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
    is_about_all: bool = False

    def __init__(self, facts: Iterable[Column], *, is_about_all: bool = False) -> None:
        listed = tuple(facts)
        if not listed or not all(isinstance(column, Column) for column in listed):
            raise ParameterError("Columns needs at least one dpcov.Column.")
        twice = [
            name for name, count in Counter(column.name for column in listed).items() if count > 1
        ]
        if twice:
            raise ParameterError(f"Column {twice[0]!r} is stated twice.")
        object.__setattr__(self, "facts", listed)
        object.__setattr__(self, "is_about_all", is_about_all)

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
    def from_mapping(
        cls,
        facts: Mapping[str, Mapping[str, Any] | Sequence[Any]] | None,
        *,
        defaults: Mapping[str, Any] | None = None,
    ) -> Columns:
        """Return the columns of a mapping from names to facts.

        The facts of a column are a mapping, empty if nothing is known, or short: a pair of
        bounds, of which either may be None or infinite. `defaults` are facts of every column that
        does not state its own: of a column with levels only those about missing cells. With no
        mapping, None, they are all that is stated of all columns.

        Examples
        --------
        >>> facts = {"age": (18, 110), "income": (0, None), "sex": {"levels": ["f", "m"]}}
        >>> columns = Columns.from_mapping(facts, defaults={"missing": [-9]})
        >>> columns.names
        ('age', 'income', 'sex')
        >>> columns.facts[0]
        Column('age', lower=18.0, upper=110.0, missing=(-9.0,))
        """
        if facts is None:
            return cls([column_of("*", with_defaults("*", {}, defaults))], is_about_all=True)
        if not isinstance(facts, Mapping):
            raise ParameterError("columns must be a mapping from names to facts.")
        return cls(
            [column_of(name, with_defaults(name, own, defaults)) for name, own in facts.items()]
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in order."""
        return tuple(column.name for column in self.facts)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The names that may be patterns."""
        return tuple(filter(is_pattern, self.names))

    @property
    def categories(self) -> tuple[str, ...]:
        """The names of the columns that are stated to be categories."""
        return tuple(column.name for column in self.facts if column.is_category)

    def resolve(self, labels: Sequence[str]) -> Columns:
        """Return the columns with each pattern replaced by the labels that it matches.

        Examples
        --------
        >>> columns = Columns.from_mapping({"A*": (1, 6), "age": (0, 110)})
        >>> columns.resolve(["id", "A1", "A2", "age"]).names
        ('A1', 'A2', 'age')
        """
        if not self.patterns:
            return self
        found = expand(self.names, labels)
        by_name = {column.name: column for column in self.facts}
        facts: dict[str, Column] = {}
        for label, sources in found.items():
            column, *others = (replace(by_name[name], name=label) for name in sources)
            if any(other != column for other in others):
                raise ParameterError(
                    f"The patterns {', '.join(map(repr, sources))} match the same column and state "
                    "different facts. Name the column itself, or narrow a pattern."
                )
            facts[label] = column
        return Columns(facts.values())

    @property
    def units(self) -> Units:
        """Centers and scales where nothing is learned; 0 and 1 where nothing is known."""
        return Units(
            np.array([column.working_center for column in self.facts], dtype=np.float64),
            np.array([column.working_scale for column in self.facts], dtype=np.float64),
        )

    def check_named(self, why: str) -> None:
        """Refuse patterns, where there is no table with names that they could match."""
        if self.patterns:
            raise ParameterError(
                f"{self.patterns[0]!r} is a pattern of names, and {why} has no table to look them "
                "up in. State the names of all columns."
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
        lower, upper = zip(*(column.limits for column in self.facts), strict=True)
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
