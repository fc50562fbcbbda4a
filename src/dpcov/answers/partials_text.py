"""Partial correlations in words: the pairs that are related, and what to know of them.

Owns these texts. Terminal, notebook and files show the same.
"""

from __future__ import annotations

from collections.abc import Iterable

from dpcov.answers.partials import PartialCorrelation, PartialCorrelations
from dpcov.answers.sentences import caveats, compared_levels, whom
from dpcov.answers.text_table import align
from dpcov.digits import correlation_text, interval_text, name_some, percent, probability_text
from dpcov.postprocess.pairs_table import TOO_NOISY
from dpcov.releases import PairsRelease

__all__ = ["HEADING", "lines_of", "sentences", "summarize"]

HEADING = ("", "partial correlation", "interval", "p", "q-value")
_SHOWN = 20


def summarize(found: PartialCorrelations, fdr: float) -> str:
    """Return partial correlations as a text."""
    edges = found.edges(fdr)
    parts = [f"Partial correlations of {len(found.columns):,} columns, each given all others"]
    if len(edges):
        parts += ["", align(HEADING, lines_of(list(edges)[:_SHOWN]))]
        parts += [f"… and {len(edges) - _SHOWN:,} more"] if len(edges) > _SHOWN else []
    return "\n".join([*parts, "", *sentences(found, fdr)])


def lines_of(edges: Iterable[PartialCorrelation]) -> list[list[str]]:
    """Return the lines of a table of some pairs."""
    return [
        [
            f"{edge.first} – {edge.second}",
            correlation_text(edge.value, edge.high - edge.low) if edge.told else TOO_NOISY,
            interval_text(edge.low, edge.high) if edge.told else "",
            probability_text(edge.p_value),
            probability_text(edge.q_value),
        ]
        for edge in edges
    ]


def sentences(found: PartialCorrelations, fdr: float) -> list[str]:
    """Return what to know of them."""
    related = len(found.edges(fdr))
    said = [
        f"{related:,} of {len(found):,} pairs are related given all other columns, at a false "
        f"discovery rate of {percent(fdr)}.",
        whom(found.release, found.columns, found.about, found.confidence),
    ]
    untold = [
        name for name, told in zip(found.columns, found.told_columns, strict=True) if not told
    ]
    if untold:
        said.append(
            f"The noise does not let tell {name_some(untold)} from other columns: partial "
            "correlations with them cannot be told. Fewer columns would help."
        )
    if found.terms.left_out:
        said.append(
            f"The variance of {name_some(found.terms.left_out)} does not stand out of the noise: "
            "left out."
        )
    wide = _wide(found)
    if wide:
        said.append(f"{wide:,} other pairs are {TOO_NOISY}.")
    said += compared_levels(found.terms.references)
    if isinstance(found.release, PairsRelease):
        said.append("Correlations come from the signs of cells, as for Gaussian rows.")
    return said + caveats(found.release, found.columns)


def _wide(found: PartialCorrelations) -> int:
    known = found.told_columns[found.first] & found.told_columns[found.second]
    return int((known & ~found.told).sum())
