"""Weights of rows as shares of their bound.

Owns what a weight stands for, whatever is written there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["weight_shares"]


def weight_shares(weights: npt.NDArray[Any], bound: float) -> npt.NDArray[np.float64]:
    """Return weights as shares of their bound, from 0 to 1; what is no weight counts as 0.

    Notes
    -----
    Claim P27. The share follows from one cell, and is never below 0 or above 1.

    Examples
    --------
    >>> weight_shares(np.array([0.5, 3.0, -1.0, np.nan, np.inf]), 2.0)
    array([0.25, 1.  , 0.  , 0.  , 1.  ])
    """
    with np.errstate(all="ignore"):
        shares = np.array(weights, dtype=np.float64) / bound
        np.clip(shares, 0.0, 1.0, out=shares)
    shares[np.isnan(shares)] = 0.0
    return shares
