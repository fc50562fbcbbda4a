"""The noise door: the two ways in which exact numbers become safe to see, and no third.

Owns what a mechanism may do with sums that rows have gone into: add integer noise to them, or
select by them. Everything that `dpcov.release` and the Gaussian report of `dpcov.local` let
out has passed here, so one test can watch all of it
(tests/wiring); a contract holds that nothing else draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.exact.randomness import RandomStream
from dpcov.exact.rounded_gaussian import draw_rounded_gaussian
from dpcov.exact.selection import select_largest

__all__ = ["add_noise", "select_largest"]


def add_noise(
    sums: npt.NDArray[np.integer[Any]], scale: int, stream: RandomStream
) -> npt.NDArray[np.int64]:
    """Return exact sums with independent noise of the law round(scale · N(0, 1)).

    Notes
    -----
    Claim P5. For an integer s, s + round(σN) = round(s + σN): the output of the continuous
    mechanism, rounded.

    Examples
    --------
    >>> add_noise(np.array([5, 7]), 1000, RandomStream.from_seed(1)).dtype
    dtype('int64')
    """
    return sums + draw_rounded_gaussian(scale, len(sums), stream)
