"""Columns of which all pairs were released, out of a release of the strongest pairs.

Owns where their pairs are, and what is said when some are missing: names and pairs are public.
"""

from __future__ import annotations

from itertools import combinations, islice

import numpy as np
import numpy.typing as npt

from dpcov.digits import name_some
from dpcov.errors import ParameterError
from dpcov.multiplicity import count_pairs
from dpcov.releases import PairsRelease

__all__ = ["find_pairs"]

Places = npt.NDArray[np.intp]

_NAMED = 5


def find_pairs(release: PairsRelease, places: Places) -> Places:
    """Return, for each two columns, the place of their pair in the release.

    On the diagonal is 0, which means nothing.
    """
    inside = np.isin(release.pairs, places).all(axis=1)
    wanted = count_pairs(len(places))
    if int(inside.sum()) != wanted:
        pairs = {(int(i), int(j)) for i, j in release.pairs[inside]}
        raise ParameterError(_say_missing(release, places, pairs))
    size = len(release.columns)
    keys = release.pairs[:, 0].astype(np.int64) * size + release.pairs[:, 1]
    low, high = np.minimum.outer(places, places), np.maximum.outer(places, places)
    found = np.searchsorted(keys, low * size + high)
    np.fill_diagonal(found, 0)
    return np.asarray(found, dtype=np.intp)


def _say_missing(release: PairsRelease, places: Places, pairs: set[tuple[int, int]]) -> str:
    names, chosen = release.columns, sorted(places.tolist())
    missing = count_pairs(len(chosen)) - len(pairs)
    absent = (pair for pair in combinations(chosen, 2) if pair not in pairs)
    listed = [f"{names[i]} – {names[j]}" for i, j in islice(absent, _NAMED)]
    more = f" and {missing - _NAMED:,} more" if missing > _NAMED else ""
    shown = f"{', '.join(listed)}{more}" if more else name_some(listed)
    known = _joined(chosen, pairs)
    hint = (
        f"All are there of {name_some(names[place] for place in known)}. "
        if len(known) > 2
        else "No three of these columns have all of them. "
    )
    return (
        f"Nothing was released of {shown}: this answer needs every pair of its columns, and a "
        f"release of the strongest pairs has {len(pairs):,} of {len(pairs) + missing:,}. {hint}"
        "Name fewer columns, or make a release with more pairs (max_pairs=), or of all second "
        "moments (dpcov.release)."
    )


def _joined(chosen: list[int], pairs: set[tuple[int, int]]) -> list[int]:
    """Return columns of which all pairs are there: many of them, if not always the most."""
    neighbors: dict[int, set[int]] = {place: set() for place in chosen}
    for i, j in pairs:
        neighbors[i].add(j)
        neighbors[j].add(i)
    order = sorted(chosen, key=lambda place: -len(neighbors[place]))
    best: list[int] = []
    for start in order[:_NAMED]:
        found = [start]
        for place in order:
            if place in neighbors[start] and neighbors[place].issuperset(found):
                found.append(place)
        best = max(best, found, key=len)
    return sorted(best)
