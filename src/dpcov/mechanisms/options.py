"""What a caller may state about a mechanism, and what does not belong together.

Owns the refusals that need no data and no plan.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
import numpy.typing as npt

from dpcov.columns import Column, Columns
from dpcov.columns.units import LARGEST_FACT
from dpcov.errors import ParameterError
from dpcov.mechanisms.outlook import choose_center
from dpcov.mechanisms.radius import PrivateRadius
from dpcov.parameters import check_choice, check_count
from dpcov.privacy import ApproxDP

__all__ = ["MECHANISMS", "Stated", "public_vector", "read_facts"]

MECHANISMS = ("dense", "pairs", "auto")
_ONLY_PAIRS = ("max_pairs", "cell_bound")
_ONLY_DENSE = ("target", "heavy_tails")

Vector = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Stated:
    """What a caller stated about the mechanism, as it came; None is what was not stated."""

    mechanism: str
    row_norm: float | PrivateRadius | None
    max_pairs: int | None
    center: str | float | npt.ArrayLike | None
    scales: str | npt.ArrayLike | None
    cell_bound: float | None
    shares: Mapping[str, float] | None
    target: str | None
    heavy_tails: bool
    rows_per_unit: int

    def check(self, *, facts: Columns | None) -> None:
        """Refuse what does not belong together, before anything is read."""
        kind = check_choice("mechanism", self.mechanism, MECHANISMS)
        if isinstance(self.center, str):
            check_choice("center", self.center, ("public", "private", "differences", "learned"))
        if isinstance(self.scales, str):
            check_choice("scales", self.scales, ("public", "private", "none"))
        if not isinstance(self.heavy_tails, bool):
            raise ParameterError("heavy_tails must be True or False.")
        if isinstance(self.row_norm, (str, type)):
            raise ParameterError(
                "row_norm must be a number, or dpcov.PrivateRadius() to choose it and pay for it."
            )
        check_count("rows_per_unit", self.rows_per_unit, low=1, high=10**6)
        if facts is not None and (_is_numeric(self.center) or _is_numeric(self.scales)):
            raise ParameterError(
                "Centers and scales are among the facts of columns=; do not state them twice."
            )
        {"dense": self._check_dense, "pairs": self._check_pairs, "auto": self._check_auto}[kind]()

    def _check_dense(self) -> None:
        self._refuse(_ONLY_PAIRS, "only for the pairs mechanism; add mechanism='pairs'.")
        if _says(self.scales, "none"):
            raise ParameterError("scales='none' is only for the pairs mechanism.")
        if _says(self.center, "learned"):
            raise ParameterError("center='learned' is only for the pairs mechanism.")
        if self.target is not None:
            check_choice("target", self.target, ("covariance", "correlation"))
            if not _says(self.scales, "private"):
                raise ParameterError("target is for scales='private', which are learned for it.")
        if _says(self.scales, "private") and not isinstance(self.row_norm, PrivateRadius):
            raise ParameterError(
                "scales='private' changes the units in which row_norm would be stated: pass "
                "row_norm=dpcov.PrivateRadius()."
            )
        if self.heavy_tails and _says(self.center, "private"):
            raise ParameterError(
                "heavy_tails=True keeps directions only, which have no mean to take out: state "
                "centers, or use center='differences'."
            )

    def _check_pairs(self) -> None:
        self._refuse(_ONLY_DENSE, "only for the dense mechanism.")
        if self.max_pairs is None:
            raise ParameterError(_NEEDS_PAIRS.format(kind="pairs"))
        if isinstance(self.row_norm, PrivateRadius):
            raise ParameterError(
                "The pairs mechanism needs no row norm but for variances, and takes a number for "
                "it; leave it out, or state public scales=."
            )
        if _says(self.center, "private"):
            raise ParameterError(
                "The pairs mechanism takes signs about a public or a learned center, or of "
                "differences of rows: center must be 'public', 'learned', 'differences' or "
                "numbers."
            )
        if isinstance(self.scales, str) and self.scales != "none":
            raise ParameterError(
                "For pairs, scales= are public standard deviations of the columns, or 'none'."
            )
        if self.scales is not None and self.cell_bound is not None:
            raise ParameterError(
                "cell_bound is for released variances; with scales there are none."
            )

    def _check_auto(self) -> None:
        self._refuse(
            ("center", "scales", "cell_bound", "shares", *_ONLY_DENSE),
            "only for a mechanism that is named; state mechanism='pairs' or 'dense'.",
        )
        if self.max_pairs is None:
            raise ParameterError(_NEEDS_PAIRS.format(kind="auto"))
        if self.row_norm is None or isinstance(self.row_norm, PrivateRadius):
            raise ParameterError(
                "mechanism='auto' needs row_norm, a number, in case it chooses 'dense'."
            )
        if self.rows_per_unit > 1:
            raise ParameterError("mechanism='auto' is not for several rows per unit; name one.")

    @property
    def takes_differences(self) -> bool:
        """Whether the caller asks for differences of rows."""
        return _says(self.center, "differences")

    def pairs_center(
        self, promise: ApproxDP, *, n_rows: int | None, n_columns: int, on_workers: bool
    ) -> str:
        """Return what signs are about; if nothing is stated, what shows more."""
        if self.center is None:
            return choose_center(
                promise,
                n_rows=n_rows,
                n_columns=n_columns,
                max_pairs=self.max_pairs,  # type: ignore[arg-type]  # checked before
                rows_per_unit=self.rows_per_unit,
                on_workers=on_workers,
            )
        return self.center if _is_word(self.center) else "public"

    def _refuse(self, names: Sequence[str], why: str) -> None:
        given = [name for name in names if not _is_absent(getattr(self, name))]
        if given:
            raise ParameterError(f"{', '.join(given)}: {why}")


_NEEDS_PAIRS = (
    "mechanism={kind!r} needs max_pairs: how many pairs of columns to release. Twice as many as "
    "you expect cost little."
)


def read_facts(
    columns: Columns | Mapping[str, Mapping[str, float]] | str | os.PathLike[str] | object,
) -> Columns | None:
    """Return public facts if `columns` states any; None if it is names, or nothing."""
    if isinstance(columns, Columns):
        return columns
    if isinstance(columns, (list, tuple)) and any(isinstance(each, Column) for each in columns):
        return Columns(columns)
    if isinstance(columns, Mapping):
        return Columns.from_mapping(columns)
    if isinstance(columns, (str, os.PathLike)):
        return Columns.load(columns)
    return None


def public_vector(
    name: str,
    value: float | npt.ArrayLike | None,
    n_columns: int,
    *,
    positive: bool = False,
) -> Vector | None:
    """Return a public number for each column, or refuse."""
    if value is None:
        return None
    try:
        given = np.asarray(value)
        numeric = given.dtype.kind in "iuf"
        vector = np.array(np.broadcast_to(given, (n_columns,)), dtype=np.float64)
    except (TypeError, ValueError):
        numeric = False
    if not numeric or not (np.abs(vector) <= LARGEST_FACT).all():
        raise ParameterError(f"{name} must be a finite number, or one for each column.")
    if positive and not (vector >= 1 / LARGEST_FACT).all():
        raise ParameterError(f"{name} must be positive: they are public standard deviations.")
    return vector


def _is_numeric(value: object) -> bool:
    return value is not None and not isinstance(value, str)


def _is_absent(value: object) -> bool:
    return value is None or value is False


def _is_word(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _says(value: object, word: str) -> bool:
    return isinstance(value, str) and value == word
