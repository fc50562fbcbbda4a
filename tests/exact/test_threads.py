"""How many threads the products use."""

import os

import numpy as np
import pytest
import threadpoolctl
from threadpoolctl import threadpool_limits

from dpcov.exact import threads
from dpcov.exact.threads import allowed_threads, usable_cores
from dpcov.sensitive.sums.gram import Gram
from dpcov.sensitive.sums.rows import Grid
from dpcov.sensitive.sums.signs import CoMovement

ROWS = np.random.default_rng(0).uniform(-0.5, 0.5, size=(40, 3))


@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (2, 2), (3, 3), (8, 3)])
def test_products_use_all_cores_that_blas_was_allowed(limit, expected, monkeypatch):
    monkeypatch.setattr(threads, "usable_cores", lambda: 3)
    with threadpool_limits(limit):
        assert allowed_threads() == expected


def test_without_a_blas_that_can_be_asked_there_is_no_limit(monkeypatch):
    monkeypatch.setattr(threads, "_blas_pools", list)
    assert allowed_threads() == usable_cores()


@pytest.mark.parametrize(
    "add_up",
    [
        lambda: Gram.from_rows(ROWS, grid=Grid(row_norm=1.0, bits=20)),
        lambda: CoMovement.from_blocks([ROWS], n_columns=3, center=np.zeros(3)),
    ],
    ids=["gram", "signs"],
)
def test_a_limit_from_outside_holds_inside(add_up, monkeypatch):
    asked = []
    original = threads._controller().limit
    monkeypatch.setattr(
        threads._controller(),
        "limit",
        lambda **how: asked.append(how["limits"]) or original(**how),
    )
    with threadpool_limits(1):
        add_up()
    assert set(asked) - {None} == {1}


def test_cores_are_those_that_this_process_may_use(monkeypatch):
    cores = {0: {1, 4, 7}}
    monkeypatch.setattr(os, "sched_getaffinity", cores.__getitem__, raising=False)
    assert usable_cores() == 3


@pytest.mark.parametrize(("count", "expected"), [(5, 5), (1, 1), (None, 1)])
def test_where_a_process_may_use_all_cores_they_are_counted(count, expected, monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    assert usable_cores() == expected


class Remembers:
    """A controller of BLAS that writes down what is asked of it."""

    def __init__(self, asked):
        self._asked = asked

    def limit(self, *, limits, user_api):
        assert user_api == "blas"
        self._asked.append("remember" if limits is None else "limit")
        return self

    def restore_original_limits(self):
        self._asked.append("put back")


def test_the_last_of_several_blocks_puts_back_what_the_first_found(monkeypatch):
    asked = []
    monkeypatch.setattr(threads, "_controller", lambda: Remembers(asked))
    monkeypatch.setattr(threads, "_give_up_control", lambda: asked.append("give up control"))
    overlap = threads._Overlap()
    for _ in range(2):
        overlap.__enter__()
        assert asked == ["remember"]
        overlap.__enter__()
        overlap.__enter__()
        overlap.__exit__()
        overlap.__exit__()
        assert asked == ["remember"]
        overlap.__exit__()
        assert asked == ["remember", "give up control", "put back", "give up control"]
        asked.clear()


def test_control_of_blas_is_given_up_whichever_thread_has_it(monkeypatch):
    asked = []

    class Newer:
        @staticmethod
        def clear_controlling_thread(*, force):
            asked.append(force)

    monkeypatch.setattr(threadpoolctl, "OpenBLASController", Newer, raising=False)
    threads._give_up_control()
    assert asked == [True]
    monkeypatch.setattr(threadpoolctl, "OpenBLASController", object)
    threads._give_up_control()
    monkeypatch.delattr(threadpoolctl, "OpenBLASController")
    threads._give_up_control()
