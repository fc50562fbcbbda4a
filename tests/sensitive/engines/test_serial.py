"""The engine that reads one block after the other counts the rows that it read."""

import numpy as np
import pytest

from dpcov.errors import InputError
from dpcov.exact.grid import Grid
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.sums.gram import Gram, GramKernel

GRID = Grid(row_norm=2.0, bits=16)
KERNEL = GramKernel(2, GRID, "refuse")
ROWS = np.random.default_rng(0).normal(size=(20, 2))


class Blocks:
    """Rows in blocks of four, which say that they are so many."""

    def __init__(self, n_rows):
        self.n_rows = n_rows

    def blocks(self, size):
        return (ROWS[start : start + 4] for start in range(0, len(ROWS), 4))


@pytest.mark.parametrize("n_rows", [20, None])
def test_all_blocks_are_added_up_also_of_a_table_of_unknown_length(n_rows):
    told = []
    found = SerialEngine(lambda *each: told.append(each)).run("sums", Blocks(n_rows), KERNEL)
    assert found == Gram.from_rows(ROWS, grid=GRID)
    assert told == [("sums", done, n_rows) for done in (4, 8, 12, 16, 20)]


@pytest.mark.claim("P7")
@pytest.mark.parametrize("n_rows", [0, 19, 21])
def test_another_number_of_rows_than_the_table_has_is_refused(n_rows):
    with pytest.raises(InputError, match="another number of rows than when it was opened"):
        SerialEngine().run("sums", Blocks(n_rows), KERNEL)
