"""Adding up the reports of a collection, from where the last time ended.

Owns checkpoints: sums of reports that a store will not change any more. They save time and
nothing else; a release can always be computed from the reports.
"""

from __future__ import annotations

import numpy as np

from dpcov.collect.store import Facts, Store, Sums
from dpcov.errors import CollectionError, ParameterError
from dpcov.local.collector import Collector
from dpcov.local.report import encode_reports
from dpcov.progress import Tell

__all__ = ["sum_up"]

_APART = 1 << 20  # reports between two checkpoints


def sum_up(store: Store, *, recompute: bool = False, tell: Tell | None = None) -> Collector:
    """Return a collector that counted all reports of a store, each once."""
    facts, total = store.facts(), store.state().reports
    known = None if recompute else store.checkpoint()
    collector = Collector(facts.plan, simulated=facts.simulated)
    if known is not None:
        collector = _collector_of(facts, known)
    kept = collector.n_reports
    for reports, through in store.after(None if known is None else known.through):
        collector.add_many(
            encode_reports(facts.plan, reports.ids, reports.payloads, simulated=facts.simulated)
        )
        if tell is not None:
            tell("adding up reports", collector.n_reports, total)
        if through is not None and collector.n_reports - kept >= _APART:
            store.keep(Sums(through, collector.n_reports, _bytes_of(collector)))
            kept = collector.n_reports
    return collector


def _bytes_of(collector: Collector) -> bytes:
    sums = collector.state_dict()["sums"]
    octets: bytes = sums.astype("<i8").tobytes()
    return octets


def _collector_of(facts: Facts, known: Sums) -> Collector:
    size = facts.plan.n_cells
    blank = Collector(facts.plan, simulated=facts.simulated).state_dict()
    try:
        sums = np.frombuffer(known.sums, dtype="<i8").reshape(size, size).astype(np.int64)
        return Collector.from_state({**blank, "n_reports": known.reports, "sums": sums})
    except (ParameterError, ValueError):
        raise CollectionError(
            "The sums that were kept are damaged. Add up the reports again: --recompute "
            "(recompute=True)."
        ) from None
