"""The comparison: how much correlations differ between two releases.

Owns the picture. The numbers are those of `dpcov.answers.Comparison`.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from dpcov.answers.differences import Differences, differ_in_pairs
from dpcov.errors import ParameterError
from dpcov.parameters import check_count, check_number
from dpcov.plot.forest import draw_forest, name_rows
from dpcov.plot.look import check_estimate, find_axes, say, shown_name
from dpcov.postprocess import AnyEstimate, Estimate

__all__ = ["compare"]


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
    A difference is that of the released correlations, second minus first, largest first: the
    numbers of `dpcov.Release.compare`. The two releases are taken to be of different people. If
    some are in both, the intervals are too long where what they have in common makes both alike.

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
    table = _differences(first, second, confidence)
    n_told = int(table.told.sum())
    if not n_told:
        raise ParameterError(
            "There is nothing to compare: no pair of columns has a correlation that both releases "
            "tell."
        )
    differ = table.changed(fdr)
    ax = find_axes(ax)
    if not len(differ):
        say(ax, f"No correlation is seen to differ\nat a false discovery rate of {fdr:g}.")
        return ax
    largest = sorted(differ, key=lambda change: -abs(change.difference))[:most]
    difference, low, high = (
        np.array([getattr(change, name) for change in largest])
        for name in ("difference", "low", "high")
    )
    draw_forest(ax, difference, low, high, end=2.0)
    ends = (change.names for change in largest)
    name_rows(ax, [f"{shown_name(a, 20)} – {shown_name(b, 20)}" for a, b in ends])
    ax.set_xlabel(f"difference of correlations with {100 * confidence:g} % interval")
    found = f"{len(differ):,} of {n_told:,} correlations differ"
    ax.set_title(found if len(largest) == len(differ) else f"the {len(largest)} largest: {found}")
    return ax


def _differences(first: AnyEstimate, second: AnyEstimate, confidence: float) -> Differences:
    """Return how correlations differ: as a comparison of releases says, or pair by pair."""
    if isinstance(first, Estimate) and isinstance(second, Estimate):
        return first.release.compare(second.release, confidence=confidence).correlations
    return differ_in_pairs(first.pairs(confidence), second.pairs(confidence))
