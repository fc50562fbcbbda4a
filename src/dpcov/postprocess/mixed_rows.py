"""Synthetic rows with categories: a level for each, and numbers given the levels.

Owns how they are drawn. Levels come one category after the other, each with probabilities that are
linear in the levels before it; numbers are Gaussian about means that are linear in all levels.
As long as no probability has to be cut, shares, joint shares of two levels, means of numbers in
each level and covariances of numbers are then those of the covariance that is asked for.

All of it happens in coordinates that vary by one: a number over its deviation, and for a category
with shares π the vector (e − π)/√π, which is at right angles to √π.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["draw_mixed"]

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]

_LEAST_EIGENVALUE = 1e-4
"""Relations are weakened until the correlations of all coordinates have no smaller one."""
_ROUNDS = 10
"""Rounds of raking: cut probabilities are scaled until their means are the shares."""
_LEAST_ROWS = 4096
"""So many rows are drawn at least: the means of few would not tell the shares."""


@dataclass(frozen=True, eq=False)
class _Category:
    """One category: its places, its shares, and its coordinates."""

    places: slice
    shares: Array
    basis: Array
    start: int

    @property
    def coordinates(self) -> slice:
        return slice(self.start, self.start + self.basis.shape[1])


def draw_mixed(
    covariance: Array,
    location: Array,
    groups: tuple[slice, ...],
    rng: np.random.Generator,
    n_rows: int,
) -> tuple[Array, list[Codes]]:
    """Return numbers about their location, and for each category the place of a level.

    Covariance and location are those of all values; `groups` are the values of each category, and
    all others are numbers. What levels of one category have with each other follows from their
    shares, which are in the location.
    """
    categories, numbers = list(_categories(location, groups)), _others(len(location), groups)
    root = np.linalg.cholesky(_correlations(covariance, categories, numbers))
    n_levels, n_drawn = len(root) - len(numbers), max(n_rows, _LEAST_ROWS)
    given, codes = np.empty((n_drawn, n_levels)), []
    for each in categories:
        own = each.coordinates
        expected = given[:, : own.start] @ root[own, : own.start].T
        chosen = _choose(each.shares + expected @ each.basis.T * np.sqrt(each.shares), each, rng)
        codes.append(chosen[:n_rows])
        # (e − π)/√π in the basis, without what the levels before it say.
        seen = (each.basis / np.sqrt(each.shares)[:, None])[chosen]
        given[:, own] = np.linalg.solve(root[own, own], (seen - expected).T).T
    rows = given[:n_rows] @ root[n_levels:, :n_levels].T
    rows += rng.standard_normal((n_rows, len(numbers))) @ root[n_levels:, n_levels:].T
    rows *= np.sqrt(np.diag(covariance))[numbers]
    return rows + location[numbers], codes


def _categories(location: Array, groups: tuple[slice, ...]) -> Iterator[_Category]:
    start = 0
    for places in groups:
        shares = location[places] / location[places].sum()
        yield _Category(places, shares, _complement(np.sqrt(shares)), start)
        start += len(shares) - 1


def _others(size: int, groups: tuple[slice, ...]) -> Codes:
    is_number = np.ones(size, dtype=np.bool_)
    for places in groups:
        is_number[places] = False
    return np.flatnonzero(is_number)


def _complement(unit: Array) -> Array:
    """Return an orthonormal basis of what is at right angles to a unit vector.

    The columns but the first of the reflection that takes the first axis to its opposite.
    """
    normal = unit.copy()
    normal[0] += 1.0  # roots of shares are positive: the sum is far from zero
    reflection = np.eye(len(unit)) - 2 * np.outer(normal, normal) / (normal @ normal)
    return np.asarray(reflection[:, 1:])


def _correlations(covariance: Array, categories: list[_Category], numbers: Codes) -> Array:
    """Return the correlations of all coordinates, weakened until they are possible.

    Coordinates of one category are not correlated. An estimate knows nothing of that, and may be
    off by what its rule kept of other levels.
    """
    widths = [each.basis.shape[1] for each in categories]
    size = sum(widths) + len(numbers)
    turn = np.zeros((len(covariance), size))
    for each in categories:
        turn[each.places, each.coordinates] = each.basis / np.sqrt(each.shares)[:, None]
    deviation = np.sqrt(np.diag(covariance))[numbers]
    turn[numbers, np.arange(sum(widths), size)] = 1 / deviation
    rest = turn.T @ covariance @ turn
    for each in categories:
        rest[each.coordinates, each.coordinates] = 0.0
    np.fill_diagonal(rest, 0.0)
    rest = (rest + rest.T) / 2
    least = float(np.linalg.eigvalsh(rest)[0])
    strength = min(1.0, (1 - _LEAST_EIGENVALUE) / max(-least, 1e-300))
    return np.asarray(np.eye(size) + strength * rest)


def _choose(probabilities: Array, category: _Category, rng: np.random.Generator) -> Codes:
    """Return a level for each row, by probabilities that are cut to be possible."""
    if probabilities.min() < 0:
        probabilities = np.maximum(probabilities, 0.0)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        for _ in range(_ROUNDS):
            mean = probabilities.mean(axis=0)
            probabilities *= category.shares / np.maximum(mean, 1e-300)
            probabilities /= probabilities.sum(axis=1, keepdims=True)
    ends = np.cumsum(probabilities, axis=1)
    drawn = rng.random(len(ends)) * ends[:, -1]
    return np.asarray((ends <= drawn[:, None]).sum(axis=1), dtype=np.intp)
