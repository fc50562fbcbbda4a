"""The wire format of a report: version, kind, plan, report id, payload.

Owns the bytes. A report has no length field: its length follows from the plan, so that
nothing in it can make a reader reserve memory.

    byte 0        version, 1
    byte 1        kind: 1 cap, 2 gaussian; 0x80 more when it was simulated with a seed
    bytes 2–17    the first 16 bytes of the plan's id
    bytes 18–33   report id: 16 random bytes, made on the device
    bytes 34–     payload: a seed (cap), or integers of one width (gaussian)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.errors import DpcovError, ForeignReportError, MalformedReportError
from dpcov.local.integers import unpack
from dpcov.local.plan import HEADER_BYTES, ID_BYTES, CollectionPlan

__all__ = ["Reports", "encode_reports", "parse_report", "parse_reports"]

_VERSION = 1
_KINDS = {"cap": 1, "gaussian": 2}
_SIMULATED = 0x80
_PREFIX_BYTES = 2 + ID_BYTES
_CHECKED_BYTES = 1 << 22  # of Gaussian payloads at a time


@dataclass(frozen=True)
class Reports:
    """Reports that were found to be well formed.

    Parameters
    ----------
    ids : ndarray of uint8, shape (n, 16)
        Report ids.
    payloads : ndarray of uint8, shape (n, payload_bytes)
        What they say.
    """

    ids: npt.NDArray[np.uint8]
    payloads: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, chosen: npt.NDArray[np.intp]) -> Reports:
        return Reports(self.ids[chosen], self.payloads[chosen])


def encode_reports(
    plan: CollectionPlan,
    ids: npt.NDArray[np.uint8],
    payloads: npt.NDArray[np.uint8],
    *,
    simulated: bool,
) -> npt.NDArray[np.uint8]:
    """Write reports, one in each row."""
    prefix = np.frombuffer(_prefix(plan, simulated=simulated), dtype=np.uint8)
    return np.concatenate([np.broadcast_to(prefix, (len(ids), len(prefix))), ids, payloads], axis=1)


def parse_report(data: object, plan: CollectionPlan, *, simulated: bool = False) -> Reports:
    """Read one report for a plan, or refuse.

    Raises
    ------
    MalformedReportError
        Its length, version or contents are wrong.
    ForeignReportError
        It was made for another plan, or was simulated when real ones are asked for.
    """
    if not isinstance(data, bytes | bytearray | memoryview):
        raise MalformedReportError("A report must be bytes.")
    octets = bytes(data)
    _check_header(octets, plan, simulated=simulated)
    table = np.frombuffer(octets, dtype=np.uint8).reshape(1, -1)
    return _checked(table, plan)


def parse_reports(
    data: Iterable[object] | npt.NDArray[np.uint8], plan: CollectionPlan, *, simulated: bool = False
) -> Reports:
    """Read many reports: bytes objects, or an array with one report in each row.

    All are read or none: the first one that is wrong is named by its place.
    """
    if isinstance(data, np.ndarray):
        if data.ndim != 2 or data.dtype != np.uint8:
            raise MalformedReportError("An array of reports must be uint8, one in each row.")
        table = data
        if table.shape[1] != plan.report_bytes:
            raise MalformedReportError(_wrong_length(plan))
    else:
        if isinstance(data, bytes | bytearray | memoryview | str):
            raise MalformedReportError("Many reports are a list of bytes; use add() for one.")
        if not isinstance(data, Iterable):
            raise MalformedReportError("Many reports are a list of bytes.")
        items = [item if type(item) is bytes else _octets(item) for item in data]
        table = _joined(items, plan, simulated=simulated)
    prefix = np.frombuffer(_prefix(plan, simulated=simulated), dtype=np.uint8)
    wrong = np.flatnonzero((table[:, :_PREFIX_BYTES] != prefix).any(axis=1))
    if len(wrong):
        _refuse_at(int(wrong[0]), table[wrong[0]].tobytes(), plan, simulated=simulated)
    return _checked(table, plan)


def _octets(item: object) -> bytes:
    if not isinstance(item, bytes | bytearray | memoryview):
        raise MalformedReportError("A report must be bytes.")
    return bytes(item)


def _joined(items: list[bytes], plan: CollectionPlan, *, simulated: bool) -> npt.NDArray[np.uint8]:
    size = plan.report_bytes
    if not set(map(len, items)) <= {size}:
        place = next(place for place, item in enumerate(items) if len(item) != size)
        _refuse_at(place, items[place], plan, simulated=simulated)
    return np.frombuffer(b"".join(items), dtype=np.uint8).reshape(len(items), size)


def _refuse_at(place: int, octets: bytes, plan: CollectionPlan, *, simulated: bool) -> None:
    try:
        _check_header(octets, plan, simulated=simulated)
    except DpcovError as error:
        raise type(error)(f"Report {place}: {error} None of them was counted.") from None


def _check_header(octets: bytes, plan: CollectionPlan, *, simulated: bool) -> None:
    if not octets:
        raise MalformedReportError("A report is empty.")
    if octets[0] != _VERSION:
        raise MalformedReportError(
            f"A report has version {octets[0]}; this version of dpcov reads {_VERSION}."
        )
    expected = _prefix(plan, simulated=simulated)
    if len(octets) >= _PREFIX_BYTES and octets[:_PREFIX_BYTES] != expected:
        if octets[1] ^ expected[1] == _SIMULATED:
            kind = "a simulated" if octets[1] & _SIMULATED else "a real"
            raise ForeignReportError(f"This collector does not count {kind} report.")
        if octets[1] & ~_SIMULATED not in _KINDS.values():
            raise MalformedReportError("A report is of an unknown kind.")
        raise ForeignReportError("A report was made for another plan.")
    if len(octets) != plan.report_bytes:
        raise MalformedReportError(_wrong_length(plan))


def _checked(table: npt.NDArray[np.uint8], plan: CollectionPlan) -> Reports:
    reports = Reports(table[:, _PREFIX_BYTES:HEADER_BYTES], table[:, HEADER_BYTES:])
    if plan.mechanism == "gaussian":
        at_a_time = max(1, _CHECKED_BYTES // plan.payload_bytes)
        for start in range(0, len(reports), at_a_time):
            unpack(reports.payloads[start : start + at_a_time], plan.noise)
    return reports


def _prefix(plan: CollectionPlan, *, simulated: bool) -> bytes:
    kind = _KINDS[plan.mechanism] | (_SIMULATED if simulated else 0)
    return bytes([_VERSION, kind]) + bytes.fromhex(plan.id)[:ID_BYTES]


def _wrong_length(plan: CollectionPlan) -> str:
    return f"A report for this plan has {plan.report_bytes} bytes."
