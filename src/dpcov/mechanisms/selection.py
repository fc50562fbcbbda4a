"""Selection: which of many integer scores are largest, with exact noise.

Owns the noisy top-k. The noise is OpenDP's, which compares Gumbel variables that are known
by as many bits as it takes, so that no floating-point residue can tell neighbors apart.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpcov.errors import MissingExtraError, ParameterError
from dpcov.mechanisms.randomness import RandomStream
from dpcov.privacy.composition import selection_step

__all__ = ["select_largest", "selection_scale"]


def selection_scale(*, count: int, sensitivity: int, rho: float) -> float:
    """Return the smallest Gumbel scale at which choosing `count` scores costs at most `rho`.

    Examples
    --------
    >>> round(selection_scale(count=200, sensitivity=2, rho=0.04), 6)
    100.0
    """
    scale = 2 * sensitivity * math.sqrt(count / (8 * rho))
    while selection_step("", count=count, sensitivity=sensitivity, scale=scale).rho > rho:
        scale *= 1 + 2.0**-47
    return scale


def select_largest(
    scores: npt.NDArray[np.int32],
    *,
    count: int,
    sensitivity: int,
    scale: float,
    stream: RandomStream,
) -> npt.NDArray[np.int64]:
    """Return the places of the `count` largest noisy scores, in rising order.

    Parameters
    ----------
    scores : ndarray of int32
        One for each candidate.
    count : int
        How many to choose, fewer than there are.
    sensitivity : int
        How far one person can move any score.
    scale : float
        The scale of the Gumbel noise.
    stream : RandomStream
        Only its kind matters: a simulated one makes a repeatable choice with float noise.

    Notes
    -----
    Claim P11. The choice is that of OpenDP's `make_noisy_top_k`, whose own privacy map is
    checked to cost no more than `selection_step` says before a score is shown to it. The
    set of the chosen is a post-processing of their order.
    """
    if count >= len(scores):
        return np.arange(len(scores))
    if stream.simulated:
        seed = int(stream.words(1)[0])
        noise = np.random.default_rng(seed).gumbel(scale=scale, size=len(scores))
        noise += scores
        return np.sort(np.argpartition(noise, -count)[-count:])
    measurement = _measurement(count, scale)
    cost = measurement.map(sensitivity)
    if cost > selection_step("", count=count, sensitivity=sensitivity, scale=scale).rho:
        raise ParameterError("This version of OpenDP charges more for a selection than dpcov does.")
    return np.sort(np.asarray(measurement(scores), dtype=np.int64))


def _measurement(count: int, scale: float):  # type: ignore[no-untyped-def]
    try:
        import opendp.prelude as dp
    except ModuleNotFoundError:
        raise MissingExtraError(
            "Selecting pairs needs OpenDP: pip install 'dpcov[pairs]'"
        ) from None
    dp.enable_features("contrib")
    return dp.m.make_noisy_top_k(
        dp.vector_domain(dp.atom_domain(T="i32")),
        dp.linf_distance(T="i32"),
        dp.zero_concentrated_divergence(),
        k=count,
        scale=scale,
    )
