"""What a card says of what was found, and of what could not have been: in numbers and sentences.

Owns these words: the page, ``card.md``, the terminal and the registry entry repeat them. Related
means one thing: to be on the list at the false discovery rate that the card states.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.digits import (
    correlation_text,
    interval_text,
    name_some,
    percent,
    quoted,
)
from dpcov.postprocess import TOO_NOISY, AnyEstimate, Pairs
from dpcov.postprocess.estimate import Estimate
from dpcov.postprocess.visibility import Visibility, visibility_of
from dpcov.publication.card_associations import BUT_HIDDEN, describe_associations
from dpcov.publication.card_gaps import describe_gaps
from dpcov.publication.card_structure import describe_components, describe_partials

__all__ = ["describe_related", "describe_visibility", "strongest_of"]

_STRONGEST = 3
_STANDS_OUT = (
    "Correlations below {0:.2g} could hardly be seen: one of that size would have stood out with "
    "probability one half"
)

Places = npt.NDArray[np.intp]


def describe_related(estimate: AnyEstimate, fdr: float) -> dict[str, Any]:
    """Return which pairs are related: how many, the strongest, and how many are too noisy.

    Where there are categories, of the pairs of numbers. Pairs with a level are counted apart, and
    what goes with categories and with gaps has its own lists, at the same rate, and so have pairs
    given all other columns.
    """
    edges, known = estimate.edges(fdr), estimate.pairs()
    numbers, levels = edges.numbers.pairs, len(edges.levels)
    n_pairs, with_levels = _count_number_pairs(estimate), known.with_level
    strongest = strongest_of(numbers)[:_STRONGEST]
    untold = int((~known.told & ~with_levels).sum())
    return {
        "fdr": fdr,
        "number": len(numbers),
        "n_pairs": n_pairs,
        "n_released": int((~with_levels).sum()),
        "too_noisy": untold,
        "strongest": [_pair(numbers, int(place)) for place in strongest],
        "in_words": _in_words(estimate, numbers, strongest, fdr, untold),
        "levels": {
            "number": levels,
            "n_pairs": estimate.n_pairs - n_pairs,
            "too_noisy": int((~known.told & with_levels).sum()),
        }
        if estimate.n_pairs > n_pairs
        else None,
        "associations": describe_associations(estimate, fdr),
        "gaps": describe_gaps(estimate, fdr),
        "components": describe_components(estimate),
        "partial": describe_partials(estimate, fdr),
    }


def _count_number_pairs(estimate: AnyEstimate) -> int:
    """Return how many pairs of numbers there are: all pairs, if no column is a category."""
    if not isinstance(estimate, Estimate):
        return estimate.n_pairs
    return estimate.noise.n_number_pairs


def strongest_of(related: Pairs) -> Places:
    """Return the places of related pairs, those with the largest correlations first.

    Of equal ones, those that are surely large; none of which it is too noisy to tell how large, or
    which is marked: that of the whole cells, or of the rows with both, may be far from it.
    """
    surely = np.maximum(related.low, -related.high)  # the end of the interval nearer to zero
    order = np.lexsort((-surely, -np.abs(related.released)))
    return order[(related.told & ~related.limited & ~related.gaps)[order]]


def _pair(pairs: Pairs, place: int) -> dict[str, Any]:
    numbers = ("released", "low", "high", "q_value")
    return {
        "first": pairs.columns[pairs.first[place]],
        "second": pairs.columns[pairs.second[place]],
        **{name: float(getattr(pairs, name)[place]) for name in numbers},
    }


def _in_words(
    estimate: AnyEstimate, related: Pairs, strongest: Places, fdr: float, untold: int
) -> list[str]:
    n_pairs, rate = _count_number_pairs(estimate), percent(fdr)
    what = "columns" if n_pairs == estimate.n_pairs else "numbers"
    if not estimate.n_pairs:
        return ["There is one column, and so there are no pairs."]
    if not n_pairs:  # the list of categories says it all
        return []
    if not len(related):
        sentences = [
            f"No pair of {what} is related at a false discovery rate of {rate}. That is not "
            "evidence that none is."
        ]
    else:
        are = "is" if len(related) == 1 else "are"
        sentences = [
            f"{len(related):,} of {n_pairs:,} pair{'s' * (n_pairs > 1)} of {what} {are} related "
            f"at a false discovery rate of {rate}: of the pairs on a list made like this one, at "
            f"most {rate} on average are not.",
            *_strongest_in_words(related, strongest),
        ]
    if untold:
        of = "1 pair" if untold == 1 else f"each of {untold:,} pairs"
        sentences.append(f"The correlation of {of} is {TOO_NOISY}.")
    return sentences


def _strongest_in_words(related: Pairs, strongest: Places) -> list[str]:
    named = []
    for place in strongest:
        low, high = float(related.low[place]), float(related.high[place])
        first, second = (
            quoted(related.columns[places[place]]) for places in (related.first, related.second)
        )
        correlation = correlation_text(float(related.released[place]), high - low)
        named.append(f"{first} and {second} {correlation} ({interval_text(low, high)})")
    if not named:
        return []
    confidence = percent(related.confidence)
    of = BUT_HIDDEN if (related.told & (related.limited | related.gaps)).any() else ""
    return [
        f"The strongest correlations{of}, with {confidence} intervals: {'; '.join(named)}."
        if len(named) > 1
        else f"The strongest correlation{of}, with its {confidence} interval: {named[0]}."
    ]


def describe_visibility(estimate: AnyEstimate) -> dict[str, Any]:
    """Return which correlations could have been seen, and between which columns."""
    seen = visibility_of(estimate)
    return {
        # Above 1, none is.
        "smallest_detectable_correlation": seen.half if seen.half <= 1 else None,
        "detectable_in_most_pairs": seen.most if seen.most <= 1 else None,
        "blind_columns": [estimate.columns[place] for place in seen.blind],
        "detectable_in_words": _visible_in_words(estimate, seen),
    }


def _visible_in_words(estimate: AnyEstimate, seen: Visibility) -> str:
    if not estimate.n_pairs:
        return ""
    if len(seen.blind) == seen.n_columns:
        return (
            "In most pairs no correlation, however strong, would have stood out with probability "
            "one half: for so many columns these are few rows, or the promise is strong."
        )
    half = _STANDS_OUT.format(seen.half)
    if seen.half > 1:
        text = (
            "In half of the pairs no correlation, however strong, would have stood out with "
            "probability one half."
        )
    elif seen.most > 1:
        text = (
            f"{half} in half of the pairs; in more than one of ten none would have, however strong."
        )
    elif f"{seen.half:.2g}" == f"{seen.most:.2g}":
        text = f"{half}."
    else:
        text = f"{half} in half of the pairs, and one of {seen.most:.2g} in nine of ten."
    if seen.blind:
        names = name_some(quoted(estimate.columns[place]) for place in seen.blind)
        few = "varies" if len(seen.blind) == 1 else "vary"
        which = "Its relations" if len(seen.blind) == 1 else "Their relations"
        text += f" {names} {few} too little beside the noise. {which} could hardly be seen at all."
    return f"{text} A pair that is not listed may well be related."
