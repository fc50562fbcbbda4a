"""The spectrum: eigenvalues of the estimate and of the release, and what noise alone does.

Owns how they look. Covariances are drawn in working units, in which the noise of all entries
is one number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator

from dpcov.plot.look import GRAY, NEGATIVE, POSITIVE, check_estimate, find_axes
from dpcov.postprocess import AnyEstimate

__all__ = ["spectrum"]

_MOST_MARKS = 60


def spectrum(estimate: AnyEstimate, ax: Axes | None = None, *, confidence: float = 0.95) -> Axes:
    """Draw the eigenvalues of an estimate, and of the release that it came from.

    The band is where the eigenvalues of the privacy noise would lie if there were nothing
    else: see `Estimate.noise_floor`. A release of pairs has no matrix: then the eigenvalues of the
    estimated correlations are drawn, and no band. Where columns were scaled, by public facts or
    by scales that were paid for, everything is in the units that this made: in the columns' own
    units the noise is different in every entry, and the largest unit would hide the others.

    Parameters
    ----------
    estimate : Estimate or PairsEstimate
        What to draw.
    ax : matplotlib Axes, optional
        Where; the current axes by default.
    confidence : float, default 0.95
        Of the intervals of the eigenvalues that stand out: see `Estimate.eigenvalue_interval`.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from matplotlib.figure import Figure
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
    >>> spectrum(estimate, Figure().subplots()).get_ylabel()
    'eigenvalue of the covariance'
    """
    check_estimate(estimate)
    ax = find_axes(ax)
    released, floor = estimate.released_eigenvalues, estimate.noise_floor
    if released is None or floor is None:
        ax.set_ylabel("eigenvalue of the correlations")
    else:
        ax.axhspan(-floor, floor, color=GRAY, alpha=0.25, linewidth=0, label="noise alone")
        _draw(ax, released, "release", NEGATIVE, "s", hollow=True)
        scaled = "" if estimate.release.units.is_plain else ",\ncolumns scaled as in the release"
        ax.set_ylabel(f"eigenvalue of the covariance{scaled}")
    _draw(ax, estimate.eigenvalues, "estimate", POSITIVE, "o")
    _draw_intervals(ax, estimate, confidence)
    ax.set_xlabel("rank")
    ax.xaxis.set_major_locator(FixedLocator(_ranks(len(estimate.eigenvalues))))
    ax.legend(frameon=False)
    return ax


def _ranks(size: int) -> list[float]:
    """Return the ranks that are named: the first, and round ones."""
    ticks = MaxNLocator(integer=True).tick_values(0, size)
    return [1.0, *(tick for tick in map(float, ticks) if 2 <= tick <= size)]


def _draw_intervals(ax: Axes, estimate: AnyEstimate, confidence: float) -> None:
    ends = estimate.eigenvalue_interval(confidence)
    if ends is None or not len(ends[0]):
        return
    low, high = ends
    ax.vlines(
        np.arange(1, len(low) + 1),
        low,
        high,
        color=GRAY,
        linewidth=2.5,
        alpha=0.8,
        label=f"{100 * confidence:g} % interval",
    )


def _draw(
    ax: Axes, values: npt.NDArray[Any], label: str, color: str, marker: str, *, hollow: bool = False
) -> None:
    few = len(values) <= _MOST_MARKS
    ax.plot(
        np.arange(1, len(values) + 1),
        values,
        color=color,
        linewidth=1.0 if few else 1.8,
        linestyle="--" if hollow else "-",
        marker=marker if few else "",
        markersize=5,
        markerfacecolor="none" if hollow else color,
        label=label,
    )
