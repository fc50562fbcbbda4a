"""What a release answers beyond its estimate: the methods, each loaded when it is called.

Owns the face of these answers and nothing of how they are computed: see `dpcov.answers`. They are
functions of what was released, so they cost no privacy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dpcov.answers.comparison import Comparison
    from dpcov.answers.entry_covariance import EntryCovariance
    from dpcov.answers.fit import Fit, Fits
    from dpcov.answers.partials import PartialCorrelations
    from dpcov.releases import AnyRelease, Release

__all__ = ["Answering"]


class Answering:
    """Answers of a release of all second moments.

    One of the strongest pairs has them for columns of which all pairs were released, or says why
    it has not.
    """

    def regress(
        self,
        outcome: str | Sequence[str],
        on: Sequence[str],
        *,
        about: str = "population",
        references: Mapping[str, str] | None = None,
    ) -> Any:
        """Return a linear regression, computed from the release. Costs no privacy.

        Parameters
        ----------
        outcome : str, or list of str
            What is predicted: a number, or a level of a category (``sex=f``), which gives a linear
            probability model. Several outcomes at once give several fits.
        on : list of str
            By what: numbers, levels, or categories as a whole, whose levels are then compared with
            one of them.
        about : {"population", "table"}
            Of whom errors are. ``"population"``: the people of whom the rows are a random sample,
            for rows that are about Gaussian. ``"table"``: the regression of these very rows, whose
            cells are limited as `Release.limits` says, whatever their law.
        references : mapping, optional
            For categories that are named as a whole, with which level the others are compared:
            the first, if not stated.

        Returns
        -------
        Fit, or Fits for a list of outcomes
            Coefficients with errors that count privacy noise. Where the noise does not let tell
            predictors apart, the fit says which, and their coefficients are regularized.

        Notes
        -----
        Logistic and other models need more than second moments, and cannot be had from a release.

        Examples
        --------
        >>> import numpy as np, pandas as pd, dpcov
        >>> rng = np.random.default_rng(0)
        >>> age = rng.uniform(20, 60, 50_000)
        >>> table = pd.DataFrame({"age": age, "income": 30 * age + rng.normal(0, 300, 50_000)})
        >>> release = dpcov.release(table, epsilon=1, delta=1e-6, seed=0)
        >>> fit = release.regress("income", on=["age"])
        >>> low, high = fit.interval(0.95)
        >>> bool(low[1] < 30 < high[1]), bool(high[1] - low[1] < 3)
        (True, True)
        >>> print(fit.summary().splitlines()[0])
        income ~ age
        """
        from dpcov.answers.regression import regress

        several = not isinstance(outcome, str)
        names = list(outcome) if several else [cast(str, outcome)]
        fits = regress(cast("AnyRelease", self), names, on, about=about, references=references)
        found: Fit | Fits = fits if several else fits.fits[0]
        return found

    def entry_covariance(
        self, columns: Sequence[str] | None = None, *, about: str = "population"
    ) -> EntryCovariance:
        """Return how the errors of all covariances, variances and means go together.

        What structural-equation software calls NACOV, divided by the number of rows; it is not
        written down unless ``.matrix()`` asks for it.

        Parameters
        ----------
        columns : list of str, optional
            Which columns of the release; all of them, if not stated.
        about : {"population", "table"}
            Of whom: with errors of sampling, as for Gaussian rows, or without.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(20_000, 3))
        >>> errors = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4).entry_covariance()
        >>> errors.pairs
        (('x0', 'x0'), ('x0', 'x1'), ('x0', 'x2'), ('x1', 'x1'), ('x1', 'x2'), ('x2', 'x2'))
        >>> errors.matrix().shape
        (6, 6)
        >>> contrast = np.diag([1.0, -1.0, 0.0])  # the difference of two variances
        >>> bool(errors.variance(contrast) > 4 / 20_000)
        True
        """
        from dpcov.answers.entry_covariance import entry_covariance

        return entry_covariance(cast("AnyRelease", self), columns, about=about)

    def partial_correlations(
        self,
        columns: Sequence[str] | None = None,
        *,
        about: str = "population",
        confidence: float = 0.95,
        references: Mapping[str, str] | None = None,
    ) -> PartialCorrelations:
        """Return how every two columns go together, given all others. Costs no privacy.

        Parameters
        ----------
        columns : list of str, optional
            Of which columns, and given which: numbers, levels (``sex=f``), or categories as a
            whole, whose levels are then compared with one of them. At least three; all columns,
            if not stated. A release of the strongest pairs must have all pairs of them.
        about : {"population", "table"}
            Of whom errors are. ``"population"``: the people of whom the rows are a random sample,
            for rows that are about Gaussian. ``"table"``: these very rows, whose cells are limited
            as `Release.limits` says, whatever their law.
        confidence : float, default 0.95
            The probability that an interval covers its partial correlation.
        references : mapping, optional
            For categories that are named as a whole, with which level the others are compared:
            the first, if not stated.

        Returns
        -------
        PartialCorrelations
            With errors that count privacy noise, intervals within ±1, and `edges`: which pairs
            are related given all others, at a false discovery rate.

        Examples
        --------
        >>> import numpy as np, pandas as pd, dpcov
        >>> rng = np.random.default_rng(0)
        >>> age, luck, other = rng.normal(size=(3, 50_000))
        >>> income = age + luck
        >>> table = pd.DataFrame({"age": age, "income": income, "rent": income + other})
        >>> found = dpcov.release(table, epsilon=1, delta=1e-6, seed=0).partial_correlations()
        >>> found
        PartialCorrelations(3 pairs of 3 columns)
        >>> sorted((edge.first, edge.second) for edge in found.edges(fdr=1e-6))
        [('age', 'income'), ('income', 'rent')]
        >>> bool(found["age", "rent"].low < 0 < found["age", "rent"].high)
        True
        """
        from dpcov.answers.partial_correlation import partial_correlations

        return partial_correlations(
            cast("AnyRelease", self),
            columns,
            about=about,
            confidence=confidence,
            references=references,
        )

    def compare(
        self,
        other: AnyRelease,
        *,
        columns: Sequence[str] | None = None,
        about: str = "population",
        confidence: float = 0.95,
        fdr: float = 0.1,
    ) -> Comparison:
        """Return what differs between this release and another, with errors. Costs no privacy.

        Parameters
        ----------
        other : Release
            Such as that of the next wave. Differences are other minus this one.
        columns : list of str, optional
            Which columns; all that both have, if not stated.
        about : {"population", "table"}
            Of whom. ``"population"``: the people of whom each table is a sample of its own, for
            rows that are about Gaussian; errors of both samples add up. ``"table"``: how these
            very tables differ, by privacy noise alone. That is the question if the same people
            are in both, as in a panel, whose errors of sampling do not add up; and if both
            releases are of the same rows, where nothing but noise may differ.
        confidence : float, default 0.95
            The probability that an interval covers its difference.
        fdr : float, default 0.1
            The expected share of false changes in each list of what changed, at most.

        Returns
        -------
        Comparison
            Differences of `correlations`, `covariances`, `deviations` and `means`, and of
            ``coefficients(outcome, on=…)``, each with error, interval and q-value. Columns that
            are not the same thing in both releases are in `left_out`, with a sentence.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(40_000, 4))
        >>> rows[20_000:, 3] += 0.5 * rows[20_000:, 0]
        >>> options = dict(epsilon=1, delta=1e-6, row_norm=4)
        >>> before = dpcov.release(rows[:20_000], **options)
        >>> comparison = before.compare(dpcov.release(rows[20_000:], **options))
        >>> [change.names for change in comparison.changed("correlations", fdr=1e-3)]
        [('x0', 'x3')]
        >>> comparison.means
        Differences(4 means)
        """
        from dpcov.answers.comparison import compare

        return compare(
            cast("Release", self), other, columns, about=about, confidence=confidence, fdr=fdr
        )
