"""The means: where the columns lie between their limits, with errors.

Owns how columns of all units share one axis: each is drawn between its own limits.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from dpcov.parameters import check_count
from dpcov.plot.forest import name_rows
from dpcov.plot.look import GRAY, POSITIVE, check_estimate, find_axes, say, shown_name
from dpcov.postprocess import AnyEstimate
from dpcov.postprocess.column_errors import mean_errors
from dpcov.postprocess.inference import interval_width
from dpcov.releases.tails import INSTEAD, withheld

__all__ = ["means"]


def means(
    estimate: AnyEstimate, ax: Axes | None = None, *, most: int = 40, confidence: float = 0.95
) -> Axes:
    """Draw the released means with intervals.

    Parameters
    ----------
    estimate : Estimate or PairsEstimate
        What to draw.
    ax : matplotlib Axes, optional
        Where; the current axes by default.
    most : int, default 40
        How many columns to draw, at most, in the order of the table. The title says of how many.
    confidence : float, default 0.95
        The probability that an interval covers its mean.

    Returns
    -------
    Axes

    Notes
    -----
    Columns have different units. Where limits were learned, each column is drawn from its lower
    to its upper limit; else in standard deviations from the center that was stated. Gray lines
    reach one standard deviation to each side. The numbers beside the names are in its own units.
    Of columns whose tails the limits have cut, and where a range is a guess, nothing is drawn.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from matplotlib.figure import Figure
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, seed=1).estimate()
    >>> means(estimate, Figure().subplots()).get_xlabel().splitlines()[0]
    'each column between its limits: mean with 95 % interval,'
    """
    check_estimate(estimate)
    most = check_count("most", most, low=1)
    ax = find_axes(ax)
    error = mean_errors(estimate)
    if error is None:
        say(ax, "No mean was released.")
        return ax
    width = interval_width(confidence)
    limits = getattr(estimate.release, "limits", None)
    if limits is None:
        start, room = estimate.release.units.center, estimate.released_deviations
        where = "in its standard deviations, from its center"
    else:
        start, room = limits[0], limits[1] - limits[0]
        where = "between its limits"
    shown = range(min(most, len(estimate.columns)))
    room = np.where(room > 0, room, 1.0)
    place, margin = (estimate.location - start) / room, width * error / room
    place[list(withheld(estimate.release))] = np.nan  # drawn nowhere
    ax.hlines(
        shown,
        (place - estimate.released_deviations / room)[: len(shown)],
        (place + estimate.released_deviations / room)[: len(shown)],
        color=GRAY,
        linewidth=4,
        alpha=0.35,
    )
    ax.errorbar(
        place[: len(shown)],
        shown,
        xerr=margin[: len(shown)],
        fmt="o",
        color=POSITIVE,
        markersize=4,
        linewidth=1.4,
    )
    name_rows(ax, [_name(estimate, column, float(error[column])) for column in shown])
    if limits is not None:
        ax.set_xlim(-0.02, 1.02)
        ax.set_xticks([0, 0.5, 1], ["lower limit", "middle", "upper limit"])
    ax.set_xlabel(
        f"each column {where}: mean with {100 * confidence:g} % interval,\n"
        "in gray one standard deviation to each side"
    )
    if len(shown) < len(estimate.columns):
        ax.set_title(f"the first {len(shown)} of {len(estimate.columns):,} columns")
    return ax


def _name(estimate: AnyEstimate, column: int, error: float) -> str:
    name, hidden = shown_name(estimate.columns[column], 20), withheld(estimate.release)
    if column in hidden:
        return f"{name}   {INSTEAD[hidden[column]]}"
    return f"{name}   {estimate.location[column]:.4g} ± {error:.2g}"
