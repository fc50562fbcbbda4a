"""The likelihood ratio of all answers of the noise door, between two neighboring tables.

Owns what an adversary who sees every answer would compute. No other test between two tables is
better (Neyman and Pearson); what is published is a function of these answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

import numpy as np

from dpcov.audit.passages import Passage
from dpcov.errors import AuditError

__all__ = ["log_likelihood_ratio", "squared_distance"]

_MOST_CHOSEN = 6  # orders in which so many were chosen: 720


def log_likelihood_ratio(first: Sequence[Passage], second: Sequence[Passage]) -> float:
    """Return the log of how much likelier the answers are from the first table than the second.

    Parameters
    ----------
    first, second : Recording, or sequence of Passage
        Runs on both tables with the same answers: one of them replayed the other.

    Returns
    -------
    float
        Positive if the answers speak for the first table. Noise counts as Gaussian of the scale
        that the door was asked for: rounding to the grid is post-processing.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from dpcov import audit
    >>> pair = next(each for each in audit.neighbors() if each.name == "stated")
    >>> with audit.recording() as seen:
    ...     release = pair.run(0)
    >>> with audit.replaying(seen) as other:
    ...     same = pair.run(1)
    >>> audit.log_likelihood_ratio(seen, other) == -audit.log_likelihood_ratio(other, seen)
    True
    """
    _check(first, second)
    return math.fsum(_log_ratio(a, b) for a, b in zip(first, second, strict=True))


def squared_distance(first: Sequence[Passage], second: Sequence[Passage]) -> float:
    """Return how far apart two tables are, in sds of the noise and squared, given the answers.

    Parameters
    ----------
    first, second : Recording, or sequence of Passage
        Runs on both tables with the same answers.

    Returns
    -------
    float
        μ² of the Gaussian pair that the noise makes of the two tables; selections are left out.

    Examples
    --------
    >>> import dpcov
    >>> from dpcov import audit
    >>> pair = next(each for each in audit.neighbors() if each.name == "stated")
    >>> with audit.recording() as seen:
    ...     release = pair.run(0)
    >>> with audit.replaying(seen) as other:
    ...     same = pair.run(1)
    >>> scale = dpcov.privacy.gaussian_scale(epsilon=pair.epsilon, delta=pair.delta)
    >>> round(audit.squared_distance(seen, other) * scale**2, 4)  # as far as is paid for
    1.0
    """
    _check(first, second)
    return math.fsum(
        float(np.sum(((a.exact - b.exact) / a.scale) ** 2))
        for a, b in zip(first, second, strict=True)
        if a.kind == "gaussian"
    )


def _check(first: Sequence[Passage], second: Sequence[Passage]) -> None:
    if [each.asked for each in first] != [each.asked for each in second] or not all(
        np.array_equal(a.answer, b.answer) for a, b in zip(first, second, strict=True)
    ):
        raise AuditError("Both recordings must have the same answers: let one replay the other.")


def _log_ratio(first: Passage, second: Passage) -> float:
    if first.kind == "pairing":
        return 0.0  # drawn without a look at the rows
    if first.kind == "selection":
        return _log_chance(first) - _log_chance(second)
    # (y − b)² − (y − a)² = (a − b)(2y − a − b), in whole numbers before they are divided.
    apart = (first.exact - second.exact) / first.scale
    twice = (first.answer - first.exact) + (first.answer - second.exact)
    return float(np.sum(apart * (twice / first.scale))) / 2


def _log_chance(passage: Passage) -> float:
    """Return the log of the probability that these places are chosen, in whichever order."""
    if passage.count >= passage.size:
        return 0.0
    if passage.count > _MOST_CHOSEN:
        raise AuditError(f"A selection of more than {_MOST_CHOSEN} has too many orders to look at.")
    scores = passage.exact / passage.scale
    weights = np.exp(scores - scores.max())
    chosen, whole = weights[passage.answer], float(weights.sum())
    chance = 0.0
    for order in permutations(chosen.tolist()):
        left, along = whole, 1.0
        for weight in order:
            along, left = along * weight / left, left - weight
        chance += along
    return math.log(chance)
