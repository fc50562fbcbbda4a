"""Whether what a file says was learned is what its events pay for.

Owns the checks of learned facts in files that come from elsewhere: which steps there must be,
their noise, and what follows from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from dpcov.columns.missing import Missing
from dpcov.errors import CorruptFileError
from dpcov.privacy import ApproxDP, Gaussian
from dpcov.releases.learned import (
    EXCESS_REACH,
    MOST_TAIL,
    RADIUS_NOISE,
    RADIUS_STEPS,
    RADIUS_TAIL,
    Known,
    Learned,
    is_narrow,
    tails_are_blurred,
)
from dpcov.releases.lengthening import lengthen, stretch
from dpcov.releases.release import Release
from dpcov.releases.weights import Weights

__all__ = ["COUNTS", "check_learned", "learning_steps"]

COUNTS = 1e-6
"""How far scales may be off: those of integer noise are rounded up."""


def learning_steps(release: Release, learned: Learned) -> list[str]:
    """Return which steps learn what is not stated, in order."""
    numbers, design = release.design.is_number, release.design
    center, scale = (
        bool((known[numbers] != Known.STATED).any())
        for known in (learned.known_center, learned.known_scale)
    )
    sought = (center or scale) and not _may_trust_bounds(release, learned)
    missing = release.provenance.missing
    counts_gaps = missing is Missing.COMPLETE or (
        missing is Missing.CENTER and any(event.name == "observed" for event in release.events)
    )
    steps = {
        "weights": release.weights is not None,
        "observed": design.n_gaps > 0 or counts_gaps,
        "levels": len(design.categories) > 0,
        "range": sought,
        "center": center,
        "limit": sought,
        "mean": center,
        "scale": scale,
        "beyond": bool(numbers.any()),
    }
    return [*(name for name, taken in steps.items() if taken), "radius", "clipping"]


def _may_trust_bounds(release: Release, learned: Learned) -> bool:
    """Whether limits may be bounds that were taken as they stand, so that none were sought."""
    made, promise = release.provenance, release.provenance.calibrated_for
    sought = any(event.name == "range" for event in made.events)
    if sought or not isinstance(promise, ApproxDP):
        return False
    asked = (learned.known_center != Known.STATED) | (learned.known_scale != Known.STATED)
    asked &= release.design.is_number
    trusted = (learned.known_range == Known.STATED) & is_narrow(learned.lower, learned.upper)
    return bool(trusted[asked].all()) and tails_are_blurred(
        promise,
        n_rows=release.n_rows,
        n_columns=len(release.design.numbers),
        rows_per_unit=made.rows_per_unit,
    )


def check_learned(release: Release, learned: Learned, steps: Mapping[str, Gaussian]) -> None:
    """Refuse what was learned where it does not follow from the events of its steps."""
    for name in ("beyond", "clipping"):
        if name in steps:
            _check_learned_noise(steps[name], release, learned)
    if "beyond" not in steps and learned.beyond_error:
        raise CorruptFileError("its noise is not that of its events")
    if release.weights is not None:
        _check_weights(steps["weights"], release, release.weights)
    _check_levels(release, learned)
    _check_limits(release, learned)
    _check_wanted(release, learned)
    _check_factor(release, learned)


def _check_learned_noise(event: Gaussian, release: Release, learned: Learned) -> None:
    """Compare the noise of shares beyond limits, or of clipped rows, with that of its event."""
    made, clipping = release.provenance, learned.clipping
    moved = made.rows_per_unit * event.multiplier / release.n_rows
    reach = EXCESS_REACH * made.row_norm**2  # how far an excess is measured
    expected = (
        {"beyond_error": (learned.beyond_error, math.sqrt(len(release.design.numbers)) * moved)}
        if event.name == "beyond"
        else {
            "share_error": (clipping.share_error, math.sqrt(2) * moved),
            "excess_error": (clipping.excess_error, math.sqrt(2) * moved * reach),
        }
    )
    for stated, computed in expected.values():
        if not math.isclose(stated, computed, rel_tol=COUNTS):
            raise CorruptFileError("its noise is not that of its events")


def _check_weights(event: Gaussian, release: Release, weights: Weights) -> None:
    """Compare the noise of weights with that of its event, and their constant with the rule."""
    moved = release.provenance.rows_per_unit * event.multiplier / release.n_rows
    if not math.isclose(weights.error, math.sqrt(2) * moved, rel_tol=COUNTS):
        raise CorruptFileError("its noise is not that of its events")
    constant = math.sqrt(len(release.design.fields)) / 4
    if not math.isclose(weights.constant, constant, rel_tol=COUNTS) or weights.mean > 1:
        raise CorruptFileError("its weights are not those of its origin")


def _check_levels(release: Release, learned: Learned) -> None:
    """Refuse what no category has: its levels are 0 or 1, and all their facts were learned."""
    levels = ~release.design.is_number
    center = release.units.center[levels]
    if not (
        (learned.lower[levels] == 0).all()
        and (learned.upper[levels] == 1).all()
        and (learned.beyond[levels] == 0).all()
        and (learned.known_range[levels] == Known.STATED).all()
        and (learned.known_center[levels] == Known.LEARNED).all()
        and (learned.known_scale[levels] == Known.LEARNED).all()
        and ((center >= 0) & (center <= 1)).all()
        and all(_is_category(release, group) for group in release.design.groups)
    ):
        raise CorruptFileError("its levels are not those of its origin")


def _is_category(release: Release, group: slice) -> bool:
    """Whether shares of levels add up to 1, with one scale that is no less than they ask for."""
    share, scale = release.units.center[group], release.units.scale[group]
    least = math.sqrt(max(0.0, 1 - float(share @ share)))
    return (
        math.isclose(share.sum(), 1, rel_tol=COUNTS)
        and bool((scale == scale[0]).all())
        and least * (1 - COUNTS) <= scale[0] <= 1
    )


def _check_limits(release: Release, learned: Learned) -> None:
    """Refuse limits beside the center: a center is learned within them, or stated within bounds."""
    center = release.units.center
    if not ((learned.lower <= center) & (center <= learned.upper)).all():
        raise CorruptFileError("its limits are not those of its origin")


def _check_wanted(release: Release, learned: Learned) -> None:
    """Compare the share of rows that should be clipped with what public facts ask for."""
    made = release.provenance
    multipliers = {
        event.name: event.multiplier for event in made.events if isinstance(event, Gaussian)
    }
    per_row = made.rows_per_unit / release.n_rows
    best = RADIUS_TAIL * multipliers["moments"] * len(release.design.fields) * per_row
    noise = multipliers["radius"] * math.sqrt(RADIUS_STEPS) * per_row
    wanted = min(MOST_TAIL, max(best, RADIUS_NOISE * noise))
    if not math.isclose(learned.clipping.wanted, wanted, rel_tol=COUNTS):
        raise CorruptFileError("its clipping is not that of its origin")


def _check_factor(release: Release, learned: Learned) -> None:
    """Make up for clipping again, from what is stated."""
    plain = stretch(release, 1 / release.factor)
    again = lengthen(plain, learned)
    if not (
        math.isclose(again.factor, release.factor, rel_tol=COUNTS)
        and math.isclose(again.factor_error, release.factor_error, rel_tol=COUNTS)
    ):
        raise CorruptFileError("its factor is not that of its origin")
