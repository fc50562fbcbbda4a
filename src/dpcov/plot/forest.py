"""The forest plot: the strongest pairs with their intervals."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from dpcov.parameters import check_count
from dpcov.plot.look import (
    AS_WRITTEN,
    GRAY,
    NEGATIVE,
    POSITIVE,
    axes_of_pairs,
    check_estimate,
    shown_name,
)
from dpcov.postprocess import AnyEstimate, TrustedPairs

__all__ = ["intervals"]


def intervals(
    estimate: AnyEstimate,
    ax: Axes | None = None,
    *,
    most: int = 25,
    fdr: float = 0.1,
    confidence: float = 0.95,
) -> Axes:
    """Draw the strongest of the trusted pairs with confidence intervals.

    Parameters
    ----------
    estimate : Estimate or PairsEstimate
        What to draw.
    ax : matplotlib Axes, optional
        Where; the current axes by default.
    most : int, default 25
        How many pairs to draw, at most.
    fdr : float, default 0.1
        Which pairs are trusted: the expected share of false ones, at most.
    confidence : float, default 0.95
        The probability that an interval covers its correlation. It is less for pairs that
        are on the list because noise made them large.

    Returns
    -------
    Axes

    Notes
    -----
    Values are those of the release, not the shrunk ones. The covariance of an `Estimate`
    and its interval are divided by the estimated standard deviations, whose own error is
    not counted.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from matplotlib.figure import Figure
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> rows[:, 3] += rows[:, 0]
    >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
    >>> ax = intervals(estimate, Figure().subplots(), fdr=1e-6)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x0 – x3']
    """
    check_estimate(estimate)
    most = check_count("most", most, low=1)
    pairs = estimate.trusted_pairs(fdr, confidence)
    ax = axes_of_pairs(pairs, ax, fdr)
    if not len(pairs):
        return ax
    strongest = _strongest(pairs)[:most]
    ax.axvline(0, color=GRAY, linewidth=0.8)
    if max(np.abs(pairs.low[strongest]).max(), np.abs(pairs.high[strongest]).max()) >= 1:
        for end in (-1, 1):  # noise led to the end of what a correlation can be
            ax.axvline(end, color=GRAY, linewidth=0.8, linestyle=":")
    for height, place in enumerate(strongest):
        middle = pairs.correlation[place]
        color = POSITIVE if middle > 0 else NEGATIVE
        ax.plot([pairs.low[place], pairs.high[place]], [height] * 2, color=color, linewidth=1.6)
        ax.plot([middle], [height], color=color, marker="o" if middle > 0 else "s", markersize=5)
    names = [
        f"{shown_name(estimate.columns[pairs.first[place]], 20)} – "
        f"{shown_name(estimate.columns[pairs.second[place]], 20)}"
        for place in strongest
    ]
    size = 9 if len(names) <= 12 else 7
    ax.set_yticks(range(len(names)), names, fontsize=size, **AS_WRITTEN)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(f"correlation with {100 * confidence:g} % interval")
    if len(strongest) < len(pairs):
        ax.set_title(f"the {len(strongest)} strongest of {len(pairs):,} related pairs")
    return ax


def _strongest(pairs: TrustedPairs) -> npt.NDArray[np.intp]:
    """Return places, those first whose correlation is far from zero for sure.

    By the end of the interval that is nearer to zero; noise can make a correlation as large as
    it likes where columns hardly vary, and these come last.
    """
    nearer = np.minimum(np.abs(pairs.low), np.abs(pairs.high))
    impossible = pairs.low == pairs.high  # all of the interval lay beyond ±1
    return np.lexsort((-np.abs(pairs.correlation), -nearer, impossible))
