"""The comparison: how much correlations differ between two releases.

Owns the difference of two released correlations, and its interval: of Zou's (2007) kind, from the
intervals of both, so that it is right where these are lopsided.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes

from dpcov.errors import ParameterError
from dpcov.multiplicity import q_values
from dpcov.parameters import check_count, check_number
from dpcov.plot.forest import draw_forest, name_rows
from dpcov.plot.look import check_estimate, find_axes, say, shown_name
from dpcov.postprocess import AnyEstimate, Pairs

__all__ = ["compare"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


def compare(
    first: AnyEstimate,
    second: AnyEstimate,
    ax: Axes | None = None,
    *,
    most: int = 25,
    fdr: float = 0.1,
    confidence: float = 0.95,
) -> Axes:
    """Draw the correlations that differ most between two estimates, with intervals.

    Parameters
    ----------
    first, second : Estimate or PairsEstimate
        What to compare: pairs of columns that both have, by their names.
    ax : matplotlib Axes, optional
        Where; the current axes by default.
    most : int, default 25
        How many pairs to draw, at most.
    fdr : float, default 0.1
        Pairs are drawn that differ: the expected share of false ones among them, at most.
    confidence : float, default 0.95
        The probability that an interval covers its difference.

    Returns
    -------
    Axes

    Notes
    -----
    A difference is that of the released correlations, first minus second, largest first. The two
    releases are taken to be of different people. If some are in both, the intervals are too
    long where what they have in common makes both alike.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from matplotlib.figure import Figure
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> before = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4, seed=1).estimate()
    >>> rows[:, 3] += rows[:, 0]
    >>> after = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4, seed=2).estimate()
    >>> ax = compare(before, after, Figure().subplots(), fdr=1e-6)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['x0 – x3']
    """
    for estimate in (first, second):
        check_estimate(estimate)
    most = check_count("most", most, low=1)
    fdr = check_number("fdr", fdr, low=0.0, high=1.0)
    one, other = first.pairs(confidence), second.pairs(confidence)
    here, there = _shared(one, other)
    difference = one.released[here] - other.released[there]
    error = np.hypot(one.standard_error[here], other.standard_error[there])
    differ = np.flatnonzero(q_values(np.abs(difference) / error, n_tests=len(here)) <= fdr)
    ax = find_axes(ax)
    if not len(differ):
        say(ax, f"No correlation is seen to differ\nat a false discovery rate of {fdr:g}.")
        return ax
    order = differ[np.argsort(-np.abs(difference[differ]), kind="stable")][:most]
    low, high = _interval(one, other, here[order], there[order])
    draw_forest(ax, difference[order], low, high, end=2.0)
    columns = np.array(one.columns, dtype=object)
    ends = (columns[one.first[here[order]]], columns[one.second[here[order]]])
    name_rows(
        ax, [f"{shown_name(a, 20)} – {shown_name(b, 20)}" for a, b in zip(*ends, strict=True)]
    )
    ax.set_xlabel(f"difference of correlations with {100 * confidence:g} % interval")
    found = f"{len(differ):,} of {len(here):,} correlations differ"
    ax.set_title(found if len(order) == len(differ) else f"the {len(order)} largest: {found}")
    return ax


def _shared(one: Pairs, other: Pairs) -> tuple[Places, Places]:
    """Return where the pairs stand that both tell the correlation of."""
    place = {
        frozenset((other.columns[i], other.columns[j])): number
        for number, (i, j) in enumerate(zip(other.first, other.second, strict=True))
        if other.told[number]
    }
    both = [
        (number, place[names])
        for number, (i, j) in enumerate(zip(one.first, one.second, strict=True))
        if one.told[number] and (names := frozenset((one.columns[i], one.columns[j]))) in place
    ]
    if not both:
        raise ParameterError(
            "There is nothing to compare: no pair of columns of the same names has a correlation "
            "that both releases tell."
        )
    here, there = np.array(both, dtype=np.intp).T
    return here, there


def _interval(one: Pairs, other: Pairs, here: Places, there: Places) -> tuple[Array, Array]:
    """Return the ends of intervals for differences (Zou 2007, eq. 15)."""
    a, b = one.released[here], other.released[there]
    below = np.hypot(a - one.low[here], other.high[there] - b)
    above = np.hypot(one.high[here] - a, b - other.low[there])
    return np.maximum(a - b - below, -2.0), np.minimum(a - b + above, 2.0)
