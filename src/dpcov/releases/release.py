"""Release: noisy second moments with their noise scale and their promise.

Owns the value that is released. It holds nothing that was not paid for, so it
is safe to save, send and print. It never sees raw rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.design import Design
from dpcov.errors import ParameterError
from dpcov.parameters import check_number
from dpcov.releases.answering import Answering
from dpcov.releases.learned import Learned
from dpcov.releases.noise_scale import NoiseScale
from dpcov.releases.observed import Observed, observed_shares
from dpcov.releases.pairwise import Pairwise, pairwise_moments
from dpcov.releases.provenance import LOCAL_CAP, Provenance
from dpcov.releases.published import ROUNDED_GAUSSIAN, NoiseFact, Particulars, Published
from dpcov.releases.saturation import BoundInUse, bound_in_use
from dpcov.releases.sizes import check_scale, check_sizes
from dpcov.releases.weights import Weights
from dpcov.releases.working import WorkingMoments

if TYPE_CHECKING:
    from dpcov.postprocess.estimate import Estimate
    from dpcov.postprocess.rules import Rule

__all__ = ["Release"]

GROWING = "variance for each unit of the two variances"
"""How noise that grows with what is measured is stated."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Release(Published, Answering):
    """Noisy second moments, safe to publish.

    Made by `dpcov.release` or by a `dpcov.local.Collector`, or read back by `Release.load`.

    Parameters
    ----------
    matrix : ndarray of float64, shape (n_columns, n_columns)
        The noisy average (1/n) Σ z zᵀ of the clipped rows in working units, which are the
        data's own unless centers or scales were stated or learned; for reports from devices,
        those of the plan. A released mean is taken out. Where cells may be missing, each entry
        is about the rows in which both are there. Symmetric; not necessarily positive
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
    working : WorkingMoments, optional
        For a table with categories or gaps, the moments that were released, from which `matrix`
        and `mean` follow.
    weights : Weights, optional
        How much rows count, if they have weights: moments and mean are then weighted ones.
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
    working: WorkingMoments | None = None
    weights: Weights | None = None
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

        if self.working is not None and self.working.design.names != self.columns:
            raise ParameterError("working must be moments of the columns.")

    def with_working(self, working: WorkingMoments, **changes: Any) -> Release:
        """Return the release with other working moments, and what follows from them."""
        noise = changes.get("noise_scale", self.noise_scale)
        found = pairwise_moments(working, noise, n_rows=self.n_terms, units=self.units)
        return replace(
            self, working=working, matrix=found.matrix.copy(), mean=found.mean.copy(), **changes
        )

    @cached_property
    def design(self) -> Design:
        """Which working columns there are: the columns themselves, levels, and gaps."""
        return Design.numbers_of(self.columns) if self.working is None else self.working.design

    @cached_property
    def pairwise(self) -> Pairwise | None:
        """What is known of each pair of columns, if cells may be missing or are of a category."""
        if self.working is None:
            return None
        return pairwise_moments(
            self.working, self.noise_scale, n_rows=self.n_terms, units=self.units
        )

    @cached_property
    def observed(self) -> Observed:
        """The share of cells that are there, of each column of the table and of each two."""
        return observed_shares(self.design, self.pairwise, mean_noise=self.noise_scale.mean)

    @property
    def raw(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64] | None]:
        """The moments that were released, with those of gaps, and their mean."""
        if self.working is None:
            return self.matrix, self.mean
        return self.working.matrix, self.working.mean

    def _check_mean(self, size: int) -> None:
        if self.mean is None:
            return
        if self.mean.shape != (size,) or self.mean.dtype != np.float64:
            raise ParameterError("mean must be float64, one number for each column.")
        check_sizes("mean", self.mean)
        self.mean.setflags(write=False)

    @property
    def n_terms(self) -> float:
        """The number of rows in the average: all of them, or as many of equal weight."""
        return self.n_rows if self.weights is None else self.weights.effective_rows(self.n_rows)

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
    def n_pairs(self) -> int:
        """The number of pairs of columns, levels of one category left out."""
        return self.design.n_pairs

    @property
    def n_released(self) -> int:
        """How many moments were released, those of gaps included."""
        size = len(self.raw[0])
        return size * (size + 1) // 2

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
        OtherSchemaError
            The file has the format of another version of dpcov.
        """
        from dpcov.releases.formats import read_release

        return read_release(path)  # type: ignore[no-any-return]

    def _write(self, path: str | PathLike[str]) -> None:
        from dpcov.releases.formats import write_moments

        write_moments(self, path)

    def __repr__(self) -> str:
        return f"Release({self.n_rows} rows × {self.n_columns} columns, {self.promise})"
