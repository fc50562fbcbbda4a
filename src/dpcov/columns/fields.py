"""Fields: what the columns of a block of rows are, once a table was opened.

Owns the public description that goes with blocks, made of types, schemas and stated facts. Cells
have no part in it.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpcov.columns.facts import Column

__all__ = ["Field"]


@dataclass(frozen=True)
class Field:
    """What a column of blocks is: a number, or a category.

    The cells of a category are 0, 1, … in the order of its levels.

    Parameters
    ----------
    name : str
        The name of the column.
    levels : tuple of str, optional
        The names of the levels of a category; None for a number.
    may_be_missing : bool
        Whether cells may be missing, by public facts: the type, the schema, what is stated.
    facts : Column, optional
        The public facts: what is stated, with what follows from the type of the column.

    Examples
    --------
    >>> Field("sex", levels=("f", "m")).is_category
    True
    """

    name: str
    levels: tuple[str, ...] | None = None
    may_be_missing: bool = True
    facts: Column | None = None

    @classmethod
    def of(cls, column: Column, *, may_be_missing: bool = True) -> Field:
        """Return what stated facts make of a column whose type has no more to say.

        Examples
        --------
        >>> Field.of(Column("sex", levels=["f", "m"])).levels
        ('f', 'm')
        """
        levels = column.level_names if column.is_category else None
        return cls(column.name, levels, may_be_missing, column)

    @property
    def is_category(self) -> bool:
        """Whether cells are numbers of levels."""
        return self.levels is not None
