"""Pieces are added up on Dask's threads; the cluster is in tests/mechanisms/test_dask.py."""

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from dpcov.errors import InputError, MissingValueError, ParameterError
from dpcov.exact.grid import Grid
from dpcov.exact.threads import blas_threads
from dpcov.sensitive.engines import dask_engine
from dpcov.sensitive.engines.dask_engine import DaskEngine
from dpcov.sensitive.engines.serial import SerialEngine, choose_engine
from dpcov.sensitive.engines.threaded import ThreadedEngine
from dpcov.sensitive.sums.gram import Gram, GramKernel
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.differences import DifferenceSource
from dpcov.sensitive.workers.schedulers import ThreadScheduler, choose_workers
from dpcov.sensitive.workers.tasks import make_tasks

ROWS = np.random.default_rng(0).normal(size=(101, 3))
GRID = Grid(row_norm=2.0, bits=16)
KERNEL = GramKernel(3, GRID, "refuse")
CELL = "987654321012"  # must not be in any message, nor be a part of a random name


def engine(parts=None, tell=None):
    return DaskEngine(ThreadScheduler(), tell, parts=parts)


@pytest.mark.claim("P7")
@pytest.mark.parametrize("parts", [1, 2, 3, 7, 101])
def test_the_pieces_add_up_to_the_whole(parts):
    assert engine(parts).run("sums", open_table(ROWS), KERNEL) == Gram.from_rows(ROWS, grid=GRID)


def test_rows_are_told_as_pieces_finish():
    told = []
    engine(5, lambda *each: told.append(each)).run("sums", open_table(ROWS), KERNEL)
    names, done, totals = zip(*told, strict=True)
    assert set(names) == {"sums"}
    assert set(totals) == {101}
    assert len(done) == 5
    assert list(done) == sorted(done)
    assert done[-1] == 101


def test_of_differences_half_as_many_are_told():
    told = []
    rows = DifferenceSource(open_table(ROWS[:90]), 1)
    engine(3, lambda *each: told.append(each)).run("sums", rows, KERNEL)
    assert told == [("sums", done, 45) for done in (15, 30, 45)]
    assert all(type(done) is int for _, done, _ in told)


def test_what_a_callback_raises_is_raised():
    def stop(*_):
        raise KeyError("the caller's own")

    with pytest.raises(KeyError, match="the caller's own"):
        engine(5, stop).run("sums", open_table(ROWS), KERNEL)


def test_a_short_table_is_not_cut(monkeypatch):
    monkeypatch.setattr(dask_engine, "make_tasks", lambda *_: pytest.fail("made tasks"))
    assert engine().run("sums", open_table(ROWS), KERNEL).n_rows == 101


def test_a_long_table_is_cut_into_four_pieces_for_each_core(monkeypatch):
    scheduler = ThreadScheduler()
    scheduler.cores = 2
    made = []

    def spy(name, function, arguments):
        made.extend(arguments)
        return make_tasks(name, function, arguments)

    monkeypatch.setattr(dask_engine, "make_tasks", spy)
    monkeypatch.setattr(GramKernel, "block_rows", 2)
    DaskEngine(scheduler).run("sums", open_table(ROWS), KERNEL)
    assert len(made) == 8


def test_each_task_has_one_thread_of_blas(monkeypatch):
    seen = []

    class Spy(GramKernel):
        def sum_over(self, blocks, *, threads=None):
            seen.append(threads)
            pools = threadpool_info()
            seen.extend(pool["num_threads"] for pool in pools if pool["user_api"] == "blas")
            return super().sum_over(blocks, threads=threads)

    engine(4).run("sums", open_table(ROWS), Spy(3, GRID, "refuse"))
    assert len(seen) >= 8
    assert set(seen) == {1}


def test_limits_on_blas_that_overlap_leave_no_trace():
    def count():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = count()
    entered, leave = threading.Event(), threading.Event()

    def hold():
        with blas_threads(1):
            entered.set()
            leave.wait(300)

    other = threading.Thread(target=hold)
    with blas_threads(1):
        other.start()
        entered.wait(300)
    leave.set()
    other.join()
    assert count() == before


def test_names_of_tasks_are_random_and_say_nothing_of_the_rows():
    one, other = (make_tasks("sums", len, [(np.full(3, float(CELL)),)])[0] for _ in range(2))
    assert one.key.startswith("dpcov-sums-")
    assert one.key != other.key
    assert CELL not in one.key


def test_our_own_refusal_comes_through_as_it_is():
    rows = ROWS.copy()
    rows[50, 1] = np.nan
    with pytest.raises(MissingValueError, match="missing or infinite cells") as caught:
        engine(4).run("sums", open_table(rows), KERNEL)
    assert caught.value.__context__ is caught.value.__cause__ is None


@pytest.mark.claim("P8")
def test_a_foreign_error_in_a_task_is_not_repeated():
    class Broken(GramKernel):
        def sum_over(self, blocks, *, threads=None):
            raise ValueError(CELL)

    with pytest.raises(InputError, match="could not be read") as caught:
        engine(4).run("sums", open_table(ROWS), Broken(3, GRID, "refuse"))
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_differences_of_rows_are_those_of_the_whole_table(monkeypatch):
    """Pieces end within blocks in which rows are paired."""
    monkeypatch.setattr(GramKernel, "block_rows", 7)
    rows = DifferenceSource(open_table(ROWS), 1)
    alone = SerialEngine().run("sums", rows, KERNEL)
    assert alone.n_rows == 50
    for parts in (2, 4, 9):
        assert engine(parts).run("sums", rows, KERNEL) == alone


def test_without_a_wish_the_rows_are_read_here():
    assert choose_workers(None) is None
    assert isinstance(choose_engine(None, None), ThreadedEngine)


def test_dask_without_a_cluster_is_the_threads_of_this_process():
    assert isinstance(choose_workers("dask"), ThreadScheduler)
    assert isinstance(choose_engine(ThreadScheduler(), None), DaskEngine)


@pytest.mark.parametrize(
    ("wish", "said"), [("sparks", "got 'sparks'"), (True, "got a bool"), (4, "got a int")]
)
def test_another_engine_is_refused(wish, said):
    with pytest.raises(ParameterError, match=f"'dask' or a distributed.Client, .*; {said}"):
        choose_workers(wish)


def test_workers_that_begin_in_order_get_pieces_that_grow_shorter(monkeypatch):
    scheduler = ThreadScheduler()
    scheduler.cores, scheduler.is_in_order = 2, True
    made = []

    def spy(name, function, arguments):
        made.extend(piece.n_rows for piece, *_ in arguments)
        return make_tasks(name, function, arguments)

    monkeypatch.setattr(dask_engine, "make_tasks", spy)
    monkeypatch.setattr(GramKernel, "block_rows", 2)
    DaskEngine(scheduler).run("sums", open_table(ROWS), KERNEL)
    assert sum(made) == 101
    assert made[0] > 20 > 5 > made[-1]
    assert len(made) < 16
