import numpy as np
import pytest
from scipy.sparse import csr_array

from dpcov.plot import order
from dpcov.plot.order import block_order


def shuffled_blocks(sizes, alone, seed=0):
    size = sum(sizes) + alone
    block_of = np.concatenate([np.repeat(np.arange(len(sizes)), sizes), -np.ones(alone, int)])
    block_of = np.random.default_rng(seed).permutation(block_of)
    linked = (block_of[:, None] == block_of) & (block_of >= 0)[:, None]
    return csr_array(0.5 * linked * (1 - np.eye(size))), block_of


def test_blocks_stand_together_the_largest_first_and_the_unrelated_last():
    matrix, block_of = shuffled_blocks([3, 7, 5], alone=4)
    assert block_of[block_order(matrix)].tolist() == [1] * 7 + [2] * 5 + [0] * 3 + [-1] * 4


def test_within_a_component_the_more_similar_are_nearer():
    # Two tight groups that one weak link joins.
    matrix = np.zeros((6, 6))
    for group in ([0, 3, 5], [1, 2, 4]):
        matrix[np.ix_(group, group)] = 0.8
    matrix[0, 1] = matrix[1, 0] = 0.1
    np.fill_diagonal(matrix, 0)
    places = block_order(csr_array(matrix)).tolist()
    assert {frozenset(places[:3]), frozenset(places[3:])} == {
        frozenset({0, 3, 5}),
        frozenset({1, 2, 4}),
    }
    assert abs(places.index(0) - places.index(1)) == 1


@pytest.mark.parametrize("limit", ["_BEST_ORDER", "_TREE"])
def test_a_component_that_is_too_large_for_the_best_order_still_gets_one(limit, monkeypatch):
    monkeypatch.setattr(order, limit, 2)
    matrix, block_of = shuffled_blocks([4, 6], alone=2)
    assert block_of[block_order(matrix)].tolist() == [1] * 6 + [0] * 4 + [-1] * 2


def test_without_relations_the_order_is_the_given_one():
    assert block_order(csr_array((4, 4))).tolist() == [0, 1, 2, 3]
