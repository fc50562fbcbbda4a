"""Claim P19 for pieces: the pairs are those of the table in one piece, wherever it is cut."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError, SensitiveDataError
from dpcov.exact.sealed import Sealed
from dpcov.sensitive.engines.paired import PairedSums, Pairing, pairing_of, sum_rows
from dpcov.sensitive.sums.signs import SignKernel
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.differences import DifferenceSource
from dpcov.sensitive.tables.pieces import Split, split_rows

PAIRING = Pairing(3, 6)


class Kept(Sealed):
    """Differences as they come, in place of sums: in any order, as sums are."""

    __slots__ = ("rows",)

    def __init__(self, rows):
        self._hold(rows=rows)

    def __add__(self, other):
        return Kept(self.rows + other.rows)


class Keep:
    """A kernel that shows which differences it was given."""

    block_rows = 3

    def sum_over(self, blocks, *, threads=None):
        return Kept([tuple(row) for block in blocks for row in block])


def pieces(rows, cuts, kernel):
    ends = [0, *sorted(cuts), len(rows)]
    return [
        PairedSums.from_blocks(
            # Blocks of any length: what is read does not know where blocks of pairs begin.
            [rows[start : start + 4], rows[start + 4 : stop]] if stop - start > 4 else
            [rows[start:stop]],
            start=start, kernel=kernel, pairing=PAIRING,
        )
        for start, stop in pairwise(ends)
    ]  # fmt: skip


@pytest.mark.claim("P19")
@given(
    st.integers(2, 40),
    st.lists(st.integers(0, 40), max_size=6),
    st.randoms(use_true_random=False),
)
def test_pieces_make_the_differences_of_the_whole_in_any_order(n_rows, cuts, random):
    rows = np.eye(n_rows)
    parts = pieces(rows, [cut for cut in cuts if cut <= n_rows], Keep())
    while len(parts) > 1:
        random.shuffle(parts)
        parts.append(parts.pop() + parts.pop())
    whole = Keep().sum_over(DifferenceSource(open_table(rows), PAIRING.seed).blocks(3)).rows
    assert sorted(parts[0].finish(n_rows).rows) == sorted(whole)


def test_rows_wait_only_for_blocks_that_lie_across_a_cut():
    first, second = pieces(np.eye(30), [14], Keep())
    assert set(first._waiting) == set(second._waiting) == {2}
    assert (first + second)._waiting == {}


def test_rows_that_wait_are_not_those_of_the_block_that_was_read():
    """A view would hold on to all of it."""
    rows = np.eye(14)
    (piece,) = pieces(rows, [], Keep())
    (parts,) = piece._waiting.values()
    assert not any(np.shares_memory(part, rows) for part in parts.values())


@pytest.mark.claim("P19")
def test_a_row_that_is_lost_is_noticed():
    first, _, third = pieces(np.eye(30), [10, 20], Keep())
    with pytest.raises(AssertionError, match="counted"):
        (first + third).finish(30)


def test_two_pairings_do_not_merge():
    kernel = SignKernel(2, None, None, "refuse")
    one, other = (
        PairedSums.from_blocks([], start=0, kernel=kernel, pairing=Pairing(seed, 6))
        for seed in (1, 2)
    )
    with pytest.raises(ParameterError, match="only if one pairing"):
        one + other


def test_pieces_are_added_up_on_one_thread_each():
    """Other pieces have the other cores; when all are there, the rest may use them."""
    asked = []

    class Watching(Keep):
        def sum_over(self, blocks, *, threads=None):
            asked.append(threads)
            return super().sum_over(blocks, threads=threads)

    first, second = pieces(np.eye(20), [10], Watching())
    (first + second).finish(20)
    assert asked == [1, 1, 1, None]


@pytest.mark.claim("P8")
def test_they_refuse_to_be_stored():
    (piece,) = pieces(np.eye(5), [], Keep())
    assert repr(piece) == "PairedSums()"
    for leak in (pickle.dumps, np.asarray):
        with pytest.raises(SensitiveDataError, match="must not be stored"):
            leak(piece)


@pytest.mark.claim("P19")
def test_the_pieces_of_a_source_are_paired_as_its_blocks_are():
    rows = np.random.default_rng(0).normal(size=(40, 2))
    source, kernel = DifferenceSource(open_table(rows), seed=3), Keep()
    split = split_rows(source, 3)
    pairing = pairing_of(split, kernel)
    first, *others = [
        sum_rows(piece.open(None), kernel, start=piece.start, pairing=pairing)
        for piece in split.pieces
    ]
    found = sum(others, start=first).finish(len(rows)).rows
    assert sorted(found) == sorted(kernel.sum_over(source.blocks(kernel.block_rows)).rows)


def test_rows_are_not_paired_where_nobody_asked_for_differences():
    rows, kernel = np.arange(20.0).reshape(10, 2), Keep()
    split = split_rows(open_table(rows), 1)
    assert pairing_of(split, kernel) is pairing_of(Split(()), kernel) is None
    found = sum_rows(split.pieces[0].open(None), kernel, start=0, pairing=None)
    assert found.rows == list(map(tuple, rows))
