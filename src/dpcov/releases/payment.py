"""Whether the noise that a file states pays for the promise that it states.

Owns the checks of files that come from elsewhere. They add up what the stated noise and steps
cost, and compare it with the promise.
"""

from __future__ import annotations

import math

from dpcov.errors import CorruptFileError
from dpcov.privacy import (
    ApproxDP,
    Neighbors,
    PureDP,
    cap_epsilon,
    frobenius_sensitivity,
    gaussian_scale,
    sign_sensitivity,
    squared_unit_sensitivity,
)
from dpcov.privacy.adaptive import LARGEST_RANGE, adaptive_delta
from dpcov.privacy.composition import Step, gaussian_step, selection_step, zcdp_budget
from dpcov.releases.pairs import PairsRelease
from dpcov.releases.release import (
    LOCAL_CAP,
    LOCAL_GAUSSIAN,
    SECOND_MOMENT,
    NoiseScale,
    Release,
    cap_noise,
)

__all__ = ["check_moments_are_paid", "check_pairs_are_paid"]

# Relative shares lie between 1e-6 and 1e6, and that of selections is at least 1e-6.
_SMALLEST_PART, _SMALLEST_SELECTION = 1e-13, 1e-6


def check_moments_are_paid(release: Release) -> None:
    """Refuse a file whose promise is not the one that its noise pays for."""
    check = {
        (SECOND_MOMENT, ApproxDP, False): _central_noise,
        (LOCAL_GAUSSIAN, ApproxDP, True): _local_gaussian_noise,
        (LOCAL_CAP, PureDP, True): _local_cap_noise,
    }
    made, promise = release.provenance, release.provenance.calibrated_for
    local = promise.neighbors is Neighbors.LOCAL
    if local and not _is_plain(release):
        raise CorruptFileError("its facts are not those of reports from devices")
    needed = check.get((made.mechanism, type(promise), local))
    if needed is None or (made.cap is None) != (made.mechanism != LOCAL_CAP):
        raise CorruptFileError("its promise is not that of its origin")
    least, noise = needed(release), release.noise_scale
    if (noise.mean and not least.mean) or (noise.signal and not least.signal):
        raise CorruptFileError("its noise is not that of its origin")
    if (
        noise.off_diagonal < least.off_diagonal
        or noise.diagonal < least.diagonal
        or noise.signal < least.signal
        or noise.mean < least.mean
    ):
        raise CorruptFileError("its noise does not pay for its promise")


def _is_plain(release: Release) -> bool:
    """Whether nothing was learned or counted that only a table can give."""
    made = release.provenance
    nothing = (made.center, made.constant, made.trace, made.rows_per_unit, made.steps)
    unit = getattr(made.calibrated_for, "unit", None)
    return nothing == ("public", 0, None, 1, ()) and unit is None and release.mean is None


def check_pairs_are_paid(release: PairsRelease, promise: ApproxDP) -> None:
    """Add up what the stated noise costs, and compare it with the promise."""
    made = release.provenance
    per_person = sign_sensitivity(promise.neighbors) * made.rows_per_unit
    n_pairs = release.n_columns * (release.n_columns - 1) // 2
    n_terms = release.n_rows // 2 if made.center == "differences" else release.n_rows
    if len(release.pairs) != made.max_pairs or release.n_terms != n_terms:
        raise CorruptFileError("its pairs are not those of its origin")
    if promise.neighbors is Neighbors.LOCAL or (
        made.center == "differences"
        and (promise.neighbors is not Neighbors.REPLACE or made.rows_per_unit > 1)
    ):
        raise CorruptFileError("its promise is not that of its origin")
    steps = [
        gaussian_step(
            "values",
            sensitivity=per_person * math.sqrt(made.max_pairs) / release.n_terms,
            scale=release.noise_scale,
        )
    ]
    if (made.selection_scale > 0) != (made.max_pairs < n_pairs):
        raise CorruptFileError("its selection is not that of its origin")
    if made.max_pairs < n_pairs:
        selection = selection_step(
            "selection",
            count=made.max_pairs,
            sensitivity=per_person,
            scale=made.selection_scale,
        )
        steps.insert(0, selection)
    steps += _variance_steps(release, promise)
    if sum(step.rho for step in steps) * (1 - 1e-9) > zcdp_budget(
        epsilon=promise.epsilon, delta=promise.delta
    ):
        raise CorruptFileError("its noise does not pay for its promise")
    stated = [(step.name, step.kind) for step in made.steps]
    if stated != [(step.name, step.kind) for step in steps] or any(
        not math.isclose(mine.rho, step.rho, rel_tol=1e-6)
        for mine, step in zip(made.steps, steps, strict=True)
    ):
        raise CorruptFileError("its steps do not cost what it states")


def _variance_steps(release: PairsRelease, promise: ApproxDP) -> list[Step]:
    made, variances = release.provenance, release.variances
    if made.row_norm is None or made.cell_bound is None:
        if made.row_norm != made.cell_bound or (variances and variances.noise_scale > 0):
            raise CorruptFileError("its variances are not those of its origin")
        return []
    if variances is None or made.cell_bound > made.row_norm * (1 + 1e-9):
        raise CorruptFileError("its variances are not those of its origin")
    factor = math.sqrt(squared_unit_sensitivity(promise.neighbors)) * made.rows_per_unit
    sensitivity = factor * made.cell_bound * made.row_norm / release.n_terms
    return [gaussian_step("variances", sensitivity=sensitivity, scale=variances.noise_scale)]


def _central_noise(release: Release) -> NoiseScale:
    """Return the noise that the stated steps ask for, if these pay for the promise."""
    made = release.provenance
    moments = _check_steps(made.steps, made.calibrated_for)
    if (release.mean is None) != (made.constant == 0) or (made.constant > 0) != (
        made.center == "private"
    ):
        raise CorruptFileError("its mean is not that of its origin")
    # In units of the norm of a row.
    constant = made.constant / 2**made.bits
    if constant > 1 or (made.constant and made.trace is not None):
        raise CorruptFileError("its mean is not that of its origin")
    if (made.trace is None) == any(step.name == "trace" for step in made.steps):
        raise CorruptFileError("its trace is not that of its origin")
    if made.center == "differences" and (
        made.calibrated_for.neighbors is not Neighbors.REPLACE or made.rows_per_unit > 1
    ):
        raise CorruptFileError("its promise is not that of its origin")
    unit = (made.row_norm**2 if made.trace is None else made.trace) / release.n_terms
    squared = 2 * (1 + constant**2) ** 2
    if made.calibrated_for.neighbors is Neighbors.ADD_REMOVE:
        squared = 1 + 2 * constant**2
    diagonal = math.sqrt(squared / (2 * moments.rho)) * made.rows_per_unit * unit * (1 - 1e-9)
    off_diagonal = diagonal / math.sqrt(2)
    mean = off_diagonal / (made.row_norm * constant) if constant else 0.0
    return NoiseScale(off_diagonal, diagonal, mean=mean)


def _check_steps(steps: tuple[Step, ...], promise: ApproxDP | PureDP) -> Step:
    """Return the step of the moments, if all steps together pay for the promise."""
    gaussian = [step for step in steps if step.kind == "gaussian"]
    selections = [step for step in steps if step.kind == "selection"]
    if not isinstance(promise, ApproxDP):
        raise CorruptFileError("its promise is not that of its origin")
    if not _can_be_steps(gaussian, selections, promise.epsilon) or (
        [(step.name, step.kind) for step in steps] != _dense_steps({step.name for step in steps})
    ):
        raise CorruptFileError("its steps are not those of its origin")
    delta = adaptive_delta(
        epsilon=promise.epsilon,
        multiplier=1 / math.sqrt(2 * sum(step.rho for step in gaussian)) * (1 + 1e-9),
        selections=len(selections),
        selection_range=max((math.sqrt(8 * step.rho) for step in selections), default=0.0),
    )
    if delta > promise.delta * (1 + 1e-6):
        raise CorruptFileError("its noise does not pay for its promise")
    return gaussian[-1]


def _dense_steps(taken: set[str]) -> list[tuple[str, str]]:
    """Return the steps that the dense mechanism takes, if it takes some of them."""
    radius, scales = "radius" in taken, "scales" in taken
    steps = [
        ("radius", "selection", radius),
        ("scales", "gaussian", scales),
        ("radius in these scales", "selection", radius and scales),
        ("trace", "gaussian", "trace" in taken),
        ("moments", "gaussian", True),
    ]
    return [(name, kind) for name, kind, is_taken in steps if is_taken]


def _can_be_steps(gaussian: list[Step], selections: list[Step], epsilon: float) -> bool:
    """Return whether shares that the door takes give these costs."""
    whole = sum(step.rho for step in gaussian)
    ranges = [math.sqrt(8 * step.rho) for step in selections]
    least = min(LARGEST_RANGE, _SMALLEST_SELECTION * epsilon / max(1, len(ranges)))
    return (
        all(step.rho >= _SMALLEST_PART * whole for step in gaussian)
        and len({step.rho for step in selections}) <= 1
        and all(least * (1 - 1e-9) <= width <= LARGEST_RANGE * (1 + 1e-9) for width in ranges)
    )


def _local_gaussian_noise(release: Release) -> NoiseScale:
    promise = release.provenance.calibrated_for
    diagonal = gaussian_scale(
        epsilon=promise.epsilon,
        delta=getattr(promise, "delta", 0.0),
        sensitivity=frobenius_sensitivity(release.provenance.row_norm, promise.neighbors)
        / math.sqrt(release.n_rows),  # each report has its own
    ) * (1 - 1e-9)
    return NoiseScale(diagonal / math.sqrt(2), diagonal)


def _local_cap_noise(release: Release) -> NoiseScale:
    """Return the noise of the stated constants, which must pay for the promise."""
    made = release.provenance
    if (
        made.cap is None
        or cap_epsilon(made.cap, n_columns=release.n_columns) > made.calibrated_for.epsilon
    ):
        raise CorruptFileError("its constants do not pay for its promise")
    exact = cap_noise(made.cap, row_norm=made.row_norm, n_rows=release.n_rows)
    slack = 1 - 1e-9  # another machine's logarithms
    return NoiseScale(slack * exact.off_diagonal, slack * exact.diagonal, slack * exact.signal)
