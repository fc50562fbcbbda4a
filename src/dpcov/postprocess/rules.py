"""Thresholding rules: how an entry of a given size is shrunk at a given threshold.

Owns the shrinkage functions. A rule acts on sizes (absolute values in units of the
entry's own standard deviation) and returns sizes; signs are restored by the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from dpcov.errors import ParameterError

__all__ = ["RULES", "Rule", "apply_rule", "find_rule"]

Array = npt.NDArray[np.float64]
Rule = Callable[[Array, Array], Array]

_SCAD_A = 3.7  # Fan and Li (2001), section 2
_LASSO_ETA = 3.0  # Cai and Liu (2011) use η = 4; 3 leaves less bias at our thresholds


def _hard(size: Array, threshold: Array) -> Array:
    return np.where(size > threshold, size, 0.0)


def _soft(size: Array, threshold: Array) -> Array:
    return np.maximum(size - threshold, 0.0)


def _scad(size: Array, threshold: Array) -> Array:
    """Fan and Li (2001), equation 2.8: soft near the threshold, untouched far from it."""
    middle = ((_SCAD_A - 1) * size - _SCAD_A * threshold) / (_SCAD_A - 2)
    inner = np.where(size <= 2 * threshold, np.maximum(size - threshold, 0.0), middle)
    return np.where(size > _SCAD_A * threshold, size, inner)


def _adaptive_lasso(size: Array, threshold: Array) -> Array:
    """Rothman, Levina and Zhu (2009), section 2: |y| − λ^(η+1) |y|^−η, where positive."""
    above = size > threshold
    ratio = np.divide(threshold, size, out=np.ones_like(size), where=above)
    return np.where(above, size * (1.0 - ratio ** (_LASSO_ETA + 1)), 0.0)


RULES: Mapping[str, Rule] = MappingProxyType(
    {"hard": _hard, "soft": _soft, "scad": _scad, "adaptive-lasso": _adaptive_lasso}
)
"""The rules by name."""


def find_rule(rule: str | Rule) -> tuple[str, Rule]:
    """Return the name and the function of a rule, which may be the caller's own.

    Examples
    --------
    >>> name, shrink = find_rule("soft")
    >>> shrink(np.array([0.5, 3.0]), np.array(1.0))
    array([0., 2.])
    """
    if callable(rule):
        return getattr(rule, "__name__", "custom"), rule
    if not isinstance(rule, str) or rule not in RULES:
        known = ", ".join(repr(name) for name in ("auto", *RULES, "empirical-bayes", "low-rank"))
        raise ParameterError(f"rule must be one of {known}, or a function; got {rule!r}.")
    return rule, RULES[rule]


def apply_rule(rule: Rule, size: Array, threshold: Array) -> Array:
    """Shrink sizes, and check what a caller's own rule returns."""
    shrunk = np.asarray(rule(size, threshold), dtype=np.float64)
    if shrunk.shape != size.shape or not np.all(np.isfinite(shrunk)) or (shrunk < 0).any():
        raise ParameterError(
            "A rule must return one finite, non-negative size for each size it is given."
        )
    return shrunk
