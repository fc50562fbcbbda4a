"""Relative shares of a budget, as a caller states them.

Owns how they are checked, and split among the steps that are taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpcov.errors import ParameterError
from dpcov.parameters import check_number

__all__ = ["check_shares", "split"]


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
    defaults: Mapping[str, float], shares: Mapping[str, float] | None, *, most: float = 1e6
) -> dict[str, float]:
    """Return the share of every step, as stated or by default; or refuse."""
    stated = {} if shares is None else shares
    if not isinstance(stated, Mapping) or not set(stated) <= set(defaults):
        raise ParameterError(
            f"shares must be a mapping whose keys are among {', '.join(defaults)}."
        )
    return {
        step: check_number(
            f"share of {step}",
            stated.get(step, default),
            low=1e-6,
            high=most,
            open_low=False,
            advice="Every step that is taken needs a share.",
        )
        for step, default in defaults.items()
    }
