"""Partial correlations from a release: of every two columns, given all others.

Owns the computation. They come from the inverse of the moments, freed from what noise adds to an
inverse on average; their errors are those of correlations of what the others leave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dpcov.answers.lifting import INVOLVED, Lifted, squared_noise
from dpcov.answers.moments import Moments, moments_that_stand_out
from dpcov.answers.partials import PartialCorrelations
from dpcov.answers.tangents import Independent, Tangents
from dpcov.answers.terms import Terms, read_columns
from dpcov.multiplicity import q_values_of_two
from dpcov.postprocess.correlations import CorrelationErrors, is_told
from dpcov.postprocess.inference import interval_width
from dpcov.releases import AnyRelease

__all__ = ["partial_correlations", "partial_errors"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_FEWEST = 3
"""Two columns have no others that could be given."""


def partial_correlations(
    release: AnyRelease,
    columns: Sequence[str] | None = None,
    *,
    about: str = "population",
    confidence: float = 0.95,
    references: Mapping[str, str] | None = None,
) -> PartialCorrelations:
    """Return all partial correlations: see `Release.partial_correlations`."""
    width = interval_width(confidence)
    terms = read_columns(release.design, columns, fewest=_FEWEST, references=references)
    terms, moments = moments_that_stand_out(release, terms, about, fewest=_FEWEST)
    tangents = Tangents(_inverse(moments))
    first, second = _pairs(release, terms)
    values = tangents.correlations[first, second]
    errors = partial_errors(moments, tangents, first, second)
    told = ~(moments.lifted.untold_share > INVOLVED)
    known = told[first] & told[second]
    leaked = _leaked(moments.lifted, tangents)[first, second]
    errors = replace(errors, noise=errors.noise + leaked**2)
    low, high = errors.interval(values, width)
    low, high = np.where(known, low, -1.0), np.where(known, high, 1.0)
    sizes = np.abs(values) / np.sqrt(errors.variance(np.zeros_like(values)))
    sizes = np.where(known, sizes, 0.0)
    return PartialCorrelations(
        release=release,
        terms=terms,
        about=about,
        confidence=confidence,
        first=first,
        second=second,
        values=values,
        standard_errors=np.where(known, np.sqrt(errors.variance(values)), np.inf),
        low=low,
        high=high,
        p_values=_p_values(sizes),
        q_values=_q_values(release, terms, first, second, sizes),
        told=known & is_told(low, high),
        told_columns=told,
    )


def _inverse(moments: Moments) -> Array:
    """Return the inverse of the moments as correlations.

    Noise N makes an inverse P larger, by P (N P N) P on average to second order. With all orders
    that matter for many columns (Dyson's equation) the mean of P is that of M − E(N P N) for the
    moments M without noise, so that M + E(N P N), which always has an inverse, makes up for it.
    """
    lifted = moments.lifted
    unit = np.outer(lifted.deviations, lifted.deviations)
    noise = moments.noise / unit**2
    result = np.linalg.inv(lifted.covariance / unit + squared_noise(noise, lifted.inverse * unit))
    return np.asarray((result + result.T) / 2)


def _pairs(release: AnyRelease, terms: Terms) -> tuple[Places, Places]:
    """Return all pairs, those of levels of one category left out: they exclude each other."""
    first, second = np.triu_indices(len(terms.places), k=1)
    column = release.design.field_of[terms.places]
    apart = column[first] != column[second]
    return first[apart], second[apart]


def partial_errors(
    moments: Moments, tangents: Tangents, first: Places, second: Places
) -> CorrelationErrors:
    """Return the errors of some pairs, as they depend on the partial correlation.

    Sampling gives (1 − ρ²)²/n, whatever is given. What it gives beside that is taken to depend
    little on ρ.
    """
    deviations, rows = moments.lifted.deviations, moments.rows
    unit = np.outer(deviations, deviations)
    parts = [_as_correlations(part, deviations) for part in moments.independent]
    sampling, beside = np.zeros(len(first)), np.zeros(len(first))
    if rows is not None:
        parts.append(Independent(None, rows.entries(moments.lifted.covariance / unit)))
        sampling = np.full(len(first), rows.common / rows.n_rows)
        beside = tangents.of_columns(rows.own)[first, second] / rows.n_rows
    total = np.zeros((3, *unit.shape))
    for part in parts:
        if part.variances.any():
            total += tangents.spread(part)
    of_noise, cross, scale = total[:, first, second]
    errors = CorrelationErrors(sampling, of_noise + beside, scale, cross)
    if rows is not None or moments.about == "table":
        return errors
    written = tangents.written(first, second)
    whole = np.concatenate([moments.variance(weights / unit) for weights in written])
    left = np.maximum(whole - errors.variance(tangents.correlations[first, second]), 0.0)
    return replace(errors, noise=of_noise + left)


def _as_correlations(noise: Independent, deviations: Array) -> Independent:
    if noise.image is not None:
        return noise._replace(image=noise.image / deviations[:, None])
    return noise._replace(variances=noise.variances / np.outer(deviations, deviations) ** 2)


def _leaked(lifted: Lifted, tangents: Tangents) -> Array:
    """Return how far directions that cannot be told may lead partial correlations astray.

    Their part of the inverse is taken to be as uncertain as it is large, with the variance of the
    floor. Columns that lie in such directions by more than a little are not told at all.
    """
    part = np.sqrt(lifted.untold_share / lifted.floor / tangents.inverse.diagonal())
    rho = np.abs(tangents.correlations)
    return np.asarray(np.outer(part, part) + rho * np.add.outer(part**2, part**2) / 2)


def _p_values(sizes: Array) -> Array:
    from scipy.special import ndtr

    return np.asarray(2 * ndtr(-sizes))


def _q_values(
    release: AnyRelease, terms: Terms, first: Places, second: Places, sizes: Array
) -> Array:
    """Return q-values as `Estimate.edges` does: pairs with levels have a list of their own."""
    is_level = ~release.design.is_number[terms.places]
    with_level = is_level[first] | is_level[second]
    n_second = int(with_level.sum())
    return q_values_of_two(sizes, with_level, n_first=len(sizes) - n_second, n_second=n_second)
