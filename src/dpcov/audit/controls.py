"""Planted bugs: what an audit must find, or else it looked too briefly.

Owns mechanisms that break their promise on purpose. None of them is a switch of the library: less
noise is drawn by somebody who stands at the noise door of this process (`recording.standing`);
other bugs are options that do not fit the claim, as a careless caller would state them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpcov import local
from dpcov.audit.neighbor_pair import NeighborPair, Table
from dpcov.audit.neighbors import cap_score
from dpcov.audit.publishing import covariances
from dpcov.audit.standing import Way, standing
from dpcov.mechanisms.covariance import release

__all__ = ["Control", "controls"]


@dataclass(frozen=True, eq=False)
class Control:
    """A bug in a mechanism, and the pair of tables that shows it."""

    bug: str
    pair: NeighborPair
    plant: Callable[[], AbstractContextManager[object]] = nullcontext
    effort: float = 1.0
    """How much more time it gets than others: small bugs need more runs."""


def controls(pair: NeighborPair) -> tuple[Control, ...]:
    """Return the bugs that are planted in the mechanism of a pair; at least less noise."""
    special = {
        "stated": _of_stated,
        "clipped": _of_clipped,
        "units": _of_units,
        "ledger": _of_ledger,
        "pairs": _of_pairs,
        "local-cap": _of_cap,
    }
    more = special[pair.name](pair) if pair.name in special else ()
    # The coin of a cap report is not drawn at the noise door.
    return (*(() if pair.name == "local-cap" else (_half(pair),)), *more)


def _half(pair: NeighborPair) -> Control:
    # The cost of pairs is added up with some room, and half the noise hardly shows in so few runs.
    if not pair.is_gaussian:
        return Control("a quarter of the noise", pair, partial(_quieter, 0.25), effort=1.5)
    return Control("half the noise", pair, partial(_quieter, 0.5), 1.5 if pair.is_adaptive else 1.0)


def _of_stated(pair: NeighborPair) -> tuple[Control, ...]:
    options = _options(pair)
    leaking = replace(
        pair,
        mechanism=lambda table: (pair.mechanism(table), table),
        publish=lambda made: np.concatenate([covariances(made[0]), made[1].mean(axis=0)]),
    )
    paid = replace(pair, mechanism=partial(release, **options, neighbors="add-remove"))
    return (
        Control("√2 forgotten", paid, effort=2.0),
        Control("exact means published", leaking),
    )


def _of_clipped(pair: NeighborPair) -> tuple[Control, ...]:
    # Twice as long as the norm that is paid for, and let through as they are.
    rows = [
        np.vstack([table[0] * (2 / np.linalg.norm(table[0])), table[1:]]) for table in pair.tables
    ]
    options = _options(pair)
    return (
        Control(
            "rows not clipped",
            replace(
                pair, tables=(rows[0], rows[1]), mechanism=partial(_unclipped, options=options)
            ),
        ),
    )


def _unclipped(table: Table, options: dict[str, Any]) -> Any:
    """Release rows up to twice the norm, with the noise of once the norm."""
    # Four times the sums on a grid of twice the norm, of which a quarter of the noise is paid.
    with _quieter(1 / 4):
        return release(table, **{**options, "row_norm": 2 * options["row_norm"]})


def _of_units(pair: NeighborPair) -> tuple[Control, ...]:
    options = {key: value for key, value in _options(pair).items() if "unit" not in key}

    def rows_alone(table: Table) -> Any:
        return release(table[:, 1:], **options)

    return (Control("one of three rows paid", replace(pair, mechanism=rows_alone)),)


def _of_ledger(pair: NeighborPair) -> tuple[Control, ...]:
    half = _options(pair)["epsilon"]

    def claimed(table: Table) -> float:
        return float(half)

    return (Control("one release not charged", replace(pair, spent=claimed), effort=3.0),)


def _of_pairs(pair: NeighborPair) -> tuple[Control, ...]:
    return (Control("selection without noise", pair, _certain, effort=1.5),)


def _of_cap(pair: NeighborPair) -> tuple[Control, ...]:
    plan = _options(pair)["plan"]
    loose = local.CollectionPlan(
        columns=plan.columns, row_norm=plan.row_norm, epsilon=2 * pair.epsilon, mechanism="cap"
    )
    loud = partial(local.randomize, plan=loose)
    twice = replace(pair, mechanism=loud, score=partial(cap_score, loose))
    return (Control("coin of twice epsilon", twice, effort=2.0),)


def _options(pair: NeighborPair) -> dict[str, Any]:
    """Return what the mechanism of a pair is called with."""
    if not isinstance(pair.mechanism, partial):
        raise AssertionError("unreachable: mechanisms of pairs are partial")
    return dict(pair.mechanism.keywords)


@contextmanager
def _quieter(share: float) -> Iterator[None]:
    """Draw less noise than the door is asked for."""

    def add_noise(behind: Way) -> Way:
        return lambda sums, scale, stream: behind(sums, max(1, int(scale * share)), stream)

    def select_largest(behind: Way) -> Way:
        def less(scores: Any, *, count: int, scale: float, stream: Any) -> Any:
            return behind(scores, count=count, scale=scale * share, stream=stream)

        return less

    with standing(add_noise=add_noise, select_largest=select_largest):
        yield


@contextmanager
def _certain() -> Iterator[None]:
    """Select the largest scores, without noise."""

    def largest(scores: Any, *, count: int, scale: float, stream: Any) -> Any:
        exact = np.concatenate(list(scores()))
        return np.sort(np.argsort(-exact, kind="stable")[:count]).astype(np.int64)

    with standing(select_largest=lambda behind: largest):
        yield
