"""Which promises differences of rows keep.

Owns the rule and its refusals, which need no row, and the draw of the pairing. The differences
themselves are `sensitive.tables.differences`.
"""

from __future__ import annotations

from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.privacy import Neighbors

__all__ = ["check_differences", "draw_pairing"]


def check_differences(neighbors: Neighbors, *, rows_per_unit: int = 1) -> None:
    """Refuse what differences of rows do not keep.

    Notes
    -----
    Claim P19. Every row is in one difference at most, so replacing one person's only row
    changes one term.
    """
    if neighbors is not Neighbors.REPLACE:
        raise ParameterError(
            "Differences of rows need neighbors='replace': removing a row would pair all later "
            "rows anew. Let centers be learned, state center=, or use replace-one neighbors."
        )
    if rows_per_unit > 1:
        raise ParameterError(
            "Several rows of a privacy unit and differences of rows do not go together: a person "
            "would be in several differences. Let centers be learned, or state center=."
        )


def draw_pairing(stream: RandomStream, neighbors: Neighbors, rows_per_unit: int) -> int:
    """Return the seed of a pairing for a promise that differences keep."""
    check_differences(neighbors, rows_per_unit=rows_per_unit)
    return stream.spare_word()
