"""What a process remembers of a collection in SQLite: where each id is.

Owns the two kinds of memory: recent reports as they are, settled ones as fingerprints. Nothing
in it is needed that is not on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from dpcov.collect.known import KnownIds
from dpcov.collect.runs import places_of, split
from dpcov.local.plan import CollectionPlan
from dpcov.local.report import Reports

__all__ = ["LARGE", "RunIndex", "largest_run", "rows"]

LARGE = 1 << 15
"""So many reports of one batch settle at once."""
_RUN_REPORTS, _RUN_BYTES = 1 << 16, 1 << 24
# Reports, bytes and commits until recent runs settle: seldom enough, and soon done.
_MOST_RECENT, _MOST_RECENT_BYTES, _MOST_RECENT_RUNS = 50_000, 1 << 26, 1024


class RunIndex:
    """Which ids are known, and what their reports say."""

    def __init__(
        self, plan: CollectionPlan, generation: int, read: Callable[[int], Reports]
    ) -> None:
        self.generation = generation
        self.recent: dict[bytes, bytes] = {}
        self._read, self._settled = read, KnownIds()
        self._recent_runs = 0
        self._payload_bytes = plan.payload_bytes
        self._most = largest_run(plan)

    @property
    def is_untidy(self) -> bool:
        """Whether recent runs should settle."""
        return (
            len(self.recent) >= _MOST_RECENT
            or len(self.recent) * self._payload_bytes >= _MOST_RECENT_BYTES
            or self._recent_runs >= _MOST_RECENT_RUNS
        )

    def pieces(self, run: Reports) -> Iterator[Reports]:
        """Yield a run in pieces that fit into one row of the database each."""
        return split(run, self._most)

    def note(self, run: Reports, number: int, *, settled: bool) -> None:
        """Remember a run that is on the disk."""
        if settled:
            self._settled.add(run.ids, number)
        else:
            self._recent_runs += 1
            self.recent.update(zip(rows(run.ids), rows(run.payloads), strict=True))

    def note_settled(self, runs: Sequence[tuple[npt.NDArray[np.uint8], int]]) -> None:
        """Remember many settled runs at once."""
        self._settled.add_many(runs)

    def forget_recent(self) -> None:
        """Forget recent runs: they have settled."""
        self.recent.clear()
        self._recent_runs = 0

    def settled_payloads(
        self, ids: npt.NDArray[np.uint8]
    ) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint8]]:
        """Return which of the ids are settled, and what their reports say."""
        places, runs = self._settled.candidates(ids)
        found: list[npt.NDArray[np.intp]] = [np.empty(0, dtype=np.intp)]
        said = [np.empty((0, self._payload_bytes), dtype=np.uint8)]
        for number in np.unique(runs):
            run, asked = self._read(int(number)), places[runs == number]
            at = places_of(ids[asked], run)
            found.append(asked[at >= 0])
            said.append(run.payloads[at[at >= 0]])
        return np.concatenate(found), np.concatenate(said)


def largest_run(plan: CollectionPlan) -> int:
    """Return how many reports fit into one row of the database."""
    return max(1, min(_RUN_REPORTS, _RUN_BYTES // plan.report_bytes))


def rows(table: npt.NDArray[np.uint8]) -> list[bytes]:
    """Return the rows of a table of bytes."""
    width = table.shape[1]
    octets = np.ascontiguousarray(table).tobytes()
    return [octets[start : start + width] for start in range(0, len(octets), width)]
