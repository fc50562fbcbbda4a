"""Lower bounds on ε from how often a test is right, with a stated confidence.

Owns the statistics of an audit. It knows nothing of mechanisms: only scores, which are larger on
one table than on its neighbor.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.parameters import check_number
from dpcov.privacy import gaussian_epsilon

__all__ = ["clopper_pearson_epsilon", "gaussian_dp_epsilon", "plug_in_epsilon", "training_size"]

Scores = npt.NDArray[np.float64]

_TRAINING_SHARE = 1 / 3  # of the scores: they choose the threshold, the others judge it
_FEWEST = 4  # scores of each table
_CANDIDATES = np.linspace(0.01, 0.99, 99)


def _upper(hits: npt.NDArray[np.intp], runs: int, risk: float) -> npt.NDArray[np.float64]:
    """Return the upper end of the interval of Clopper and Pearson, on one side."""
    from scipy.special import betaincinv  # lazily: slower to import than dpcov

    inner = betaincinv(hits + 1.0, np.maximum(runs - hits, 1), 1 - risk)
    return np.where(hits == runs, 1.0, inner)


def clopper_pearson_epsilon(
    first: npt.ArrayLike, second: npt.ArrayLike, *, delta: float, confidence: float = 0.95
) -> float:
    """Return a lower bound on ε that supposes nothing about the mechanism.

    Parameters
    ----------
    first, second : array
        Scores of runs on one table and on its neighbor. They should be larger on the first.
    delta : float
        In [0, 1): the δ of the promise.
    confidence : float, default 0.95
        With which the bound is below the true ε.

    Returns
    -------
    float
        0 if nothing was found.

    Notes
    -----
    An (ε, δ)-private mechanism has 1 − β ≤ e^ε α + δ for every test with errors α and β, whichever
    of the tables it is for. A third of the scores chooses threshold and table. Of the others the
    exact binomial bounds of Clopper and Pearson on α and β, each with half of the risk, give the
    smallest ε that is not refuted.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(size=(2, 20_000))
    >>> round(clopper_pearson_epsilon(noise[0] + 1, noise[1], delta=0.1), 2)  # the truth is 1.16
    1.08
    """
    first, second, risk = _checked(first, second, delta, confidence)

    def bound(a: Scores, b: Scores, thresholds: Scores) -> npt.NDArray[np.float64]:
        alarm = _upper((b[:, None] > thresholds).sum(axis=0), len(b), risk / 2)
        miss = _upper((a[:, None] <= thresholds).sum(axis=0), len(a), risk / 2)
        both = [(alarm, miss), (miss, alarm)]
        shares = [np.maximum(1 - missed - delta, 1e-300) / wrong for wrong, missed in both]
        return np.log(np.array(shares))

    choosing, judging = _parts(first, second)
    thresholds = _thresholds(*choosing)
    found = bound(*choosing, thresholds)
    table, place = np.unravel_index(int(np.argmax(found)), found.shape)
    judged = bound(*judging, thresholds[[place]])
    return max(0.0, float(judged[table, 0]))


def gaussian_dp_epsilon(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    *,
    delta: float,
    confidence: float = 0.95,
    threshold: float | None = None,
) -> float:
    """Return a lower bound on ε for a mechanism that claims to be Gaussian noise.

    Parameters
    ----------
    first, second : array
        Scores of as many runs on one table and on its neighbor. They should be larger on the first.
    delta : float
        In (0, 1): the δ of the promise.
    confidence : float, default 0.95
        With which the bound is below the true ε.
    threshold : float, optional
        Above which a score speaks for the first table, if it is known before any run: 0 for logs
        of likelihood ratios. By default a third of the scores chooses it.

    Returns
    -------
    float
        0 if nothing was found.

    Notes
    -----
    A test between the tables of a μ-Gaussian-private mechanism has errors α + β ≥ 2Φ(−μ/2) (Dong,
    Roth and Su 2022). Of n runs on each table a share of (α + β)/2 is wrong in the mean. Their
    number is less spread than a binomial one of that mean (Hoeffding 1956), so that the bound of
    Clopper and Pearson holds for it. The μ that it leaves gives ε at any δ, also where no test
    could see it directly. It refutes claims of Gaussian noise, and no others.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(size=(2, 20_000))
    >>> round(gaussian_dp_epsilon(noise[0] + 1, noise[1], delta=0.1), 2)  # the truth is 1.16
    1.09
    """
    first, second, risk = _checked(first, second, delta, confidence)
    if len(first) != len(second):
        raise ParameterError("first and second must be as many scores.")
    if threshold is None:
        (a, b), (first, second) = _parts(first, second)
        candidates = _thresholds(a, b)
        threshold = float(candidates[int(np.argmin(_errors(a, b, candidates)))])
    wrong = _errors(first, second, np.array([threshold]))
    share = float(_upper(wrong, 2 * len(first), risk)[0])
    distance = _distance(share)
    return gaussian_epsilon(delta=delta, scale=1 / distance) if distance > 1e-9 else 0.0


def plug_in_epsilon(first: npt.ArrayLike, second: npt.ArrayLike, *, delta: float) -> float:
    """Return what the most powerful tests would find in the end: an estimate, and no bound.

    Parameters
    ----------
    first, second : array
        Logs of likelihood ratios of runs on one table and on its neighbor.
    delta : float
        In (0, 1).

    Returns
    -------
    float
        Where the estimated divergence E (1 − e^(ε − L))₊, in whichever direction, falls to δ.

    Examples
    --------
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(size=(2, 20_000))
    >>> round(plug_in_epsilon(noise[0] + 0.5, noise[1] - 0.5, delta=0.1), 2)  # the truth is 1.16
    1.17
    """
    first, second, _ = _checked(first, second, delta, 0.5)
    low, high = 0.0, max(0.0, float(first.max()), float(-second.min()))

    def divergence(epsilon: float) -> float:
        losses = (first, -second)
        return max(float(-np.expm1(np.minimum(epsilon - each, 0)).mean()) for each in losses)

    if divergence(0.0) <= delta:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if divergence(middle) > delta else (low, middle)
    return high


def _checked(
    first: npt.ArrayLike, second: npt.ArrayLike, delta: float, confidence: float
) -> tuple[Scores, Scores, float]:
    check_number("delta", delta, low=0.0, high=1.0, open_low=False)
    sure = check_number("confidence", confidence, low=0.0, high=1.0)
    arrays = [np.asarray(each, dtype=np.float64).ravel() for each in (first, second)]
    if min(map(len, arrays)) < _FEWEST or not all(np.isfinite(each).all() for each in arrays):
        raise ParameterError(f"first and second must be at least {_FEWEST} finite scores each.")
    return arrays[0], arrays[1], 1 - sure


def _parts(first: Scores, second: Scores) -> tuple[tuple[Scores, Scores], tuple[Scores, Scores]]:
    """Return the scores that choose a threshold, and those that judge it."""
    cuts = [training_size(len(each)) for each in (first, second)]
    return (first[: cuts[0]], second[: cuts[1]]), (first[cuts[0] :], second[cuts[1] :])


def training_size(runs: int) -> int:
    """Return how many of the first runs choose what the others judge."""
    return max(1, math.floor(runs * _TRAINING_SHARE))


def _thresholds(first: Scores, second: Scores) -> Scores:
    return np.unique(np.quantile(np.concatenate([first, second]), _CANDIDATES))


def _errors(first: Scores, second: Scores, thresholds: Scores) -> npt.NDArray[np.intp]:
    """Return how many scores are on the wrong side of each threshold."""
    alarms, misses = second[:, None] > thresholds, first[:, None] <= thresholds
    return alarms.sum(axis=0) + misses.sum(axis=0)  # type: ignore[no-any-return]


def _distance(share: float) -> float:
    """Return the μ of the Gaussian pair whose best test is wrong so often."""
    from scipy.special import ndtri

    return float(-2 * ndtri(share))
