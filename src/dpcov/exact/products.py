"""The product of a block of whole rows with itself: by BLAS, exact, and checked.

Owns Σ w wᵀ, panel by panel, and Freivalds' check of every panel in integers. It does not
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
        Receives the sums. Its integers are also those of the check.
    floats : type
        Of the blocks, and of the products in BLAS.
    pool : ThreadPoolExecutor, optional
        The threads for all that is not BLAS; by default the caller's alone.
    probe : ndarray of integers, optional
        Of whoever computes the images of rows in another way; by default all bits are random.

    Notes
    -----
    The check of a panel G of rows a … b − 1 and columns a … is G r = W_abᵀ (W_a r), for
    random integers r, where W_ab are the columns a … b − 1 of the block and W_a those from
    a on. The sums W_a r of one panel are those of the next and a little more, so that all
    panels together cost what the whole matrix would.
    """

    def __init__(
        self,
        sums: Triangle,
        floats: type[np.floating[Any]],
        pool: ThreadPoolExecutor | None = None,
        *,
        probe: Integers | None = None,
    ) -> None:
        self._sums, self._pool = sums, pool
        self._digits = np.finfo(floats).nmant + 1
        self._buffer = np.empty(max(panel.size for _, panel in sums.panels()), dtype=floats)
        self._integers = np.empty(0, dtype=sums.dtype)
        if probe is None:
            entropy = os.urandom(sums.dtype.itemsize * sums.size)
            probe = np.frombuffer(entropy, dtype=sums.dtype)
        self._probe: Integers = probe
        self._bounds = [(start, start + len(panel)) for start, panel in sums.panels()]

    def image(self, rows: Integers) -> Integers:
        """Return what some rows add to the right-hand sides of all checks."""
        image = np.empty_like(self._probe)
        seen = np.zeros(len(rows), dtype=self._probe.dtype)
        for start, stop in reversed(self._bounds):
            own = rows[:, start:stop]
            seen += np.einsum("ij,j->i", own, self._probe[start:stop])
            np.einsum("i,ij->j", seen, own, out=image[start:stop])
        return image

    def add(self, block: Floats, image: Integers) -> None:
        """Add Σ w wᵀ over the rows of a block, of which `image` is the image."""
        for start, panel in self._sums.panels():
            stop = start + len(panel)
            product = self._buffer[: panel.size].reshape(panel.shape)
            _multiply(block[:, start:], product)
            if not self._check_and_add(product, panel, self._probe[start:], image[start:stop]):
                raise InexactArithmeticError(
                    "This machine's matrix product is not exact on integers below "
                    f"2^{self._digits}. Nothing was released. Install numpy with another BLAS."
                )

    def over_rows(self, work: Callable[[slice], T], shape: tuple[int, int]) -> Iterable[T]:
        """Run `work` on slices of the rows of an array, on the threads of the pool."""
        n_rows, n_columns = shape
        step = max(16, _CHUNK_BYTES // (8 * n_columns))
        slices = [slice(start, start + step) for start in range(0, n_rows, step)]
        if self._pool is None or len(slices) == 1:  # which is not worth a thread
            return map(work, slices)
        return self._pool.map(work, slices)

    def _check_and_add(
        self, product: Floats, panel: Integers, probe: Integers, image: Integers
    ) -> bool:
        def check_and_add(part: slice) -> bool:
            integers = self._as_integers(product[part])
            panel[part] += integers
            return np.array_equal(np.einsum("ij,j->i", integers, probe), image[part])

        return all(self.over_rows(check_and_add, panel.shape))

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
