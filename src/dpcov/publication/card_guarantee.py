"""What a card says of the guarantee, of what it does not cover, and of known limits.

Owns every sentence about the promise: the page, ``card.md``, the terminal and the registry
entry repeat these. The numbers are those of the promise; odds are rounded against us.
"""

from __future__ import annotations

import math
from typing import Any

from dpcov.privacy import ApproxDP, Approximate, Gaussian, Neighbors, Pure, PureDP
from dpcov.privacy.accounting import events_rho
from dpcov.privacy.promise import WEAK_EPSILON
from dpcov.releases import AnyRelease, Release

__all__ = ["describe_guarantee", "known_limits"]

_STRONG = 1.0  # up to here an epsilon is strong
_FALSE_ALARM = 0.05
_EXAMPLE = 0.01
_UP = 1 + 2.0**-40  # what is printed as a bound is one

_MEANING = (
    "That is: whatever somebody concludes about one person, compared with what they would have "
    "concluded had that person's data been others."
)

Made = ApproxDP | PureDP


def describe_guarantee(release: AnyRelease) -> dict[str, Any]:
    """Return the guarantee of a release: of what its noise was made for, if simulated."""
    made, holds = release.provenance.calibrated_for, not release.simulated
    unit = _unit_of(made)
    rho = _total_cost(release)
    only_gaussian = all(isinstance(event, Gaussian) for event in release.events)
    return {
        # With a seed the noise can be taken away again: what follows is not promised.
        "holds": holds,
        "statement": str(release.promise),
        "in_words": release.promise.in_words,
        "calibrated_for": str(made),
        "simulation": None if holds else _simulation(made),
        "variant": "approximate" if isinstance(made, ApproxDP) else "pure",
        "epsilon": made.epsilon,
        "delta": _delta_of(made),
        "rho": rho,
        "mu": math.sqrt(2 * rho) * _UP if rho is not None and only_gaussian else None,
        "factor": _factor_of(made),
        "strength": _strength(made, release.n_rows),
        "warning": _warning(made, release.n_rows) if holds else None,
        "example": _example(made, holds=holds),
        "attack": _attack(made, holds=holds),
        "can_learn": _can_learn(made) if holds else [],
        "cannot_learn": _cannot_learn(made) if holds else [],
        "privacy_unit": {
            "is": _unit_in_words(made),
            "note": _several_rows(made),
            "column": unit,
            "rows_per_unit": release.provenance.rows_per_unit,
            "person_column": release.provenance.person_column,
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


def _unit_of(made: Made) -> str | None:
    return made.privacy_unit if isinstance(made, ApproxDP) else None


def _delta_of(made: Made) -> float:
    return made.delta if isinstance(made, ApproxDP) else 0.0


def _factor_of(made: Made) -> float | None:
    return math.exp(made.epsilon) * _UP if made.epsilon < 700 else None


def _strength(made: Made, n_rows: int) -> str:
    """Say what a promise is worth: pages look as reassuring as it is."""
    if made.epsilon > WEAK_EPSILON or _delta_of(made) > 1 / n_rows:
        return "weak"
    return "strong" if made.epsilon <= _STRONG else "moderate"


def _warning(made: Made, n_rows: int) -> str | None:
    factor, delta, said = _factor_of(made), _delta_of(made), []
    if made.epsilon > WEAK_EPSILON:
        odds = "" if factor is None else f", here by a factor of {_up(factor)}"
        said.append(
            f"ε = {made.epsilon:g} is a weak promise. The odds of a conclusion about one person "
            f"may change by e^ε{odds}: do not treat these data as if nobody could be recognized in "
            "them."
        )
    if delta > 1 / n_rows:
        said.append(
            f"δ = {delta:g} is a weak promise for {n_rows:,} rows: to publish the row of somebody "
            f"chosen at random would keep it, from δ = 1 / {n_rows:,} on."
        )
    return " ".join(said) or None


def _example(made: Made, *, holds: bool) -> dict[str, Any]:
    factor, delta = _factor_of(made), _delta_of(made)
    most = 1.0 if factor is None else min(1.0, (_EXAMPLE * factor + delta) * _UP)
    shown = f"at most {_percent(most)}" if most < 1 else "any"
    words = f"What had a chance of {_percent(_EXAMPLE)} has {shown}."
    return {
        "chance": _EXAMPLE,
        "at_most": most,
        "in_words": words if holds else None,
        "meaning": _MEANING if holds else None,
    }


def _simulation(made: Made) -> str:
    return (
        "Whoever knows the seed can take the noise away and see the exact numbers. The noise has "
        f"the scale that {made} would need, so that this shows what a real release would look like."
    )


def _attack(made: Made, *, holds: bool) -> dict[str, Any]:
    power = min(1.0, made.attack_power(_FALSE_ALARM) * _UP)
    words = _attack_in_words(made, power) if holds else None
    return {"false_alarm": _FALSE_ALARM, "power": power, "in_words": words}


def _attack_in_words(made: Made, power: float) -> str:
    unit = _unit_of(made)
    what = "one person's row from another that it might have been"
    if made.neighbors is Neighbors.LOCAL:
        what = "two rows that a person may have apart"
    elif unit is not None:
        what = f"all rows of one {unit!r} from others that they might have been"
    return (
        f"Somebody who tries to tell {what}, knows everything else and accepts "
        f"{_percent(_FALSE_ALARM)} false alarms succeeds with probability at most "
        f"{_percent(power)}. Blind guessing succeeds with {_percent(_FALSE_ALARM)}."
    )


def _can_learn(made: Made) -> list[str]:
    factor, delta = _factor_of(made), _delta_of(made)
    stated = f"e^ε = {_up(factor)}" if factor is not None else f"e^{made.epsilon:g}"
    more = f", and a chance of δ = {delta:g} on top" if delta else ""
    return [
        f"Whatever they conclude about somebody, they conclude it at most {stated} times as often "
        f"as they would had that person's data been others{more}.",
        "What is true of people in general. That can be used against somebody who is not in the "
        "data at all.",
    ]


def _cannot_learn(made: Made) -> list[str]:
    items = ["What the person answered, beyond these odds, however clever or patient they are."]
    if made.neighbors is Neighbors.ADD_REMOVE:
        items.append("Whether the person is in the data, beyond these odds.")
    if made.neighbors is Neighbors.LOCAL:
        items.append("The same holds for whoever collected the reports: no row left a device.")
    return [
        *items,
        "More by computing on: everything that is made from this release has the same promise.",
    ]


def _unit_in_words(made: Made) -> str:
    if made.neighbors is Neighbors.LOCAL:
        return "one report from one person's device"
    unit = _unit_of(made)
    return "one row" if unit is None else f"all rows with the same {unit!r}"


def _several_rows(made: Made) -> str | None:
    if made.neighbors is Neighbors.LOCAL or _unit_of(made) is not None:
        return None
    return "Somebody with several rows is protected less."


def _total_cost(release: AnyRelease) -> float | None:
    """Return what all events cost together in zCDP; None where a promise says it better."""
    stated = any(isinstance(event, (Pure, Approximate)) for event in release.events)
    return None if stated or not release.events else events_rho(release.events) * _UP


def _not_protected(release: AnyRelease, unit: str | None) -> list[str]:
    local = release.provenance.calibrated_for.neighbors is Neighbors.LOCAL
    items = [
        "who sent a report, and the number of reports" if local else "the number of rows",
        "the names of the columns",
        "the bounds, centers and scales that were stated",
    ]
    if isinstance(release, Release) and len(release.design.categories):
        items.append("which levels a category can have; which of them occur is protected")
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
            "what was done to the data before dpcov read them, such as scaling, imputing or "
            "dropping rows"
        )
    return items


def known_limits(release: AnyRelease, *, charged: bool = False) -> list[str]:
    """Return what a reader should know that no promise covers; `charged` to a ledger, or not."""
    account = (
        "the ledger that is named here keeps the account of those that were charged to it."
        if charged
        else "no account is kept of them."
    )
    limits = [
        "Timing: how long the release took depends on the data and is not hidden.",
        f"Budgets add up: every other release about the same people costs again, and {account}",
        "Memory: the promise is about what is published, not about the machine that made it.",
        "The digests detect damage; they are not a signature.",
        "Intervals and q-values assume rows that are roughly Gaussian and rarely clipped.",
    ]
    if release.provenance.calibrated_for.neighbors is Neighbors.LOCAL:
        limits.append("Nothing proves that a report was made from a true row.")
    if release.provenance.missing == "center":
        limits.append(
            "Missing cells were read as the center of their column: the more cells are "
            "missing and the farther the center is from the mean, the more variances and "
            "covariances are off."
        )
    return limits


def _up(value: float) -> str:
    """Write a bound with three digits, rounded up."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / step - 1e-9) * step:.3g}"


def _percent(share: float) -> str:
    return f"{_up(100 * share)} %"
