"""Fixed neighboring tables: for each mechanism two that are as far apart as it pays for.

Owns which mechanisms and options an audit attacks, and with which rows. All tables are small, so
that a run takes a millisecond or ten, and nobody's.
"""

from __future__ import annotations

import math
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov import local
from dpcov.audit.neighbor_pair import NeighborPair, Table
from dpcov.audit.publishing import covariances, pairs_of, reported
from dpcov.ledger import Ledger
from dpcov.local.cap import in_cap, lift_rows
from dpcov.local.report import parse_report
from dpcov.mechanisms.covariance import release
from dpcov.mechanisms.strongest_pairs import release_pairs
from dpcov.privacy import ApproxDP, gaussian_epsilon, gaussian_scale

__all__ = ["DELTA", "EPSILON", "cap_score", "neighbors"]

EPSILON, DELTA = 2.0, 0.1
"""The promise of an audit: with a large δ, few runs see much of what there is to see."""

_FAR, _GAP = 1e6, np.nan
_CONSTANT = 1 / 4  # the constant cell beside a row of norm 1, through which means are released
_E1, _E2, _E3 = np.eye(3)
# Orthogonal to (e1, constant) when it has the constant, too: as far from it as rows can be.
_ACROSS = -(_CONSTANT**2) * _E1 + math.sqrt(1 - _CONSTANT**4) * _E2
_APART = (_E1, _ACROSS)
_OTHERS = np.array([[0.3, -0.2, 0.5], [-0.1, 0.4, 0.2], [0.2, 0.1, -0.6]])
# As many others as it takes to learn something: what is learned is then hardly ever odd.
_MANY = 200
# A release refuses tables in which nothing could be seen: those that are attacked are so small.
_ASKED: dict[str, Any] = {"allow": ("small",), "progress": False}


@dataclass(frozen=True)
class _Maker:
    """What the pairs of one function have in common."""

    function: Callable[..., Any]
    publish: Callable[[Any], Table]
    promise: ApproxDP
    stated: dict[str, Any]

    def pair(
        self,
        name: str,
        title: str,
        claims: str,
        rows: tuple[npt.ArrayLike, npt.ArrayLike],
        others: Table,
        *,
        is_gaussian: bool = True,
        **options: Any,
    ) -> NeighborPair:
        """Return the tables in which one person has one row or the other."""
        promised: dict[str, Any] = {"epsilon": self.promise.epsilon, "delta": self.promise.delta}
        stated = {**promised, **self.stated, **options, **_ASKED}
        tables = [np.vstack([np.atleast_2d(row), others]) for row in rows]
        return NeighborPair(
            name=name,
            title=title,
            claims=tuple(claims.split()),
            relation=str(options.get("neighbors", "replace")),
            tables=(tables[0], tables[1]),
            mechanism=partial(self.function, **stated),
            is_gaussian=is_gaussian,
            is_adaptive="row_norm" not in stated,
            publish=self.publish,
            **promised,
        )


def neighbors(*, epsilon: float = EPSILON, delta: float = DELTA) -> tuple[NeighborPair, ...]:
    """Return all mechanisms and options that are audited, each with its two tables.

    Parameters
    ----------
    epsilon, delta : float
        What is claimed. A report of the cap mechanism claims epsilon alone.

    Returns
    -------
    tuple of NeighborPair
        Always the same tables, in the same order.

    Examples
    --------
    >>> from dpcov import audit
    >>> [pair.name for pair in audit.neighbors()][:3]
    ['stated', 'stated-add-remove', 'clipped']
    """
    promise = ApproxDP(epsilon, delta, "replace")
    return (
        *_stated(promise),
        _charged(promise),
        *_learned(promise),
        *_pairs(promise),
        *_local(promise),
    )


def _stated(promise: ApproxDP) -> tuple[NeighborPair, ...]:
    """All covariances, where nothing is learned: one Gaussian step."""
    pair = _Maker(release, covariances, promise, {"row_norm": 1.0}).pair
    person = [np.column_stack([np.zeros(3), np.tile(row, (3, 1))]) for row in _APART]
    bounds = dict.fromkeys(("x0", "x1", "x2"), (-10.0, 10.0))
    return (
        pair("stated", "row norm stated", "P1 P3 P4 P5 P17", _APART, _OTHERS),
        pair(
            "stated-add-remove", "row norm stated, add-remove", "P1 P5 P17",
            (_E1, 0 * _E1), _OTHERS, neighbors="add-remove",
        ),
        pair(
            "clipped", "rows that must be clipped", "P2 P5",
            (_FAR * _E1, _FAR * _ACROSS), _OTHERS,
        ),
        pair(
            "bounds", "bounds stated", "P2 P5 P17",
            (20 * _E1, 10 * _ACROSS), 10 * _OTHERS, columns=bounds,
        ),
        pair(
            "gaps", "gaps counted", "P17 P28",
            ([_FAR, _GAP, 0], [_GAP, _FAR, 0]), _OTHERS, missing="pairwise",
        ),
        pair(
            "units", "three rows of one person", "P17 P20", (person[0], person[1]),
            np.column_stack([[1.0, 2.0, 3.0], _OTHERS]), privacy_unit="x0", rows_per_unit=3,
        ),
    )  # fmt: skip


def _charged(promise: ApproxDP) -> NeighborPair:
    """Two releases that a ledger lets through together."""
    multiplier = gaussian_scale(epsilon=promise.epsilon, delta=promise.delta)
    half = gaussian_epsilon(delta=promise.delta, scale=math.sqrt(2) * multiplier) * (1 - 1e-9)
    stated: dict[str, Any] = {
        "epsilon": half,
        "delta": promise.delta,
        "row_norm": 1.0,
        **_ASKED,
    }
    return NeighborPair(
        name="ledger",
        title="two releases in a ledger",
        claims=("P21", "P40"),
        relation="replace",
        epsilon=promise.epsilon,
        delta=promise.delta,
        tables=(np.vstack([_E1, _OTHERS]), np.vstack([_ACROSS, _OTHERS])),
        mechanism=partial(_twice, **stated),
        is_adaptive=False,
        publish=lambda made: np.concatenate([covariances(each) for each in made]),
        spent=partial(_spent, promise, stated),
    )


def _twice(table: Table, **options: Any) -> tuple[Any, Any]:
    return release(table, **options), release(table, **options)


def _spent(promise: ApproxDP, options: dict[str, Any], table: Table) -> float:
    """Charge both releases to a ledger, and return what it says was spent."""
    limit: dict[str, Any] = {"epsilon": promise.epsilon, "delta": promise.delta}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few rows, for so large a delta
        file = Path(folder, "ledger.db")
        ledger = Ledger.create(file, population="audit", owner="audit", **limit)
        for _ in range(2):
            release(table, **options, ledger=ledger)
        return ledger.account("audit").spent


def _learned(promise: ApproxDP) -> tuple[NeighborPair, ...]:
    """All covariances, where facts of columns are learned: many Gaussian steps."""
    pair = _Maker(release, covariances, promise, {}).pair
    level = {"levels": [0, 1]}
    ones = np.ones((_MANY, 2))
    return (
        pair(
            "learned", "limits learned, add-remove", "P18 P22 P23 P24 P25",
            ([_FAR, _FAR], [_GAP, _GAP]), ones, neighbors="add-remove", missing="center",
        ),
        pair(
            "default", "nothing stated, gaps counted", "P18 P23 P25 P26 P28",
            ([_FAR, _GAP], [_GAP, _FAR]), ones,
        ),
        pair(
            "categories", "categories, gaps counted", "P18 P26 P28",
            ([0, _GAP], [_GAP, 0]), ones, columns={"x0": level, "x1": level},
        ),
        pair(
            "weights", "rows with weights", "P18 P27",
            ([_FAR, _GAP, 2], [_GAP, _FAR, 2]), np.ones((_MANY, 3)), weight="x2", weight_bound=2.0,
        ),
    )  # fmt: skip


def _pairs(promise: ApproxDP) -> tuple[NeighborPair, ...]:
    """Return pairs: a selection and Gaussian noise; of two columns there is nothing to select."""
    pair = _Maker(release_pairs, pairs_of, promise, {"max_pairs": 1}).pair
    alike = np.tile([[1.0, 1.0], [-1.0, -1.0]], (_MANY // 2, 1))
    apart = ([9, 9], [9, -9])
    return (
        pair(
            "pairs", "pairs, one of three", "P10 P11 P12 P13",
            ([1, 1, 1], [1, -1, 1]), np.array([[1.0, 1.0, -1.0]]), center=0.0, is_gaussian=False,
        ),
        pair(
            "pairs-centers", "pairs, centers learned", "P12 P30 P31",
            apart, alike, center="learned",
        ),
        pair(
            "pairs-differences", "pairs, differences of rows", "P12 P19",
            apart, alike[:5], center="differences",
        ),
    )  # fmt: skip


def _local(promise: ApproxDP) -> tuple[NeighborPair, ...]:
    """Return reports of one person, whose row may be any other."""
    facts: dict[str, Any] = {"columns": ["a", "b"], "row_norm": 1.0, "epsilon": promise.epsilon}
    cap = local.CollectionPlan(**facts, mechanism="cap")
    noisy = local.CollectionPlan(**facts, delta=promise.delta, mechanism="gaussian")
    shared: dict[str, Any] = {
        "relation": "local",
        "epsilon": promise.epsilon,
        "tables": (np.array([_FAR, 0.0]), np.array([0.0, _FAR])),
    }
    return (
        NeighborPair(
            name="local-cap",
            title="local report: cap",
            claims=("P14",),
            delta=0.0,
            mechanism=partial(local.randomize, plan=cap),
            is_gaussian=False,
            score=partial(cap_score, cap),
            **shared,
        ),
        NeighborPair(
            name="local-gaussian",
            title="local report: Gaussian",
            claims=("P15",),
            delta=promise.delta,
            mechanism=partial(local.randomize, plan=noisy),
            is_adaptive=False,
            publish=partial(reported, noisy),
            **shared,
        ),
    )


def cap_score(plan: local.CollectionPlan, report: bytes) -> float:
    """Return the log-likelihood ratio of a cap report between the two rows of the pair."""
    seeds = parse_report(report, plan).payloads
    side = float(1 << plan.bits)
    units = lift_rows(np.array([[side, 0.0], [0.0, side]]), plan.bits)
    inside = [bool(in_cap(seeds, unit[None], plan.cap.threshold)[0]) for unit in units]
    return (int(inside[0]) - int(inside[1])) * plan.epsilon
