"""A device that answers once: a retry sends the same report again.

Owns the rule that one person spends the budget of one plan once, and the owner's limit on
what all plans spend together. Where reports are kept is
the caller's choice: any mapping of strings to bytes, such as a dict or an open `dbm` file.
"""

from __future__ import annotations

import json
import math
from collections.abc import MutableMapping
from threading import Lock

from dpcov.errors import BudgetError, ParameterError, ReportError
from dpcov.local.plan import Plan
from dpcov.local.randomizer import Row, randomize
from dpcov.local.report import parse_report
from dpcov.parameters import check_number

__all__ = ["Device"]

_SPENT = "spent"  # the key of the record of plans and their epsilons


class Device:
    """Makes one report for each plan and keeps it.

    Parameters
    ----------
    kept : mutable mapping of str to bytes, optional
        Where reports are kept, by plan id. With the default, a dict, a report is forgotten
        with the process; give something that lasts, and nobody else can read. One store
        belongs to one person and to one Device at a time: the lock is the Device's.
    most_epsilon : float, optional
        How much ε all plans together may spend; a plan that would exceed it is refused.
        What was spent is kept beside the reports, whether there is a limit or not. The
        deltas of Gaussian plans add up as well, and are not limited.

    Notes
    -----
    The report is kept before it is returned, and what is returned is what the store holds: a
    device that stops in between answers the same when it comes back. Another row for the
    same plan gets the same answer, too: a correction would be a second disclosure. Two plans
    are two disclosures.

    Examples
    --------
    >>> plan = Plan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism="cap")
    >>> device = Device()
    >>> device.report([0.3, -0.5], plan) == device.report([0.3, -0.5], plan)
    True
    """

    def __init__(
        self, kept: MutableMapping[str, bytes] | None = None, *, most_epsilon: float | None = None
    ) -> None:
        self._kept: MutableMapping[str, bytes] = {} if kept is None else kept
        self._most_epsilon = (
            math.inf
            if most_epsilon is None
            else check_number("most_epsilon", most_epsilon, low=0.0, high=math.inf)
        )
        self._lock = Lock()

    def report(self, x: Row, plan: Plan) -> bytes:
        """Return the report for a plan: made the first time, the same ever after.

        Raises
        ------
        ReportError
            What is kept is not a report for this plan. Nothing is made in its place, since
            an earlier one may have been sent.
        BudgetError
            The plan would exceed `most_epsilon`. Nothing is made and nothing is spent.
        """
        if not isinstance(plan, Plan):
            raise ParameterError("plan must be a Plan; read the server's text with Plan.from_json.")
        with self._lock:  # two threads must not make two reports
            if plan.id not in self._kept:
                self._make(x, plan)
            report = self._kept[plan.id]
        try:
            parse_report(report, plan)
        except ReportError:
            raise ReportError(
                "What this device kept for the plan is damaged. An earlier report may have been "
                "sent; a new one would spend the budget again."
            ) from None
        return bytes(report)

    def _make(self, x: Row, plan: Plan) -> None:
        spent = self._spent() | {plan.id: plan.epsilon}
        total = math.fsum(spent.values())
        if total > self._most_epsilon:
            raise BudgetError(
                f"With this plan the device would spend epsilon = {total:g} in all; its owner "
                f"allows {self._most_epsilon:g}. Nothing was made and nothing was spent."
            )
        report = randomize(x, plan)
        # The record comes first: a device that stops in between has counted too much at most.
        self._kept[_SPENT] = json.dumps(spent).encode()
        self._kept[plan.id] = report

    def _spent(self) -> dict[str, float]:
        """Return the ε of each plan that was answered."""
        if _SPENT not in self._kept:
            return {}
        try:
            spent = json.loads(bytes(memoryview(self._kept[_SPENT])))
            return {
                plan: check_number("epsilon", epsilon, low=0.0, high=math.inf)
                for plan, epsilon in spent.items()
            }
        except (TypeError, ValueError, AttributeError):
            raise ReportError(
                "The device's record of what it spent is damaged; it answers no new plan."
            ) from None

    def __repr__(self) -> str:
        return "Device()"
