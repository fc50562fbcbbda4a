"""Whether the noise that a file states pays for the promise that it states.

Owns the checks of files that come from elsewhere: its events are those of its mechanism,
together they pay for the promise, and the stated noise is that of the events. What is compared
is computed as the mechanism does it, so only the rounding of floats is allowed for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TypeVar

from dpcov.columns.missing import Missing
from dpcov.errors import CorruptFileError
from dpcov.exact.grid import Grid
from dpcov.exact.scales import frobenius_scales
from dpcov.privacy import (
    ApproxDP,
    Event,
    Gaussian,
    Neighbors,
    Pure,
    PureDP,
    Selection,
    cap_epsilon,
    events_delta,
    gaussian_scale,
    sign_sensitivity,
    squared_moment_sensitivity,
    squared_unit_sensitivity,
    squared_variance_sensitivity,
)
from dpcov.privacy.accounting import events_rho
from dpcov.privacy.sensitivity import moments_relation
from dpcov.privacy.zcdp import zcdp_budget
from dpcov.releases.learned_payment import COUNTS, check_learned, learning_steps
from dpcov.releases.noise_scale import CAP_CONSTANT, NoiseScale, cap_noise
from dpcov.releases.pairs import PairsRelease
from dpcov.releases.provenance import LOCAL_CAP, LOCAL_GAUSSIAN, SECOND_MOMENT
from dpcov.releases.release import Release
from dpcov.releases.variances import weight_of_means

__all__ = ["check_moments_are_paid", "check_pairs_are_paid"]

# A delta is the exponential of sums of up to 1,400: another machine's last digits move it by less.
_ARITHMETIC = 1e-10
# Scales are products and roots of a few numbers.
_ROUNDING = 2.0**-46
_LOGARITHMS = 1e-9  # another machine's logarithms, in the constants of a cap
_STEP, _COARSE = 0.2, 1e5  # how far a weight is rounded down, up to which noise
_SMALLEST_PART = 0.9e-6  # the smallest share of a step
Kind = TypeVar("Kind", Gaussian, Selection, Pure)


def check_moments_are_paid(release: Release) -> None:
    """Refuse a file whose promise is not the one that its noise pays for."""
    check = {
        (SECOND_MOMENT, ApproxDP, False): _check_central,
        (LOCAL_GAUSSIAN, ApproxDP, True): _check_local_gaussian,
        (LOCAL_CAP, PureDP, True): _check_local_cap,
    }
    made, promise = release.provenance, release.provenance.calibrated_for
    local = promise.neighbors is Neighbors.LOCAL
    if local and not _is_plain(release):
        raise CorruptFileError("its facts are not those of reports from devices")
    needed = check.get((made.mechanism, type(promise), local))
    if needed is None or (made.cap is None) != (made.mechanism != LOCAL_CAP):
        raise CorruptFileError("its promise is not that of its origin")
    needed(release)
    _check_pays(made.events, promise)


def check_pairs_are_paid(release: PairsRelease, promise: ApproxDP) -> None:
    """Refuse a file of pairs whose promise is not the one that its noise pays for."""
    made = release.provenance
    n_terms = release.n_rows // 2 if made.center == "differences" else release.n_rows
    if len(release.pairs) != made.max_pairs or release.n_terms != n_terms:
        raise CorruptFileError("its pairs are not those of its origin")
    _check_relation(made.center, promise, made.rows_per_unit)
    if promise.neighbors is Neighbors.LOCAL:
        raise CorruptFileError("its promise is not that of its origin")
    per_person = sign_sensitivity(promise.neighbors) * made.rows_per_unit
    left = list(made.events)
    _check_mean_signs(left, release, per_person)
    if made.max_pairs < release.n_columns * (release.n_columns - 1) // 2:
        _check_selection(_next(left, "selection", Selection), release, per_person)
    elif made.selection_scale:
        raise CorruptFileError("its selection is not that of its origin")
    sensitivity = per_person * math.sqrt(made.max_pairs) / release.n_terms
    _check_scale(_next(left, "values", Gaussian), sensitivity, release.noise_scale)
    _check_variances(left, release, promise)
    if left:
        raise CorruptFileError("its events are not those of its origin")
    _check_pays(made.events, promise)
    # The mechanism splits a budget of zCDP. Other bounds may allow less noise; it never has it.
    budget = zcdp_budget(epsilon=promise.epsilon, delta=promise.delta)
    if events_rho(made.events) > budget * (1 + _ARITHMETIC):
        raise CorruptFileError("its noise does not pay for its promise")


def _check_pays(events: tuple[Event, ...], promise: ApproxDP | PureDP) -> None:
    if isinstance(promise, ApproxDP):
        pays = events_delta(events, epsilon=promise.epsilon) <= promise.delta * (1 + _ARITHMETIC)
        # Where delta is tiny its upper bound is coarse; noise alone is compared with what it needs.
        pays = pays or _is_one_gaussian(events, promise)
    else:
        pays = events_delta(events, epsilon=promise.epsilon) == 0.0
    if not pays:
        raise CorruptFileError("its noise does not pay for its promise")


def _is_one_gaussian(events: tuple[Event, ...], promise: ApproxDP) -> bool:
    """Return whether all events are noise that is together as large as the promise needs."""
    noise = [event for event in events if isinstance(event, Gaussian)]
    needed = gaussian_scale(epsilon=promise.epsilon, delta=promise.delta)
    together = sum(Fraction(event.multiplier) ** -2 for event in noise)
    return len(noise) == len(events) and together * Fraction(needed) ** 2 <= 1


def _next(events: list[Event], name: str, kind: type[Kind]) -> Kind:
    """Take the first event off the list, if it is the one that must come."""
    event = events.pop(0) if events else None
    if not isinstance(event, kind) or event.name != name:
        raise CorruptFileError("its events are not those of its origin")
    return event


def _check_relation(center: str, promise: ApproxDP, rows_per_unit: int) -> None:
    """Differences of rows keep one promise alone."""
    if center == "differences" and (
        promise.neighbors is not Neighbors.REPLACE or rows_per_unit > 1
    ):
        raise CorruptFileError("its promise is not that of its origin")


def _check_scale(event: Gaussian, sensitivity: float, stated: float) -> None:
    if not math.isclose(stated, event.multiplier * sensitivity, rel_tol=_ROUNDING):
        raise CorruptFileError("its noise is not that of its events")


def _check_selection(event: Selection, release: PairsRelease, per_person: int) -> None:
    made = release.provenance
    scale = made.selection_scale
    if event.count != made.max_pairs or not (
        scale > 0 and math.isclose(event.range * scale, 2 * per_person, rel_tol=_ROUNDING)
    ):
        raise CorruptFileError("its noise is not that of its events")


def _check_mean_signs(events: list[Event], release: PairsRelease, per_person: int) -> None:
    """Learned centers were paid for, and the mean signs about them have the noise of theirs."""
    means = release.mean_signs
    if means is None:
        return
    _next(events, "centers", Gaussian)
    sensitivity = per_person * math.sqrt(release.n_columns) / release.n_terms
    _check_scale(_next(events, "signs", Gaussian), sensitivity, means.noise_scale)


def _check_variances(events: list[Event], release: PairsRelease, promise: ApproxDP) -> None:
    made, variances = release.provenance, release.variances
    if made.row_norm is None or made.cell_bound is None:
        if made.row_norm != made.cell_bound or (variances and variances.noise_scale > 0):
            raise CorruptFileError("its variances are not those of its origin")
        return
    if variances is None or made.cell_bound > made.row_norm:
        raise CorruptFileError("its variances are not those of its origin")
    if (variances.means is None) != (made.center == "differences"):
        raise CorruptFileError("its variances are not those of its origin")
    # The noise of a mean is that of the mean squares, divided by the weight.
    weight = variances.noise_scale / variances.mean_noise if variances.mean_noise else 0.0
    squared = squared_variance_sensitivity(
        promise.neighbors,
        squared_norm=Fraction(made.row_norm) ** 2,
        cell_bound=Fraction(made.cell_bound),
        weight=Fraction(weight),
        rows=made.rows_per_unit,
    )
    sensitivity = math.sqrt(squared) / release.n_terms
    event = _next(events, "variances", Gaussian)
    _check_scale(event, sensitivity, variances.noise_scale)
    best = weight_of_means(made.row_norm, made.cell_bound, release.n_columns)
    # Whole steps of a grid are that close, unless noise is so large that it is coarse.
    fine = event.multiplier < _COARSE
    least, most = (best * (1 - _STEP), best) if fine else (0.0, made.cell_bound)
    if variances.means is not None and not least <= weight <= most * (1 + _ROUNDING):
        raise CorruptFileError("its variances are not those of its origin")


def _is_plain(release: Release) -> bool:
    """Whether nothing was learned or counted that only a table can give."""
    made = release.provenance
    constant = int(CAP_CONSTANT * 2**made.bits) if made.mechanism == LOCAL_CAP else 0
    about = ("public", 0) if release.mean is None else ("private", constant)
    learned = (release.learned, release.working, release.weights)
    unit = getattr(made.calibrated_for, "privacy_unit", None)
    plain = (made.center, made.constant, made.rows_per_unit) == (*about, 1)
    plain = plain and all(fact is None for fact in learned)
    return plain and unit is None and release.factor == 1


def _check_gaps(release: Release) -> None:
    """Refuse indicators where gaps are not counted, or about shares that nobody learned."""
    working, missing = release.working, release.provenance.missing
    if working is None or not working.design.n_gaps:
        return
    is_learned = release.learned is not None or (working.observed == 1).all()
    if missing is not Missing.PAIRWISE or not is_learned:
        raise CorruptFileError("its gaps are not those of its origin")


def _check_central(release: Release) -> None:
    """Compare the noise with that of the last event, on the grid on which it was drawn."""
    made = release.provenance
    moments = _check_dense_events(release)
    has_constant = made.constant > 0 or release.weights is not None
    if (release.mean is not None) != has_constant or has_constant != (made.center == "private"):
        raise CorruptFileError("its mean is not that of its origin")
    if release.weights is not None and (made.constant or release.learned is None):
        raise CorruptFileError("its weights are not those of its origin")
    _check_gaps(release)
    if made.constant > 1 << made.bits:
        raise CorruptFileError("its mean is not that of its origin")
    if not _are_alike(release.noise_scale, _noise_of(moments, release)):
        raise CorruptFileError("its noise is not that of its events")
    _check_spends_all(release)


def _check_spends_all(release: Release) -> None:
    """Refuse events that cost less than the promise: the mechanism leaves nothing over.

    A file that keeps silent about steps that were paid for would be one.
    """
    promise = release.provenance.calibrated_for
    costs = sum(_costs(release.provenance.events))
    if isinstance(promise, ApproxDP):
        whole = gaussian_scale(epsilon=promise.epsilon, delta=promise.delta) ** -2
        if costs < whole * (1 - COUNTS):
            raise CorruptFileError("its events are not those of its origin")


def _check_dense_events(release: Release) -> Gaussian:
    """Return the event of the moments, if all are those of the mechanism, in its order."""
    left, learned = list(release.provenance.events), release.learned
    if not all(isinstance(event, Gaussian) for event in left):
        raise CorruptFileError("its events are not those of its origin")
    if learned is None:
        if (release.factor, release.factor_error) != (1.0, 0.0):
            raise CorruptFileError("its factor is not that of its origin")
        while len(left) > 1 and left[0].name in ("observed", "levels"):
            left.pop(0)
    else:
        steps = {name: _next(left, name, Gaussian) for name in learning_steps(release, learned)}
        check_learned(release, learned, steps)
    moments = _next(left, "moments", Gaussian)
    if left or not _can_be_noise(release.provenance.events):
        raise CorruptFileError("its events are not those of its origin")
    return moments


def _can_be_noise(events: tuple[Event, ...]) -> bool:
    """Return whether shares that can be asked for give this noise."""
    costs = _costs(events)
    return min(costs) >= _SMALLEST_PART * sum(costs)


def _costs(events: tuple[Event, ...]) -> list[float]:
    return [(1 / event.multiplier) ** 2 for event in events if isinstance(event, Gaussian)]


def _noise_of(moments: Gaussian, release: Release) -> NoiseScale:
    """Return the noise that the mechanism draws for this event."""
    made = release.provenance
    grid = Grid(row_norm=made.row_norm, bits=made.bits, constant=made.constant)
    traces = release.design.n_gaps > 0 or release.weights is not None
    squared = squared_moment_sensitivity(
        moments_relation(made.calibrated_for.neighbors, leaves_traces=traces),
        squared_norm=grid.squared_norm,
        constant=grid.constant,
        rows=made.rows_per_unit,
    )
    off_diagonal, diagonal = frobenius_scales(Fraction(moments.multiplier) ** 2 * squared)
    step = grid.step**2 / release.n_rows * release.factor
    mean_step = grid.step / (grid.constant * release.n_rows) if grid.constant else 0.0
    noise = NoiseScale(off_diagonal * step, diagonal * step, mean=off_diagonal * mean_step)
    if release.weights is None:
        return noise
    # Means are not made longer; moments are.
    weighted = release.weights.noise_scale(noise)
    return replace(weighted, mean=weighted.mean / release.factor)


def _are_alike(stated: NoiseScale, expected: NoiseScale) -> bool:
    return all(
        math.isclose(getattr(stated, name), getattr(expected, name), rel_tol=_ROUNDING)
        for name in ("off_diagonal", "diagonal", "signal", "mean")
    )


def _check_local_gaussian(release: Release) -> None:
    """Compare the noise of the average with the least that so many devices draw."""
    left, noise = list(release.provenance.events), release.noise_scale
    event = _next(left, "report", Gaussian)
    squared = squared_unit_sensitivity(Neighbors.LOCAL) * release.provenance.row_norm**4
    least = event.multiplier * math.sqrt(squared / release.n_rows) * (1 - _ROUNDING)
    if left:
        raise CorruptFileError("its events are not those of its origin")
    if noise.signal or noise.mean:
        raise CorruptFileError("its noise is not that of its origin")
    if noise.diagonal < least or noise.off_diagonal < least / math.sqrt(2):
        raise CorruptFileError("its noise is not that of its events")


def _check_local_cap(release: Release) -> None:
    """Compare the event with what the stated constants keep, and the noise with theirs."""
    made, noise = release.provenance, release.noise_scale
    left = list(made.events)
    event = _next(left, "report", Pure)
    if left or made.cap is None:
        raise CorruptFileError("its events are not those of its origin")
    has_mean = release.mean is not None
    if cap_epsilon(made.cap, n_columns=release.n_columns + has_mean) > event.epsilon:
        raise CorruptFileError("its constants do not pay for its promise")
    exact = cap_noise(
        made.cap,
        row_norm=made.row_norm,
        n_rows=release.n_rows,
        mean_of=release.n_columns if has_mean else None,
    )
    if (noise.mean and not exact.mean) or (noise.signal and not exact.signal):
        raise CorruptFileError("its noise is not that of its origin")
    if any(
        getattr(noise, name) < getattr(exact, name) * (1 - _LOGARITHMS)
        for name in ("off_diagonal", "diagonal", "signal", "mean")
    ):
        raise CorruptFileError("its noise is not that of its events")
