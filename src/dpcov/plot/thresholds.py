"""The risk curve: how the rule and the threshold of an estimate were chosen.

Owns how the competition of `dpcov.postprocess.choice` looks.
"""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from dpcov.errors import ParameterError
from dpcov.plot.look import GRAY, NEGATIVE, POSITIVE, check_estimate, find_axes, text_color
from dpcov.postprocess import AnyEstimate, RiskCurve

__all__ = ["risk"]

_COLORS = (NEGATIVE, POSITIVE, "#009E73", "#CC79A7", "#B8960B", "#56B4E9")
_STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)))


def risk(estimate: AnyEstimate, ax: Axes | None = None) -> Axes:
    """Draw the estimated risk of every rule at every threshold, and mark the chosen one.

    Parameters
    ----------
    estimate : Estimate
        Its threshold must have been chosen by thinning, which is the default.
    ax : matplotlib Axes, optional
        Where; the current axes by default.

    Returns
    -------
    Axes

    Raises
    ------
    ParameterError
        When the estimate has no risk curve.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from matplotlib.figure import Figure
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
    >>> risk(estimate, Figure().subplots()).get_xlabel()
    'threshold, in standard deviations of an entry'
    """
    check_estimate(estimate)
    curve, chosen = estimate.risk_curve, estimate.chosen
    if curve is None:
        raise ParameterError(
            "A risk curve needs a threshold chosen by thinning from two columns or more; this "
            "estimate has none. Use release.estimate(threshold='thinned'), of a release of all "
            "second moments."
        )
    ax = find_axes(ax)
    ax.axhline(0, color=GRAY, linewidth=0.8)
    for number, (name, values) in enumerate(curve.risk.items()):
        ax.plot(
            curve.thresholds,
            values,
            color=_COLORS[number % len(_COLORS)],
            linestyle=_STYLES[number % len(_STYLES)],
            linewidth=2.4 if name == chosen.rule else 1.4,
            label=name.replace("-", " "),
        )
    ax.axvline(chosen.threshold, color=text_color(), linewidth=0.8, linestyle=":")
    ax.plot(
        [chosen.threshold],
        [np.interp(chosen.threshold, curve.thresholds, curve.risk[chosen.rule])],
        color=text_color(),
        marker="o",
        markersize=7,
        linestyle="",
        label=f"chosen: {chosen.in_words}",
    )
    ax.set_ylim(*_window(curve))
    ax.set_xlabel("threshold, in standard deviations of an entry")
    scaled = "" if estimate.release.units.is_plain else ",\ncolumns scaled as in the release"
    ax.set_ylabel(f"squared error,\nless that of the diagonal alone{scaled}")
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize="small"
    )
    return ax


def _window(curve: RiskCurve) -> tuple[float, float]:
    """Show the lows of all rules, and of the highs not so much that the lows look flat."""
    everything = np.concatenate(list(curve.risk.values()))
    low, high = float(everything.min()), float(everything.max())
    depth = max(-low, 0.05 * (high - low)) or 1.0
    # Differences of less than a twentieth of the gain shall look as small as they are.
    high = max(min(high, low + 2.5 * depth), low + 0.05 * depth)
    return low - 0.1 * (high - low), high + 0.1 * (high - low)
