"""The network: columns that are related, and how.

Owns what is left out when there is too much to read, and says so in the title.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dpcov.parameters import check_count
from dpcov.plot.layout import LETTER, LINE, Layout, lay_out
from dpcov.plot.look import (
    AS_WRITTEN,
    NEGATIVE,
    POSITIVE,
    axes_of_pairs,
    check_estimate,
    related_pairs,
    shown_name,
    text_color,
)
from dpcov.postprocess import TOO_NOISY, AnyEstimate, Pairs

__all__ = ["network"]

_MOST_NODES = 40
_ROOM_OF_LEGEND = 2.5  # lines of text below the names
_MANY_NODES = 30
_LONGEST, _LONGEST_OF_MANY = 20, 14  # letters of a name
_SMALLEST, _LARGEST = 5.0, 9.0  # size of the font
_LETTER_WIDTH = 0.6  # of a letter, in font sizes
_MANY_PAIRS = 40
_THINNEST, _WIDEST, _WIDEST_OF_MANY = 0.7, 5.0, 3.0
# Sign by colour and by line, for readers without colour vision and for print.
_LOOKS: dict[bool, tuple[str, Any]] = {True: (POSITIVE, "-"), False: (NEGATIVE, (0, (3, 1.5)))}


def network(
    estimate: AnyEstimate,
    ax: Axes | None = None,
    *,
    fdr: float = 0.1,
    most: int = 60,
    levels: bool = True,
) -> Axes:
    """Draw the pairs that are related as a network.

    Columns that are in no pair are not drawn, nor are pairs of which the noise does not tell how
    strong they are. Solid orange lines are positive correlations, dashed blue ones negative; the
    wider, the stronger.

    Parameters
    ----------
    estimate : Estimate or PairsEstimate
        What to draw.
    ax : matplotlib Axes, optional
        Where; the current axes by default.
    fdr : float, default 0.1
        The expected share of false pairs among all that are found, at most.
    most : int, default 60
        Draw no more pairs than this, the surest, and no more than 40 columns. The title
        says how many are left out, and why.
    levels : bool, default True
        Whether levels of categories are columns; if not, numbers alone are drawn.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from matplotlib.figure import Figure
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> rows[:, 3] += rows[:, 0]
    >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
    >>> network(estimate, Figure().subplots(), fdr=1e-6).get_title()
    '1 related pair'
    """
    check_estimate(estimate)
    most = check_count("most", most, low=1)
    related = related_pairs(estimate, fdr, levels=levels)
    ax = axes_of_pairs(related, ax, fdr)
    pairs = related.chosen(related.told)
    if not len(pairs):
        return ax
    ax.set_axis_off()
    shown, why = _count_shown(pairs, most)
    columns, ends = np.unique([pairs.first[:shown], pairs.second[:shown]], return_inverse=True)
    first, second = ends.reshape(2, -1)
    longest = _LONGEST if len(columns) <= _MANY_NODES else _LONGEST_OF_MANY
    names = [shown_name(estimate.columns[column], longest) for column in columns]
    layout = lay_out(first, second, [len(name) for name in names])
    widest = _WIDEST if shown <= _MANY_PAIRS else _WIDEST_OF_MANY
    for place in range(shown):
        correlation = float(pairs.released[place])
        color, style = _LOOKS[correlation > 0]
        ax.plot(
            *layout.places[[first[place], second[place]]].T,
            color=color,
            linestyle=style,
            linewidth=_THINNEST + (widest - _THINNEST) * abs(correlation),
            alpha=0.7,
            zorder=1,
        )
    ax.scatter(
        layout.places[:, 0], layout.places[:, 1], s=16, color=text_color(), linewidth=0, zorder=2
    )
    ax.set_xlim(layout.low[0], layout.high[0])
    ax.set_ylim(layout.low[1] - _ROOM_OF_LEGEND * LINE, layout.high[1])
    ax.set_aspect("equal")
    _write_names(ax, names, layout)
    ax.set_title(_title(shown, len(pairs), why, len(related) - len(pairs)))
    _add_legend(ax, pairs.released[:shown])
    return ax


def _count_shown(pairs: Pairs, most: int) -> tuple[int, str]:
    """Return how many of the surest pairs can be read, and why no more."""
    seen: set[int] = set()
    for place, ends in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        seen.update(ends)
        if place == most:
            return place, f"more than {most:,} {'line' if most == 1 else 'lines'} could not be read"
        if len(seen) > _MOST_NODES:
            return place, f"more than {_MOST_NODES} names could not be read"
    return len(pairs), ""


def _write_names(ax: Axes, names: list[str], layout: Layout) -> None:
    size = _font_size(ax, layout)
    for name, place, (right, up) in zip(names, layout.places, layout.sides, strict=True):
        ax.annotate(
            name,
            place,
            xytext=(0.6 * size * right, 0.6 * size * up),
            textcoords="offset points",
            ha={-1: "right", 0: "center", 1: "left"}[right],
            va={-1: "top", 0: "center", 1: "bottom"}[up],
            fontsize=size,
            zorder=3,
            **AS_WRITTEN,
        )


def _font_size(ax: Axes, layout: Layout) -> float:
    """Return the size at which a name fills the room that the layout has for it."""
    box = ax.get_window_extent()
    dots = min(np.array([box.width, box.height]) / (layout.high - layout.low))
    points = dots * 72 / ax.figure.dpi
    return float(np.clip(LETTER * points / _LETTER_WIDTH, _SMALLEST, _LARGEST))


def _title(shown: int, told: int, why: str, untold: int) -> str:
    noisy = f"\n{untold:,} more: {TOO_NOISY} how strong" if untold else ""
    if shown < told:
        return f"the {shown:,} surest of {told:,} related pairs:\n{why}{noisy}"
    return f"{'1 related pair' if told == 1 else f'{told:,} related pairs'}{noisy}"


def _add_legend(ax: Axes, correlation: npt.NDArray[np.float64]) -> None:
    names = {True: "positive", False: "negative"}
    handles = [
        Line2D([], [], color=color, linestyle=style, linewidth=2.5, label=names[sign])
        for sign, (color, style) in _LOOKS.items()
        if ((correlation > 0) == sign).any()
    ]
    ax.legend(
        handles=handles,
        loc="lower center",
        ncols=2,
        frameon=False,
        handlelength=3,
    )
