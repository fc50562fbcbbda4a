"""The paper's four figures, drawn from the table of errors.

Owns how they look: three panels, log scales, a mark and a colour for each curve that
stay apart without colour vision and in print, legends below the data. Needs the extra
``paper``. Touches no global state of matplotlib.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, NullFormatter

from dpcov.paper.bounds import error_bound
from dpcov.paper.study import FIGURES, PANELS, Curve, Figure, Panel

__all__ = ["draw", "draw_panel"]

# Okabe and Ito's colors, dark enough for thin lines, each with a mark of its own.
_LOOKS = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#8F4A7B", "D"))
# Line styles: dpcov, the paper's algorithm beside it, the paper's bound.
_OWN, _PAPERS, _RATE = "-", (0, (4, 2)), ":"
_GRAY = "#444444"
_BAND, _FEWEST_FOR_A_BAND = (0.1, 0.9), 5
_STYLE: Any = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "dpcov",  # the same figure is the same file
    "svg.fonttype": "none",
}
_NORM = {1: "ℓ₁", 2: "ℓ₂"}


def draw(table: pd.DataFrame, number: int, manner: str, folder: Path) -> list[Path]:
    """Draw a figure as PNG and SVG and return the files."""
    figure = FIGURES[number]
    rows = table[(table["figure"] == number) & (table["as"] == manner)]
    with mpl.rc_context(_STYLE):
        canvas = Canvas(figsize=(10.5, 4.1), layout="constrained")
        axes = canvas.subplots(1, 3, sharey=True)
        for ax, panel in zip(axes, PANELS, strict=True):
            draw_panel(ax, rows[rows["panel"] == panel.name], panel, figure)
        axes[0].set_ylabel(f"relative {_NORM[figure.norm]} error")
        _set_limits(axes[0], rows)
        canvas.suptitle(_title(figure, manner, rows), fontsize=11)
        canvas.legend(
            handles=_styles(figure, manner), loc="outside lower center", ncols=3, fontsize=9
        )
        paths = [folder / f"figure-{number}-{manner}.{kind}" for kind in ("png", "svg")]
        canvas.savefig(paths[0], dpi=200)
        canvas.savefig(paths[1], metadata={"Date": None})
    return paths


def draw_panel(ax: Axes, rows: pd.DataFrame, panel: Panel, figure: Figure) -> Axes:
    """Draw one panel's curves: means, with the range of the middle 80 % of the runs."""
    for curve, (color, mark) in zip(panel.curves, _LOOKS, strict=True):
        of_curve = rows[rows["curve"] == curve.label]
        for method, runs in of_curve.groupby("method"):
            own = method == "dpcov" or of_curve["method"].nunique() == 1
            errors = runs.groupby("n")["error"]
            if runs["run"].nunique() >= _FEWEST_FOR_A_BAND:
                low, high = errors.quantile(_BAND[0]), errors.quantile(_BAND[1])
                ax.fill_between(low.index, low, high, color=color, alpha=0.15, linewidth=0)
            ax.plot(
                errors.mean(),
                color=color,
                marker=mark,
                markersize=4,
                linewidth=1.4,
                linestyle=_OWN if own else _PAPERS,
                markerfacecolor=color if own else "white",
                label=curve.label if own else None,
            )
            if curve.label == panel.reference and method == figure.algorithm:
                _draw_rate(ax, errors.mean(), curve)
    ax.set(xscale="log", yscale="log", xlabel="sample size n", title=panel.title)
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.16),
        ncols=4,
        fontsize=8.5,
        columnspacing=0.8,
        handlelength=1.4,
        handletextpad=0.4,
    )
    return ax


def _draw_rate(ax: Axes, errors: pd.Series[float], curve: Curve) -> None:
    """Draw the rate of Theorem 2 with the smallest constant that bounds what was measured."""
    sparsity = round(curve.sparsity_ratio * (curve.n_columns - 1))
    sizes = np.geomspace(errors.index.min(), errors.index.max(), 50)

    def rate(n: float) -> float:
        return error_bound(
            sparsity=sparsity,
            n_columns=curve.n_columns,
            n_rows=n,
            epsilon=curve.epsilon,
            delta=1 / n,
        )

    constant = max(error / rate(n) for n, error in zip(errors.index, errors, strict=True))
    ax.plot(
        sizes,
        [constant * rate(n) for n in sizes],
        color=_GRAY,
        linewidth=1.0,
        linestyle=_RATE,
    )


def _set_limits(ax: Axes, rows: pd.DataFrame) -> None:
    """Fit the shared axis to the errors (the rate may leave it) and label it in plain numbers."""
    low, high = 0.8 * rows["error"].min(), 1.3 * rows["error"].max()
    ax.set_ylim(low, high)
    steps = (1.0, 2.0, 5.0) if high / low < 300 else (1.0,)
    ax.yaxis.set_major_locator(LogLocator(subs=steps))
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def _title(figure: Figure, manner: str, rows: pd.DataFrame) -> str:
    runs = rows["run"].nunique()
    what = {
        "printed": "as printed: its data and noise, rows not clipped, no promise",
        "holds": "as it holds: rows clipped to norm 1, noise of a true promise",
    }[manner]
    shown = "mean and middle 80 %" if runs >= _FEWEST_FOR_A_BAND else "mean"
    return f"{figure.algorithm}, {what} (δ = 1/n; {shown} of {runs} runs)"


def _styles(figure: Figure, manner: str) -> list[Line2D]:
    """Return legend entries for what holds in all three panels."""
    theorem = {"central": "Theorem 2", "local": "Theorem 3"}[figure.model]
    references = ", ".join(panel.reference for panel in PANELS)
    rate = _line(_RATE, f"rate of {theorem}, smallest constant that bounds {references}")
    if manner == "printed":
        return [rate]
    return [
        _line(_OWN, "dpcov's estimate", marker="o"),
        _line(_PAPERS, f"{figure.algorithm}, valid noise", marker="o", markerfacecolor="white"),
        rate,
    ]


def _line(style: Any, label: str, **look: Any) -> Line2D:
    look |= {"color": _GRAY, "linestyle": style, "linewidth": 1.2, "markersize": 4}
    return Line2D([], [], label=label, **look)
