"""The network: columns that are related, and how.

Owns what is left out when there is too much to read, and says so in the title.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from dpcov.answers.partials import PartialCorrelations
from dpcov.parameters import check_count, check_number
from dpcov.plot.layout import LETTER, LINE, Layout, lay_out
from dpcov.plot.look import (
    AS_WRITTEN,
    NEGATIVE,
    POSITIVE,
    check_estimate,
    find_axes,
    related_pairs,
    say_if_nothing,
    shown_name,
    text_color,
)
from dpcov.postprocess import TOO_NOISY, AnyEstimate

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
    estimate: AnyEstimate | PartialCorrelations,
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
    estimate : Estimate, PairsEstimate or PartialCorrelations
        What to draw: correlations, or those given all other columns.
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
    most = check_count("most", most, low=1)
    related = _lines_of(estimate, fdr, levels=levels)
    ax = find_axes(ax)
    if say_if_nothing(ax, len(related.values) + related.untold, len(related.values), fdr):
        return ax
    ax.set_axis_off()
    shown, why = _count_shown(related, most)
    columns, ends = np.unique([related.first[:shown], related.second[:shown]], return_inverse=True)
    first, second = ends.reshape(2, -1)
    longest = _LONGEST if len(columns) <= _MANY_NODES else _LONGEST_OF_MANY
    names = [shown_name(estimate.columns[column], longest) for column in columns]
    layout = lay_out(first, second, [len(name) for name in names])
    widest = _WIDEST if shown <= _MANY_PAIRS else _WIDEST_OF_MANY
    for place in range(shown):
        correlation = float(related.values[place])
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
    ax.set_title(_title(shown, why, related))
    _add_legend(ax, related.values[:shown])
    return ax


@dataclass(frozen=True, eq=False)
class _Lines:
    """What may be drawn, the surest first, and of how many pairs it is not told how strong.

    `given` says after how many there are what their relation is given.
    """

    first: npt.NDArray[np.intp]
    second: npt.NDArray[np.intp]
    values: npt.NDArray[np.float64]
    untold: int
    given: str = ""


def _lines_of(estimate: AnyEstimate | PartialCorrelations, fdr: float, *, levels: bool) -> _Lines:
    if isinstance(estimate, PartialCorrelations):
        fdr = check_number("fdr", fdr, low=0.0, high=1.0)
        chosen = estimate.q_values <= fdr
        if not levels:
            chosen &= ~estimate.with_level
        places = np.flatnonzero(chosen & estimate.told)
        keys = (-np.abs(estimate.values[places]), estimate.p_values[places])
        places = places[np.lexsort(keys)]
        untold = int(chosen.sum()) - len(places)
        ends = estimate.first[places], estimate.second[places]
        return _Lines(*ends, estimate.values[places], untold, ", given all others")
    check_estimate(estimate)
    related = related_pairs(estimate, fdr, levels=levels)
    pairs = related.chosen(related.told)
    return _Lines(pairs.first, pairs.second, pairs.released, len(related) - len(pairs))


def _count_shown(pairs: _Lines, most: int) -> tuple[int, str]:
    """Return how many of the surest pairs can be read, and why no more."""
    seen: set[int] = set()
    for place, ends in enumerate(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)):
        seen.update(ends)
        if place == most:
            return place, f"more than {most:,} {'line' if most == 1 else 'lines'} could not be read"
        if len(seen) > _MOST_NODES:
            return place, f"more than {_MOST_NODES} names could not be read"
    return len(pairs.values), ""


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


def _title(shown: int, why: str, related: _Lines) -> str:
    told, given = len(related.values), related.given
    noisy = f"\n{related.untold:,} more: {TOO_NOISY} how strong" if related.untold else ""
    if shown < told:
        return f"the {shown:,} surest of {told:,} related pairs{given}:\n{why}{noisy}"
    return f"{'1 related pair' if told == 1 else f'{told:,} related pairs'}{given}{noisy}"


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
