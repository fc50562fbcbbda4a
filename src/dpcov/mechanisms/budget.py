"""The budget of the dense mechanism: one promise, split among the steps it needs.

Owns the split. Everything follows from public facts, before a row is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpcov.errors import ParameterError
from dpcov.parameters import check_number
from dpcov.privacy import ApproxDP, Gaussian, Selection
from dpcov.privacy.adaptive import LARGEST_RANGE, adaptive_scale

__all__ = ["GAUSSIAN_SHARES", "Budget", "check_shares", "split", "split_budget"]

GAUSSIAN_SHARES = {"moments": 1.0}
"""Relative shares of the Gaussian steps; those of steps that are not taken go to the others."""


@dataclass(frozen=True)
class Budget:
    """What each step may cost. All of it is public.

    Parameters
    ----------
    promise : ApproxDP
        What all steps together pay for.
    selection_range : float
        The range of the privacy loss of each selection; 0 if there is none.
    multipliers : mapping of str to float
        For each Gaussian step, its noise sd over its ℓ₂ sensitivity.
    """

    promise: ApproxDP
    selection_range: float
    multipliers: Mapping[str, float]

    def gaussian(self, name: str) -> Gaussian:
        """Return what a Gaussian step does."""
        return Gaussian(name, self.multipliers[name])

    def selection(self, name: str) -> Selection:
        """Return what a selection does."""
        return Selection(name, self.selection_range)


def split_budget(
    promise: ApproxDP,
    *,
    selections: int,
    selection_share: float,
    gaussians: Sequence[str],
    shares: Mapping[str, float] | None = None,
) -> Budget:
    """Split a promise among selections and Gaussian steps.

    Parameters
    ----------
    promise : ApproxDP
        The whole budget.
    selections : int
        How many selections there are.
    selection_share : float
        The share of epsilon that the ranges of all selections add up to.
    gaussians : sequence of str
        The Gaussian steps: those of `GAUSSIAN_SHARES` that are taken.
    shares : mapping, optional
        Relative shares of these; by default `GAUSSIAN_SHARES`.

    Notes
    -----
    Claim P13. Gaussian steps with Σ 1/σ_i² = 1/σ² are together one Gaussian of multiplier σ,
    which `adaptive_scale` finds beside the selections.

    Examples
    --------
    >>> promise = ApproxDP(1.0, 1e-5, "replace")
    >>> budget = split_budget(promise, selections=1, selection_share=0.1, gaussians=["moments"])
    >>> round(budget.multipliers["moments"], 3)
    3.815
    """
    width = 0.0
    if selections:
        width = min(LARGEST_RANGE, selection_share * promise.epsilon / selections)
    whole = adaptive_scale(
        epsilon=promise.epsilon,
        delta=promise.delta,
        selections=selections,
        selection_range=width,
    )
    weights = split(gaussians, GAUSSIAN_SHARES, shares)
    # A step of its own has all of it, to the bit; a split is rounded toward more noise.
    up = 1.0 if len(weights) == 1 else 1 + 2.0**-48
    multipliers = {name: whole / math.sqrt(weight) * up for name, weight in weights.items()}
    return Budget(promise, width, multipliers)


def split(
    taken: Sequence[str], defaults: Mapping[str, float], shares: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the share of each step that is taken; they add up to 1.

    Examples
    --------
    >>> split(["selection", "values"], {"selection": 2, "values": 2, "variances": 1}, None)
    {'selection': 0.5, 'values': 0.5}
    """
    weights = check_shares(defaults, shares)
    whole = sum(weights[step] for step in taken)
    return {step: weights[step] / whole for step in taken}


def check_shares(
    defaults: Mapping[str, float], shares: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the relative share of every step, as stated or by default; or refuse."""
    stated = {} if shares is None else shares
    if not isinstance(stated, Mapping) or not set(stated) <= set(defaults):
        raise ParameterError(f"shares must be a mapping that names {', '.join(defaults)}.")
    return {
        step: check_number(
            f"share of {step}",
            stated.get(step, default),
            low=1e-6,
            high=1e6,
            open_low=False,
            advice="Every step that is taken needs a share.",
        )
        for step, default in defaults.items()
    }
