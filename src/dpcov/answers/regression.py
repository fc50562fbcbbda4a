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

from dpcov.answers.entry_covariance import EntryCovariance
from dpcov.answers.fit import Fit, Fits, Quality
from dpcov.answers.lifting import Lifted, lift
from dpcov.answers.terms import Terms, find_place, read_terms
from dpcov.errors import ParameterError
from dpcov.postprocess.correlations import stands_out
from dpcov.postprocess.joint import check_about
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.releases import Release

__all__ = ["regress"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_INVOLVED = 0.05
"""A predictor cannot be told from others if so much of it lies in directions that are untold."""


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
    weights = np.append(-slopes, 1.0)
    errors = EntryCovariance(release, block, about)
    slope = _derivative(inverse, location[:-1])
    covariance = slope @ errors.of_product(weights) @ slope.T
    deviations = np.sqrt(noise.variances[block]) * scale
    quality = _quality(matrix, weights, covariance[1:, 1:], lifted, errors, deviations)
    quality = replace(quality, is_told=bool(stands_out(noise)[place]))
    covariance[1:, 1:] += _leaked(lifted, deviations)
    involved = lifted.untold_share > _INVOLVED
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
    )
