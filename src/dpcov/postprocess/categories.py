"""Categories: what an estimate says of them, as columns and not as loose indicators.

Owns the face: shares, associations, means of groups. Nothing of it costs privacy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from dpcov.postprocess.association import Association, find_associations
from dpcov.postprocess.group_means import GroupMean, find_group_means
from dpcov.postprocess.joint import JointMoments
from dpcov.postprocess.level_shares import LevelShare, find_shares
from dpcov.postprocess.listing import Listing
from dpcov.releases import Release

__all__ = ["Categories"]


@dataclass(frozen=True, eq=False)
class Categories:
    """The categories of a table, and how other columns go with them.

    Found at `Estimate.categories`. All answers are made of the release, which is unbiased, and
    not of shrunk covariances. They are about the rows in which the cells in question are there.

    Parameters
    ----------
    release : Release
        Where it came from.

    Examples
    --------
    >>> import numpy as np, pandas as pd, dpcov
    >>> sex = np.random.default_rng(0).integers(0, 2, 20_000)
    >>> people = pd.DataFrame({"sex": pd.Categorical.from_codes(sex, ["f", "m"])})
    >>> people["income"] = np.random.default_rng(1).normal(3000 + 500 * sex, 800)
    >>> facts = {"sex": {"levels": ["f", "m"]}, "income": {}}
    >>> release = dpcov.release(people, epsilon=1, delta=1e-6, columns=facts, seed=0)
    >>> categories = release.estimate().categories
    >>> categories.shares()
    2 lines
      sex=f: 49.8 % (49.0 % to 50.6 %)
      sex=m: 50.2 % (49.4 % to 51.0 %)
    >>> categories.associations()
    1 line
      income and sex: η² 0.0906 (0.0794 to 0.103)
    >>> categories.means("income", "sex")
    2 lines
      mean of income where sex=f: 2,993 (2,972 to 3,014)
      mean of income where sex=m: 3,498 (3,477 to 3,519)
    """

    release: Release
    _listed: dict[tuple[float, str], Listing[Association]] = field(
        default_factory=dict, init=False, repr=False
    )

    @cached_property
    def _moments(self) -> JointMoments | None:
        return JointMoments.of(self.release)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the categories."""
        return tuple(field.name for field in self.release.design.fields if field.is_category)

    def shares(self, confidence: float = 0.95, *, about: str = "population") -> Listing[LevelShare]:
        """Return the share of each level, with standard errors and intervals.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability that an interval covers its share.
        about : {"population", "table"}
            Of whom: see `Estimate.interval`.
        """
        return find_shares(self._moments, confidence=confidence, about=about)

    def associations(
        self, confidence: float = 0.95, *, about: str = "population"
    ) -> Listing[Association]:
        """Return how far each category goes with each other column, the surest first.

        Cramér's V of two categories, η² of a number and a category. Levels that are too rare to
        be told from noise are read as one.

        Parameters
        ----------
        confidence : float, default 0.95
            The probability that an interval covers what it is about.
        about : {"population", "table"}
            Of whom: see `Estimate.interval`. q-values are about the population either way.
        """
        key = confidence, about
        if key not in self._listed:
            self._listed[key] = find_associations(self._moments, confidence=confidence, about=about)
        return self._listed[key]

    def means(
        self,
        number: str | None = None,
        category: str | None = None,
        *,
        confidence: float = 0.95,
        about: str = "population",
    ) -> Listing[GroupMean]:
        """Return the mean of a number in each level of a category.

        Parameters
        ----------
        number, category : str, optional
            Names of columns; all of them if none is named.
        confidence : float, default 0.95
            The probability that an interval covers its mean.
        about : {"population", "table"}
            Of whom: see `Estimate.interval`.
        """
        return find_group_means(
            self._moments, number=number, category=category, confidence=confidence, about=about
        )

    def __repr__(self) -> str:
        return f"Categories({', '.join(self.names) or 'none'})"
