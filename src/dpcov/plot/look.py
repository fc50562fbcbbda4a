"""What all plots share: axes, colours, and names that are safe to draw.

Owns how a plot looks. Colours stay apart without colour vision and read on white and on
black; whatever is neutral takes matplotlib's own text colour, so that a dark style works.
"""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap

from dpcov.errors import ParameterError
from dpcov.postprocess import TOO_NOISY, AnyEstimate, CovarianceEstimate, Pairs
from dpcov.postprocess.estimate import Estimate

__all__ = [
    "AS_WRITTEN",
    "DIVERGING",
    "GRAY",
    "NEGATIVE",
    "POSITIVE",
    "axes_of_pairs",
    "check_estimate",
    "find_axes",
    "number_places",
    "related_pairs",
    "say",
    "say_if_nothing",
    "shown_name",
    "text_color",
]

# Okabe and Ito's blue and vermilion.
NEGATIVE, POSITIVE = "#0072B2", "#D55E00"
GRAY = "#888888"
DIVERGING = LinearSegmentedColormap.from_list(
    "dpcov", ["#00304F", NEGATIVE, "#A9CCE3", "#FFFFFF", "#F3C3A1", POSITIVE, "#5C2800"], N=257
).with_extremes(bad="#BBBBBB")

AS_WRITTEN: dict[str, Any] = {"parse_math": False, "usetex": False}
"""For every text with a column name in it: a $ is a $, not the start of a formula."""

_LONGEST = 24


def find_axes(ax: Axes | None) -> Axes:
    """Return `ax`, or the current axes of pyplot."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.gca()


def shown_name(name: str, longest: int = _LONGEST) -> str:
    r"""Return a column name that fits: in one line, printable, shortened in its middle.

    Both ends are kept, because the names of a table often differ in their ends alone.

    Examples
    --------
    >>> shown_name("how often did you sleep less than 6 hours")
    'how often di…han 6 hours'
    >>> shown_name("two\nlines")
    'two lines'
    """
    printable = "".join(letter if letter.isprintable() else " " for letter in name)
    text = " ".join(printable.split()) or "(blank)"
    if len(text) <= longest:
        return text
    kept = longest - 1
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def say(ax: Axes, words: str) -> None:
    """Write a sentence in the middle of axes that have nothing else to show."""
    ax.set_axis_off()
    ax.text(
        0.5,
        0.5,
        words,
        transform=ax.transAxes,
        ha="center",
        va="center",
    )


def axes_of_pairs(pairs: Pairs, ax: Axes | None, fdr: float) -> Axes:
    """Return the axes for the related pairs, with a sentence in them if none can be drawn."""
    ax = find_axes(ax)
    say_if_nothing(ax, len(pairs), int(pairs.told.sum()), fdr)
    return ax


def say_if_nothing(ax: Axes, related: int, told: int, fdr: float) -> bool:
    """Write into axes that no related pair can be drawn, and return whether that is so."""
    if not related:
        say(ax, f"No pair of columns is related\nat a false discovery rate of {fdr:g}.")
    elif not told:
        number = "1 pair is" if related == 1 else f"{related:,} pairs are"
        say(ax, f"{number} related; how strong\nis {TOO_NOISY}.")
    return not told


def related_pairs(
    estimate: AnyEstimate, fdr: float, confidence: float = 0.95, *, levels: bool = True
) -> Pairs:
    """Return the related pairs; without `levels`, those of numbers alone."""
    edges = estimate.edges(fdr, confidence=confidence)
    return edges.pairs if levels else edges.numbers.pairs


def number_places(estimate: AnyEstimate) -> npt.NDArray[np.intp]:
    """Return the places of the columns that are not levels of a category."""
    levels = estimate.noise.is_level if isinstance(estimate, Estimate) else None
    return np.arange(len(estimate.columns)) if levels is None else np.flatnonzero(~levels)


def text_color() -> Any:
    """Return the colour of neutral marks: that of text in the current style."""
    return mpl.rcParams["text.color"]


def check_estimate(estimate: object) -> None:
    """Refuse to draw what is not an estimate, a release above all."""
    if not isinstance(estimate, CovarianceEstimate):
        raise ParameterError(
            f"Plots need an estimate; got a {type(estimate).__name__}. A release has one: "
            "release.estimate()."
        )
