"""The rule for missing cells: what a caller may state, under one type."""

from __future__ import annotations

from enum import Enum

from dpcov.errors import ParameterError
from dpcov.parameters import check_member

__all__ = ["Missing"]


class Missing(str, Enum):
    """What is done with missing and infinite cells.

    Examples
    --------
    >>> Missing.parse("center")
    <Missing.CENTER: 'center'>
    >>> print(Missing.REFUSE)
    refuse
    """

    PAIRWISE = "pairwise"
    """Each pair of columns by the rows in which both cells are there."""
    COMPLETE = "complete"
    """The rows in which every cell is there; others count as empty rows."""
    REFUSE = "refuse"
    CENTER = "center"

    @classmethod
    def parse(cls, value: object) -> Missing:
        """Return the rule that `value` names, or refuse with the list of names."""
        return check_member("missing", value, cls)

    @classmethod
    def parse_for_rows(cls, value: object) -> Missing:
        """Return the rule, where a row must do without a word on which of its cells are there."""
        rule = cls.parse(value)
        if rule in (cls.PAIRWISE, cls.COMPLETE):
            raise ParameterError(
                f"missing={rule.value!r} is for dpcov.release, which releases how many cells or "
                "rows there are. Here it must be 'refuse' or 'center'."
            )
        return rule

    # Texts and files show the word; versions of Python differ in what they would show.
    __str__ = str.__str__
