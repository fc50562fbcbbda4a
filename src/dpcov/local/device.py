"""A device that answers once: a retry sends the same report again.

Owns the rule that one person spends the budget of one plan once. Where reports are kept is
the caller's choice: any mapping of strings to bytes, such as a dict or an open `dbm` file.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from threading import Lock

from dpcov.errors import ReportError
from dpcov.local.plan import Plan
from dpcov.local.randomizer import Row, randomize
from dpcov.local.report import parse_report

__all__ = ["Device"]


class Device:
    """Makes one report for each plan and keeps it.

    Parameters
    ----------
    kept : mutable mapping of str to bytes, optional
        Where reports are kept, by plan id. With the default, a dict, a report is forgotten
        with the process; give something that lasts, and nobody else can read.

    Notes
    -----
    The report is kept before it is returned: a device that stops in between answers the
    same when it comes back. Another row for the same plan gets the same answer, too: a
    correction would be a second disclosure. Two plans are two disclosures.

    Examples
    --------
    >>> plan = Plan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism="cap")
    >>> device = Device()
    >>> device.report([0.3, -0.5], plan) == device.report([0.3, -0.5], plan)
    True
    """

    def __init__(self, kept: MutableMapping[str, bytes] | None = None) -> None:
        self._kept: MutableMapping[str, bytes] = {} if kept is None else kept
        self._lock = Lock()

    def report(self, x: Row, plan: Plan) -> bytes:
        """Return the report for a plan: made the first time, the same ever after.

        Raises
        ------
        ReportError
            What is kept is not a report for this plan. Nothing is made in its place, since
            an earlier one may have been sent.
        """
        with self._lock:  # two threads must not make two reports
            if plan.id not in self._kept:
                self._kept[plan.id] = randomize(x, plan)
            report = bytes(self._kept[plan.id])
        try:
            parse_report(report, plan)
        except ReportError:
            raise ReportError(
                "What this device kept for the plan is damaged. An earlier report may have been "
                "sent; a new one would spend the budget again."
            ) from None
        return report

    def __repr__(self) -> str:
        return "Device()"
