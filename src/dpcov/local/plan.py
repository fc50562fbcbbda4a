"""The collection plan: what a server publishes and every device obeys.

Owns the binding of columns, bound, promise and mechanism, so that they cannot be
mismatched, and what can be known before anybody reports. All of it is public. A plan that
comes from outside is read only if its constants pay for the promise that it states.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.local.columns import check_columns, check_facts, check_norm
from dpcov.local.expansion import SEED_BYTES
from dpcov.local.integers import IntegerNoise, calibrate_noise, triangle_size
from dpcov.local.plan_json import plan_from_json, plan_id, plan_to_json
from dpcov.local.shuffled import ShuffledDP, promise_of_shuffled
from dpcov.local.study import Study
from dpcov.multiplicity import bonferroni_cutoff
from dpcov.parameters import check_choice, check_count, check_number
from dpcov.privacy import (
    ApproxDP,
    Cap,
    Gaussian,
    Neighbors,
    Pure,
    PureDP,
    calibrate_cap,
    cap_epsilon,
)
from dpcov.releases import LOCAL_CAP, LOCAL_GAUSSIAN, NoiseScale, cap_noise

__all__ = ["CAP_BITS", "HEADER_BYTES", "ID_BYTES", "MECHANISMS", "CollectionPlan"]

MECHANISMS = ("cap", "gaussian")
CAP_BITS = 24
"""For cap, rows are clipped on a grid of row_norm / 2^24."""
ID_BYTES = 16
HEADER_BYTES = 2 + 2 * ID_BYTES
"""Around the payload of a report: version, kind, plan id, report id."""
_MAX_PAYLOAD = 1 << 26  # a server must not be able to exhaust a device


@dataclass(frozen=True, kw_only=True)
class CollectionPlan:
    """What is asked of every device: columns, bound, promise and mechanism.

    Parameters
    ----------
    columns : sequence of str
        Column names.
    row_norm : float
        Rows are clipped to this Euclidean norm, in working units.
    epsilon : float
        Positive; at most 20 for ``"cap"``. There is no default.
    mechanism : {"cap", "gaussian"}
        A seed of 16 bytes with a pure promise, or all noisy products.
    delta : float, optional
        For ``"gaussian"``, and for it alone.
    center, scale : sequence of float, optional
        Working units are (x − center) / scale: public facts, 0 and 1 by default.
    missing : Missing, or "center" or "refuse"
        Whether a device reads a missing or infinite cell as the column's center, or raises
        and sends nothing. Silence tells the server that a cell is missing, so that the promise
        holds among complete rows only: that is why the default differs from that of
        `dpcov.release`, and why a `Device` refuses other plans unless its owner allows them.
    constants : Cap or IntegerNoise, optional
        Of the mechanism. Computed when they are not given; refused when they do not pay
        for the promise.
    mean : bool, default False
        Whether reports hold the mean, too: a constant cell in every row, which costs 6 % more
        noise. Otherwise moments are about `center`, which is right if that is the mean. For
        ``"cap"`` alone.
    study : Study, optional
        What people are told and asked; its questions fill the columns, in their order.

    Examples
    --------
    >>> plan = CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism="cap")
    >>> print(plan.promise)
    2-differential privacy in the local model
    >>> plan.report_bytes, plan.id[:16]
    (50, '12025b7d112e5edd')
    >>> CollectionPlan.from_json(plan.to_json()) == plan
    True
    """

    columns: tuple[str, ...]
    row_norm: float
    epsilon: float
    mechanism: str = "cap"
    delta: float | None = None
    center: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None
    missing: Missing = Missing.CENTER
    constants: Cap | IntegerNoise | None = None
    mean: bool = False
    study: Study | None = None

    if TYPE_CHECKING:  # sequences become tuples

        def __init__(
            self,
            *,
            columns: Iterable[str],
            row_norm: float,
            epsilon: float,
            mechanism: str = "cap",
            delta: float | None = None,
            center: Iterable[float] | None = None,
            scale: Iterable[float] | None = None,
            missing: Missing | str = Missing.CENTER,
            constants: Cap | IntegerNoise | None = None,
            mean: bool = False,
            study: Study | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        columns = check_columns(self.columns)
        check_choice("mechanism", self.mechanism, MECHANISMS)
        if not isinstance(self.mean, bool) or (self.mean and self.mechanism != "cap"):
            raise ParameterError("mean must be True or False, and is for mechanism='cap' alone.")
        if (self.delta is None) != (self.mechanism == "cap"):
            raise ParameterError(
                "delta must be given for mechanism='gaussian' and for it alone: cap has a pure "
                "promise."
            )
        checked = {
            "missing": Missing.parse_for_rows(self.missing),
            "columns": columns,
            "row_norm": check_norm(self.row_norm),
            "center": check_facts("center", self.center, 0.0, columns),
            "scale": check_facts("scale", self.scale, 1.0, columns),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
        self._check_study()
        promise = self.promise  # checks epsilon and delta
        object.__setattr__(self, "epsilon", promise.epsilon)
        if isinstance(promise, ApproxDP):
            object.__setattr__(self, "delta", promise.delta)
        object.__setattr__(self, "constants", self._checked_constants())
        if self.payload_bytes > _MAX_PAYLOAD:
            raise ParameterError(
                f"A Gaussian report for {len(columns)} columns would have {self.payload_bytes} "
                f"bytes; at most {_MAX_PAYLOAD} are allowed. Use mechanism='cap', without delta, "
                "or fewer columns."
            )

    def _check_study(self) -> None:
        if self.study is None:
            return
        if not isinstance(self.study, Study):
            raise ParameterError("study must be a Study.")
        if self.study.columns != self.columns:
            raise ParameterError(
                "The questions of the study must fill the columns of the plan, in their order."
            )

    def _checked_constants(self) -> Cap | IntegerNoise:
        promise, size = self.promise, self.n_cells
        if isinstance(promise, PureDP):
            cap = calibrate_cap(epsilon=self.epsilon, n_columns=size)
            if self.constants is None:
                return cap
            pays = (
                isinstance(self.constants, Cap)
                and cap_epsilon(self.constants, n_columns=size) <= self.epsilon
            )
        else:
            if self.constants is None:
                return calibrate_noise(promise)
            pays = isinstance(self.constants, IntegerNoise) and self.constants.pays_for(promise)
        if not pays:
            raise ParameterError("The constants of the plan do not pay for its promise.")
        return self.constants

    @property
    def promise(self) -> PureDP | ApproxDP:
        """What every report promises to the person who sends it."""
        complete = self.missing == "refuse"
        if self.delta is None:
            return PureDP(self.epsilon, Neighbors.LOCAL, complete=complete)
        return ApproxDP(self.epsilon, self.delta, Neighbors.LOCAL, complete=complete)

    @property
    def event(self) -> Gaussian | Pure:
        """What a device does when it makes its report."""
        if self.mechanism == "cap":
            return Pure("report", self.epsilon)
        return Gaussian("report", self.noise.multiplier)

    @property
    def cap(self) -> Cap:
        """The constants of the cap mechanism."""
        if not isinstance(self.constants, Cap):
            raise ParameterError(f"A plan for {self.mechanism} has no constants of cap.")
        return self.constants

    @property
    def noise(self) -> IntegerNoise:
        """The constants of the Gaussian mechanism."""
        if not isinstance(self.constants, IntegerNoise):
            raise ParameterError(f"A plan for {self.mechanism} adds no Gaussian noise.")
        return self.constants

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def n_cells(self) -> int:
        """The number of cells of a row in a report: the columns, and a constant for the mean."""
        return self.n_columns + self.mean

    @property
    def bits(self) -> int:
        """Rows become integers of norm at most 2^bits."""
        return CAP_BITS if self.mechanism == "cap" else self.noise.bits

    @property
    def release_mechanism(self) -> str:
        """What a release calls the mechanism."""
        return LOCAL_CAP if self.mechanism == "cap" else LOCAL_GAUSSIAN

    @property
    def payload_bytes(self) -> int:
        """The size of what a report says: 16 for cap, whatever the number of columns."""
        if self.mechanism == "cap":
            return SEED_BYTES
        return triangle_size(self.n_columns) * self.noise.width

    @property
    def report_bytes(self) -> int:
        """The size of a report: the payload and 34 bytes around it."""
        return HEADER_BYTES + self.payload_bytes

    @cached_property
    def id(self) -> str:
        """The SHA-256 digest of the plan's canonical form, in hexadecimal digits."""
        return plan_id(self)

    def to_json(self) -> str:
        """Return the plan as JSON, with its id."""
        return plan_to_json(self)

    @classmethod
    def from_json(cls, text: str) -> CollectionPlan:
        """Read a collection plan, or refuse with `CollectionPlanError`.

        A device reads the server's plan with this: it is refused when its constants do not
        pay for the promise that it states, or when its id is not that of its contents.
        """
        return plan_from_json(text)

    def noise_scale(self, n_people: int) -> NoiseScale:
        """Return the noise of the average over `n_people` reports.

        Notes
        -----
        For cap, with κ the gain and s = u_i², the variance of one report is
        (1 + κ (s_i + s_j))/κ² off the diagonal and twice that on it, plus a term of second
        order in s. That term is negative for the constants that a plan computes, and left
        out; where constants from outside make it positive, `signal` bounds it from above.
        """
        n_people = check_count("n_people", n_people, low=1)
        if self.mechanism == "cap":
            size = self.n_columns if self.mean else None
            return cap_noise(self.cap, row_norm=self.row_norm, n_rows=n_people, mean_of=size)
        root = math.sqrt(n_people)
        step = (self.row_norm / (1 << self.bits)) ** 2
        return NoiseScale(self.noise.off_diagonal * step / root, self.noise.diagonal * step / root)

    def standard_error(self, n_people: int, *, variance: float | None = None) -> float:
        """Return the standard error of the covariance of two unrelated columns.

        Parameters
        ----------
        n_people : int
            How many people report.
        variance : float, optional
            Of the two columns, in working units; by default row_norm² / n_columns, which
            is as large as all of them can be.

        Examples
        --------
        >>> plan = CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=1.0, mechanism="cap")
        >>> round(plan.standard_error(10_000), 4)
        0.0224
        """
        variance = self._checked_variance(variance)
        noise = self.noise_scale(n_people)
        privacy = noise.off_diagonal**2 + 2 * noise.signal * variance
        return math.sqrt(variance**2 / n_people + privacy)

    def people_needed(self, correlation: float, *, variance: float | None = None) -> int:
        """Return how many people must report to detect a correlation with probability one half.

        The test looks at all pairs and keeps the chance of any false one at 5 %, as
        `Estimate.smallest_detectable_correlation` does.

        Parameters
        ----------
        correlation : float
            In (0, 1].
        variance : float, optional
            See `standard_error`. With columns of unequal variances, or rows that are mostly
            shorter than the bound, it is smaller, and more people are needed.

        Examples
        --------
        >>> names = [f"x{i}" for i in range(50)]
        >>> plan = CollectionPlan(columns=names, row_norm=1.0, epsilon=2.0, mechanism="cap")
        >>> round(plan.people_needed(0.3), -3)
        274000
        """
        correlation = check_number("correlation", correlation, low=0.0, high=1.0, open_high=False)
        variance = self._checked_variance(variance)
        cutoff = bonferroni_cutoff(self.n_columns)
        one = self.standard_error(1, variance=variance)
        return max(1, math.ceil((cutoff * one / (variance * correlation)) ** 2))

    def shuffled(self, n_people: int, *, delta: float = 1e-6, honest: float = 1.0) -> ShuffledDP:
        """Return what reports promise as well if nobody knows whose is whose, or sees but sums.

        Parameters
        ----------
        n_people : int
            How many people report.
        delta : float, default 1e-6
            In [1e-20, 1), and well below 1 / n_people. What it buys is a small epsilon.
        honest : float, default 1
            The share of them, in (0, 1], whose devices follow the plan and who keep their reports
            to themselves. The others hide nobody.

        Notes
        -----
        Claim P50. For cap, reports are shuffled or only their sum is published; for gaussian,
        nothing but their sum may be seen.

        Examples
        --------
        >>> plan = CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism="cap")
        >>> print(plan.shuffled(100_000))
        (0.02312, 1e-06)-differential privacy, replace-one neighbors, if 100000 reports are shuffled
        """
        return promise_of_shuffled(self, n_people, delta=delta, honest=honest)

    def _checked_variance(self, variance: float | None) -> float:
        largest = self.row_norm**2
        if variance is None:
            return largest / self.n_columns
        return check_number("variance", variance, low=0.0, high=largest, open_high=False)

    def __repr__(self) -> str:
        what = f"{self.n_columns} columns, {self.mechanism}, {self.promise}"
        return f"CollectionPlan({what}, {self.id[:16]})"
