"""What each picture shows, for readers who do not see it.

Owns the alternative texts. They are computed from the release and the estimate, like the
pictures.
"""

from __future__ import annotations

import numpy as np

from dpcov.plot.look import shown_name
from dpcov.postprocess import AnyEstimate
from dpcov.publication.findings import Findings

__all__ = ["heatmap", "intervals", "network", "risk", "spectrum"]

_NAMED = 3


def heatmap(estimate: AnyEstimate, findings: Findings) -> str:
    """Say how many correlations are not zero, and between what they lie."""
    values = estimate.kept_correlations.data
    start = f"Heatmap of the estimated correlations of {findings.n_columns:,} columns"
    if not len(values):
        return f"{start}: all are zero."
    return (
        f"{start}, related ones beside each other. {len(values) // 2:,} of {findings.n_pairs:,} "
        f"pairs are not zero; they lie between {values.min():+.2f} and {values.max():+.2f}."
    )


def network(findings: Findings) -> str:
    """Say how many pairs there are, and of which sign."""
    positive = int((findings.pairs.correlation > 0).sum())
    columns = len(np.union1d(findings.pairs.first, findings.pairs.second))
    return (
        f"Network of related columns. {len(findings.pairs):,} pairs of {columns:,} columns were "
        f"found, {positive:,} with a positive and {len(findings.pairs) - positive:,} with a "
        "negative correlation; the surest are drawn."
    )


def intervals(estimate: AnyEstimate, findings: Findings) -> str:
    """Name the strongest pairs."""
    pairs = findings.pairs
    strongest = np.argsort(-np.abs(pairs.correlation), kind="stable")[:_NAMED]
    named = [
        f"{shown_name(estimate.columns[pairs.first[place]])} and "
        f"{shown_name(estimate.columns[pairs.second[place]])} {pairs.correlation[place]:+.2f} "
        f"({pairs.low[place]:+.2f} to {pairs.high[place]:+.2f})"
        for place in strongest
    ]
    return f"Correlations with 95 % intervals. The strongest: {'; '.join(named)}."


def spectrum(estimate: AnyEstimate) -> str:
    """Say between what the eigenvalues lie, and where noise ends."""
    estimated, floor = estimate.eigenvalues, estimate.noise_floor
    text = f"Eigenvalues of the estimate, from {estimated[0]:.3g} down to {estimated[-1]:.3g}"
    if floor is None:
        return f"{text}."
    scaled = "" if estimate.release.units.is_plain else " Columns are scaled as in the release."
    return (
        f"{text}, beside those of the release. Noise alone would fill a band of "
        f"±{floor:.3g}.{scaled}"
    )


def risk(estimate: AnyEstimate) -> str:
    """Say what competed and what was chosen."""
    curve = estimate.risk_curve
    rules = "" if curve is None else f" of {len(curve.risk)} rules"
    return (
        f"Curves of the estimated squared error{rules} against the threshold. Chosen: "
        f"{estimate.chosen.in_words}."
    )
