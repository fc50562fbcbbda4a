"""Blocks that are read ahead: the same ones, in order, and not too many."""

import threading
import time
from concurrent.futures import Future

import numpy as np
import pytest

from dpcov.errors import InputError
from dpcov.sensitive.tables import blocks
from dpcov.sensitive.tables.blocks import cut_blocks, read_ahead


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    """Read ahead also where the tests have one core."""
    monkeypatch.setattr(blocks, "allowed_threads", lambda: 2)


def numbered(count, read):
    for number in range(count):
        read.append(number)
        yield np.full((2, 1), number)


@pytest.mark.parametrize("room", [1, 16, 64, 1 << 20])
def test_blocks_come_in_order_however_far_is_read_ahead(monkeypatch, room):
    monkeypatch.setattr(blocks, "_AHEAD_BYTES", room)
    found = [int(block[0, 0]) for block in read_ahead(numbered(20, []))]
    assert found == list(range(20))


class AtOnce:
    """A thread that has always read all that was asked for."""

    def __init__(self, threads):
        assert threads == 1

    def submit(self, read, *arguments):
        done = Future()
        done.set_result(read(*arguments))
        return done

    def shutdown(self, *, cancel_futures):
        assert cancel_futures


@pytest.mark.parametrize(("room", "most"), [(1, 1), (16, 1), (48, 3)])
def test_as_much_is_read_ahead_as_there_is_room_for(monkeypatch, room, most):
    monkeypatch.setattr(blocks, "_AHEAD_BYTES", room)
    monkeypatch.setattr(blocks, "ThreadPoolExecutor", AtOnce)
    read = []
    for used, _ in enumerate(read_ahead(numbered(20, read))):
        assert len(read) == min(20, used + 1 + most)


def test_what_cannot_be_read_is_refused_after_the_blocks_before_it():
    def broken():
        yield from numbered(3, [])
        raise InputError("no more")

    found = []
    with pytest.raises(InputError, match="no more"):
        found.extend(read_ahead(broken()))
    assert len(found) == 3


def test_whoever_stops_early_does_not_wait_for_what_was_asked_for():
    read, before = [], set(threading.enumerate())
    ahead = read_ahead(numbered(1_000_000, read))
    next(ahead)
    ahead.close()
    assert len(read) < 1_000_000
    assert not [each for each in set(threading.enumerate()) - before if "ThreadPool" in each.name]


def columns(count, size):
    return ([np.full(size, float(number))] for number in range(count))


def test_a_block_that_somebody_holds_is_not_written_again():
    held = list(cut_blocks(columns(6, 4), n_columns=1, size=4))
    assert [block[0, 0] for block in held] == list(range(6))


def test_a_part_of_a_block_that_somebody_holds_is_not_written_again():
    held = [block[2:, :][::-1] for block in cut_blocks(columns(6, 4), n_columns=1, size=4)]
    assert [part[0, 0] for part in held] == list(range(6))


def test_the_memory_of_blocks_that_nobody_holds_is_used_again():
    # Not by its place: memory that is given back often comes again.
    shelf = blocks._Shelf((4, 1))
    taken = shelf.take()
    taken[:] = 7.0
    part = taken[1:]
    del taken
    assert not shelf._free
    del part
    (free,) = shelf._free
    assert free.ctypes.data == shelf.take().ctypes.data
    assert (free == 7.0).all()


def test_what_is_read_ahead_is_not_written_again(monkeypatch):
    monkeypatch.setattr(blocks, "allowed_threads", lambda: 2)
    ahead = read_ahead(cut_blocks(columns(40, 4), n_columns=1, size=4))
    assert [block[0, 0] for block in ahead] == list(range(40))


def test_no_two_blocks_are_read_at_once():
    reading, most = [], []

    class Slow:
        left = 6

        def __iter__(self):
            return self

        def __next__(self):
            reading.append(self)
            most.append(len(reading))
            time.sleep(0.005)
            reading.pop()
            if not self.left:
                raise StopIteration
            self.left -= 1
            return np.full((2, 1), self.left)

    found = [int(block[0, 0]) for block in read_ahead(Slow())]
    assert found == [5, 4, 3, 2, 1, 0]
    assert max(most) == 1


def test_parts_without_columns_have_no_rows():
    assert list(cut_blocks([[], []], n_columns=0, size=4)) == []
