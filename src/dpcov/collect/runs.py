"""Runs: reports in the order of their ids, as bytes one after the other.

Owns the order and the search in it. Ids are 16 random bytes; their order says nothing about
the order in which reports came.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from dpcov.local.plan import ID_BYTES
from dpcov.local.report import Reports

__all__ = [
    "each_once",
    "halves",
    "join",
    "merge",
    "places_of",
    "read_run",
    "sort_run",
    "split",
    "unique",
]

Places = npt.NDArray[np.intp]
Flags = npt.NDArray[np.bool_]


def halves(ids: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint64]:
    """Return ids as two numbers each, the leading one first."""
    words = np.ascontiguousarray(ids).reshape(-1).view(">u8").astype(np.uint64)
    return words.reshape(-1, ID_BYTES // 8)


def sort_run(reports: Reports) -> Reports:
    """Return reports in the order of their ids, equal ids in the order of their payloads."""
    keys = halves(reports.ids)
    order = np.lexsort((keys[:, 1], keys[:, 0]))
    keys = keys[order]
    if (keys[1:] == keys[:-1]).all(axis=1).any():  # only then do payloads matter
        listed = sorted(
            range(len(reports)),
            key=lambda place: (reports.ids[place].tobytes(), reports.payloads[place].tobytes()),
        )
        order = np.array(listed, dtype=np.intp)
    return reports[order]


def unique(run: Reports) -> Reports:
    """Return the first report of each id in a run."""
    keys = halves(run.ids)
    fresh = np.ones(len(run), dtype=np.bool_)
    fresh[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    return run if fresh.all() else run[np.flatnonzero(fresh)]


def each_once(reports: Reports) -> Reports | None:
    """Return a run of reports, repetitions left out; None if one id says two things."""
    run = sort_run(reports)
    keys = halves(run.ids)
    again = np.flatnonzero((keys[1:] == keys[:-1]).all(axis=1))
    if not np.array_equal(run.payloads[again], run.payloads[again + 1]):
        return None
    return unique(run)


def join(parts: Sequence[Reports], payload_bytes: int) -> Reports:
    """Return reports one after the other."""
    if not parts:
        return read_run(b"", b"", payload_bytes)
    return Reports(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.payloads for part in parts]),
    )


def merge(parts: Sequence[Reports], payload_bytes: int) -> Reports:
    """Return one run of all parts, each id once: with the payload that comes first in order."""
    return unique(sort_run(join(parts, payload_bytes)))


def split(run: Reports, most: int) -> Iterator[Reports]:
    """Yield a run in pieces of at most `most` reports."""
    for start in range(0, len(run), most):
        yield Reports(run.ids[start : start + most], run.payloads[start : start + most])


def read_run(ids: bytes, payloads: bytes, payload_bytes: int) -> Reports:
    """Return the reports of stored bytes."""
    return Reports(
        np.frombuffer(ids, dtype=np.uint8).reshape(-1, ID_BYTES),
        np.frombuffer(payloads, dtype=np.uint8).reshape(-1, payload_bytes),
    )


def places_of(wanted: npt.NDArray[np.uint8], run: Reports) -> Places:
    """Return where each of the wanted ids is in a run, −1 where it is not."""
    if not len(run):
        return np.full(len(wanted), -1, dtype=np.intp)
    there, asked = halves(run.ids), halves(wanted)
    low = np.searchsorted(there[:, 0], asked[:, 0])
    high = np.searchsorted(there[:, 0], asked[:, 0], side="right")
    # Leading halves that are equal are next to each other. Honest ids have none, and whoever
    # makes some is not to be paid for it by a search of all of them.
    for one in np.flatnonzero(high - low > 1):
        low[one] += np.searchsorted(there[low[one] : high[one], 1], asked[one, 1])
    place = np.minimum(low, len(there) - 1)
    hit = (there[place] == asked).all(axis=1)
    return np.where(hit, place, -1)
