"""What is known of pairs of columns: a table of many, and one of them.

Owns both values. `correlation` is that of the estimate; `released` is that of the release,
without bias, and its error, its interval and its q-value stand beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from dpcov.digits import probability_text
from dpcov.extras import load_pandas
from dpcov.notebook import show

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TOO_NOISY", "Pair", "Pairs"]

TOO_NOISY = "too noisy to tell"
"""What is said of a correlation where the noise forbids an answer."""
_LIMITED = "limited, and more than 1 % of those of one column lie or may lie beyond"
_GAPS = "those of one column go with the other: the interval may miss what complete rows say"

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairs:
    """Pairs of columns with their correlations. All arrays have one entry for each pair.

    Parameters
    ----------
    columns : tuple of str
        The names of all columns.
    first, second : ndarray of int
        Places of the two columns of each pair, the first before the second.
    correlation : ndarray
        That of the estimate: shrunk, zero where the estimate is, and such that all of them
        together are possible.
    released : ndarray
        That of the release, limited to ±1.
    standard_error : ndarray
        Of `released`: privacy noise, sampling, and the error of both standard deviations.
    low, high : ndarray
        The ends of its interval, within ±1; they are ±1 where a variance does not stand out of its
        noise.
    q_value : ndarray
        The smallest false discovery rate at which the pair is listed as related.
    told : ndarray of bool
        Whether the release says how large the correlation is. If not, it is too noisy to tell: a
        variance does not stand out of its noise, or the interval is 1.5 wide or wider.
    with_level : ndarray of bool
        Whether one of the two is a level of a category. Pairs of numbers and pairs with levels are
        tested in two lists.
    limited : ndarray of bool
        Whether more than 1 % of the cells of one of the two clearly lie beyond its limits, or may
        lie beyond limits that are guessed. The correlation of the whole cells may then be outside
        of the interval, which is for that of the limited cells.
    gaps : ndarray of bool
        Whether cells of one column are missing where the other is larger or smaller, or has other
        levels, by more than noise could explain. What the rows with both cells say may then be
        outside of the interval.
    confidence : float
        The probability that an interval covers its correlation.
    """

    columns: tuple[str, ...]
    first: Places
    second: Places
    correlation: Array
    released: Array
    standard_error: Array
    low: Array
    high: Array
    q_value: Array
    told: npt.NDArray[np.bool_]
    with_level: npt.NDArray[np.bool_]
    limited: npt.NDArray[np.bool_]
    gaps: npt.NDArray[np.bool_]
    confidence: float

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        untold = len(self) - int(self.told.sum())
        noisy = f", {untold:,} {TOO_NOISY}" if untold else ""
        return f"Pairs({len(self):,} of {len(self.columns):,} columns{noisy})"

    def chosen(self, which: npt.NDArray[np.bool_] | Places) -> Pairs:
        """Return some of the pairs, by marks or by places."""
        arrays: dict[str, Any] = {
            name: value[which]
            for name, value in vars(self).items()
            if isinstance(value, np.ndarray)
        }
        return replace(self, **arrays)

    def to_frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame, with the names of the columns."""
        names = np.array(self.columns, dtype=object)
        data = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in ("columns", "confidence")
        }
        data |= {"first": names[self.first], "second": names[self.second]}
        frame: pd.DataFrame = load_pandas().DataFrame(data)
        return frame


@dataclass(frozen=True, kw_only=True)
class Pair:
    """What is known of one pair of columns: see `Pairs`.

    Parameters
    ----------
    first, second : str
        The names of the columns.
    correlation, covariance : float
        Those of the estimate.
    released, standard_error : float
        The correlation as released, limited to ±1, and its standard error.
    interval : tuple of float
        For the correlation.
    confidence : float
        The probability that it covers it.
    q_value : float
        The smallest false discovery rate at which the pair is listed as related.
    told : bool
        Whether the release says how large the correlation is.
    limited : bool
        Whether the correlation of the whole cells may be far from it.
    gaps : bool
        Whether that of the rows with both cells may be far from it.
    """

    first: str
    second: str
    correlation: float
    covariance: float
    released: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float
    q_value: float
    told: bool
    limited: bool
    gaps: bool

    def _facts(self) -> list[tuple[str, str]]:
        low, high = self.interval
        released = f"{self.released:+.3f} ± {self.standard_error:.2g}"
        interval = f"{100 * self.confidence:g} % interval {low:+.3f} to {high:+.3f}"
        return [
            ("correlation", f"{self.correlation:+.3f}" if self.told else TOO_NOISY),
            ("released", f"{released}, {interval}"),
            ("covariance", f"{self.covariance:+.4g}"),
            ("q-value", probability_text(self.q_value)),
            *([("cells", _LIMITED)] if self.limited else []),
            *([("gaps", _GAPS)] if self.gaps else []),
        ]

    def __repr__(self) -> str:
        lines = [f"  {name:<12} {value}" for name, value in self._facts()]
        return "\n".join([f"{self.first} – {self.second}", *lines])

    def _repr_html_(self) -> str:
        return show(f"{self.first} – {self.second}", heading=("", ""), rows=self._facts())
