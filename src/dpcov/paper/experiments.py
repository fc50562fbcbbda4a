"""One trial of the study: simulate, perturb, estimate, measure.

Owns the experiments of the paper's section 5, in two manners. As printed: the paper's
data and noise, no clipping. As it holds: rows scaled and clipped to norm 1, exact integer
noise of a true promise, for the paper's algorithm and for dpcov's own estimate.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.errors import NothingDetectableWarning
from dpcov.exact.randomness import RandomStream
from dpcov.exact.scales import scale_of
from dpcov.mechanisms.second_moment import MomentsCalibration, calibrate_moments, release_gram
from dpcov.norms import relative_error
from dpcov.paper.algorithms import printed_threshold, symmetric_noise, threshold_and_clip
from dpcov.paper.models import (
    sample_rows,
    sample_second_moment,
    scaled_to_norm,
    sparse_covariance,
)
from dpcov.paper.promises import noise_multiplier
from dpcov.paper.study import FIGURES, Key, Study, Trial, curves_of
from dpcov.privacy import ApproxDP, Neighbors
from dpcov.sensitive.sums.gram import Gram, max_block_rows

__all__ = ["run_trial"]

Array = npt.NDArray[np.float64]
# (model, method, ε) → the estimate
Estimates = dict[tuple[str, str, float], Array]


def run_trial(trial: Trial, study: Study) -> dict[Key, float]:
    """Return the relative errors of a trial, by the names of their records.

    Examples
    --------
    >>> study = Study(figures=(1,), manners=("printed",), runs=1, sizes=(1000,))
    >>> trial = study.trials()[-1]
    >>> errors = run_trial(trial, study)
    >>> set(errors) == set(study.keys_of(trial))
    True
    """
    with _one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDetectableWarning)
        errors = _errors(trial)
    epsilons = {(panel.name, curve.label): curve.epsilon for panel, curve in curves_of(trial)}

    def error_of(key: Key) -> float:
        number, _, panel, label, method, _, _ = key
        figure = FIGURES[number]
        return errors[(figure.model, method, epsilons[panel, label]), figure.norm]

    return {key: error_of(key) for key in study.keys_of(trial)}


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let BLAS use one thread, so that the environment does not change the last digits.

    scipy brings a BLAS of its own, and a limit holds for those that are loaded.
    """
    import scipy.linalg  # noqa: F401
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def _errors(trial: Trial) -> dict[tuple[tuple[str, str, float], int], float]:
    """Return the relative error of every estimate in both norms."""
    data_seed, noise_seed = np.random.SeedSequence(trial.seed).spawn(2)
    data = np.random.default_rng(data_seed)
    truth = sparse_covariance(trial.n_columns, trial.sparsity_ratio, data, entries=trial.entries)
    if trial.manner == "printed":
        estimates = _as_printed(trial, truth, data, noise_seed)
    else:
        truth = scaled_to_norm(truth)
        estimates = _as_it_holds(trial, truth, data, noise_seed)
    return {
        (name, norm): relative_error(matrix, truth, norm)
        for name, matrix in estimates.items()
        for norm in (1, 2)
    }


def _as_printed(
    trial: Trial, truth: Array, data: np.random.Generator, noise_seed: np.random.SeedSequence
) -> Estimates:
    moment = sample_second_moment(truth, trial.n_rows, data)
    estimates: Estimates = {}
    for model, epsilon, seed in _noisy_variants(trial, noise_seed):
        # A mean of n independent Gaussians of sd σ is one Gaussian of sd σ/√n.
        averaged = trial.n_rows if model == "central" else math.sqrt(trial.n_rows)
        scale = noise_multiplier(_promise(trial, epsilon)) / averaged
        noise = symmetric_noise(trial.n_columns, scale, np.random.default_rng(seed))
        threshold = printed_threshold(trial.n_columns, trial.n_rows, scale, _gamma(truth))
        matrix = threshold_and_clip(moment + noise, threshold)
        estimates[model, _algorithm(model), epsilon] = matrix
    return estimates


def _as_it_holds(
    trial: Trial, truth: Array, data: np.random.Generator, noise_seed: np.random.SeedSequence
) -> Estimates:
    design = Design.numbers_of(f"x{place}" for place in range(trial.n_columns))
    grams: dict[object, Gram] = {}
    estimates: Estimates = {}
    for model, epsilon, seed in _noisy_variants(trial, noise_seed):
        calibration = calibrate_moments(
            promise=_promise(trial, epsilon), n_rows=trial.n_rows, row_norm=1.0
        )
        if calibration.grid not in grams:
            grams[calibration.grid] = _gram(trial, truth, data, calibration)
        if model == "local":
            calibration = _summed_over_people(calibration)
        stream = RandomStream.from_seed(int(seed.generate_state(1, np.uint64)[0]))
        release = release_gram(grams[calibration.grid], calibration, design=design, stream=stream)
        threshold = printed_threshold(
            trial.n_columns, trial.n_rows, calibration.noise_scale.off_diagonal, _gamma(truth)
        )
        matrix = threshold_and_clip(release.matrix, threshold)
        estimates[model, _algorithm(model), epsilon] = matrix
        estimates[model, "dpcov", epsilon] = release.estimate().covariance
    return estimates


def _gram(
    trial: Trial, truth: Array, data: np.random.Generator, calibration: MomentsCalibration
) -> Gram:
    """Draw all rows, block by block; `Gram` clips them to norm 1."""
    size = max_block_rows(trial.n_columns, calibration.grid)

    def blocks() -> Iterator[Array]:
        for start in range(0, trial.n_rows, size):
            yield sample_rows(truth, min(size, trial.n_rows - start), data)

    return Gram.from_blocks(blocks(), n_columns=trial.n_columns, grid=calibration.grid, threads=1)


def _summed_over_people(calibration: MomentsCalibration) -> MomentsCalibration:
    """Return the calibration of a sum to which each of n people adds the noise of the whole.

    In the local model any two rows are neighbors: one report needs what the central sum
    needs, and n of them have √n times its sd.
    """

    def times_root_n(scale: int) -> int:
        return scale_of(Fraction(calibration.n_rows * scale**2))

    return replace(
        calibration,
        off_diagonal=times_root_n(calibration.off_diagonal),
        diagonal=times_root_n(calibration.diagonal),
    )


def _noisy_variants(
    trial: Trial, noise_seed: np.random.SeedSequence
) -> Iterator[tuple[str, float, np.random.SeedSequence]]:
    """Yield model, ε and a seed of its own, the same whichever models are asked for."""
    for model, per_model in zip(("central", "local"), noise_seed.spawn(2), strict=True):
        if model in trial.models:
            seeds = per_model.spawn(len(trial.epsilons))
            for epsilon, seed in zip(trial.epsilons, seeds, strict=True):
                yield model, epsilon, seed


def _promise(trial: Trial, epsilon: float) -> ApproxDP:
    return ApproxDP(epsilon, 1.0 / trial.n_rows, Neighbors.REPLACE)


def _algorithm(model: str) -> str:
    return next(figure.algorithm for figure in FIGURES.values() if figure.model == model)


def _gamma(truth: Array) -> float:
    """γ, which the paper leaves open: the mean variance of the model, 1/4 as printed.

    An entry of the empirical covariance has an sd of about (mean variance)/√n, so this
    puts the sampling part of the threshold at √(log p) of those.
    """
    return float(np.diagonal(truth).mean())
