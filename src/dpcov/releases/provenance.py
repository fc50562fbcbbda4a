"""Provenance: how a release of second moments was made, in public facts.

Owns that value and the names of the mechanisms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.parameters import check_choice, check_count
from dpcov.privacy import ApproxDP, Cap, Event, PureDP
from dpcov.releases.published import (
    check_events,
    check_left_out,
    check_person_column,
    state_domain,
)
from dpcov.releases.sizes import MOST_ROWS_PER_UNIT, check_norm

__all__ = ["LOCAL_CAP", "LOCAL_GAUSSIAN", "SECOND_MOMENT", "Collected", "Provenance"]

SECOND_MOMENT = "second moment, rounded Gaussian"
"""The name of the mechanism that releases all second moments."""
LOCAL_CAP = "local reports, cap"
LOCAL_GAUSSIAN = "local reports, rounded Gaussian"
"""The names of the mechanisms of the local model."""
_MOST_BITS = 64  # far beyond any grid
CENTERS = ("public", "private")
"""What second moments are about."""


@dataclass(frozen=True)
class Collected:
    """Which collection of reports a release was added up from.

    Parameters
    ----------
    plan : str
        The id of the collection plan.
    digest : str
        The SHA-256 of all reports, one after the other in the order of their ids.
    final : bool
        Whether the collection was closed.
    """

    plan: str
    digest: str
    final: bool

    def __post_init__(self) -> None:
        for each in (self.plan, self.digest):
            if not (isinstance(each, str) and re.fullmatch("[0-9a-f]{64}", each)):
                raise ParameterError("plan and digest of a collection are 64 hexadecimal digits.")
        if not isinstance(self.final, bool):
            raise ParameterError("final must be True or False.")


@dataclass(frozen=True)
class Provenance:
    """How a release was made. Every field is public.

    Parameters
    ----------
    version : str
        The version of dpcov.
    mechanism : str
        The name of the mechanism.
    row_norm : float
        The norm to which rows were clipped.
    bits : int
        Rows were quantized to multiples of row_norm / 2^bits.
    calibrated_for : ApproxDP or PureDP
        The promise for which the noise was calibrated, neighboring relation included; among
        complete tables only, if `missing` says that others are refused.
    cap : Cap, optional
        The constants of the mechanism, for cap reports and for them alone.
    center : {"public", "private"}
        Moments about stated centers, or about a mean that was released with them.
    constant : int, default 0
        For a private center: the constant cell of a row on the grid.
    missing : Missing
        What was done with missing cells.
    rows_per_unit : int, default 1
        How many rows of each privacy unit were used at most.
    events : tuple of Event
        What was done that costs privacy, in order.
    collected : Collected, optional
        Which collection of reports it was added up from, if there was one.
    left_out : tuple of str
        Columns that nobody read, since they are identifiers by their names.
    person_column : str, optional
        A column of the table that is called like one that says whose row it is, if no privacy
        unit was stated.
    """

    version: str
    mechanism: str
    row_norm: float
    bits: int
    calibrated_for: ApproxDP | PureDP
    cap: Cap | None = None
    center: str = "public"
    constant: int = 0
    missing: Missing = Missing.REFUSE
    rows_per_unit: int = 1
    events: tuple[Event, ...] = ()
    collected: Collected | None = None
    left_out: tuple[str, ...] = ()
    person_column: str | None = None

    def __post_init__(self) -> None:
        check_norm("row_norm", self.row_norm)
        check_count("bits", self.bits, low=1, high=_MOST_BITS)
        object.__setattr__(self, "missing", Missing.parse(self.missing))
        check_choice("center", self.center, CENTERS)
        check_count("constant", self.constant, low=0)
        check_count("rows_per_unit", self.rows_per_unit, low=1, high=MOST_ROWS_PER_UNIT)
        if not (isinstance(self.version, str) and isinstance(self.mechanism, str)):
            raise ParameterError("version and mechanism must be strings.")
        if self.collected is not None and self.mechanism not in (LOCAL_CAP, LOCAL_GAUSSIAN):
            raise ParameterError("Only reports of the local model are collected.")
        check_events(self.events)
        check_left_out(self.left_out)
        check_person_column(self.person_column, self.calibrated_for)
        state_domain(self)
