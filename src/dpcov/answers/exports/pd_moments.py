"""Second moments that a program can factor: the released correlations, in published units.

Owns the matrix of the formats for analysis, D R D. D has the standard deviations that every view
of the release shows. R has the correlations as released, each covariance divided by deviations of
its own: an estimate sets to zero what does not stand out, and that biases loadings, slopes and
tests of fit, since every small covariance would seem to be none. Where noise left R without an
inverse, the nearest one that has one is taken, each entry moved as little as it is well known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.answers.exports.asked import Asked
from dpcov.answers.lifting import INVOLVED, lift
from dpcov.digits import name_some
from dpcov.postprocess.correlations import unshrunk_deviations, variances_of_correlations
from dpcov.postprocess.noise_model import NoiseModel, published_deviations
from dpcov.postprocess.psd import repair
from dpcov.releases.tails import withheld

__all__ = ["Moments", "moments_of"]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Moments:
    """Positive definite moments of some columns, in their own units.

    `kept` is the share of its distance from the mean of all that each variance kept when it was
    shrunk. `mean` is nan where a mean is suppressed, and None where none was released. `n_rows` is
    of rows of equal weight; `rows` has those in which both cells of a pair are there, and is None
    where no cell of these columns was seen to be missing. `moved` says how far correlations were
    moved at most, in standard errors: 0, if they are those of the release. `untold` are those
    columns, by their legal names, that noise makes indistinguishable.
    """

    asked: Asked
    correlation: Array
    deviations: Array
    kept: Array
    mean: Array | None
    n_rows: int
    rows: Integers | None
    moved: float
    untold: tuple[str, ...]

    @cached_property
    def covariance(self) -> Array:
        """The covariances."""
        return np.asarray(self.correlation * np.outer(self.deviations, self.deviations))

    @property
    def suppressed(self) -> tuple[str, ...]:
        """The columns whose means are suppressed, by their legal names."""
        hidden = withheld(self.asked.release)
        both = zip(self.asked.variables, self.asked.places.tolist(), strict=True)
        return tuple(name for name, place in both if place in hidden)

    @property
    def sentences(self) -> list[str]:
        """What they are, and what they do not tell."""
        return [
            self._which,
            *self._of_untold,
            *self._of_rows,
            *self._of_suppressed,
            *self._of_levels,
            "This is the matrix to fit models to. Privacy noise is in it, so a test of fit that "
            "counts n alone rejects too often, also a model that is true. The estimate of a "
            "published folder (correlation.csv, covariance.csv) is no matrix to test models on: "
            "a few factors and zeros took noise out of it, and as many factors then fit it "
            "perfectly, whatever the table is.",
        ]

    @property
    def _which(self) -> str:
        what = (
            "Standard deviations are the published ones, and correlations are released covariances "
            "divided by deviations of their own"
        )
        if not self.moved:
            return f"{what}: nothing was set to zero or shrunk, which would bias a model."
        return (
            f"{what}. Noise left these without an inverse: they are the nearest that have one. "
            f"No correlation was moved by more than {self.moved:.2g} standard errors, and nothing "
            "was set to zero or shrunk, which would bias a model."
        )

    @property
    def _of_untold(self) -> list[str]:
        if not self.untold:
            return []
        return [
            f"Noise makes these columns indistinguishable: {', '.join(self.untold)}. Do not "
            "rely on slopes on several of them, nor on their errors, which are too small; leave "
            "some of them out."
        ]

    @property
    def _of_rows(self) -> list[str]:
        release = self.asked.release
        counted = "rows" if self.n_rows == release.n_rows else "rows of equal weight"
        divisor = f"The divisor of variances and covariances is n, not n - 1; n is {self.n_rows:,}"
        if release.provenance.missing == "center":
            return [
                f"{divisor} {counted}. A missing cell, if there was one, counts as the center of "
                "its column; how many there were was not released."
            ]
        if self.rows is None:
            return [f"{divisor} {counted}."]
        gaps = 100 * (1 - self.rows.diagonal() / self.n_rows)
        listed = [
            f"{name} ({share:.1f} %)"
            for name, share in zip(self.asked.variables, gaps, strict=True)
            if share > 0
        ]
        first, second = np.unravel_index(int(np.argmin(self.rows)), self.rows.shape)
        pair = " with ".join(
            self.asked.variables[place] for place in dict.fromkeys((int(first), int(second)))
        )
        return [
            f"{divisor} {counted}, or fewer where cells are missing: a covariance is that of the "
            f"rows in which both cells are there. Cells are missing in {', '.join(listed)}. The "
            f"fewest rows are those of {pair}: about {int(self.rows.min()):,}."
        ]

    @property
    def _of_suppressed(self) -> list[str]:
        if self.mean is None or not self.suppressed:
            return []
        return [
            f"No mean is given of {name_some(list(self.suppressed))}: too many cells lie, or may "
            "lie, beyond the limits within which cells were read. Standard deviations and "
            "covariances are those of the limited cells."
        ]

    @property
    def _of_levels(self) -> list[str]:
        if self.asked.moments.design.is_number[self.asked.places].all():
            return []
        return [
            "Each level of a category is a column, without one of them: all of them add up to one "
            "in every row, so that a matrix with all has no inverse."
        ]


def moments_of(asked: Asked) -> Moments:
    """Return the moments of the columns that are asked for; variances must stand out."""
    asked.check_variances()
    release, places = asked.moments, asked.places
    noise = NoiseModel.of(release)
    divisors = unshrunk_deviations(release.matrix, noise)[places]
    part = release.matrix[np.ix_(places, places)] / np.outer(divisors, divisors)
    np.fill_diagonal(part, 1.0)
    moved = 0.0
    if len(places) > 1:

        def known(rows: slice) -> Array:
            return variances_of_correlations(noise, release.matrix, places[rows], places)

        repaired = repair(part, method="sparse", variances=known)
        if repaired is not None:
            repaired = _correlation(repaired)
            errors = np.sqrt(known(slice(None)))
            np.fill_diagonal(errors, np.inf)
            moved, part = float(np.max(np.abs(repaired - part) / errors)), repaired
    involved = lift(release.matrix, noise, places).untold_share > INVOLVED
    n_rows = round(release.n_terms)
    mean = release.location[places] if release.has_mean else None
    if mean is not None:
        mean[np.isin(places, list(withheld(release)))] = np.nan
    return Moments(
        asked=asked,
        correlation=part,
        deviations=published_deviations(release, noise)[places],
        kept=np.broadcast_to(noise.kept, noise.variances.shape)[places],
        mean=mean,
        n_rows=n_rows,
        rows=_rows(asked, n_rows),
        moved=moved,
        untold=_named(asked.variables, involved),
    )


def _rows(asked: Asked, n_rows: int) -> Integers | None:
    """Return in how many rows both cells are there; None if none were seen to be missing."""
    fields = asked.moments.design.field_of[asked.places]
    share = asked.moments.observed.share[np.ix_(fields, fields)]
    if (share == 1).all():
        return None
    return np.asarray(np.rint(share * n_rows).astype(np.int64))


def _named(names: Sequence[str], chosen: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(name for name, is_one in zip(names, chosen.tolist(), strict=True) if is_one)


def _correlation(matrix: Array) -> Array:
    deviations = np.sqrt(matrix.diagonal())
    result = matrix / np.outer(deviations, deviations)
    np.fill_diagonal(result, 1.0)
    return np.asarray(result)
