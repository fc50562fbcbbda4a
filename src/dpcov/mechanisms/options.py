"""What a caller may state about a mechanism, and what does not belong together.

Owns the refusals that need no data and no plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError
from dpcov.parameters import check_choice

__all__ = ["MECHANISMS", "PairOptions", "check_mechanism", "public_vector"]

MECHANISMS = ("dense", "pairs", "auto")
_LARGEST_FACT = 1e100


@dataclass(frozen=True)
class PairOptions:
    """What a caller may state about pairs, as it came."""

    max_pairs: int | None
    center: float | npt.ArrayLike | None
    scales: str | npt.ArrayLike | None
    cell_bound: float | None
    shares: Mapping[str, float] | None

    def named(self) -> list[str]:
        """Return the names of the options that were given."""
        return [name for name, value in vars(self).items() if value is not None]


def check_mechanism(mechanism: str, options: PairOptions, row_norm: float | None) -> str:
    """Refuse what does not belong together, before anything is read."""
    kind = check_choice("mechanism", mechanism, MECHANISMS)
    stated = [name for name in options.named() if kind == "dense" or name != "max_pairs"]
    if kind != "pairs" and stated:
        raise ParameterError(
            f"{', '.join(stated)}: only for the pairs mechanism; add mechanism='pairs'."
        )
    if kind != "dense" and options.max_pairs is None:
        raise ParameterError(
            f"mechanism={kind!r} needs max_pairs: how many pairs of columns to release. Twice as "
            "many as you expect cost little."
        )
    if kind == "auto" and row_norm is None:
        raise ParameterError("mechanism='auto' needs row_norm, in case it chooses 'dense'.")
    if isinstance(options.scales, str):
        check_choice("scales", options.scales, ("none",))
    if options.scales is not None and options.cell_bound is not None:
        raise ParameterError("cell_bound is for released variances; with scales there are none.")
    return kind


def public_vector(
    name: str,
    value: float | npt.ArrayLike | None,
    n_columns: int,
    *,
    positive: bool = False,
) -> npt.NDArray[np.float64] | None:
    """Return a public number for each column, or refuse."""
    if value is None:
        return None
    try:
        given = np.asarray(value)
        numeric = given.dtype.kind in "iuf"
        vector = np.array(np.broadcast_to(given, (n_columns,)), dtype=np.float64)
    except (TypeError, ValueError):
        numeric = False
    if not numeric or not (np.abs(vector) <= _LARGEST_FACT).all():
        raise ParameterError(f"{name} must be a finite number, or one for each column.")
    if positive and not (vector >= 1 / _LARGEST_FACT).all():
        raise ParameterError(f"{name} must be positive: they are public standard deviations.")
    return vector
