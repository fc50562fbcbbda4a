"""What a card says of categories: with which other columns they go, in numbers and a sentence.

Owns these words. Related means the same as for pairs of numbers: to be on the list, that of all
pairs of columns with a category, at the false discovery rate that the card states.
"""

from __future__ import annotations

import math
from typing import Any

from dpcov.digits import percent, quoted
from dpcov.postprocess import TOO_NOISY, AnyEstimate
from dpcov.postprocess.association import CRAMER, Association
from dpcov.postprocess.estimate import Estimate
from dpcov.postprocess.suppression import marks_of

__all__ = ["BUT_HIDDEN", "describe_associations", "is_association_told", "strength_of"]

BUT_HIDDEN = ", marked ones left out"
"""What is said where pairs are left out that may be far from what they stand for."""
_STRONGEST = 3
_WIDEST = 0.75  # of an interval that says something
_MEASURES = (
    "η² is the share of a number's variance that a category explains; Cramér's V of two "
    "categories is 0 if they are unrelated and 1 if one follows from the other."
)


def describe_associations(estimate: AnyEstimate, fdr: float) -> dict[str, Any] | None:
    """Return which columns go with categories; None if there are no pairs with a category."""
    if not isinstance(estimate, Estimate):
        return None
    listed = estimate.categories.associations()
    if not len(listed):
        return None
    related = [line for line in listed if line.q_value <= fdr]
    # What is marked may be far from what it stands for, and makes no headline.
    marks = marks_of(estimate.release)
    unmarked = [line for line in related if not any(marks.of_association(line))]
    told = [line for line in unmarked if is_association_told(line)]
    strongest = sorted(told, key=strength_of, reverse=True)[:_STRONGEST]
    untold = sum(not is_association_told(line) for line in listed)
    return {
        "number": len(related),
        "n_pairs": len(listed),
        "too_noisy": untold,
        "strongest": [_facts(line) for line in strongest],
        "in_words": _in_words(
            f"a false discovery rate of {percent(fdr)}",
            related,
            len(listed),
            strongest,
            len(unmarked) < len(related),
        )
        + _untold_in_words(untold, len(listed)),
    }


def is_association_told(line: Association) -> bool:
    """Return whether enough stands out of the noise to say how strong it is.

    An interval that is three quarters of all that is possible says nothing, as with correlations.
    """
    return not math.isnan(line.value) and line.high - line.low < _WIDEST


def strength_of(line: Association) -> float:
    """Return how strong an association is for sure, as a correlation: η² is the square of one."""
    return line.low if line.measure == CRAMER else math.sqrt(line.low)


def _facts(line: Association) -> dict[str, Any]:
    named = {"first": line.first, "second": line.second, "measure": line.measure}
    numbers = ("value", "low", "high", "q_value")
    return named | {name: float(getattr(line, name)) for name in numbers}


def _in_words(
    rate: str,
    related: list[Association],
    n_pairs: int,
    strongest: list[Association],
    left_out: bool,
) -> list[str]:
    if not related:
        return [
            f"No pair of columns with a category is related at {rate}. That is not evidence that "
            "none is."
        ]
    number, pairs = len(related), f"pair{'s' * (n_pairs > 1)}"
    named = "; ".join(_named(line) for line in strongest)
    which = "associations" if len(strongest) > 1 else "association"
    intervals = "95 % intervals" if len(strongest) > 1 else "its 95 % interval"
    found = (
        f"{number:,} of {n_pairs:,} {pairs} of columns with a category "
        f"{'is' if number == 1 else 'are'} related at {rate}."
    )
    if not strongest:
        return [found]
    but = BUT_HIDDEN if left_out else ""
    return [found, f"The strongest {which}{but}, with {intervals}: {named}. {_MEASURES}"]


def _untold_in_words(untold: int, n_pairs: int) -> list[str]:
    if not untold:
        return []
    return [
        f"The strength of the association is {TOO_NOISY} for {untold:,} of the {n_pairs:,} "
        f"pair{'s' * (n_pairs > 1)}, related or not: that two columns are related can be seen "
        "sooner than how strongly."
    ]


def _named(line: Association) -> str:
    shown = line._replace(first=quoted(line.first), second=quoted(line.second), pooled=())
    return shown.in_words
