"""Claim P19: one pairing of rows for every mechanism, and each row in one pair."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.sensitive.tables import differences as module
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.differences import DifferenceSource


def differences(rows, size, seed=1):
    return list(DifferenceSource(open_table(rows), seed).blocks(size))


@pytest.mark.claim("P19")
@pytest.mark.parametrize("n_rows", [2, 7, 20, 33])
def test_every_row_is_in_one_difference_at_most(n_rows):
    """Row i is 1 in column i alone: a difference tells which two rows it is made of."""
    found = np.concatenate(differences(np.eye(n_rows), 4))
    used = np.nonzero(found)[1]
    assert len(found) == n_rows // 2
    assert len(used) == 2 * len(found)
    assert len(set(used)) == len(used)


def test_the_variance_of_a_difference_is_that_of_a_row():
    rows = np.random.default_rng(0).normal(loc=100.0, scale=3.0, size=(40_000, 1))
    found = np.concatenate(differences(rows, 1000))
    assert found.var() == pytest.approx(9, rel=0.05)
    assert abs(found.mean()) < 0.1


def test_the_pairing_is_random_and_repeatable():
    rows = np.arange(100.0)[:, None]
    first, again, other = (np.concatenate(differences(rows, 50, seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.claim("P19")
@given(
    hnp.arrays(float, (9, 2), elements=st.floats(-1e3, 1e3)),
    hnp.arrays(float, 2, elements=st.floats(-1e3, 1e3)),
    st.integers(0, 8),
    st.integers(0, 100),
)
def test_replacing_a_row_changes_one_difference_at_most(rows, row, place, seed):
    other = rows.copy()
    other[place] = row
    before, after = (np.concatenate(differences(each, 2, seed)) for each in (rows, other))
    assert (before != after).any(axis=1).sum() <= 1


@pytest.mark.claim("P19")
def test_the_pairing_is_the_same_whatever_the_rows_are():
    """Each row has its place in a column of its own, beside cells that differ."""
    noise = np.random.default_rng(0).normal(size=(2, 20, 1))
    found = [
        np.concatenate(differences(np.hstack([np.eye(20), cells]), 4))[:, :20] for cells in noise
    ]
    assert np.array_equal(*found)


def test_a_pairing_that_looks_at_the_rows_is_found(monkeypatch):
    """The control: rows that are sorted before they are paired."""
    real = module._half_differences
    by_last = lambda a, b: real(np.sort(a[:, -1:], axis=0), b[:, -1:])  # noqa: E731
    monkeypatch.setattr(module, "_half_differences", by_last)
    rows = np.arange(9.0)[:, None]
    other = rows.copy()
    other[0] = 100.0
    changed = [
        (np.concatenate(differences(rows, 5, seed)) != np.concatenate(differences(other, 5, seed)))
        for seed in range(20)
    ]
    assert max(each.any(axis=1).sum() for each in changed) > 1


def test_a_row_that_is_left_over_is_not_used():
    rows = np.random.default_rng(0).normal(size=(7, 3))
    assert DifferenceSource(open_table(rows), 1).n_rows == 3
    assert len(np.concatenate(differences(rows, 4))) == 3


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_whole_numbers_that_round_to_one_float_are_apart(kind):
    rows = np.array([[2**62 + 1], [2**62]], dtype=kind)
    (found,) = differences(rows, 1)
    expected = 0.5**0.5 if module.np.random.default_rng(1).permutation(2)[0] == 0 else -(0.5**0.5)
    assert found.tolist() == [[expected]]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_whole_numbers_keep_their_distance_and_their_ties(dtype):
    large = 2**62
    rows = np.array([[9, 3, 5, large + 1, large]], dtype=dtype)
    others = np.array([[2, 8, 5, large, large + 1]], dtype=dtype)
    found = module._half_differences(rows, others) / 0.5**0.5
    assert found[0].tolist() == pytest.approx([7, -5, 0, 1, -1])
