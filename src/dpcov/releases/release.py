"""Release: noisy second moments with their noise scale and their promise.

Owns the value that is released. It holds nothing that was not paid for, so it
is safe to save, send and print. It never sees raw rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.parameters import check_choice, check_count, check_number
from dpcov.privacy import ApproxDP, Cap, Event, PureDP
from dpcov.releases.learned import Learned
from dpcov.releases.published import (
    ROUNDED_GAUSSIAN,
    NoiseFact,
    Particulars,
    Published,
    check_events,
    state_domain,
)
from dpcov.releases.saturation import BoundInUse, bound_in_use
from dpcov.releases.sizes import MOST_ROWS_PER_UNIT, check_norm, check_scale, check_sizes

if TYPE_CHECKING:
    from dpcov.postprocess.estimate import Estimate
    from dpcov.postprocess.rules import Rule

__all__ = [
    "LOCAL_CAP",
    "LOCAL_GAUSSIAN",
    "SECOND_MOMENT",
    "NoiseScale",
    "Provenance",
    "Release",
    "cap_noise",
]

SECOND_MOMENT = "second moment, rounded Gaussian"
"""The name of the mechanism that releases all second moments."""
LOCAL_CAP = "local reports, cap"
LOCAL_GAUSSIAN = "local reports, rounded Gaussian"
"""The names of the mechanisms of the local model."""
_MOST_BITS = 64  # far beyond any grid
GROWING = "variance for each unit of the two variances"
"""How noise that grows with what is measured is stated."""
CENTERS = ("public", "private")
"""What second moments are about."""


@dataclass(frozen=True)
class NoiseScale:
    """Standard deviation of the noise of an entry, in the units of the matrix.

    Parameters
    ----------
    off_diagonal, diagonal : float
        The sd where nothing is to be seen.
    signal : float, default 0
        How the noise grows with what is measured: an entry between columns of variances
        a and b has signal · (a + b) more variance, and one on the diagonal 4 · signal · a.
        Additive noise has none; the seeds of `dpcov.local` do.
    mean : float, default 0
        The sd of the noise of a released mean. Taking noisy means l and m out of an entry
        adds mean² (l² + m²) to its variance.
    """

    off_diagonal: float
    diagonal: float
    signal: float = 0.0
    mean: float = 0.0

    def __post_init__(self) -> None:
        for name in ("off_diagonal", "diagonal"):
            scale = check_scale(f"{name} noise scale", getattr(self, name))
            object.__setattr__(self, name, scale)
        for name in ("signal", "mean"):
            scale = check_scale(name, getattr(self, name), or_zero=True)
            object.__setattr__(self, name, scale)


def cap_noise(cap: Cap, *, row_norm: float, n_rows: int) -> NoiseScale:
    """Return the noise of the average of cap reports.

    Examples
    --------
    >>> from dpcov.privacy import calibrate_cap
    >>> noise = cap_noise(calibrate_cap(epsilon=1.0, n_columns=2), row_norm=1.0, n_rows=10_000)
    >>> round(noise.off_diagonal, 4)
    0.0174
    """
    unit = row_norm**2
    sd = unit / (cap.gain * math.sqrt(n_rows))
    return NoiseScale(sd, math.sqrt(2) * sd, unit * cap.signal / n_rows)


@dataclass(frozen=True)
class Provenance:
    """How a release was made. Every field is public.

    Parameters
    ----------
    version : str
        The version of dpcov.
    mechanism : str
        The name of the mechanism.
    row_norm : float
        The norm to which rows were clipped.
    bits : int
        Rows were quantized to multiples of row_norm / 2^bits.
    calibrated_for : ApproxDP or PureDP
        The promise for which the noise was calibrated, neighboring relation included; among
        complete tables only, if `missing` says that others are refused.
    cap : Cap, optional
        The constants of the mechanism, for cap reports and for them alone.
    center : {"public", "private"}
        Moments about stated centers, or about a mean that was released with them.
    constant : int, default 0
        For a private center: the constant cell of a row on the grid.
    missing : Missing
        What was done with missing cells.
    rows_per_unit : int, default 1
        How many rows of each privacy unit were used at most.
    events : tuple of Event
        What was done that costs privacy, in order.
    """

    version: str
    mechanism: str
    row_norm: float
    bits: int
    calibrated_for: ApproxDP | PureDP
    cap: Cap | None = None
    center: str = "public"
    constant: int = 0
    missing: Missing = Missing.REFUSE
    rows_per_unit: int = 1
    events: tuple[Event, ...] = ()

    def __post_init__(self) -> None:
        check_norm("row_norm", self.row_norm)
        check_count("bits", self.bits, low=1, high=_MOST_BITS)
        object.__setattr__(self, "missing", Missing.parse(self.missing))
        check_choice("center", self.center, CENTERS)
        check_count("constant", self.constant, low=0)
        check_count("rows_per_unit", self.rows_per_unit, low=1, high=MOST_ROWS_PER_UNIT)
        if not (isinstance(self.version, str) and isinstance(self.mechanism, str)):
            raise ParameterError("version and mechanism must be strings.")
        check_events(self.events)
        state_domain(self)


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(Published):
    """Noisy second moments, safe to publish.

    Made by `dpcov.release` or by a `dpcov.local.Collector`, or read back by `Release.load`.

    Parameters
    ----------
    matrix : ndarray of float64, shape (n_columns, n_columns)
        The noisy average (1/n) Σ z zᵀ of the clipped rows in working units, which are the
        data's own unless centers or scales were stated or learned; for reports from devices,
        those of the plan. A released mean is taken out. Symmetric; not necessarily positive
        semi-definite. Read-only.
    noise_scale : NoiseScale
        Standard deviation of the privacy noise on and off the diagonal, in the units of
        `matrix`.
    n_rows : int
        The number of rows, which is public.
    columns : tuple of str
        Column names.
    provenance : Provenance
        How it was made.
    simulated : bool
        Whether the noise came from a seed. Then nothing is promised.
    units : Units
        What working units are: z = (x − center) / scale.
    mean : ndarray, shape (n_columns,), optional
        The noisy mean in working units, for a private center. Read-only.
    learned : Learned, optional
        What was learned of the table before its moments: the limits of its cells, and how many
        rows were clipped. None if nothing was.
    factor, factor_error : float
        By what the clipped moments were multiplied to make up for clipping, and the error of
        that: 1 and 0 if nothing was learned.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).uniform(-0.5, 0.5, size=(1000, 3))
    >>> release = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=1.0)
    >>> release
    Release(1000 rows × 3 columns, (1, 1e-06)-differential privacy, replace-one neighbors)
    >>> release.matrix.shape
    (3, 3)
    >>> round(release.noise_scale.off_diagonal, 5)
    0.00449
    """

    matrix: npt.NDArray[np.float64]
    noise_scale: NoiseScale
    provenance: Provenance
    mean: npt.NDArray[np.float64] | None = None
    learned: Learned | None = None
    factor: float = 1.0
    factor_error: float = 0.0

    def __post_init__(self) -> None:
        Published.__post_init__(self)
        if self.learned is not None and len(self.learned.lower) != len(self.columns):
            raise ParameterError("learned must have one number for each column.")
        check_number("factor", self.factor, low=1.0, high=2.0, open_low=False, open_high=False)
        check_scale("factor_error", self.factor_error, or_zero=True)
        size = len(self.columns)
        self._check_mean(size)
        if self.matrix.shape != (size, size) or self.matrix.dtype != np.float64:
            raise ParameterError("matrix must be float64, one row and column for each name.")
        check_sizes("matrix", self.matrix)
        if not np.array_equal(self.matrix, self.matrix.T):
            raise ParameterError("matrix must be symmetric.")
        self.matrix.setflags(write=False)

    def _check_mean(self, size: int) -> None:
        if self.mean is None:
            return
        if self.mean.shape != (size,) or self.mean.dtype != np.float64:
            raise ParameterError("mean must be float64, one number for each column.")
        check_sizes("mean", self.mean)
        self.mean.setflags(write=False)

    @property
    def n_terms(self) -> int:
        """The number of rows in the average: all of them."""
        return self.n_rows

    @property
    def bound_in_use(self) -> BoundInUse:
        """What share of the bound on row norms is in use, with its standard error.

        The mean squared norm of the rows, clipped and about the centers of `units`, over
        row_norm². Near 1 nearly all rows are as long as the bound allows, and most were clipped.
        Far below, a smaller bound would have needed less noise.

        Returns
        -------
        BoundInUse
            With `value` and `standard_error`.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).uniform(-1, 1, size=(20_000, 3))
        >>> used = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=2.0).bound_in_use
        >>> abs(used.value - 0.25) < 0.01, used.standard_error < 0.001
        (True, True)
        """
        return bound_in_use(self)

    @property
    def limits(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None:
        """The lower and upper limits of the cells of each column, if they were learned.

        The covariance is that of the table with its cells limited to them.
        """
        return None if self.learned is None else (self.learned.lower, self.learned.upper)

    def lengthened(self, learned: Learned) -> Release:
        """Return the release with what clipping took away made up for. Costs no privacy.

        Clipped rows have a mean squared norm that is too small by a known excess. All moments
        are multiplied by one factor, which is right where rows of all lengths have alike
        directions; `NoiseModel` allows for the rest.
        """
        excess, error = learned.clipping.likely_excess(self.provenance.row_norm)
        found = float(np.trace(self.matrix))
        found += 0.0 if self.mean is None else float(self.mean @ self.mean)
        whole = max(found, excess, error)
        factor, noise = 1 + excess / whole, self.noise_scale
        return replace(
            self,
            matrix=self.matrix * factor,
            noise_scale=replace(
                noise,
                off_diagonal=noise.off_diagonal * factor,
                diagonal=noise.diagonal * factor,
            ),
            learned=learned,
            factor=factor,
            factor_error=error / whole,
        )

    @property
    def location(self) -> npt.NDArray[np.float64]:
        """The center of each column, in its own units: as stated, or the noisy mean."""
        shift = 0.0 if self.mean is None else self.units.scale * self.mean
        return np.asarray(self.units.center + shift)

    @property
    def has_mean(self) -> bool:
        """Whether a mean was released."""
        return self.mean is not None

    @property
    def variances_are(self) -> str:
        """Where variances come from: they are on the diagonal."""
        return "released"

    @property
    def n_released(self) -> int:
        """How many moments were released."""
        return self.n_pairs + self.n_columns

    @property
    def noise_facts(self) -> tuple[NoiseFact, ...]:
        """The noise of covariances, variances and means."""
        local = self.provenance.mechanism == LOCAL_CAP
        law = "average of seeds" if local else ROUNDED_GAUSSIAN
        noise, sd = self.noise_scale, "standard deviation"
        listed = [("covariance", sd, noise.off_diagonal), ("variance", sd, noise.diagonal)]
        if noise.mean:
            listed.append(("mean", sd, noise.mean))
        if noise.signal:
            listed.append(("covariance, growing with the signal", GROWING, noise.signal))
        return tuple(
            NoiseFact(of=of, law=law, measure=measure, value=value, units=self._noise_units)
            for of, measure, value in listed
        )

    @property
    def particulars(self) -> Particulars:
        """What a release of all second moments was made with."""
        made = self.provenance
        return Particulars(
            grid_bits=made.bits,
            mean_constant=made.constant or None,
            cap=made.cap,
        )

    def estimate(
        self,
        *,
        rule: str | Rule = "auto",
        threshold: str | float = "thinned",
        gamma: float | None = None,
        sparse: bool = True,
        psd: str = "sparse",
    ) -> Estimate:
        """Return a sparse, positive semi-definite covariance. Costs no privacy.

        Parameters
        ----------
        rule : str or callable
            How entries off the diagonal are shrunk: ``"hard"``, ``"soft"``, ``"scad"``,
            ``"adaptive-lasso"`` or ``"empirical-bayes"``, one by one; or ``"low-rank"``, by a
            few factors that relate all columns, and the rest by ``"empirical-bayes"``.
            ``"auto"`` lets the rules compete when `threshold` is ``"thinned"``, and is ``"hard"``
            otherwise. Your own function takes sizes and a threshold, both in standard
            deviations, and returns the shrunk sizes.
        threshold : {"thinned", "cai-liu", "paper"} or float
            How far an entry must stand out to be kept: chosen from the release alone by
            thinning; Cai and Liu's 2 √(log p) standard deviations; the paper's threshold,
            with `gamma`; or a number of standard deviations.
        gamma : float, optional
            The paper's γ, for ``threshold="paper"``.
        sparse : bool, default True
            Whether thinning must choose a threshold of at least 1.5, which leaves few entries.
            Where more than half of the pairs are kept even so, there is little to be sparse
            about: then ``"low-rank"``, which has no zeros, competes as well, and what is
            sparse is the rest. If not, dense answers compete in any case.
        psd : {"sparse", "clip", "none"}
            The nearest positive semi-definite matrix with the same zeros; negative
            eigenvalues set to zero, as the paper does, which fills in zeros; or neither.

        Returns
        -------
        Estimate

        Warns
        -----
        NothingDetectableWarning
            When the release is too noisy to show any relation. The estimate is diagonal.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
        >>> rows[:, 1] = 0.6 * rows[:, 0] + 0.8 * rows[:, 1]
        >>> estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).estimate()
        >>> [(edge.first, edge.second) for edge in estimate.edges(fdr=1e-6)]
        [('x0', 'x1')]
        """
        from dpcov.postprocess.estimate import estimate_covariance

        return estimate_covariance(
            self, rule=rule, threshold=threshold, gamma=gamma, sparse=sparse, psd=psd
        )

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Release:
        """Read a release that `save` wrote.

        Raises
        ------
        CorruptFileError
            The file is truncated, altered, or not a release.
        FutureSchemaError
            The file was written by a newer version of dpcov.
        PastSchemaError
            The file was written before files had what this version of dpcov needs.
        """
        from dpcov.releases.formats import read_release

        return read_release(path)  # type: ignore[no-any-return]

    def _write(self, path: str | PathLike[str]) -> None:
        from dpcov.releases.formats import write_moments

        write_moments(self, path)

    def __repr__(self) -> str:
        return f"Release({self.n_rows} rows × {self.n_columns} columns, {self.promise})"
