"""What a card says and its release does not.

Owns the comparison of two cards, one stated and one made again. Everything is compared: kinds
of values, order of fields, text, whole numbers and what the release's file holds exactly;
numbers that a processor's arithmetic may move, to a billionth. Sentences belong to a version
of dpcov: those of another version cannot be compared, and are never repeated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["TOLERANCE", "compare_cards", "is_near"]

TOLERANCE = 1e-9
"""How far a derived number may be from the one that is computed here, as a share of it."""

# Logarithms, sums and choices among them differ in the last digits between machines.
_DERIVED = {
    "data.n_terms",
    "data.weights.effective_rows",
    "data.weights.effective_rows_error",
    "data.columns[].mean_error",
    "data.columns[].standard_deviation",
    "data.columns[].standard_deviation_error",
    "data.columns[].observed",
    "data.columns[].observed_error",
    "guarantee.rho",
    "guarantee.mu",
    "guarantee.factor",
    "guarantee.example.at_most",
    "guarantee.attack.power",
    "mechanism.events[].share",
    "estimate.threshold",
    "estimate.paper_threshold",
    "estimate.smallest_detectable_correlation",
    "estimate.detectable_in_most_pairs",
    "related.strongest[].released",
    "related.strongest[].low",
    "related.strongest[].high",
    "related.strongest[].q_value",
}
# Ends of intervals that are found by halving differ by the last step, eigenvalues by as little.
_SEARCHED = {
    f"related.{part}[].{name}"
    for part in ("associations.strongest", "gaps.surest")
    for name in ("value", "standard_error", "low", "high", "q_value")
} | {f"related.components.{name}" for name in ("share", "low", "high")}
_LAST_STEP = 1e-8
_SENTENCES = {
    "guarantee.in_words",
    "guarantee.simulation",
    "guarantee.warning",
    "guarantee.example.in_words",
    "guarantee.example.meaning",
    "guarantee.attack.in_words",
    "guarantee.can_learn",
    "guarantee.cannot_learn",
    "guarantee.privacy_unit.note",
    "guarantee.privacy_unit.is",
    "guarantee.neighbors.in_words",
    "guarantee.domain.in_words",
    "guarantee.not_protected",
    "data.in_words",
    "data.weights.in_words",
    "released.in_words",
    "learned.in_words",
    "mechanism.sampler",
    "mechanism.floating_point",
    "known_limits",
    "estimate.detectable_in_words",
    "related.in_words",
    "related.associations.in_words",
    "related.gaps.in_words",
    "related.components.in_words",
    "related.partial.in_words",
    "ledger.accounts[].in_words",
}
# Compared by themselves.
_APART = {"digest", "library.card_written_by"}


def compare_cards(
    stated: Mapping[str, Any], computed: Mapping[str, Any], *, sentences: bool
) -> list[str]:
    """Return the parts in which a stated card differs from one that was computed.

    Examples
    --------
    >>> compare_cards({"model": "local"}, {"model": "central"}, sentences=True)
    ['model']
    """
    skipped = _APART if sentences else _APART | _SENTENCES
    if "estimate" in computed and computed["estimate"] is None:
        skipped = skipped | {"estimate"}
    return list(_differences(stated, computed, "", "", skipped))


def _differences(
    stated: object, computed: object, place: str, kind: str, skipped: set[str]
) -> Iterator[str]:
    """Yield places; `kind` is the place without the numbers of lists."""
    if kind in skipped:
        return
    if type(stated) is not type(computed):
        yield place
    elif isinstance(computed, dict) and isinstance(stated, dict):
        if list(stated) != list(computed):
            yield f"list of fields{' of ' if place else ''}{place}"
            return
        dot = "." if place else ""
        for name, value in computed.items():
            inner = f"{place}{dot}{name}", f"{kind}{dot}{name}"
            yield from _differences(stated[name], value, *inner, skipped)
    elif isinstance(computed, list) and isinstance(stated, list):
        if len(stated) != len(computed):
            yield place
            return
        for number, (one, other) in enumerate(zip(stated, computed, strict=True)):
            yield from _differences(one, other, f"{place}[{number}]", f"{kind}[]", skipped)
    elif not _is_same(stated, computed, kind):
        yield place


def is_near(stated: object, computed: float | None) -> bool:
    """Return whether a stated number is the computed one, but for a machine's rounding.

    Examples
    --------
    >>> is_near(0.25, 0.25 + 1e-12), is_near(0.0, 0.25)
    (True, False)
    """
    if not isinstance(stated, float) or computed is None:
        return stated is computed
    if not computed:
        return repr(stated) == repr(computed)
    return math.isfinite(computed) and math.isclose(stated, computed, rel_tol=TOLERANCE)


def _is_same(stated: Any, computed: Any, kind: str) -> bool:
    if isinstance(computed, float) and kind in _DERIVED:
        return is_near(stated, computed)
    if isinstance(computed, float) and isinstance(stated, float) and kind in _SEARCHED:
        return math.isclose(stated, computed, rel_tol=_LAST_STEP, abs_tol=_LAST_STEP)
    return repr(stated) == repr(computed)  # unlike ==, this tells 0.0 from -0.0
