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
    related_pairs,
    shown_name,
)
from dpcov.postprocess import AnyEstimate, Pairs
from dpcov.releases.tails import GAPS_MARK, MARK, with_mark

__all__ = ["draw_forest", "intervals", "name_rows"]

Array = npt.NDArray[np.float64]


def intervals(
    estimate: AnyEstimate,
    ax: Axes | None = None,
    *,
    most: int = 25,
    fdr: float = 0.1,
    confidence: float = 0.95,
    levels: bool = True,
) -> Axes:
    """Draw the strongest of the related pairs with confidence intervals.

    Parameters
    ----------
    estimate : Estimate or PairsEstimate
        What to draw.
    ax : matplotlib Axes, optional
        Where; the current axes by default.
    most : int, default 25
        How many pairs to draw, at most.
    fdr : float, default 0.1
        Which pairs are related: the expected share of false ones, at most.
    confidence : float, default 0.95
        The probability that an interval covers its correlation. It is less for pairs that
        are on the list because noise made them large.
    levels : bool, default True
        Whether levels of categories are columns; if not, numbers alone are drawn.

    Returns
    -------
    Axes

    Notes
    -----
    Values are those of the release, not the shrunk ones: see `dpcov.Pairs`. The largest comes
    first. An arrow says that an interval reaches the end of what a correlation can be; pairs of
    which the noise does not tell how strong they are are counted in the title.

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
    pairs = related_pairs(estimate, fdr, confidence, levels=levels)
    ax = axes_of_pairs(pairs, ax, fdr)
    if not pairs.told.any():
        return ax
    strongest = _strongest(pairs)[:most]
    draw_forest(ax, pairs.released[strongest], pairs.low[strongest], pairs.high[strongest])
    name_rows(
        ax,
        [
            with_mark(
                f"{shown_name(estimate.columns[pairs.first[place]], 20)} – "
                f"{shown_name(estimate.columns[pairs.second[place]], 20)}",
                bool(pairs.limited[place]),
                bool(pairs.gaps[place]),
            )
            for place in strongest
        ],
    )
    marked = f"\n{MARK} correlation of limited cells" if pairs.limited[strongest].any() else ""
    if pairs.gaps[strongest].any():
        marked += f"\n{GAPS_MARK} gaps of one column go with the other"
    ax.set_xlabel(f"correlation with {100 * confidence:g} % interval{marked}")
    ax.set_title(_title(len(strongest), int(pairs.told.sum()), len(pairs)))
    return ax


def draw_forest(ax: Axes, values: Array, low: Array, high: Array, *, end: float = 1.0) -> None:
    """Draw values with intervals, one below the other; arrows where they reach the end."""
    ax.axvline(0, color=GRAY, linewidth=0.8)
    if max(np.abs(low).max(), np.abs(high).max()) >= end:
        for side in (-end, end):  # noise led to the end of what is possible
            ax.axvline(side, color=GRAY, linewidth=0.8, linestyle=":")
    for height, (value, left, right) in enumerate(zip(values, low, high, strict=True)):
        color = POSITIVE if value > 0 else NEGATIVE
        ax.plot([left, right], [height] * 2, color=color, linewidth=1.6)
        for place, marker in ((left, "<"), (right, ">")):
            if abs(place) >= end:
                ax.plot([place], [height], color=color, marker=marker, markersize=6)
        ax.plot([value], [height], color=color, marker="o" if value > 0 else "s", markersize=5)


def name_rows(ax: Axes, names: list[str]) -> None:
    """Write the names of what is drawn, the first on top."""
    size = 9 if len(names) <= 12 else 7
    ax.set_yticks(range(len(names)), names, fontsize=size, **AS_WRITTEN)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)


def _title(drawn: int, told: int, found: int) -> str:
    noisy = f"\n{found - told:,} more: too noisy to tell how strong" if told < found else ""
    if drawn == found:
        return ""
    if drawn < told:
        return f"the {drawn} strongest of {told:,} related pairs{noisy}"
    return f"{told:,} related pairs{noisy}"


def _strongest(pairs: Pairs) -> npt.NDArray[np.intp]:
    """Return the places of those whose strength is told, the largest first.

    Noise can make a correlation as large as it likes where columns hardly vary: these are not
    told.
    """
    order = np.argsort(-np.abs(pairs.released), kind="stable")
    return order[pairs.told[order]]
