"""The constants of learning: how many steps, which quantiles, and how wide limits are.

Owns all of them. They are public and no privacy depends on their values; accuracy does.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

from dpcov.errors import ParameterError
from dpcov.releases.learned import (
    EXCESS_REACH,
    MOST_TAIL,
    RADIUS_NOISE,
    RADIUS_STEPS,
    RADIUS_TAIL,
)

__all__ = ["DEFAULT", "MOST_HALVINGS", "MOST_STEPS", "Tuning", "answer_margin"]

MOST_STEPS = 1 << 12
"""No cell stands for a larger number; the check of the budget counts on it."""
MOST_HALVINGS = 16
"""No bisection has more; the check of the budget counts on it."""


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """What was found to work on real tables."""

    range_steps: int = 8
    """Halvings of the 80 octaves in which a range is sought: 0.3 are left. One more step
    asks whether there is anything to seek."""
    range_tail: float = 0.02
    """The share of cells that may lie beyond a range, before it is doubled."""
    wrong: float = 1e-6
    """… or so much of the noise that, with no larger probability for a release, an answer misses a
    whole tail, or takes one of twice its size for none, or sees cells where there are none."""
    range_shares: tuple[float, float] = (0.04, 0.25)
    """The least and the most of the budget that ranges have …"""
    range_tails: tuple[float, float] = (0.2, 0.4)
    """… the share of rows in their tails with which they need no more, and with which they are
    not learned at all."""
    range_factor: float = 2.0
    """A range is so many times the size that was found."""
    closed_octaves: int = 20
    """Within both bounds a range is sought so many octaves below the farther one."""
    range_guess: float = 1.0
    """The range of a column whose cells are too close to the origin to be told from it."""

    center_steps: int = 14
    """Halvings of a range in which its median is sought."""

    limit_steps: int = 6
    """Halvings of the octaves in which a limit about the center is sought, and one more step."""
    limit_octaves: int = 14
    """How far below the farther end of the range it may lie."""
    limit_tail: float = 0.02
    """The share of cells that may lie beyond a limit, before it is widened."""
    limit_noise: float = 3.0
    """… or so many noise sd of a count, if that is more."""
    limit_factor: float = 1.7
    """A limit is so many times the distance that was found."""

    nearly_empty: float = 0.1
    """A column with clearly fewer cells does not fit what is stated of it, and stops a release …"""
    unused_level: float = 0.01
    """… so does a category most of whose levels clearly have fewer rows, or less than a tenth of
    what levels of one size have …"""
    unused_levels: float = 0.03
    """… or all of whose levels together have fewer, where other cells count as a level."""
    false_stop: float = 1e-6
    """… and one with more stops it with no larger probability."""
    observed_shares: tuple[float, float] = (0.01, 0.04)
    """The least and the most of the budget that counts of cells have …"""
    observed_margin: float = 0.06
    """… and how far below that bound a share is clear with which they need no more."""
    complete: float = 3.0
    """A column counts as complete if its share of cells is within so many noise sd of 1."""
    least_observed: float = 0.05
    """No smaller share of cells is taken to be there."""
    least_weight: float = 1e-3
    """No smaller average weight is taken, in units of the bound."""
    category_floor: float = 0.3
    """No category varies less than this, in units of one with a level of its own in each row."""

    shell_octaves: float = 4.0
    """A range or a limit that was found is used if cells are seen near it: no more than so many
    octaves below, and one beyond."""
    most_tail: float = MOST_TAIL
    """No more cells than this are left beyond a range or a limit, however large the noise is."""
    cell_steps: int = 1024
    """Cells within their limits are rounded to this many steps on each side of the center."""
    square_steps: int = 4096
    """… and their squares to this many."""
    scale_floor: float = 0.3
    """No scale is a smaller part of its limit, so that what lies within stays within the reach, and
    a far cell of a column with a long tail does not make its row a long one."""
    seen: float = 2.0
    """A column is seen to vary if its variance is more than so many noise sd above zero."""

    trusted_bounds: float = 8.0
    """Stated bounds that are at most so many scales from the center are the limits of a column."""
    reach: float = 10 / 3
    """Cells of the release are limited to so many scales about the center."""

    radius_steps: int = RADIUS_STEPS
    """Halvings of the squared norms among which a radius is sought: of 128 bins, one is left."""
    radius_tail: float = RADIUS_TAIL
    """The share of rows that are shortened: so many noise multipliers of the moments, times the
    number of columns over that of rows."""
    radius_noise: float = RADIUS_NOISE
    """… or so many noise sd of a count, if that is more."""
    radius_free: float = 0.6
    """A squared radius is at least that at which noise is so many times the error of sampling …"""
    radius_cell: float = 11.0
    """… and lets a row have one cell at its limit, which adds so much, beside usual ones."""
    radius_usual: float = 0.6
    """Usual cells add no more than so many of the squared radii that were found."""
    excess_reach: float = EXCESS_REACH
    """How far rows are longer is measured up to so many squared radii."""
    norm_bins: int = 16
    """Bins of squared norms in each octave …"""
    norm_octaves: int = 4
    """… and so many octaves to each side of what a typical row has."""

    def __post_init__(self) -> None:
        numbers = (self.cell_steps, self.square_steps)
        halvings = (self.range_steps, self.center_steps, self.limit_steps, self.radius_steps)
        if max(numbers) > MOST_STEPS or max(halvings) > MOST_HALVINGS:
            raise ParameterError("The budget is checked for smaller numbers and fewer steps.")


def answer_margin(n_columns: int, tuning: Tuning) -> float:
    """Return beyond how many sd of noise an answer about a range counts.

    Notes
    -----
    Each of k columns has the answers of its range, and one for its range and one for its limit
    that check them. By Bonferroni no noise among all of these is farther to the side where it does
    harm, but with probability `wrong`.

    Examples
    --------
    >>> [round(answer_margin(n_columns, DEFAULT), 2) for n_columns in (1, 100)]
    [5.2, 6.0]
    """
    return -NormalDist().inv_cdf(tuning.wrong / (n_columns * (tuning.range_steps + 2)))


DEFAULT = Tuning()
"""What the mechanism uses."""
