"""The private result with its interval, and the truth beside it.

Owns the one picture that all pages of the gallery have, and the one number under it: how many of
the truths lie in their intervals. Keep it beside a script that you download.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure

PRIVATE, TRUTH, MISSED = "#0072B2", "#222222", "#D55E00"
Floats = npt.ArrayLike


def inside(low: Floats, high: Floats, truth: Floats) -> npt.NDArray[np.bool_]:
    """Return which truths lie in their intervals.

    Examples
    --------
    >>> inside([0, 0], [1, 1], [0.5, 2]).tolist()
    [True, False]
    """
    truth = np.asarray(truth)
    return np.asarray((np.asarray(low) <= truth) & (truth <= np.asarray(high)))


def count(low: Floats, high: Floats, truth: Floats, of: str = "truths") -> str:
    """Return how many of the truths lie in their intervals, as a sentence.

    Examples
    --------
    >>> count([0, 0], [1, 1], [0.5, 2], of="correlations")
    '1 of 2 true correlations lie in their intervals.'
    """
    held = inside(low, high, truth)
    return f"{held.sum()} of {held.size} true {of} lie in their intervals."


def draw(
    ax: Axes,
    names: Sequence[str],
    value: Floats,
    low: Floats,
    high: Floats,
    truth: Floats,
    *,
    raw: Floats | None = None,
    of: str = "correlation",
) -> None:
    """Draw private results with their intervals, the first on top, and the truth beside them.

    `raw` is the truth of the table before cells were limited, where that is another one.
    """
    value, low, high, truth = (np.asarray(each, dtype=float) for each in (value, low, high, truth))
    at, held = np.arange(len(names)), inside(low, high, truth)
    ax.axvline(0, color="#bbbbbb", linewidth=0.8, zorder=0)
    for of_these, color, words in (
        (held, PRIVATE, "private, 95 % interval"),
        (~held, MISSED, "… that misses the truth"),
    ):
        if of_these.any():
            ax.hlines(at[of_these], low[of_these], high[of_these], color=color, linewidth=2.2)
            ax.plot(value[of_these], at[of_these], "o", color=color, markersize=5, label=words)
    ax.plot(truth, at, "D", markerfacecolor="none", color=TRUTH, markersize=6.5, label="truth")
    if raw is not None:
        ax.plot(raw, at, "x", color="#777777", markersize=5, label="cells not limited")
    ax.set_yticks(at, [textwrap.shorten(name, 42, placeholder="…") for name in names], fontsize=8)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xlabel(of)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(f"{held.sum()} of {held.size} truths lie in their intervals", fontsize=10)
    _explain(ax.figure)


def _explain(figure: Figure) -> None:
    """Put one legend under all axes of a figure."""
    for old in figure.legends:
        old.remove()
    found: dict[str, Artist] = {}
    for ax in figure.axes:
        handles, words = ax.get_legend_handles_labels()
        found |= dict(zip(words, handles, strict=True))
    place = {"loc": "outside lower center", "ncols": len(found)}
    figure.legend(found.values(), found.keys(), fontsize=8, frameon=False, **place)
