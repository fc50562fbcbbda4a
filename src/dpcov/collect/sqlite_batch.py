"""What one transaction does with the batches that it is given.

Owns the rule: a batch is taken as a whole or not at all; a report that is known with the same
bytes is taken again without being counted, one with other bytes is a conflict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.collect.runs import each_once, places_of
from dpcov.collect.sqlite_index import LARGE, RunIndex, rows
from dpcov.collect.store import Outcome
from dpcov.local.plan import ID_BYTES
from dpcov.local.report import Reports

__all__ = ["Batch"]


class Batch:
    """The reports that a transaction will write."""

    def __init__(self, index: RunIndex, *, closed: bool) -> None:
        self._index, self._closed = index, closed
        self._pending: dict[bytes, bytes] = {}
        self.small: list[Reports] = []
        """New reports of small batches."""
        self.large: list[Reports] = []
        """New reports of large ones, in the order of ids."""

    def take(self, reports: Reports) -> Outcome:
        """Take one batch, or say why not."""
        fresh = self._fresh(reports)
        if fresh is None:
            return Outcome.CONFLICT
        if not len(fresh):
            return Outcome.ACCEPTED
        if self._closed:
            return Outcome.CLOSED
        if len(fresh) >= LARGE:
            self.large.append(fresh)
        else:
            self.small.append(fresh)
            self._pending.update(zip(rows(fresh.ids), rows(fresh.payloads), strict=True))
        return Outcome.ACCEPTED

    def _fresh(self, reports: Reports) -> Reports | None:
        """Return the reports that are not known, each id once; None for a conflict."""
        once = each_once(reports)
        if once is None:
            return None
        left = np.ones(len(once), dtype=np.bool_)
        places, said = self._index.settled_payloads(once.ids)
        found = [Found(places, said)]
        found += [_in_run(once, run) for run in self.large]
        found += [_in_memory(once, known) for known in (self._index.recent, self._pending)]
        for places, said in found:
            if not np.array_equal(once.payloads[places], said):
                return None
            left[places] = False
        return once[np.flatnonzero(left)]


class Found(NamedTuple):
    """Which reports of a batch are known, and what they say there."""

    places: npt.NDArray[np.intp]
    said: npt.NDArray[np.uint8]


def _in_run(once: Reports, run: Reports) -> Found:
    at = places_of(once.ids, run)
    places = np.flatnonzero(at >= 0)
    return Found(places, run.payloads[at[places]])


def _in_memory(once: Reports, known: dict[bytes, bytes]) -> Found:
    width = once.payloads.shape[1]
    if len(once) > len(known):  # look for the fewer ones
        ids = np.frombuffer(b"".join(known), dtype=np.uint8).reshape(-1, ID_BYTES)
        at = places_of(ids, once)
        pairs = [
            (place, said) for place, said in zip(at, known.values(), strict=True) if place >= 0
        ]
    else:
        asked = (known.get(report_id) for report_id in rows(once.ids))
        pairs = [(place, said) for place, said in enumerate(asked) if said is not None]
    places = np.array([place for place, _ in pairs], dtype=np.intp)
    octets = b"".join(said for _, said in pairs)
    return Found(places, np.frombuffer(octets, dtype=np.uint8).reshape(-1, width))
