"""A device that answers once: a retry sends the same report again.

Owns the rule that one person spends the budget of one plan once, the owner's limits on
what all plans spend together, and the veto on plans that a row could answer by silence. Where
reports are kept is the caller's choice: any mapping of strings to bytes, such as a dict or an
open `dbm` file.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, MutableMapping
from threading import Lock

from dpcov.errors import BudgetError, ParameterError, ReportError
from dpcov.local.plan import CollectionPlan
from dpcov.local.randomizer import Row, randomize
from dpcov.local.report import parse_report
from dpcov.parameters import check_number

__all__ = ["Device"]

_SPENT = "spent"  # the key of the record of plans, each with its epsilon and its delta
_MOST_DELTA = 1e-6
_NOTHING_SPENT = "The row was not looked at, nothing was made and nothing was spent."


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
        What was spent is kept beside the reports, whether there is a limit or not.
    most_delta : float, default 1e-6
        The same for δ, in [0, 1]. Plans for ``"cap"`` have none, and pass at 0. A report may
        give the whole row away with probability δ: the default lets that happen to one person
        in a million.
    allow_refusal : bool, default False
        Whether to answer plans that refuse missing cells. Under such a plan a row with a gap
        has no report, and the silence tells so: no promise covers it. By default they are
        refused whatever the row is.

    Notes
    -----
    Of several reports about one person the ε add up, and so do the δ. Whether a plan is
    refused follows from the plan, the store and the owner's limits; the row is looked at
    afterwards. A row then makes no difference to what is kept or raised, unless it does not
    have the form that the plan asks for, or the owner allowed refusals.

    The report is kept before it is returned, and what is returned is what the store holds: a
    device that stops in between answers the same when it comes back. Another row for the
    same plan gets the same answer, too: a correction would be a second disclosure. Two plans
    are two disclosures.

    Examples
    --------
    >>> plan = CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism="cap")
    >>> device = Device()
    >>> device.report([0.3, -0.5], plan) == device.report([0.3, -0.5], plan)
    True
    """

    def __init__(
        self,
        kept: MutableMapping[str, bytes] | None = None,
        *,
        most_epsilon: float | None = None,
        most_delta: float = _MOST_DELTA,
        allow_refusal: bool = False,
    ) -> None:
        self._kept: MutableMapping[str, bytes] = {} if kept is None else kept
        self._most_epsilon = (
            math.inf
            if most_epsilon is None
            else check_number("most_epsilon", most_epsilon, low=0.0, high=math.inf)
        )
        self._most_delta = check_number(
            "most_delta", most_delta, low=0.0, high=1.0, open_low=False, open_high=False
        )
        if not isinstance(allow_refusal, bool):
            raise ParameterError("allow_refusal must be True or False.")
        self._allow_refusal = allow_refusal
        self._lock = Lock()

    def report(self, x: Row, plan: CollectionPlan) -> bytes:
        """Return the report for a plan: made the first time, the same ever after.

        Raises
        ------
        ReportError
            What is kept is not a report for this plan. Nothing is made in its place, since
            an earlier one may have been sent.
        BudgetError
            The plan would exceed `most_epsilon` or `most_delta`, or refuses missing cells
            where the owner does not allow it. Nothing is made and nothing is spent, and the
            row was not looked at.
        """
        if not isinstance(plan, CollectionPlan):
            raise ParameterError(
                "plan must be a CollectionPlan; read the server's text with its from_json."
            )
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

    def _make(self, x: Row, plan: CollectionPlan) -> None:
        spent = self._spent() | {plan.id: (plan.epsilon, plan.delta or 0.0)}
        self._check_owner_allows(plan, spent)
        report = randomize(x, plan)
        # The record comes first: a device that stops in between has counted too much at most.
        self._kept[_SPENT] = json.dumps(spent).encode()
        self._kept[plan.id] = report

    def _check_owner_allows(
        self, plan: CollectionPlan, spent: Mapping[str, tuple[float, float]]
    ) -> None:
        """Refuse by public facts and the store alone, before the row is looked at."""
        if plan.missing == "refuse" and not self._allow_refusal:
            raise BudgetError(
                "The plan refuses rows with missing cells, so that silence would tell of them; "
                "this device answers only plans with missing='center', unless its owner states "
                f"allow_refusal=True. {_NOTHING_SPENT}"
            )
        epsilons, deltas = zip(*spent.values(), strict=True)
        for name, total, most in (
            ("epsilon", math.fsum(epsilons), self._most_epsilon),
            ("delta", math.fsum(deltas), self._most_delta),
        ):
            if total > most:
                raise BudgetError(
                    f"With this plan the device would spend {name} = {total:g} in all; its owner "
                    f"allows {most:g} (most_{name}=). {_NOTHING_SPENT}"
                )

    def _spent(self) -> dict[str, tuple[float, float]]:
        """Return the ε and the δ of each plan that was answered."""
        if _SPENT not in self._kept:
            return {}
        try:
            spent = json.loads(bytes(memoryview(self._kept[_SPENT])))
            return {
                plan: (
                    check_number("epsilon", epsilon, low=0.0, high=math.inf),
                    check_number("delta", delta, low=0.0, high=1.0, open_low=False),
                )
                for plan, (epsilon, delta) in spent.items()
            }
        except (TypeError, ValueError, AttributeError):
            raise ReportError(
                "The device's record of what it spent is damaged; it answers no new plan."
            ) from None

    def __repr__(self) -> str:
        return "Device()"
