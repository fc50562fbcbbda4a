"""The product of a block of whole rows with itself: by BLAS, and exact.

Owns Σ w wᵀ, panel by panel, and Freivalds' check of the first block of each shape. It does not
know where the rows come from; who calls it sees to it that all partial sums are integers
that the floats hold.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from dpcov.errors import InexactArithmeticError
from dpcov.exact.triangle import Integers, Triangle

__all__ = ["CheckedProducts"]

T = TypeVar("T")
Floats = npt.NDArray[np.floating[Any]]

_CHUNK_BYTES = 4 << 20  # what one thread works on at a time: worth a call, fit for the cache


class CheckedProducts:
    """Adds the products of blocks to a triangle.

    Parameters
    ----------
    sums : Triangle
        Receives the sums.
    floats : type
        Of the blocks, and of the products in BLAS.
    pool : ThreadPoolExecutor, optional
        The threads for all that is not BLAS; by default the caller's alone.

    Notes
    -----
    Claim P7. Integers below 2^53 (in float32 2^24) are exact in any BLAS that conforms. The first
    block of each shape is checked: it reaches the kernel and the threads that all blocks of that
    shape use. So a kernel that is broken or of reduced precision is caught, and a processor that
    errs in a later block is not. The check of a panel G of rows a … b − 1 and columns a … is
    G r = W_abᵀ (W_a r) in integers, for random integers r, where W_ab are the columns a … b − 1 of
    the block and W_a those from a on.
    """

    def __init__(
        self,
        sums: Triangle,
        floats: type[np.floating[Any]],
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self._sums, self._pool = sums, pool
        self._digits = np.finfo(floats).nmant + 1
        self._buffer = np.empty(max(panel.size for _, panel in sums.panels()), dtype=floats)
        self._integers = np.empty(0, dtype=sums.dtype)
        entropy = os.urandom(sums.dtype.itemsize * sums.size)
        self._probe: Integers = np.frombuffer(entropy, dtype=sums.dtype)
        self._checked: set[tuple[int, ...]] = set()
        self._bounds = [(start, start + len(panel)) for start, panel in sums.panels()]

    def image(self, rows: Integers) -> Integers:
        """Return WᵀW r of some rows, panel by panel, in integers."""
        image = np.empty_like(self._probe)
        seen = np.zeros(len(rows), dtype=self._probe.dtype)
        for start, stop in reversed(self._bounds):
            own = rows[:, start:stop]
            seen += np.einsum("ij,j->i", own, self._probe[start:stop])
            np.einsum("i,ij->j", seen, own, out=image[start:stop])
        return image

    def add(self, block: Floats) -> None:
        """Add Σ w wᵀ over the rows of a block."""
        is_new = block.shape not in self._checked
        image = self.image(block.astype(self._sums.dtype)) if is_new else None
        self._checked.add(block.shape)
        for start, panel in self._sums.panels():
            product = self._buffer[: panel.size].reshape(panel.shape)
            _multiply(block[:, start:], product)
            if image is not None and not self._agrees(product, start, image):
                raise InexactArithmeticError(
                    "This machine's matrix product is not exact on integers below "
                    f"2^{self._digits}. Nothing was released. Install numpy with another BLAS."
                )
            self._add(product, panel)

    def over_rows(self, work: Callable[[slice], T], shape: tuple[int, int]) -> Iterable[T]:
        """Run `work` on slices of the rows of an array, on the threads of the pool."""
        n_rows, n_columns = shape
        step = max(16, _CHUNK_BYTES // (8 * n_columns))
        slices = [slice(start, start + step) for start in range(0, n_rows, step)]
        if self._pool is None or len(slices) == 1:  # which is not worth a thread
            return map(work, slices)
        return self._pool.map(work, slices)

    def _agrees(self, product: npt.NDArray[Any], start: int, image: Integers) -> bool:
        """Return whether a panel of products is that of the rows of an image."""
        own = image[start : start + len(product)]
        return np.array_equal(self._seen(product.astype(self._sums.dtype), start), own)

    def _seen(self, panel: Integers, start: int) -> Integers:
        seen: Integers = np.einsum("ij,j->i", panel, self._probe[start:])
        return seen

    def _add(self, product: Floats, panel: Integers) -> None:
        def add(part: slice) -> None:
            panel[part] += self._as_integers(product[part])

        for _ in self.over_rows(add, panel.shape):
            pass

    def _as_integers(self, product: Floats) -> Integers:
        """Return a product in integers; one thread alone uses the same memory for all of them."""
        if self._pool is not None:
            return product.astype(self._sums.dtype)
        if self._integers.size < product.size:
            self._integers = np.empty(product.size, dtype=self._sums.dtype)
        integers = self._integers[: product.size].reshape(product.shape)
        np.copyto(integers, product, casting="unsafe")
        return integers


def _multiply(columns: Floats, product: Floats) -> None:
    """Write the first rows of Wᵀ W: the square by a symmetric product, which is half the work."""
    height, width = product.shape
    square = columns[:, :height]
    np.matmul(square.T, square, out=product[:, :height])
    if height < width:
        np.matmul(square.T, columns[:, height:], out=product[:, height:])
