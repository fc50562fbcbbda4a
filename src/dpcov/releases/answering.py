"""What a release answers beyond its estimate: the methods, each loaded when it is called.

Owns the face of these answers and nothing of how they are computed: see `dpcov.answers`. They are
functions of what was released, so they cost no privacy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from dpcov.answers.comparison import Comparison
    from dpcov.answers.components import Components
    from dpcov.answers.entry_covariance import EntryCovariance
    from dpcov.answers.factors import Factors
    from dpcov.answers.fit import Fit, Fits
    from dpcov.answers.graph import SparseGraph
    from dpcov.answers.partials import PartialCorrelations
    from dpcov.answers.reliability import Reliability
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

    def components(
        self,
        n: int | None = None,
        *,
        columns: Sequence[str] | None = None,
        of: str = "correlation",
        rotation: str | None = None,
        about: str = "population",
    ) -> Components:
        """Return principal components, computed from the release. Costs no privacy.

        Parameters
        ----------
        n : int, optional
            How many. If not stated, as many as stand above what noise and sampling would give to
            unrelated columns, at least one.
        columns : list of str, optional
            Of which columns: all numbers that are seen to vary, if not stated. A level of a
            category must be named (``sex=f``).
        of : {"correlation", "covariance"}
            Whether columns count alike, or by their variances in their own units.
        rotation : {"varimax", "promax"}, optional
            How to turn the components so that most loadings are small.
        about : {"population", "table"}
            Of whom errors are: the people of whom the rows are a random sample, for rows that are
            about Gaussian, or these very rows.

        Returns
        -------
        Components
            Eigenvalues without what noise adds to them, with intervals; loadings with errors;
            which components cannot be told from each other; scores for new rows.

        Examples
        --------
        >>> import numpy as np, pandas as pd, dpcov
        >>> rng = np.random.default_rng(0)
        >>> common = rng.normal(size=(50_000, 1))
        >>> rows = 0.7 * common + 0.7 * rng.normal(size=(50_000, 5))
        >>> table = pd.DataFrame(rows, columns=list("abcde"))
        >>> release = dpcov.release(table, epsilon=1, delta=1e-6, seed=0)
        >>> found = release.components()
        >>> found.n_components
        1
        >>> low, high = found.eigenvalues.interval(0.95)
        >>> bool(low[0] < 3 < high[0])
        True
        >>> found.scores(table[:2]).shape
        (2, 1)
        """
        from dpcov.answers.component_analysis import find_components

        return find_components(
            cast("Release", self), n, columns, of=of, rotation=rotation, about=about
        )

    def factors(
        self,
        n: int,
        *,
        columns: Sequence[str] | None = None,
        method: str = "minres",
        rotation: str | None = "varimax",
        about: str = "population",
    ) -> Factors:
        """Return a factor analysis, computed from the release. Costs no privacy.

        Parameters
        ----------
        n : int
            How many factors.
        columns : list of str, optional
            Of which columns: all numbers that are seen to vary, if not stated. A level of a
            category must be named (``sex=f``).
        method : {"minres", "ml"}
            Minimum residual, which takes any noisy matrix as it is, or maximum likelihood, for
            which small eigenvalues are lifted where noise made them too small.
        rotation : {"varimax", "promax"}, optional
            How to turn the factors so that most loadings are small.
        about : {"population", "table"}
            Of whom errors and the test of fit are: the people of whom the rows are a random
            sample, for rows that are about Gaussian, or these very rows.

        Returns
        -------
        Factors
            Loadings and uniquenesses with errors, a test of fit and indices that know the noise,
            scores for new rows.

        Examples
        --------
        >>> import numpy as np, pandas as pd, dpcov
        >>> rng = np.random.default_rng(0)
        >>> common = np.repeat(rng.normal(size=(50_000, 2)), 4, axis=1)
        >>> rows = 0.8 * common + 0.6 * rng.normal(size=(50_000, 8))
        >>> table = pd.DataFrame(rows, columns=list("abcdefgh"))
        >>> release = dpcov.release(table, epsilon=1, delta=1e-6, seed=0)
        >>> found = release.factors(2)
        >>> found
        Factors(2 of 8 columns, minres, varimax)
        >>> low, high = found.loading_interval(0.999)
        >>> bool((low.max(axis=1) < 0.8).all() and (high.max(axis=1) > 0.8).all())
        True
        >>> bool(found.p_value > 0.001)
        True
        """
        from dpcov.answers.factor_analysis import find_factors

        return find_factors(
            cast("Release", self), n, columns, method=method, rotation=rotation, about=about
        )

    def reliability(
        self,
        columns: Sequence[str],
        *,
        reverse: Sequence[str] = (),
        about: str = "population",
        confidence: float = 0.95,
    ) -> Reliability:
        """Return Cronbach's α and McDonald's ω of some items. Costs no privacy.

        Parameters
        ----------
        columns : list of str
            The items whose sum is looked at, at least three.
        reverse : list of str, optional
            Those of them that are worded the other way round, to be reversed.
        about : {"population", "table"}
            Of whom errors are: the people of whom the rows are a random sample, for rows that are
            about Gaussian, or these very rows.
        confidence : float
            Of the intervals that are shown.

        Returns
        -------
        Reliability
            α and ω with intervals that count privacy noise, α without each of the items, and how
            each goes with the sum of the others.

        Examples
        --------
        >>> import numpy as np, pandas as pd, dpcov
        >>> rng = np.random.default_rng(0)
        >>> common = rng.normal(size=(50_000, 1))
        >>> rows = common + rng.normal(size=(50_000, 6))
        >>> table = pd.DataFrame(rows, columns=list("abcdef"))
        >>> table["f"] *= -1
        >>> release = dpcov.release(table, epsilon=1, delta=1e-6, seed=0)
        >>> found = release.reliability(list("abcdef"), reverse=["f"])
        >>> found
        Reliability(6 items, α 0.86, ω 0.86)
        >>> low, high = found.alpha_interval()
        >>> bool(low < 6 / 7 < high)
        True
        """
        from dpcov.answers.consistency import find_reliability

        return find_reliability(
            cast("Release", self), columns, reverse, about=about, confidence=confidence
        )

    def graph(
        self,
        columns: Sequence[str] | None = None,
        *,
        penalty: float | None = None,
        about: str = "population",
        references: Mapping[str, str] | None = None,
    ) -> SparseGraph:
        """Return a sparse graph of partial correlations by the graphical lasso. Costs no privacy.

        Needs scikit-learn: ``pip install 'dpcov[sklearn]'``.

        Parameters
        ----------
        columns : list of str, optional
            Of which columns, as in `partial_correlations`: at least three; all, if not stated.
        penalty : float, optional
            How many of its standard errors each correlation is penalized by. 2√(log p) for p
            columns, if not stated: more than the largest of all correlations has by noise alone.
        about : {"population", "table"}
            Whether these errors count sampling beside privacy noise, or not.
        references : mapping, optional
            For categories that are named as a whole, with which level the others are compared.

        Returns
        -------
        SparseGraph
            Partial correlations that are exactly zero where columns are not joined. They are
            shrunk, and have no errors: those of `partial_correlations` do.

        Notes
        -----
        A penalty shrinks strong edges, and what they no longer explain may look like others. An
        edge stays only if its partial correlation, freed from that to first order (Janková and
        van de Geer 2015), exceeds as many of its own standard errors as the penalty has.

        Examples
        --------
        >>> import numpy as np, dpcov
        >>> rows = np.random.default_rng(0).normal(size=(50_000, 5))
        >>> rows[:, 1] += 0.4 * rows[:, 0]
        >>> rows[:, 2] += 0.4 * rows[:, 1]
        >>> graph = dpcov.release(rows, epsilon=1, delta=1e-6, seed=0).graph()
        >>> graph
        SparseGraph(2 edges of 5 columns)
        >>> sorted((edge.first, edge.second) for edge in graph.edges)
        [('x0', 'x1'), ('x1', 'x2')]
        """
        from dpcov.answers.sparse_graph import sparse_graph

        return sparse_graph(
            cast("AnyRelease", self), columns, penalty=penalty, about=about, references=references
        )
