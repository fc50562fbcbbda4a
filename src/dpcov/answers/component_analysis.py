"""Principal components of a release: which there are, their loadings, and how sure they are.

Owns the order of the steps. Eigenvalues and eigenvectors of the released matrix are freed of what
noise adds to them on average; rotations come last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpcov.answers.components import Components, Eigenvalues
from dpcov.answers.correlation_block import Block
from dpcov.answers.eigen_errors import EigenErrors
from dpcov.answers.numbers import choose_numbers
from dpcov.answers.parallel import count_above, unrelated_eigenvalues
from dpcov.answers.rotation import ROTATIONS, rotate
from dpcov.answers.spectrum import APART, CROWDED, Spectrum
from dpcov.errors import ParameterError
from dpcov.parameters import check_choice, check_count
from dpcov.postprocess.joint import check_about
from dpcov.releases import Release

__all__ = ["find_components"]

Array = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

_MOST_TURNED = 1.0
"""A component is told if its eigenvector is off by less than 45°: tan² of that."""
_MOST_ROTATED = 4000
"""So many loadings at most are rotated: the errors of all of them go together."""
_LEAST = 1e-6
"""No eigenvalue is taken to be a smaller share of the mean variance."""


def find_components(
    release: Release,
    n: int | None,
    columns: Sequence[str] | None,
    *,
    of: str,
    rotation: str | None,
    about: str,
) -> Components:
    """Return the principal components of some columns: see `Release.components`."""
    check_about(about)
    standardized = check_choice("of", of, ("correlation", "covariance")) == "correlation"
    if rotation is not None:
        check_choice("rotation", rotation, ROTATIONS)
    places = choose_numbers(release, columns, least=3, what="Components are computed")
    block = Block(release, places, about, standardized)
    if n is not None:
        check_count("n", n, low=1, high=block.size)
    spectrum = Spectrum(block)
    unrelated = unrelated_eigenvalues(block)
    above = count_above(spectrum.seen, unrelated)
    count = max(above, 1) if n is None else int(n)
    if rotation is not None and count * block.size > _MOST_ROTATED:
        raise ParameterError(
            f"{count} components of {block.size} columns have too many loadings to be rotated: "
            "ask for fewer components, or name fewer columns."
        )
    shifts = np.array([spectrum.shift(place) for place in range(count)])
    total = float(np.sum((block.deviations / block.unit) ** 2))
    values = np.maximum(spectrum.seen[:count] - shifts[:, 0], _LEAST * total / block.size)
    errors = EigenErrors(spectrum, values)
    doubt = shifts[:, 1] + spectrum.clipping_doubts[:count] * values**2
    eigenvalues = Eigenvalues(
        values=values,
        standard_errors=np.sqrt(errors.of_values + doubt),
        share_errors=np.sqrt(errors.of_shares(total) + doubt / total**2),
        # What noise and clipping leave in doubt goes the same way in all of them.
        joint_share_error=float(
            np.hypot(np.sqrt(errors.of_joint_share(total)), np.sqrt(doubt).sum() / total)
        ),
        total=total,
        crowds=_sizes(spectrum.groups(CROWDED))[:count],
        seen=spectrum.seen.copy(),
        unrelated=unrelated,
        above=above,
    )
    return _with_loadings(errors, eigenvalues, rotation)


def _with_loadings(
    errors: EigenErrors, eigenvalues: Eigenvalues, rotation: str | None
) -> Components:
    spectrum, values = errors.spectrum, eigenvalues.values
    block, count = spectrum.block, len(values)
    groups = spectrum.groups(APART)
    turned = np.array([_turned(errors, groups, place, rotation) for place in range(count)])
    # An eigenvector that is off by an angle has its entries too small by the cosine of it.
    stretch = np.sqrt(1 + np.minimum(turned, _MOST_TURNED))
    plain = spectrum.vectors[:, :count] * np.sqrt(values) * stretch
    rotated = rotate(plain, rotation)
    variances = errors.of_loadings() if rotation is None else errors.of_rotated(rotated)
    doubts = rotated.turn.T**2 @ spectrum.clipping_doubts[:count]
    variances = variances + doubts * rotated.loadings**2 / 4
    told = turned < _MOST_TURNED
    if rotation is None:
        told &= _sizes(groups)[:count] == 1
    else:
        cut = count < block.size and groups[count - 1] == groups[count]
        told &= bool(told.all()) and not cut
    return Components(
        block=block,
        eigenvalues=eigenvalues,
        rotation=rotation,
        loadings=rotated.loadings,
        loading_errors=np.sqrt(variances),
        correlations=rotated.correlations,
        told=told,
        groups=_members(groups, count),
        weights=_weights(spectrum, values, plain, rotated.loadings),
    )


def _turned(errors: EigenErrors, groups: Places, place: int, rotation: str | None) -> float:
    """Return tan² of the angle by which noise turned a component away.

    Turns among those that cannot be told apart, or that are rotated in any case, do not count.
    """
    spectrum = errors.spectrum
    beside = groups != groups[place]
    if rotation is not None:
        beside[: len(errors.values)] = False
    gaps = np.abs(spectrum.seen[place] - spectrum.seen)[beside]
    return float((errors.moved[place][beside] / np.maximum(gaps, 1e-300) ** 2).sum())


def _sizes(groups: Places) -> Places:
    """Return how large the group of each eigenvalue is."""
    return np.asarray(np.bincount(groups)[groups])


def _members(groups: Places, count: int) -> tuple[tuple[int, ...], ...]:
    """Return the groups of components that cannot be told apart, of those that are kept."""
    kept = np.unique(groups[:count])
    found = (tuple(np.flatnonzero(groups == group).tolist()) for group in kept)
    return tuple(group for group in found if len(group) > 1)


def _weights(spectrum: Spectrum, values: Array, plain: Array, loadings: Array) -> Array:
    """Return weights of columns in scores of unit variance: V Λ^(−1/2), turned as loadings are."""
    count = len(values)
    unrotated = spectrum.vectors[:, :count] / np.sqrt(values)
    turn = np.linalg.lstsq(plain, loadings, rcond=None)[0]
    # Pattern loadings are L T; scores that belong to them go with the inverse, transposed.
    return np.asarray(unrotated @ np.linalg.inv(turn).T)
