"""What one transaction does with the batches that it is given.

Owns the rule: a batch is taken as a whole or not at all; a report that is known with the same
bytes is taken again without being counted, one with other bytes is a conflict. Small batches are
looked up one report at a time in dictionaries, large ones as arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.collect.runs import each_once, join, places_of, read_run, sort_run
from dpcov.collect.sqlite_index import LARGE, RunIndex, rows
from dpcov.collect.store import Outcome
from dpcov.local.plan import ID_BYTES
from dpcov.local.report import Reports

__all__ = ["Batch"]


class Batch:
    """The reports that a transaction will write."""

    def __init__(self, index: RunIndex, batches: Sequence[Reports], *, closed: bool) -> None:
        self._index, self._closed = index, closed
        self._pending: dict[bytes, bytes] = {}
        self.large: list[Reports] = []
        """New reports of large batches, each in the order of ids."""
        small = [batch for batch in batches if len(batch) < LARGE]
        self._settled = _settled_ones(index, small)
        self.outcomes = [self._take(batch) for batch in batches]

    def small(self, payload_bytes: int) -> Reports:
        """Return the new reports of small batches, in the order of ids."""
        ids, payloads = b"".join(self._pending), b"".join(self._pending.values())
        return sort_run(read_run(ids, payloads, payload_bytes))

    def _take(self, reports: Reports) -> Outcome:
        if len(reports) >= LARGE:
            return self._take_large(reports)
        fresh: dict[bytes, bytes] = {}
        places = (self._pending, self._index.recent, self._settled, fresh)
        ids, payloads = rows(reports.ids), rows(reports.payloads)
        in_large = self._in_large(reports)
        for place, report_id in enumerate(ids):
            said = in_large.get(place)
            for known in places:
                said = said or known.get(report_id)
            if said is None:
                fresh[report_id] = payloads[place]
            elif said != payloads[place]:
                return Outcome.CONFLICT
        if fresh and self._closed:
            return Outcome.CLOSED
        self._pending.update(fresh)
        return Outcome.ACCEPTED

    def _take_large(self, reports: Reports) -> Outcome:
        once = each_once(reports)
        if once is None:
            return Outcome.CONFLICT
        found = [Found(*self._index.settled_payloads(once.ids))]
        found += [_in_run(once, run) for run in self.large]
        found += [_in_memory(once, known) for known in (self._index.recent, self._pending)]
        left = np.ones(len(once), dtype=np.bool_)
        for places, said in found:
            if not np.array_equal(once.payloads[places], said):
                return Outcome.CONFLICT
            left[places] = False
        fresh = once[np.flatnonzero(left)]
        if len(fresh) and self._closed:
            return Outcome.CLOSED
        if len(fresh):
            self.large.append(fresh)
        return Outcome.ACCEPTED

    def _in_large(self, reports: Reports) -> dict[int, bytes]:
        """Return what large batches of this transaction say, by place in these reports."""
        known: dict[int, bytes] = {}
        for run in self.large:
            places, said = _in_run(reports, run)
            known.update(zip(places.tolist(), rows(said), strict=True))
        return known


class Found(NamedTuple):
    """Which reports of a batch are known, and what they say there."""

    places: npt.NDArray[np.intp]
    said: npt.NDArray[np.uint8]


def _settled_ones(index: RunIndex, batches: Sequence[Reports]) -> dict[bytes, bytes]:
    """Return what settled runs say of the ids of all batches."""
    if not batches:
        return {}
    every = join(batches, batches[0].payloads.shape[1])
    places, said = index.settled_payloads(every.ids)
    return dict(zip(rows(every.ids[places]), rows(said), strict=True))


def _in_run(reports: Reports, run: Reports) -> Found:
    at = places_of(reports.ids, run)
    places = np.flatnonzero(at >= 0)
    return Found(places, run.payloads[at[places]])


def _in_memory(once: Reports, known: dict[bytes, bytes]) -> Found:
    """Look for the reports of a dictionary in a run."""
    ids = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(-1, ID_BYTES)
    at = places_of(ids, once)
    pairs = [(place, said) for place, said in zip(at, known.values(), strict=True) if place >= 0]
    places = np.array([place for place, _ in pairs], dtype=np.intp)
    octets = b"".join(said for _, said in pairs)
    return Found(places, np.frombuffer(octets, np.uint8).reshape(-1, once.payloads.shape[1]))
