"""Merging collections of one plan into a new one.

Owns the rule for ids that two of them know: counted once. If their bytes differ, which no honest
device makes, the bytes that come first in their order are kept. So any tree of merges gives the
same reports, and the same release.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from dpcov.collect.collection import Collection
from dpcov.collect.runs import halves, merge
from dpcov.collect.store import Outcome
from dpcov.errors import CollectionError, ForeignReportError, ParameterError
from dpcov.local.report import Reports
from dpcov.progress import Tell

__all__ = ["merge_collections"]


def merge_collections(
    sources: Sequence[Collection], into: str | os.PathLike[str], *, tell: Tell | None = None
) -> Collection:
    """Make a new collection of the reports of others, which are left as they are.

    Parameters
    ----------
    sources : sequence of Collection
        Of one plan.
    into : path or str
        Where the new one is made: a folder, or ``postgresql://…``.
    tell : callable, optional
        Told what is done, how many reports were written, and of how many.

    Returns
    -------
    Collection
        It is open: more can be added, until it is closed.
    """
    if not sources:
        raise ParameterError("There is no collection to merge.")
    first = sources[0]
    if any((each.plan, each.simulated) != (first.plan, first.simulated) for each in sources):
        raise ForeignReportError("Collections of different plans cannot be merged.")
    made = Collection.create(into, first.plan, simulated=first.simulated)
    total, done = sum(each.state.reports for each in sources), 0
    try:
        for run in _merged([each.runs() for each in sources], first.plan.payload_bytes):
            if made.add_batches([run]) != [Outcome.ACCEPTED]:
                raise CollectionError(f"{made.name} was changed by others meanwhile.")
            done += len(run)
            if tell is not None:
                tell("merging reports", done, total)
    except BaseException:
        made.disconnect()
        raise
    return made


def _merged(sources: Sequence[Iterator[Reports]], payload_bytes: int) -> Iterator[Reports]:
    """Yield runs of all sources, in the order of ids: as far as every source is known."""
    waiting = [(source, block) for source in sources if (block := _next(source)) is not None]
    while waiting:
        bound = min(_last(block) for _, block in waiting)
        parts, left = [], []
        for source, block in waiting:
            end = _count_up_to(block, bound)
            parts.append(Reports(block.ids[:end], block.payloads[:end]))
            rest: Reports | None = Reports(block.ids[end:], block.payloads[end:])
            if rest is not None and not len(rest):
                rest = _next(source)
            if rest is not None:
                left.append((source, rest))
        waiting = left
        yield merge(parts, payload_bytes)


def _next(source: Iterator[Reports]) -> Reports | None:
    return next((block for block in source if len(block)), None)


def _last(block: Reports) -> bytes:
    return bytes(block.ids[-1].tobytes())


def _count_up_to(block: Reports, bound: bytes) -> int:
    """Return how many reports of a run have an id up to the bound."""
    keys = halves(block.ids)
    lead, rest = halves(np.frombuffer(bound, dtype=np.uint8))[0]
    low, high = (int(np.searchsorted(keys[:, 0], lead, side)) for side in ("left", "right"))
    return low + int(np.searchsorted(keys[low:high, 1], rest, "right"))
