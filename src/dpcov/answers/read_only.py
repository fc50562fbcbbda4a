"""Values whose arrays cannot be changed.

Owns that. A value that was computed once is shown in many places, and stays what it is.
"""

from __future__ import annotations

import numpy as np

__all__ = ["ReadOnly"]


class ReadOnly:
    """A base of frozen data classes that makes their arrays read-only."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
