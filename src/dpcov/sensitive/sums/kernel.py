"""Kernels: how a stream of blocks becomes sums that can be added exactly.

Owns the protocol that all sums follow and all engines use.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeVar

import numpy.typing as npt

__all__ = ["Kernel"]

S_co = TypeVar("S_co", covariant=True)


class Kernel(Protocol[S_co]):
    """How blocks of rows become sums. Holds nothing but facts that are public or paid for.

    One with `has_small_sums` can be given pieces of a table on several threads at once: its
    sums take little memory and time beside what they are made of.
    """

    @property
    def block_rows(self) -> int:
        """How many rows a block should have."""

    def sum_over(self, blocks: Iterable[npt.NDArray[Any]], *, threads: int | None = None) -> S_co:
        """Return the sums over a stream of blocks. They can be added with ``+``.

        It uses at most `threads` threads; by default the cores that this process may use.
        """
