"""Second moments that a program can factor: as released wherever that is possible.

Owns the matrix of the formats for analysis. An estimate sets to zero what does not stand out, and
that biases loadings, slopes and tests of fit: every small covariance would seem to be none, and a
program that is told the errors of the release would believe it. So nothing is set to zero
or shrunk here. Where noise left the matrix without an inverse, the nearest one that has one is
taken, each entry moved as little as it is well known; otherwise it is the released matrix itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.answers.exports.asked import Asked
from dpcov.answers.lifting import INVOLVED, lift
from dpcov.postprocess.correlations import variances_of_correlations
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.psd import repair

__all__ = ["Moments", "moments_of"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Moments:
    """Positive definite moments of some columns, in their own units.

    `n_rows` is of rows of equal weight; `moved` says how far correlations were moved at most, in
    standard errors: 0, if they are those of the release. `untold` are those columns, by their
    legal names, that noise does not let tell apart.
    """

    covariance: Array
    mean: Array | None
    n_rows: int
    moved: float
    untold: tuple[str, ...]

    @property
    def deviations(self) -> Array:
        """The standard deviations."""
        return np.asarray(np.sqrt(self.covariance.diagonal()))

    @property
    def correlation(self) -> Array:
        """The correlations."""
        result = self.covariance / np.outer(self.deviations, self.deviations)
        np.fill_diagonal(result, 1.0)
        return np.asarray(result)

    @property
    def sentences(self) -> list[str]:
        """What they are, and what they do not tell."""
        if not self.untold:
            return [self._which]
        return [
            self._which,
            f"The noise does not let tell these columns apart: {', '.join(self.untold)}. Do not "
            "rely on slopes on several of them, nor on their errors, which are too small; leave "
            "some of them out.",
        ]

    @property
    def _which(self) -> str:
        if not self.moved:
            return (
                "The matrix is the released one: nothing was set to zero or shrunk, which would "
                "bias a model."
            )
        return (
            "Noise left the released matrix without an inverse: it is the nearest that has one. "
            f"No correlation was moved by more than {self.moved:.2g} standard errors, and nothing "
            "was set to zero or shrunk, which would bias a model."
        )


def moments_of(asked: Asked) -> Moments:
    """Return the moments of the columns that are asked for; variances must stand out."""
    asked.check_variances()
    release, places = asked.moments, asked.places
    noise = NoiseModel.of(release)
    part = release.matrix[np.ix_(places, places)]
    moved = 0.0
    if len(places) > 1:

        def known(rows: slice) -> Array:
            return variances_of_correlations(noise, release.matrix, places[rows], places)

        repaired = repair(part, method="sparse", variances=known)
        if repaired is not None:
            change = _correlation(repaired) - _correlation(part)
            errors = np.sqrt(known(slice(None)))
            np.fill_diagonal(errors, np.inf)
            moved, part = float(np.max(np.abs(change) / errors)), repaired
    scale = release.units.scale[places]
    lifted = lift(release.matrix, noise, places)
    involved = lifted.untold_share > INVOLVED
    return Moments(
        covariance=part * np.outer(scale, scale),
        mean=release.location[places] if release.has_mean else None,
        n_rows=round(release.n_terms),
        moved=moved,
        untold=tuple(
            name for name, is_one in zip(asked.variables, involved, strict=True) if is_one
        ),
    )


def _correlation(matrix: Array) -> Array:
    deviations = np.sqrt(matrix.diagonal())
    return np.asarray(matrix / np.outer(deviations, deviations))
