"""Loops that are compiled when it pays, and never needed."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numba
import numpy as np
import pytest

from dpcov.exact import compiled
from dpcov.exact.compiled import Loop, compile_loop, reads, suits


def written(_):
    return len


def test_a_loop_comes_once_there_was_work_enough():
    loop = Loop(written, 100)
    assert [loop.after(60), loop.after(60), loop.after(1)] == [None, len, len]


def test_a_loop_is_compiled_once():
    times = []
    loop = Loop(lambda _: times.append(1) or len, 1)
    for _ in range(3):
        loop.after(5)
    assert times == [1]


def test_a_loop_is_compiled_once_by_work_that_is_just_enough():
    times = []
    loop = Loop(lambda _: times.append(1) or len, 5)
    for _ in range(3):
        loop.after(5)
    assert times == [1]


def test_a_loop_that_cannot_be_had_is_asked_for_once():
    times = []
    loop = Loop(lambda _: times.append(1), 1)
    assert [loop.after(5), loop.after(5)] == [None, None]
    assert times == [1]


def test_while_one_thread_compiles_others_go_on_without():
    started, go_on = Event(), Event()

    def slowly(_):
        started.set()
        go_on.wait(60)
        return len

    loop = Loop(slowly, 1)
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(loop.after, 5)
        started.wait(60)
        meanwhile = loop.after(5)
        go_on.set()
        assert meanwhile is None
        assert first.result(60) is len
    assert loop.after(5) is len


def test_who_counts_while_another_does_is_not_held_up():
    loop = Loop(written, 1)
    loop._one_at_a_time.acquire()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(loop.after, 5).result(60) is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.parametrize("compiling", [True, False])
def test_a_process_that_is_forked_while_a_thread_compiles_goes_on_without(compiling):
    """It has the locks of the compiler, and not the thread that would let go of them."""

    def fork_and_ask(_):
        return _answer_of_a_child(lambda: compile_loop(written) is len)

    if compiling:
        assert compile_loop(lambda _: [fork_and_ask(_)]) == [False]
    else:
        assert fork_and_ask(None)


@pytest.fixture
def own_compiler(monkeypatch):
    """Let this test have a compiler that nobody used before."""
    compiler = compiled._Compiler()
    monkeypatch.setattr(compiled, "_compiler", lambda: compiler)
    return compiler


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
def test_a_process_knows_that_it_was_forked_from_a_compiler_at_work(own_compiler):
    own_compiler.at_work.append(written)
    assert _answer_of_a_child(lambda: compile_loop(written) is None)
    assert compile_loop(written) is len


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes that fork")
@pytest.mark.usefixtures("own_compiler")
def test_a_process_that_is_forked_after_a_loop_was_compiled_may_compile():
    assert compile_loop(written) is len
    assert _answer_of_a_child(lambda: compile_loop(written) is len)


def _answer_of_a_child(ask):
    child = os.fork()
    if child == 0:
        os._exit(0 if ask() else 1)
    return os.waitpid(child, 0)[1] == 0


def test_without_numba_there_is_no_loop(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compile_loop(written) is None


def test_a_numba_that_may_not_compile_is_left_alone(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert compile_loop(written) is None


def test_a_numba_without_that_switch_compiles(monkeypatch):
    monkeypatch.delattr(numba.config, "DISABLE_JIT")
    assert compile_loop(written) is len


def test_a_numba_that_fails_is_left_alone():
    def fail(_):
        raise numba.errors.NumbaError("no")

    assert compile_loop(fail) is None


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (np.ones((3, 4)), True),
        (np.ones((3, 4)).T, False),
        (np.ones((3, 4))[:, ::2], False),
        (np.ones((3, 4), dtype=np.float32), False),
        (np.ones((3, 4), dtype=np.dtype(np.float64).newbyteorder()), False),
        (np.frombuffer(bytes(97), dtype=np.uint8)[1:].view(np.float64).reshape(3, 4), False),
        (np.broadcast_to(1.0, (3, 4)), False),
    ],
)
def test_loops_take_dense_floats_of_this_machine_alone(cells, expected):
    assert suits(cells) is expected


def test_a_loop_reads_an_array_that_nobody_may_write():
    cells = np.ones((3, 4))
    cells.flags.writeable = False
    assert numba.typeof(cells) == reads(numba, "float64", 2, "C")
