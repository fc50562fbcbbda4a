"""What each picture shows, for readers who do not see it.

Owns the alternative texts. They are computed from the release and the estimate, like the
pictures.
"""

from __future__ import annotations

import numpy as np

from dpcov.answers.partials import PartialCorrelations
from dpcov.digits import interval_text, percent
from dpcov.multiplicity import count_pairs
from dpcov.plot.look import number_places, shown_name
from dpcov.postprocess import TOO_NOISY, AnyEstimate, Pairs
from dpcov.publication.card_findings import strongest_of

__all__ = ["heatmap", "intervals", "network", "partial", "risk", "spectrum"]

_NAMED = 3


def heatmap(estimate: AnyEstimate, *, levels: bool = True) -> str:
    """Say how many correlations are not zero, and between what they lie."""
    kept, size, n_pairs = estimate.kept_correlations, len(estimate.columns), estimate.n_pairs
    if not levels:
        chosen = number_places(estimate)
        kept, size, n_pairs = kept[chosen][:, chosen], len(chosen), count_pairs(len(chosen))
    values, what = kept.data, "columns" if levels else "numbers"
    start = f"Heatmap of the estimated correlations of {size:,} {what}"
    if not len(values):
        return f"{start}: all are zero."
    return (
        f"{start}, those that go together beside each other. {len(values) // 2:,} of "
        f"{n_pairs:,} are not zero; they lie between {values.min():+.2f} and "
        f"{values.max():+.2f}."
    )


def network(related: Pairs) -> str:
    """Say how many pairs there are, and of which sign."""
    told = related.chosen(related.told)
    positive, untold = int((told.released > 0).sum()), len(related) - len(told)
    columns = len(np.union1d(told.first, told.second))
    text = (
        f"Network of related columns. {len(told):,} pairs of {columns:,} columns were "
        f"found, {positive:,} with a positive and {len(told) - positive:,} with a "
        "negative correlation; the surest are drawn."
    )
    if not untold:
        return text
    return f"{text} {untold:,} more are related, and not drawn: how strong is {TOO_NOISY}."


def partial(found: PartialCorrelations, fdr: float) -> str:
    """Say how many pairs are related given all other columns, and of which sign."""
    told = found.told & (found.q_values <= fdr)
    positive = int((told & (found.values > 0)).sum())
    columns = len(np.union1d(found.first[told], found.second[told]))
    return (
        f"Network of columns that are related given all others. {int(told.sum()):,} pairs of "
        f"{columns:,} columns were found, {positive:,} with a positive and "
        f"{int(told.sum()) - positive:,} with a negative partial correlation; the surest are drawn."
    )


def intervals(related: Pairs) -> str:
    """Name the strongest pairs, with the numbers that the page has elsewhere."""
    named = []
    for place in strongest_of(related)[:_NAMED]:
        low, high = float(related.low[place]), float(related.high[place])
        names = (
            shown_name(related.columns[places[place]]) for places in (related.first, related.second)
        )
        named.append(f"{' and '.join(names)} {interval_text(low, high)}")
    start = f"Correlations with {percent(related.confidence)} intervals."
    return f"{start} The strongest: {'; '.join(named)}." if named else start


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
