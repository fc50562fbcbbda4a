"""How often each index occurs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.exact import tally
from dpcov.exact.compiled import Loop
from dpcov.exact.tally import add_tally, expect_tally
from exact.loops import all_compiled, none_compiled

WAYS = pytest.mark.parametrize("way", [none_compiled, all_compiled])


@WAYS
@pytest.mark.parametrize("kind", [np.int32, np.int64])
@given(st.lists(st.integers(0, 4), max_size=50), st.integers(0, 2**31 - 60))
def test_each_index_adds_one_each_time(way, kind, found, before):
    counts = np.full(5, before, dtype=kind)
    indices = np.array(found, dtype=np.int32)
    indices.flags.writeable = False
    with way():
        add_tally(indices, counts)
    assert counts.tolist() == [before + found.count(index) for index in range(5)]


@WAYS
@pytest.mark.parametrize("index", [5, 2**31 - 1, -6])
def test_an_index_outside_is_refused(way, index):
    counts = np.zeros(5, dtype=np.int32)
    with way(), pytest.raises(IndexError):
        add_tally(np.array([1, index], dtype=np.int32), counts)


@WAYS
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_nothing_is_written_beyond_the_counts(way, kind):
    beyond = np.zeros(8, dtype=kind)
    with way(), pytest.raises(IndexError):
        add_tally(np.array([1, 6], dtype=np.int32), beyond[:5])
    assert not beyond[5:].any()


def test_the_loop_is_compiled_when_indices_are_expected(monkeypatch):
    loop = Loop(tally._write, 100)
    monkeypatch.setattr(tally, "_loop", lambda: loop)
    add_tally(np.zeros(200, dtype=np.int32), np.zeros(5, dtype=np.int32))
    assert loop.ready is None
    expect_tally(100)
    assert loop.ready is not None
