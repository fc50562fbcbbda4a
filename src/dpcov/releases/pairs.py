"""PairsRelease: the co-movement of the strongest pairs of columns, safe to publish.

Owns the value that the pairs mechanism returns. It never sees raw rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.parameters import check_choice, check_count
from dpcov.privacy import ApproxDP, Event, Neighbors
from dpcov.releases.answering import Answering
from dpcov.releases.published import (
    ROUNDED_GAUSSIAN,
    NoiseFact,
    Particulars,
    Published,
    check_events,
    check_left_out,
    check_person_column,
    state_domain,
)
from dpcov.releases.sizes import MOST_ROWS_PER_UNIT, check_norm, check_scale, check_sizes
from dpcov.releases.variances import Variances

if TYPE_CHECKING:
    from dpcov.postprocess.pairs_estimate import PairsEstimate

__all__ = [
    "PAIRS",
    "MeanSigns",
    "PairsProvenance",
    "PairsRelease",
    "centered_sign_factor",
]

PAIRS = "pairs: noisy top-k of sign co-movements, rounded Gaussian values"
"""The name of the mechanism that releases the strongest pairs."""

CENTERS = ("differences", "learned", "stated")
_LARGE_MEAN = 0.5


@dataclass(frozen=True)
class PairsProvenance:
    """How a release of pairs was made. Every field is public.

    Parameters
    ----------
    version, mechanism : str
        The version of dpcov, the name of the mechanism.
    calibrated_for : ApproxDP
        The promise for which all noise was calibrated; among complete tables only, if
        `missing` says that others are refused.
    center : {"differences", "learned", "stated"}
        Signs of differences of rows, about centers that were learned, or about stated ones.
    max_pairs : int
        How many pairs were asked for.
    selection_scale : float
        The scale of the Gumbel noise of the selection, in counts; 0 if all were taken.
    row_norm, cell_bound : float or None
        The clipping of the rows and cells behind released variances.
    events : tuple of Event
        What was done that costs privacy, in order.
    missing : Missing
        What was done with missing cells.
    rows_per_unit : int, default 1
        How many rows of each privacy unit were used at most.
    left_out : tuple of str
        Columns that nobody read, since they are identifiers by their names.
    person_column : str, optional
        A column of the table that is called like one that says whose row it is, if no privacy
        unit was stated.
    """

    version: str
    mechanism: str
    calibrated_for: ApproxDP
    center: str
    max_pairs: int
    selection_scale: float
    row_norm: float | None
    cell_bound: float | None
    events: tuple[Event, ...]
    missing: Missing = Missing.REFUSE
    rows_per_unit: int = 1
    left_out: tuple[str, ...] = ()
    person_column: str | None = None

    def __post_init__(self) -> None:
        check_choice("center", self.center, CENTERS)
        object.__setattr__(self, "missing", Missing.parse(self.missing))
        check_count("max_pairs", self.max_pairs, low=1)
        check_count("rows_per_unit", self.rows_per_unit, low=1, high=MOST_ROWS_PER_UNIT)
        check_events(self.events)
        check_left_out(self.left_out)
        check_person_column(self.person_column, self.calibrated_for)
        state_domain(self)
        check_scale("selection scale", self.selection_scale, or_zero=True)
        for name in ("row_norm", "cell_bound"):
            if getattr(self, name) is not None:
                check_norm(name, getattr(self, name))
        if not (isinstance(self.version, str) and isinstance(self.mechanism, str)):
            raise ParameterError("version and mechanism must be strings.")


@dataclass(frozen=True, eq=False)
class MeanSigns:
    """Noisy mean signs about learned centers, which products of signs are corrected for.

    Parameters
    ----------
    values : ndarray, shape (n_columns,)
        Between −1 and 1; zero if as many cells are above the center as below. Multiples of
        2^-10. Read-only.
    noise_scale : float
        The sd of their noise.
    """

    values: npt.NDArray[np.float64]
    noise_scale: float

    def __post_init__(self) -> None:
        check_scale("noise scale", self.noise_scale)
        if self.values.ndim != 1 or self.values.dtype != np.float64:
            raise ParameterError("Mean signs must be a vector of float64.")
        # A comparison with NaN is false.
        if not (np.abs(self.values) <= 1).all():
            raise ParameterError("Mean signs must lie between -1 and 1.")
        self.values.setflags(write=False)

    @property
    def subtracted(self) -> npt.NDArray[np.float64]:
        """What is subtracted from each sign before it is multiplied: means above 1/2 in size.

        It removes a mean up to the product of two errors, but makes the product move farther.
        A smaller mean is not worth that: see `expected`.
        """
        return np.where(np.abs(self.values) > _LARGE_MEAN, self.values, 0.0)

    @cached_property
    def expected(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The mean that each sign is expected to have left, and how far that is off (sd).

        The product of two of them is subtracted from the mean product. Means that are not
        subtracted are shrunk as far as noise explains their size; multiples of 2^-10.
        """
        small = np.abs(self.values) <= _LARGE_MEAN
        noise = self.noise_scale**2
        size = float((self.values[small] ** 2).mean()) if small.any() else 0.0
        trust = max(0.0, 1 - noise / size) if size else 0.0
        left = np.rint(self.values * trust * 2**10) / 2**10
        sd = np.where(small, math.sqrt(trust * noise), self.noise_scale)
        return np.where(small, left, 0.0), sd

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MeanSigns):
            return NotImplemented
        return self.noise_scale == other.noise_scale and np.array_equal(self.values, other.values)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, kw_only=True, eq=False)
class PairsRelease(Published, Answering):
    """Noisy sign co-movements of the strongest pairs, safe to publish.

    Made by `dpcov.release_pairs`, or read back by `Release.load`.

    Parameters
    ----------
    pairs : ndarray of int32, shape (k, 2)
        The selected pairs of columns, i < j, in rising order. Read-only.
    co_movement : ndarray of float64, shape (k,)
        The noisy mean of s_i s_j over `n_terms` terms; if there are mean signs, with their
        products taken out. Read-only.
    noise_scale : float
        The sd of its privacy noise; times `noise_factors` if there are mean signs.
    n_terms : int
        The number of rows, or of differences of rows, in the means.
    mean_signs : MeanSigns or None
        Those about learned centers; None for other centers.
    variances : Variances or None
        None when correlations alone were released.
    n_rows : int
        The number of rows, which is public.
    columns : tuple of str
        Column names.
    provenance : PairsProvenance
        How it was made.
    simulated : bool
        Whether the noise came from a seed. Then nothing is promised.
    units : Units
        In which units the variances are: z = (x − center) / scale.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(4000, 30))
    >>> rows[:, 1] += rows[:, 0]
    >>> release = dpcov.release_pairs(rows, epsilon=1, delta=1e-6, max_pairs=5)
    >>> release
    PairsRelease(5 of 435 pairs, 4000 rows × 30 columns, (1, 1e-06)-differential privacy, \
replace-one neighbors)
    >>> [(edge.first, edge.second) for edge in release.estimate().edges(fdr=1e-6)]
    [('x0', 'x1')]
    """

    pairs: npt.NDArray[np.int32]
    co_movement: npt.NDArray[np.float64]
    noise_scale: float
    n_terms: int
    mean_signs: MeanSigns | None = None
    variances: Variances | None
    provenance: PairsProvenance

    def __post_init__(self) -> None:
        Published.__post_init__(self)
        check_count("n_terms", self.n_terms, low=1, high=self.n_rows)
        check_scale("noise scale", self.noise_scale)
        size = len(self.columns)
        if self.variances is not None and len(self.variances.values) != size:
            raise ParameterError("There must be one variance for each column.")
        if (self.mean_signs is None) == (self.provenance.center == "learned"):
            raise ParameterError("Mean signs belong to centers that are learned.")
        if self.mean_signs is not None and len(self.mean_signs.values) != size:
            raise ParameterError("There must be one mean sign for each column.")
        self._check_pairs(size)
        self.pairs.setflags(write=False)
        self.co_movement.setflags(write=False)

    def _check_pairs(self, size: int) -> None:
        pairs, values = self.pairs, self.co_movement
        if pairs.dtype != np.int32 or values.dtype != np.float64 or pairs.shape != (len(values), 2):
            raise ParameterError("pairs must be int32 with two columns, and float64 values.")
        first, second = pairs[:, 0].astype(np.int64), pairs[:, 1].astype(np.int64)
        inside = (first >= 0) & (first < second) & (second < size)
        if not inside.all() or (np.diff(first * size + second) <= 0).any():
            raise ParameterError("pairs must be distinct pairs of columns in rising order.")
        check_sizes("co-movements", values)

    @cached_property
    def design(self) -> Design:
        """Which working columns there are: the columns themselves."""
        return Design.numbers_of(self.columns)

    @property
    def location(self) -> npt.NDArray[np.float64]:
        """The noisy mean of each column, in its own units, if variances were released about one.

        If not, its stated or learned center; zeros if there is none.
        """
        means = None if self.variances is None else self.variances.means
        return self.units.center if means is None else self.units.center + self.units.scale * means

    @cached_property
    def noise_factors(self) -> npt.NDArray[np.float64]:
        """How many times `noise_scale` the noise of each co-movement is. Read-only."""
        factors = np.ones(len(self.pairs))
        if self.mean_signs is not None:
            first, second = np.abs(self.mean_signs.subtracted[self.pairs.T])
            relation = self.provenance.calibrated_for.neighbors
            factors = centered_sign_factor(relation, first, second, one=1)
        factors.setflags(write=False)
        return factors

    @property
    def has_mean(self) -> bool:
        """Whether a mean was released: signs need none, and variances about a center do."""
        return self.variances is not None and self.variances.means is not None

    @property
    def variances_are(self) -> str:
        """Where variances come from: ``"released"``, ``"stated"`` or ``"not released"``."""
        if self.variances is None:
            return "not released"
        return "released" if self.variances.noise_scale else "stated"

    @property
    def n_released(self) -> int:
        """How many pairs were released."""
        return len(self.pairs)

    @property
    def noise_facts(self) -> tuple[NoiseFact, ...]:
        """The noise of the selection, of signs, and of variances and their means."""
        made, sd = self.provenance, "standard deviation"
        listed = []
        if made.selection_scale:
            listed.append(("selection", "Gumbel", "scale", made.selection_scale, "counts"))
        if self.mean_signs is not None:
            scale = self.mean_signs.noise_scale
            listed.append(("mean sign", ROUNDED_GAUSSIAN, sd, scale, "own"))
        listed.append(("mean co-movement", ROUNDED_GAUSSIAN, sd, self.noise_scale, "own"))
        if self.variances is not None and self.variances.noise_scale:
            scale = self.variances.noise_scale
            listed.append(("variance", ROUNDED_GAUSSIAN, sd, scale, self._noise_units))
        if self.variances is not None and self.variances.mean_noise:
            scale = self.variances.mean_noise
            listed.append(("mean", ROUNDED_GAUSSIAN, sd, scale, self._noise_units))
        return tuple(
            NoiseFact(of=of, law=law, measure=measure, value=value, units=units)
            for of, law, measure, value, units in listed
        )

    @property
    def particulars(self) -> Particulars:
        """What a release of pairs was made with."""
        made = self.provenance
        return Particulars(signs_only=True, cell_bound=made.cell_bound, max_pairs=made.max_pairs)

    def estimate(self, *, fdr: float = 0.1, psd: str = "sparse") -> PairsEstimate:
        """Return a sparse, positive semi-definite covariance. Costs no privacy.

        Parameters
        ----------
        fdr : float, default 0.1
            Keep the pairs that stand out at this false discovery rate among *all* pairs.
        psd : {"sparse", "clip", "none"}
            The nearest positive semi-definite matrix with the same zeros; negative
            eigenvalues set to zero, which fills in zeros; or neither.

        Returns
        -------
        PairsEstimate

        Warns
        -----
        NothingDetectableWarning
            When no correlation could have stood out. The estimate is diagonal.
        """
        from dpcov.postprocess.pairs_estimate import estimate_pairs

        return estimate_pairs(self, fdr=fdr, psd=psd)

    def _write(self, path: str | PathLike[str]) -> None:
        from dpcov.releases.formats import write_pairs

        write_pairs(self, path)

    def __repr__(self) -> str:
        return (
            f"PairsRelease({len(self.pairs)} of {self.n_pairs} pairs, "
            f"{self.n_rows} rows × {self.n_columns} columns, {self.promise})"
        )


def centered_sign_factor(
    neighbors: Neighbors, first: npt.NDArray[Any], second: npt.NDArray[Any], *, one: int
) -> npt.NDArray[Any]:
    """Return how much farther a centered product of signs moves than a plain one, times `one`.

    `first` and `second` are the sizes of what is subtracted from the two signs, times `one`.

    Notes
    -----
    Claim P31. For signs s, t in [−1, 1], (s − a)(t − b) lies in an interval of length
    2 (1 + max(|a|, |b|)), and differs from ab by at most 1 + |a| + |b|. Plain products move by
    2 when a row is replaced, and by 1 when a row without signs takes its place.

    Examples
    --------
    >>> centered_sign_factor(Neighbors.REPLACE, np.array([2]), np.array([5]), one=10)
    array([15])
    """
    away = first + second
    if Neighbors.parse(neighbors) is not Neighbors.ADD_REMOVE:
        away = np.maximum(first, second)
    result: npt.NDArray[Any] = one + away
    return result
