"""Linear regression from a release: coefficients, and how sure they are.

Owns the computation. Coefficients solve the normal equations of the released moments; what the
noise of the moments makes of them is known to first order, and its bias to second. Where noise
forbids to tell predictors apart, their coefficients are regularized and said to be untold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dpcov.answers.entry_covariance import EntryCovariance
from dpcov.answers.fit import Fit, Fits, Quality
from dpcov.answers.lifting import UNTOLD_SHARE, Lifted, lift
from dpcov.answers.terms import Terms, find_place, read_terms
from dpcov.errors import ParameterError
from dpcov.postprocess.joint import check_about
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.releases import Release

__all__ = ["regress"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


def regress(
    release: Release,
    outcomes: Sequence[str],
    on: Sequence[str],
    *,
    about: str = "population",
    references: Mapping[str, str] | None = None,
) -> Fits:
    """Return the regressions of several outcomes on the same predictors: see `Release.regress`."""
    check_about(about)
    design = release.design
    terms = read_terms(design, on, references=references)
    if not len(terms.places):
        raise ParameterError("A regression needs at least one predictor.")
    places = [find_place(design, name) for name in outcomes]
    if len(set(places)) != len(places) or not places:
        raise ParameterError("Outcomes are different columns, at least one.")
    for name, place in zip(outcomes, places, strict=True):
        _check_outcome(release, name, place, terms)
    noise = NoiseModel.of(release)
    lifted = lift(release.matrix, noise, terms.places)
    return Fits(tuple(_fit(release, place, terms, noise, lifted, about) for place in places))


def _check_outcome(release: Release, name: str, place: int, terms: Terms) -> None:
    field_of = release.design.field_of
    if place in terms.places:
        raise ParameterError(f"{name!r} is the outcome, and cannot be a predictor as well.")
    if field_of[place] in field_of[terms.places]:
        column = release.design.fields[int(field_of[place])].name
        raise ParameterError(
            f"{name!r} is a level of {column!r}, and other levels of it are predictors. They "
            "exclude each other, so there is nothing to find."
        )


def _fit(
    release: Release, place: int, terms: Terms, noise: NoiseModel, lifted: Lifted, about: str
) -> Fit:
    block = np.append(terms.places, place)
    scale, location = release.units.scale[block], release.location[block]
    matrix = release.matrix[np.ix_(block, block)] * np.outer(scale, scale)
    inverse = lifted.inverse / np.outer(scale[:-1], scale[:-1])
    slopes = inverse @ matrix[:-1, -1]
    if lifted.told.all():
        spread = _noise_variances(noise, terms.places) * np.outer(scale[:-1], scale[:-1]) ** 2
        slopes = slopes - inverse @ _squared_noise(spread, inverse) @ slopes
    weights = np.append(-slopes, 1.0)
    errors = EntryCovariance(release, block, about)
    covariance = errors.covariance(*_derivatives(inverse, weights, location[:-1]))
    deviations = np.sqrt(noise.variances[block]) * scale
    quality = _quality(matrix, weights, covariance[1:, 1:], lifted, errors, deviations)
    covariance[1:, 1:] += _leaked(lifted, deviations)
    involved = lifted.untold_share > UNTOLD_SHARE
    return Fit(
        release=release,
        outcome=release.columns[place],
        terms=terms,
        about=about,
        coefficients=np.append(weights @ location, slopes),
        covariance=covariance,
        told=np.append(not involved.any(), ~involved),
        deviations=deviations,
        quality=quality,
    )


def _derivatives(inverse: Array, weights: Array, location: Array) -> tuple[Array, Array]:
    """Return what the intercept and each slope make of errors of the moments and of the means.

    With w = (−b, 1) a slope moves by P_a (dS w), and the intercept is w times the means.
    """
    size = len(weights)
    moments = np.zeros((size, size, size))
    moments[1:, :-1, :] = inverse[:, :, None] * weights
    moments[0] = -np.tensordot(location, moments[1:], axes=1)
    means = np.zeros((size, size))
    means[0] = weights
    return moments, means


def _noise_variances(noise: NoiseModel, places: Places) -> Array:
    """Return the variances of a block of entries, those of sampling left out."""
    table = noise.of_table
    variances = table.pair_error(places[:, None], places[None, :], np.zeros(())) ** 2
    np.fill_diagonal(variances, table.diagonal_variance()[places])
    return variances


def _squared_noise(variances: Array, matrix: Array) -> Array:
    """Return the mean of N A N for symmetric noise N whose entries have these variances.

    The inverse of a noisy block is too large by P N P N P on average.
    """
    result = variances * matrix
    np.fill_diagonal(result, variances @ np.diag(matrix))
    return result


def _leaked(lifted: Lifted, deviations: Array) -> Array:
    """Return what directions that cannot be told may add to the errors of all slopes.

    A direction with the variance of the floor predicts no more than all of the outcome. Predictors
    that lie in such directions by more than a little are not told at all.
    """
    untold = lifted.vectors[:, ~lifted.told]
    unit = deviations[-1] / deviations[:-1]
    return np.asarray(untold @ untold.T / lifted.floor * np.outer(unit, unit))


def _quality(
    matrix: Array,
    weights: Array,
    covariance: Array,
    lifted: Lifted,
    errors: EntryCovariance,
    deviations: Array,
) -> Quality:
    """Return how well these coefficients predict.

    Fitted to noisy moments, they seem to leave less than they do: with Ω the covariance of the
    normal equations and P the inverse, the residual variance seems to be smaller by 2 tr(PΩ) than
    what these very coefficients leave.
    """
    scale = deviations[:-1] / lifted.deviations
    block = lifted.covariance * np.outer(scale, scale)
    spread = block @ covariance
    optimism = 2 * float(np.trace(spread))
    variance = max(float(matrix[-1, -1]), deviations[-1] ** 2 / 4)
    residual = float(weights @ matrix @ weights) + optimism
    left = min(max(residual / variance, 0.0), 1.0)
    moments = np.outer(weights, weights)
    moments[-1, -1] -= left
    first = float(errors.variance(moments))
    second = 8 * float(np.trace(spread @ spread))
    return Quality(
        r_squared=1 - left,
        r_squared_error=float(np.sqrt(first + second)) / variance,
        residual_variance=max(residual, 0.0),
        is_told=bool(matrix[-1, -1] > 0),
    )
