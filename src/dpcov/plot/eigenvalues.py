"""The spectrum: eigenvalues of the estimate and of the release, and what noise alone does.

Owns the noise floor. Covariances are drawn in working units, in which the noise of all
entries is one number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dpcov.plot.look import GRAY, NEGATIVE, POSITIVE, find_axes
from dpcov.plot.pairs import AnyEstimate, check_estimate, kept_correlations
from dpcov.postprocess import Estimate, PairsEstimate
from dpcov.postprocess.psd import components

__all__ = ["eigenvalues", "noise_floor", "spectrum"]

_MOST_MARKS = 60

Array = npt.NDArray[np.float64]


def spectrum(estimate: AnyEstimate, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues of an estimate, and of the release that it came from.

    The band is where the eigenvalues of the privacy noise would lie if there were nothing
    else: see `noise_floor`. A release of pairs has no matrix: then the eigenvalues of the
    estimated correlations are drawn, and no band. Where columns were scaled, by public facts or
    by scales that were paid for, everything is in the units that this made: in the columns' own
    units the noise is different in every entry, and the largest unit would hide the others.

    Parameters
    ----------
    estimate : Estimate or PairsEstimate
        What to draw.
    ax : matplotlib Axes, optional
        Where; the current axes by default.

    Returns
    -------
    Axes

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from matplotlib.figure import Figure
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
    >>> spectrum(estimate, Figure().subplots()).get_ylabel()
    'eigenvalue of the covariance'
    """
    check_estimate(estimate)
    ax = find_axes(ax)
    estimated = eigenvalues(estimate)
    if isinstance(estimate, PairsEstimate):
        ax.set_ylabel("eigenvalue of the correlations")
    else:
        floor = noise_floor(estimate)
        ax.axhspan(-floor, floor, color=GRAY, alpha=0.25, linewidth=0, label="noise alone")
        released = np.linalg.eigvalsh(estimate.release.matrix)[::-1]
        _draw(ax, released, "release", NEGATIVE, "s", hollow=True)
        scaled = "" if estimate.release.units.is_plain else ",\ncolumns scaled as in the release"
        ax.set_ylabel(f"eigenvalue of the covariance{scaled}")
    _draw(ax, estimated, "estimate", POSITIVE, "o")
    ax.set_xlabel("rank")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(frameon=False)
    return ax


def eigenvalues(estimate: AnyEstimate) -> Array:
    """Return the eigenvalues of an estimate, the largest first.

    Of the covariance of an `Estimate` in working units, of the correlations of a
    `PairsEstimate`.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(4000, 9))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, mechanism="pairs", max_pairs=1)
    >>> len(eigenvalues(release.estimate()))
    9
    """
    # Per component: a sparse matrix falls into small ones.
    off_diagonal = kept_correlations(estimate)
    linked = components(off_diagonal)
    alone = np.ones(len(estimate.columns), dtype=bool)
    is_pairs = isinstance(estimate, PairsEstimate)
    # The units of a release of pairs are those of its variances, which are not drawn.
    scale = estimate.release.units.scale
    parts = []
    for members in linked:
        alone[members] = False
        if is_pairs:
            part = off_diagonal[members][:, members].toarray() + np.eye(len(members))
        else:
            part = estimate.covariance[np.ix_(members, members)]
            part /= np.outer(scale[members], scale[members])
        parts.append(np.linalg.eigvalsh(part))
    diagonal = np.ones(len(alone)) if is_pairs else np.diag(estimate.covariance) / scale**2
    return np.sort(np.concatenate([diagonal[alone], *parts]))[::-1]


def noise_floor(estimate: Estimate) -> float:
    """Return the largest eigenvalue that the privacy noise alone would produce: 2 τ √p.

    A symmetric matrix of p columns whose entries are independent Gaussians of sd τ off the
    diagonal has its eigenvalues in ±2 τ √p, but for a margin that vanishes as p grows
    (Wigner 1958). By Weyl's inequality the noise moves every eigenvalue of the release by
    no more than that. Where noise grows with the signal or with a released mean, τ is that
    of two middling columns. In working units, like the eigenvalues.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> noise_floor(release.estimate()) == 4 * release.noise_scale.off_diagonal
    True
    """
    noise = estimate.noise
    variance = noise.privacy_variance(float(np.median(noise.variances)))
    return 2 * math.sqrt(variance * len(noise.variances))


def _draw(
    ax: Axes, values: npt.NDArray[Any], label: str, color: str, marker: str, *, hollow: bool = False
) -> None:
    few = len(values) <= _MOST_MARKS
    ax.plot(
        np.arange(1, len(values) + 1),
        values,
        color=color,
        linewidth=1.0 if few else 1.8,
        linestyle="--" if hollow else "-",
        marker=marker if few else "",
        markersize=5,
        markerfacecolor="none" if hollow else color,
        label=label,
    )
