"""What a release of pairs does not answer, and why.

Owns the sentence. Components, factors and the reliability of a sum are functions of all
covariances of their columns, and a release of pairs has the strongest ones only.
"""

from __future__ import annotations

from typing import NoReturn

from dpcov.errors import ParameterError

__all__ = ["Unanswered"]


class Unanswered:
    """Questions to a release of pairs that need all second moments."""

    def components(self, *_: object, **__: object) -> NoReturn:
        """Refuse: principal components need all covariances."""
        _refuse("Principal components")

    def factors(self, *_: object, **__: object) -> NoReturn:
        """Refuse: a factor analysis needs all covariances."""
        _refuse("Factors")

    def reliability(self, *_: object, **__: object) -> NoReturn:
        """Refuse: the reliability of a sum needs all covariances of its items."""
        _refuse("α and ω")


def _refuse(what: str) -> NoReturn:
    raise ParameterError(
        f"{what} need all covariances of their columns, and a release of pairs has the strongest "
        "only: make a release of all second moments, with dpcov.release."
    )
