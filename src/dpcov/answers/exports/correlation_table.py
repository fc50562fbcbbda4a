"""The table of correlations of a paper: numbered variables, M, SD, and what they correlate by.

Owns what stands in it, for LaTeX and for spreadsheets alike. Correlations are those of the
release, which are not biased; stars go by q-values, and what noise does not let tell has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dpcov.answers.exports.asked import Asked
from dpcov.digits import name_some
from dpcov.postprocess import AnyEstimate
from dpcov.postprocess.column_errors import deviation_errors, mean_errors
from dpcov.postprocess.pairs_table import Pairs
from dpcov.releases import AnyRelease
from dpcov.releases.tails import withheld

__all__ = ["UNTOLD", "CorrelationTable", "stars", "without_zero"]

UNTOLD = "—"
"""What stands where noise does not let tell how large a number is."""

_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CorrelationTable:
    """What a table of correlations shows of some columns."""

    asked: Asked

    @cached_property
    def estimate(self) -> AnyEstimate:
        """The estimate of the release."""
        found: AnyEstimate = self.asked.release.estimate()
        return found

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of these columns, the surest first."""
        pairs = self.estimate.pairs()
        both = np.isin(pairs.first, self.asked.places) & np.isin(pairs.second, self.asked.places)
        found = pairs.chosen(both)
        return found.chosen(np.lexsort((-np.abs(found.released), found.q_value)))

    @cached_property
    def places_of_pairs(self) -> dict[tuple[int, int], int]:
        """Where in `pairs` two columns are, by their numbers in this table, the larger first."""
        number = {place: at for at, place in enumerate(self.asked.places.tolist())}
        both = zip(self.pairs.first.tolist(), self.pairs.second.tolist(), strict=True)
        numbers = ((number[first], number[second]) for first, second in both)
        return {(max(two), min(two)): at for at, two in enumerate(numbers)}

    @property
    def means(self) -> tuple[Array, Array] | None:
        """Means and their errors, if they were released; NaN where none is shown."""
        errors = mean_errors(self.estimate)
        if errors is None:
            return None
        return self._shown(self.estimate.location), self._shown(errors)

    @property
    def deviations(self) -> tuple[Array, Array] | None:
        """Standard deviations and their errors, if they were released or stated."""
        errors = deviation_errors(self.estimate)
        if errors is None:
            return None
        return self._shown(self.estimate.released_deviations), self._shown(errors)

    def _shown(self, values: Array) -> Array:
        """Return numbers of these columns, none where tails are cut or a range is guessed."""
        shown = np.array(values, dtype=np.float64)
        shown[list(withheld(self.asked.release))] = np.nan
        return shown[self.asked.places]

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table must know."""
        release = self.asked.release
        told = bool(self.pairs.told.all())
        untold = [f"{UNTOLD}: too noisy to tell how large it is."]
        return (
            f"N = {release.n_rows:,}. {_noise_in_words(release)}",
            "Correlations are those of the release, not shrunk; their errors count the noise.",
            *([] if told else untold),
            *self._withheld_in_words(),
            "* q < .05, ** q < .01, *** q < .001, where q is the smallest false discovery rate at "
            "which a pair is on the list of related pairs, all pairs of the release being tested.",
        )

    def _withheld_in_words(self) -> list[str]:
        hidden = withheld(self.asked.release)
        both = zip(self.asked.names, self.asked.places.tolist(), strict=True)
        names = [repr(name) for name, place in both if place in hidden]
        if not names:
            return []
        return [
            f"No M and SD of {name_some(names)}: too many cells lie, or may lie, beyond the limits "
            "within which cells were read. Correlations with them are those of the limited cells."
        ]


def _noise_in_words(release: AnyRelease) -> str:
    if release.simulated:
        return "The noise was simulated with a seed: nothing is promised."
    return f"All numbers were released with noise: {release.promise}."


def stars(q_value: float) -> str:
    """Return the stars of a q-value.

    Examples
    --------
    >>> stars(0.0004), stars(0.02), stars(0.05)
    ('***', '*', '')
    """
    return next((mark for level, mark in _STARS if q_value < level), "")


def without_zero(correlation: float) -> str:
    """Write a correlation as papers do: two digits, and no zero before the point.

    Examples
    --------
    >>> without_zero(0.256), without_zero(-0.5), without_zero(-0.001), without_zero(1.0)
    ('.26', '-.50', '.00', '1.00')
    """
    rounded = round(correlation, 2) + 0.0  # not -0
    return f"{rounded:.2f}".replace("0.", ".", 1) if abs(rounded) < 1 else f"{rounded:.2f}"
