"""Linear regression from a release: coefficients, and how sure they are.

Owns the computation. Coefficients solve the normal equations of the released moments, and what the
noise of the moments makes of them is known to first order. Its bias is a small part of its sd, and
taking it out costs more than it is worth. Where noise forbids to tell predictors apart, their
coefficients are regularized and said to be untold.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dpcov.answers.fit import Fit, Fits, Quality
from dpcov.answers.lifting import INVOLVED, Lifted
from dpcov.answers.moments import Moments, moments_of
from dpcov.answers.terms import Terms, find_place, read_terms
from dpcov.errors import ParameterError
from dpcov.postprocess.joint import check_about
from dpcov.releases import AnyRelease

__all__ = ["regress"]

Array = npt.NDArray[np.float64]

_MOST_OPTIMISM = 0.5
"""R² is not told where noise alone seems to explain so much of the outcome."""


def regress(
    release: AnyRelease,
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
    # A release of pairs must have those of all columns that are named, also of what is left out.
    named = [moments_of(release, np.append(terms.places, place), about) for place in places]
    used = named[0].stands_out[:-1]
    if not used.any():
        raise ParameterError(
            "No predictor has a variance that stands out of the noise: nothing can be told of "
            "what they predict."
        )
    chosen = terms.places[used]
    predictors = moments_of(release, chosen, about)
    fits = []
    for name, place in zip(outcomes, places, strict=True):
        block = moments_of(release, np.append(chosen, place), about)
        fits.append(_with_left_out(_fit(release, name, terms, predictors, block), used))
    return Fits(tuple(fits))


def _check_outcome(release: AnyRelease, name: str, place: int, terms: Terms) -> None:
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
    release: AnyRelease, outcome: str, terms: Terms, predictors: Moments, block: Moments
) -> Fit:
    matrix, lifted, deviations = block.matrix, predictors.lifted, block.deviations
    location = np.zeros(len(matrix)) if block.location is None else block.location
    inverse = lifted.inverse
    slopes = inverse @ matrix[:-1, -1]
    weights = np.append(-slopes, 1.0)
    slope = _derivative(inverse, location[:-1])
    covariance = slope @ block.of_product(weights) @ slope.T
    quality = _quality(matrix, weights, covariance[1:, 1:], lifted, block, deviations)
    covariance[1:, 1:] += _leaked(lifted, deviations)
    involved = lifted.untold_share > INVOLVED
    return Fit(
        release=release,
        outcome=outcome,
        terms=terms,
        about=block.about,
        coefficients=np.append(weights @ location, slopes),
        covariance=covariance,
        told=np.append(block.location is not None and not involved.any(), ~involved),
        deviations=deviations,
        quality=quality,
    )


def _with_left_out(fit: Fit, used: npt.NDArray[np.bool_]) -> Fit:
    """Return a fit with a place for predictors that were left out: they are not numbers."""
    if used.all():
        return fit
    place = np.flatnonzero(np.append(True, used))
    coefficients = np.full(len(used) + 1, np.nan)
    coefficients[place] = fit.coefficients
    covariance = np.full((len(used) + 1,) * 2, np.nan)
    covariance[np.ix_(place, place)] = fit.covariance
    told = np.zeros(len(used) + 1, dtype=np.bool_)
    told[place] = fit.told
    deviations = np.full(len(used) + 1, np.nan)
    deviations[np.append(used, True)] = fit.deviations
    return replace(
        fit, coefficients=coefficients, covariance=covariance, told=told, deviations=deviations
    )


def _derivative(inverse: Array, location: Array) -> Array:
    """Return what intercept and slopes make of errors of S w and of the mean of w.

    With w = (−b, 1) the slopes move by P (dS w), and the intercept is the mean of w.
    """
    size = len(location)
    result = np.zeros((size + 1, size + 2))
    result[1:, :size] = inverse
    result[0, :size] = -location @ inverse
    result[0, -1] = 1.0
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
    block: Moments,
    deviations: Array,
) -> Quality:
    """Return how well these coefficients predict.

    Fitted to noisy moments, they seem to leave less than they do: with Ω the covariance of the
    normal equations and P the inverse, the residual variance seems to be smaller by 2 tr(PΩ) than
    what these very coefficients leave.
    """
    spread = lifted.covariance @ covariance
    optimism = 2 * float(np.trace(spread))
    variance = max(float(matrix[-1, -1]), deviations[-1] ** 2 / 4)
    residual = float(weights @ matrix @ weights) + optimism
    left = min(max(residual / variance, 0.0), 1.0)
    moments = np.outer(weights, weights)
    moments[-1, -1] -= left
    first = float(block.variance(moments))
    second = 8 * float(np.trace(spread @ spread))
    return Quality(
        r_squared=1 - left,
        r_squared_error=float(np.sqrt(first + second)) / variance,
        residual_variance=max(residual, 0.0),
        is_told=bool(block.stands_out[-1]) and optimism < _MOST_OPTIMISM * variance,
    )
