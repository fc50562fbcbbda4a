"""The heatmap: the correlations of an estimate as a picture.

Owns what a dot shows. When there are more columns than dots, a dot shows the strongest
correlation of those that it covers: an average would hide what is sparse.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from dpcov.parameters import check_choice, check_number
from dpcov.plot.look import (
    AS_WRITTEN,
    DIVERGING,
    check_estimate,
    find_axes,
    number_places,
    shown_name,
)
from dpcov.plot.order import block_order
from dpcov.postprocess import AnyEstimate

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["heatmap"]

_MOST_NAMES = 40
_MOST_DOTS = 250

Array = npt.NDArray[np.float64]


def heatmap(
    estimate: AnyEstimate,
    ax: Axes | None = None,
    *,
    order: str = "cluster",
    limit: float | None = None,
    levels: bool = True,
) -> Axes:
    """Draw the correlations of an estimate.

    Parameters
    ----------
    estimate : Estimate or PairsEstimate
        What to draw.
    ax : matplotlib Axes, optional
        Where; the current axes by default. The colour bar takes some of its room.
    order : {"cluster", "given"}
        Columns that go together beside each other and those that the estimate sets to zero with all
        others last, or, if there are more than 250 columns, not at all; or as in the table.
    limit : float, optional
        The correlation at the ends of the colour bar; by default the strongest, rounded up.
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
    >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4, seed=1).estimate()
    >>> ax = heatmap(estimate, Figure().subplots())
    >>> sorted(label.get_text() for label in ax.get_xticklabels()[:2])
    ['x0', 'x3']
    """
    check_estimate(estimate)
    order = check_choice("order", order, ["cluster", "given"])
    if limit is not None:
        limit = check_number("limit", limit, low=0.0, high=1.0, open_high=False)
    correlation, names = estimate.kept_correlations, estimate.columns
    if not levels:
        chosen = number_places(estimate)
        correlation = correlation[chosen][:, chosen]
        names = tuple(names[place] for place in chosen)
    size = len(names)
    places = _places(correlation) if order == "cluster" else np.arange(size)
    side = min(len(places), _MOST_DOTS)
    limit = limit or _round_limit(correlation.data)
    ax = find_axes(ax)
    image = ax.imshow(
        _dots(correlation, places, side),
        cmap=DIVERGING,
        vmin=-limit,
        vmax=limit,
        interpolation="none",
    )
    bar = ax.figure.colorbar(image, ax=ax, label="correlation", shrink=0.8)
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_rasterized(True)  # 257 shapes would show their seams
    _name_columns(ax, [names[place] for place in places], size, side)
    if not correlation.nnz:
        ax.set_title("the estimate keeps no pair of columns")
    return ax


def _places(correlation: csr_array) -> npt.NDArray[np.intp]:
    """Return the columns to draw, in order: of too many, those of which a pair is kept."""
    places = block_order(correlation)
    n_kept = int((np.diff(correlation.indptr) > 0).sum())
    return places[:n_kept] if n_kept and len(places) > _MOST_DOTS else places


def _dots(correlation: csr_array, places: npt.NDArray[np.intp], side: int) -> Array:
    """Return the picture: of the entries that fall on a dot, the strongest."""
    dot_of = np.zeros(correlation.shape[0], dtype=np.intp)
    dot_of[places] = np.arange(len(places)) * side // len(places)
    entries = correlation.tocoo()
    weakest_first = np.argsort(np.abs(entries.data), kind="stable")
    dots = np.zeros((side, side))
    rows, columns = dot_of[entries.row], dot_of[entries.col]
    dots[rows[weakest_first], columns[weakest_first]] = entries.data[weakest_first]
    # A column's correlation with itself says nothing, and would be the strongest of all.
    diagonal = np.arange(side)
    dots[diagonal, diagonal] = np.where(np.diag(dots) == 0, np.nan, np.diag(dots))
    return dots


def _round_limit(values: Array) -> float:
    strongest = float(np.abs(values).max(initial=0.0))
    return min(1.0, max(0.1, math.ceil(strongest * 10 - 1e-9) / 10))


def _name_columns(ax: Axes, names: list[str], size: int, side: int) -> None:
    lines = []
    if len(names) < size:
        lines = [f"{len(names):,} of {size:,} columns; of the others no pair is kept"]
    elif size > _MOST_NAMES:
        lines = [f"{size:,} columns"]
    if side < len(names):
        lines.append(f"a dot is the strongest of about {(len(names) / side) ** 2:.0f} pairs")
    step = math.ceil(len(names) / _MOST_NAMES)
    if step > 1:
        lines.append(f"one column in {step} is named")
    ax.set_xlabel("\n".join(lines))
    named = range(0, len(names), step)
    shown = [shown_name(names[place], 20) for place in named]
    dots = [place * side / len(names) for place in named]
    font = 9 if len(named) <= 12 else 7 if len(named) <= 25 else 5
    ax.set_xticks(dots, shown, rotation=90, fontsize=font, **AS_WRITTEN)
    ax.set_yticks(dots, shown, fontsize=font, **AS_WRITTEN)
    ax.tick_params(length=0 if step == 1 else 2)
