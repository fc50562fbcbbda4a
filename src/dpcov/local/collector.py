"""The collector: reports go in, the same Release as in the central model comes out.

Owns exact sums of reports. They are integers, so any order and any tree of machines gives
the same bytes. It never sees a row: what it is given was randomized before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dpcov.columns import Units
from dpcov.errors import (
    DuplicateReportError,
    ForeignReportError,
    ParameterError,
)
from dpcov.local.plan import ID_BYTES, CollectionPlan
from dpcov.local.report import Reports, parse_report, parse_reports
from dpcov.local.sums import add_up, largest_entry, take_out_mean, to_average
from dpcov.parameters import check_count
from dpcov.releases import CAP_CONSTANT, Provenance, Release
from dpcov.version import __version__

__all__ = ["Collector"]

_STATE = "dpcov local collector 1"
_STATE_KEYS = {"format", "plan", "n_reports", "sums", "ids", "simulated"}
_WAITING, _WAITING_BYTES = 1024, 1 << 22  # single reports are summed by so many, for BLAS
_MAX_SUM = 1 << 62

Integers = npt.NDArray[np.int64]


class _Counted(NamedTuple):
    """What was counted. Replaced as a whole, so that no failure leaves half of a change."""

    sums: Integers
    n_summed: int
    waiting: list[Reports]  # one report each, not in the sums yet


class Collector:
    """Adds up the reports of one plan.

    Parameters
    ----------
    plan : CollectionPlan
        The plan that was published.
    idempotent : bool, default False
        Keep the ids of all reports (16 bytes each, and as much again for Python) and count
        a report that comes twice once. Otherwise uploads must be made idempotent before.
    simulated : bool, default False
        Count simulated reports, and none but them; the release then promises nothing.

    Notes
    -----
    Claim P16. The sums are exact integers: n · 20074² or n · `largest` stays below 2^62,
    and the matrix product of a block stays below 2^53 in every partial sum. Hence `add`,
    `add_many` and `merge` give the same state to the bit in any order and grouping, and
    one report moves an entry of the sum of cap by less than 24.1 = 4.9², in units of
    row_norm² / κ.

    Examples
    --------
    >>> from dpcov import local
    >>> plan = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=4.0, mechanism="cap")
    >>> collector = local.Collector(plan)
    >>> for _ in range(3):
    ...     _ = collector.add(local.randomize([0.6, 0.6], plan))
    >>> collector
    Collector(3 reports, 2 columns, cap)
    >>> collector.release()
    Release(3 rows × 2 columns, 4-differential privacy in the local model)
    """

    def __init__(
        self, plan: CollectionPlan, *, idempotent: bool = False, simulated: bool = False
    ) -> None:
        if not isinstance(plan, CollectionPlan):
            raise ParameterError("A collector needs a CollectionPlan.")
        self.plan = plan
        self.simulated = simulated
        self._counted = _Counted(np.zeros((plan.n_cells,) * 2, dtype=np.int64), 0, [])
        self._ids: set[bytes] | None = set() if idempotent else None

    @property
    def n_reports(self) -> int:
        """How many reports were counted."""
        return self._counted.n_summed + len(self._counted.waiting)

    def add(self, report: bytes) -> bool:
        """Count one report.

        Returns
        -------
        bool
            Whether it was counted: False when it is there already and the collector is
            idempotent.

        Raises
        ------
        ReportError
            It is malformed, or made for another plan.
        """
        parsed = parse_report(report, self.plan, simulated=self.simulated)
        self._check_room(1)
        parsed, ids = self._new_ones(parsed)
        if not len(parsed):
            return False
        waiting = len(self._counted.waiting)
        if waiting >= _WAITING or waiting * self.plan.payload_bytes >= _WAITING_BYTES:
            self._flush()  # before this report is counted: if it fails, nothing has changed
        with self._remembered(ids):
            self._counted.waiting.append(parsed)
        return True

    def add_many(self, reports: Iterable[bytes] | npt.NDArray[np.uint8]) -> int:
        """Count many reports, all or none, whatever goes wrong.

        Parameters
        ----------
        reports : iterable of bytes, or ndarray of uint8, shape (n, plan.report_bytes)
            The reports.

        Returns
        -------
        int
            How many were counted; the others were there already.
        """
        parsed = parse_reports(reports, self.plan, simulated=self.simulated)
        self._check_room(len(parsed))
        parsed, ids = self._new_ones(parsed)
        if len(parsed):
            sums, n_summed, waiting = self._counted
            total = sums + add_up(parsed.payloads, self.plan)
            with self._remembered(ids):
                self._counted = _Counted(total, n_summed + len(parsed), waiting)
        return len(parsed)

    def merge(self, other: Collector) -> Collector:
        """Take in the reports of another collector of the same plan, which is left as it is.

        Raises
        ------
        DuplicateReportError
            Both are idempotent and counted the same report: sums cannot be undone.
        """
        self._check_kin(other)
        self._check_room(other.n_reports)
        ids = other._ids or set()
        if not ids.isdisjoint(self._ids or set()):
            raise DuplicateReportError(
                "Both collectors counted the same report. Send a person's retries to one "
                "collector, for example by the first byte of the report id."
            )
        mine, theirs = self._flush(), other._flush()
        total = mine.sums + theirs.sums
        with self._remembered(ids):
            self._counted = _Counted(total, mine.n_summed + theirs.n_summed, [])
        return self

    def release(self) -> Release:
        """Return the noisy second moments of (x − center)/scale, and what is promised.

        Where the plan asks for the mean, they are moments about it, and it is released, too.

        The estimate is in the columns' own units.

        The number of reports is public. More reports may be added afterwards: everything
        is post-processing of reports that were paid for on the devices.
        """
        if self.n_reports == 0:
            raise ParameterError("There is nothing to release: no report was counted.")
        plan, counted = self.plan, self._flush()
        matrix, mean = to_average(counted.sums, plan, counted.n_summed), None
        noise = plan.noise_scale(counted.n_summed)
        if plan.mean:
            matrix, mean = take_out_mean(matrix, plan, noise)
        return Release(
            matrix=matrix,
            mean=mean,
            noise_scale=noise,
            n_rows=counted.n_summed,
            columns=plan.columns,
            provenance=Provenance(
                version=__version__,
                mechanism=plan.release_mechanism,
                row_norm=plan.row_norm,
                bits=plan.bits,
                calibrated_for=plan.promise,
                cap=plan.cap if plan.mechanism == "cap" else None,
                center="private" if plan.mean else "public",
                constant=int(CAP_CONSTANT * 2**plan.bits) if plan.mean else 0,
                missing=plan.missing,
                events=(plan.event,),
            ),
            simulated=self.simulated,
            units=Units(np.array(plan.center), np.array(plan.scale)),
        )

    def state_dict(self) -> dict[str, Any]:
        """Return the state: plain values and one array, to be stored as the caller likes.

        Two collectors that counted the same reports have the same state, to the bit.
        """
        counted = self._flush()
        return {
            "format": _STATE,
            "plan": self.plan.to_json(),
            "n_reports": counted.n_summed,
            "sums": counted.sums.copy(),
            "ids": None if self._ids is None else b"".join(sorted(self._ids)),
            "simulated": self.simulated,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Collector:
        """Make the collector of a state again, or refuse a state that makes no sense."""
        if (
            not isinstance(state, Mapping)
            or set(state) != _STATE_KEYS
            or not isinstance(state["format"], str)
            or state["format"] != _STATE
        ):
            raise ParameterError("The state is not that of a collector of this version.")
        plan, ids = CollectionPlan.from_json(state["plan"]), state["ids"]
        count = check_count("n_reports", state["n_reports"], low=0)
        sums = _array_of(state["sums"])
        size = plan.n_cells
        well_formed = (
            sums.shape == (size, size)
            and sums.dtype == np.int64
            and np.array_equal(sums, sums.T)
            and max(int(sums.max()), -int(sums.min())) <= count * largest_entry(plan)
            and isinstance(state["simulated"], bool)
            and (ids is None or (isinstance(ids, bytes) and len(ids) == ID_BYTES * count))
        )
        if not well_formed:
            raise ParameterError("The state of the collector is damaged.")
        result = cls(plan, idempotent=ids is not None, simulated=state["simulated"])
        result._check_room(count)
        result._counted = _Counted(sums, count, [])
        if ids is not None:
            starts = range(0, len(ids), ID_BYTES)
            result._ids = {ids[start : start + ID_BYTES] for start in starts}
            if len(result._ids) != count:
                raise ParameterError("The state of the collector is damaged.")
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Collector):
            return NotImplemented
        mine, theirs = self._flush(), other._flush()
        return (
            (self.plan, self.simulated, mine.n_summed, self._ids)
            == (other.plan, other.simulated, theirs.n_summed, other._ids)
        ) and np.array_equal(mine.sums, theirs.sums)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        plan = self.plan
        return f"Collector({self.n_reports} reports, {plan.n_columns} columns, {plan.mechanism})"

    def _new_ones(self, reports: Reports) -> tuple[Reports, set[bytes]]:
        """Return the reports that were not counted yet, and the ids to remember."""
        ids: set[bytes] = set()
        if self._ids is None:
            return reports, ids
        fresh = []
        octets = np.ascontiguousarray(reports.ids).tobytes()
        for place in range(len(reports)):
            report_id = octets[place * ID_BYTES : (place + 1) * ID_BYTES]
            if report_id not in self._ids and report_id not in ids:
                ids.add(report_id)
                fresh.append(place)
        return reports[np.array(fresh, dtype=np.intp)], ids

    @contextmanager
    def _remembered(self, ids: set[bytes]) -> Iterator[None]:
        """Remember new ids while the reports are counted, and forget them if that fails."""
        try:
            if self._ids is not None:
                self._ids |= ids
            yield
        except BaseException:
            if self._ids is not None:
                self._ids -= ids
            raise

    def _flush(self) -> _Counted:
        """Put the waiting reports into the sums."""
        sums, n_summed, waiting = self._counted
        if waiting:
            payloads = np.concatenate([reports.payloads for reports in waiting])
            total = sums + add_up(payloads, self.plan)
            self._counted = _Counted(total, n_summed + len(waiting), [])
        return self._counted

    def _check_room(self, more: int) -> None:
        if (self.n_reports + more) * largest_entry(self.plan) > _MAX_SUM:
            raise ParameterError(
                "A collector has no room for more reports: 64 bits would overflow."
            )

    def _check_kin(self, other: object) -> None:
        if not isinstance(other, Collector):
            raise ParameterError("Only collectors can be merged.")
        if other is self:
            raise DuplicateReportError("A collector cannot be merged with itself.")
        if self.plan != other.plan or self.simulated != other.simulated:
            raise ForeignReportError("Collectors of different plans cannot be merged.")
        if (self._ids is None) != (other._ids is None):
            raise ParameterError("Collectors merge only if both are idempotent, or neither.")


def _array_of(values: object) -> npt.NDArray[Any]:
    try:
        return np.array(values)
    except Exception:  # ragged, or worse: a state comes from outside
        raise ParameterError("The state of the collector is damaged.") from None
