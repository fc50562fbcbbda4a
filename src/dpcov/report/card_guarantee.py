"""What a card says of the guarantee, of what it does not cover, and of known limits.

Owns these words. The numbers are those of the promise; odds are rounded against us.
"""

from __future__ import annotations

import math
from typing import Any

from dpcov.privacy import ApproxDP, Approximate, Gaussian, Neighbors, Pure, PureDP
from dpcov.privacy.accounting import events_rho
from dpcov.releases import PairsRelease, Release

__all__ = ["describe_guarantee", "known_limits"]

_FALSE_ALARM = 0.05
_UP = 1 + 2.0**-40  # what is printed as a bound is one


def describe_guarantee(release: Release | PairsRelease) -> dict[str, Any]:
    """Return the guarantee of a release: of what its noise was made for, if simulated."""
    made = release.provenance.calibrated_for
    unit = made.unit if isinstance(made, ApproxDP) else None
    rho = _total_cost(release)
    only_gaussian = all(isinstance(event, Gaussian) for event in release.events)
    return {
        # With a seed the noise can be taken away again: what follows is not promised.
        "holds": not release.simulated,
        "statement": str(release.promise),
        "in_words": release.promise.in_words,
        "variant": "approximate" if isinstance(made, ApproxDP) else "pure",
        "epsilon": made.epsilon,
        "delta": made.delta if isinstance(made, ApproxDP) else 0.0,
        "rho": rho,
        "mu": math.sqrt(2 * rho) * _UP if rho is not None and only_gaussian else None,
        "factor": math.exp(made.epsilon) * _UP if made.epsilon < 700 else None,
        "attack": {
            "false_alarm": _FALSE_ALARM,
            "power": min(1.0, made.attack_power(_FALSE_ALARM) * _UP),
        },
        "privacy_unit": {
            "is": _unit_in_words(made, unit),
            "column": unit,
            "rows_per_unit": release.provenance.rows_per_unit,
        },
        "neighbors": {
            "relation": made.neighbors.value,
            "in_words": made.neighbors.in_words
            if unit is None
            else made.neighbors.in_words_of_units(unit),
        },
        "domain": {
            "complete": made.complete,
            "in_words": made.neighbors.domain_in_words if made.complete else None,
        },
        "not_protected": _not_protected(release, unit),
    }


def _unit_in_words(made: ApproxDP | PureDP, unit: str | None) -> str:
    if made.neighbors is Neighbors.LOCAL:
        return "one report from one person's device"
    return "one row" if unit is None else f"all rows with the same {unit!r}"


def _total_cost(release: Release | PairsRelease) -> float | None:
    """Return what all events cost together in zCDP; None where a promise says it better."""
    stated = any(isinstance(event, (Pure, Approximate)) for event in release.events)
    return None if stated or not release.events else events_rho(release.events) * _UP


def _not_protected(release: Release | PairsRelease, unit: str | None) -> list[str]:
    local = release.provenance.calibrated_for.neighbors is Neighbors.LOCAL
    items = [
        "who sent a report, and the number of reports" if local else "the number of rows",
        "the names of the columns",
        "the bounds, centers and scales that were stated",
    ]
    if unit is not None:
        items.append(f"which rows have the same {unit!r}")
    if release.provenance.missing == "refuse":
        items.append(
            "that nobody who sent a report has a missing or infinite cell"
            if local
            else "that no cell is missing or infinite: otherwise there would be no release"
        )
    if not local:
        items.append(
            "what was done to the data before dpcov read them, such as scaling or dropping rows"
        )
    return items


def known_limits(release: Release | PairsRelease) -> list[str]:
    """Return what a reader should know that no promise covers."""
    limits = [
        "Timing: how long the release took depends on the data and is not hidden.",
        "Budgets add up: every other release about the same people costs again, and no account "
        "is kept of them.",
        "Memory: the promise is about what is published, not about the machine that made it.",
        "The digests detect damage; they are not a signature.",
        "Intervals and q-values assume rows that are roughly Gaussian and rarely clipped.",
    ]
    if release.provenance.calibrated_for.neighbors is Neighbors.LOCAL:
        limits.append("Nothing proves that a report was made from a true row.")
    if release.provenance.missing == "center":
        limits.append(
            "Missing cells were read as the stated center of their column: the more cells are "
            "missing and the farther the center is from the mean, the more variances and "
            "covariances are off."
        )
    return limits
