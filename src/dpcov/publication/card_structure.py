"""What a card says of what columns have in common: components, and pairs given all other columns.

Owns these words. Both are null where a release says nothing of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcov.digits import percent
from dpcov.postprocess import TOO_NOISY, AnyEstimate
from dpcov.publication.structure import components_of, partials_of

__all__ = ["describe_components", "describe_partials"]


def describe_components(estimate: AnyEstimate) -> dict[str, Any] | None:
    """Return how many components stand out, and what they explain; None if none does."""
    found = components_of(estimate)
    if found is None:
        return None
    values, n_columns = found.eigenvalues, len(found.columns)
    low, high = values.joint_share_interval()
    number, told = found.n_components, int(found.told.sum())
    one = number == 1
    sentences = [
        f"{number:,} component{'' if one else 's'} of {n_columns:,} numbers stand{'s' * one} above "
        f"what noise and sampling give to unrelated ones. {'It carries' if one else 'They carry'} "
        f"{_percents(values.joint_share, low, high)} of the variance of the standardized numbers."
    ]
    if told < number:
        untold = number - told
        of = "Its loadings" if one else f"The loadings of {untold:,} of them"
        sentences.append(f"{of} cannot be told one by one.")
    return {
        "number": number,
        "n_columns": n_columns,
        "n_told": told,
        "share": values.joint_share,
        "low": low,
        "high": high,
        "in_words": sentences,
    }


def _percents(share: float, low: float, high: float) -> str:
    decimals = 0 if high - low >= 0.02 else 1
    ends = f"{100 * low:.{decimals}f} to {100 * high:.{decimals}f} %"
    return f"{100 * share:.{decimals}f} % (95 % interval: {ends})"


def describe_partials(estimate: AnyEstimate, fdr: float) -> dict[str, Any] | None:
    """Return how many pairs are related given all other columns; None if none is.

    Pairs of numbers and pairs with a level of a category are counted apart, as everywhere.
    """
    found = partials_of(estimate, fdr)
    if found is None:
        return None
    related, with_level = found.q_values <= fdr, found.with_level
    counts = [
        (int((related & part).sum()), int(part.sum()), what)
        for part, what in (
            (~with_level, "numbers" if with_level.any() else "columns"),
            (with_level, ""),
        )
    ]
    (number, n_pairs, _), (levels, n_level_pairs, _) = counts
    too_noisy = int(np.count_nonzero(~found.told))
    return {
        "number": number,
        "n_pairs": n_pairs,
        "n_columns": len(found.columns),
        "too_noisy": too_noisy,
        "levels": {"number": levels, "n_pairs": n_level_pairs} if n_level_pairs else None,
        "in_words": _partials_in_words(counts, too_noisy, percent(fdr)),
    }


def _partials_in_words(counts: list[tuple[int, int, str]], too_noisy: int, rate: str) -> list[str]:
    parts = [
        f"{number:,} of {n_pairs:,} pairs {f'of {what}' if what else 'with a level of a category'}"
        for number, n_pairs, what in counts
        if n_pairs
    ]
    said = [
        f"{' and '.join(parts)} are related given all other columns, at a false discovery rate of "
        f"{rate}{' each' if len(parts) > 1 else ''}."
    ]
    if too_noisy:
        said.append(
            f"The partial correlation of {'1 pair' if too_noisy == 1 else f'{too_noisy:,} pairs'} "
            f"is {TOO_NOISY}."
        )
    return said
