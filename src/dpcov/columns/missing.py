"""The rule for missing cells: what a caller may state, under one type."""

from __future__ import annotations

from enum import Enum

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

    REFUSE = "refuse"
    CENTER = "center"

    @classmethod
    def parse(cls, value: object) -> Missing:
        """Return the rule that `value` names, or refuse with the list of names."""
        return check_member("missing", value, cls)

    # Texts and files show the word; versions of Python differ in what they would show.
    __str__ = str.__str__
