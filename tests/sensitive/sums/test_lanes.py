"""Blocks side by side: every block in one lane, few at a time, and failures are told."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from dpcov.sensitive.sums.lanes import work_in_lanes

BLOCKS = [np.array([[float(number)]]) for number in range(50)]


class Adding:
    def __init__(self, fails_at=None):
        self.seen, self.threads, self.fails_at = [], set(), fails_at
        self.busy = threading.Lock()

    def add(self, block):
        assert self.busy.acquire(blocking=False), "two blocks in one lane at a time"
        self.seen.append(float(block[0, 0]))
        self.threads.add(threading.get_ident())
        self.busy.release()
        if self.seen[-1] == self.fails_at:
            raise ValueError("as it was planted")


def run(lanes, blocks=BLOCKS):
    with ThreadPoolExecutor(len(lanes)) as pool:
        work_in_lanes(lanes, blocks, pool)


@pytest.mark.parametrize("n_lanes", [1, 2, 3])
def test_every_block_is_added_once(n_lanes):
    lanes = [Adding() for _ in range(n_lanes)]
    run(lanes)
    assert sorted(number for lane in lanes for number in lane.seen) == list(range(50))


def test_one_lane_works_on_the_thread_of_the_caller():
    lane = Adding()
    run([lane])
    assert lane.threads == {threading.get_ident()}


@pytest.mark.parametrize("n_lanes", [1, 2])
@pytest.mark.parametrize("place", [0, 30, 49])
def test_what_fails_in_a_lane_fails_for_the_caller(n_lanes, place):
    with pytest.raises(ValueError, match="as it was planted"):
        run([Adding(fails_at=place) for _ in range(n_lanes)])


@pytest.mark.parametrize("n_lanes", [1, 2, 3])
def test_lanes_that_all_fail_end(n_lanes):
    class Failing(Adding):
        def add(self, block):
            time.sleep(0.02)
            raise ValueError("as it was planted")

    done = []

    def fail():
        with pytest.raises(ValueError, match="planted"):
            run([Failing() for _ in range(n_lanes)])
        done.append(True)

    thread = threading.Thread(target=fail, daemon=True)
    thread.start()
    thread.join(60)
    assert done


def test_a_source_that_fails_is_not_hidden():
    def broken():
        yield from BLOCKS[:7]
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        run([Adding(), Adding()], broken())


def test_no_more_blocks_are_read_than_wait():
    read, wait = [], threading.Event()

    class Slow(Adding):
        def add(self, block):
            wait.wait(30)
            super().add(block)

    def reading():
        for number, block in enumerate(BLOCKS):
            read.append(number)
            if number == 2:  # two in lanes, and one that waits
                threading.Timer(0.2, lambda: (read.append("woken"), wait.set())).start()
            yield block

    run([Slow(), Slow()], reading())
    assert read.index("woken") == 3
