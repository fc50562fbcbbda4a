"""How long the pieces of a table are."""

from types import SimpleNamespace

import pytest

from dpcov.sensitive.engines.piecewise import choose_parts
from dpcov.sensitive.tables.pieces import tapering

KERNEL = SimpleNamespace(block_rows=10)


def parts(n_rows, cores=2, *, is_in_order):
    return choose_parts(SimpleNamespace(n_rows=n_rows), KERNEL, cores, is_in_order=is_in_order)


@pytest.mark.parametrize(("n_rows", "blocks"), [(1, 1), (10, 1), (11, 2), (45, 5)])
def test_no_piece_is_shorter_than_a_block(n_rows, blocks):
    assert parts(n_rows, is_in_order=False) == blocks
    assert parts(n_rows, is_in_order=True) == tapering(blocks, 2) == [1] * blocks


def test_a_long_table_has_pieces_by_the_number_of_cores():
    for cores in (1, 2, 5):
        assert parts(10**6, cores, is_in_order=False) == 4 * cores
        assert parts(10**6, cores, is_in_order=True) == tapering(16 * cores, cores)


@pytest.mark.parametrize("n_rows", [0, None])
def test_a_table_of_unknown_length_is_one_piece(n_rows):
    assert parts(n_rows, is_in_order=False) == 1
    assert parts(n_rows, is_in_order=True) == [1]
