"""Threads and clusters make, merge and explain tasks in one way."""

import time

import pytest

from dpcov.errors import EngineError, InputError
from dpcov.sensitive.workers.carried import Carried
from dpcov.sensitive.workers.schedulers import ClientScheduler, ThreadScheduler
from dpcov.sensitive.workers.tasks import make_tasks, merge_tasks, or_explain

CELL = "987654"  # must not be in any message


def carry(number):
    return Carried(number)


def refuse(number):
    if number == 3:
        raise InputError("no")
    return Carried(number)


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
        ) as cluster,
        Client(cluster) as found,
    ):
        yield found


@pytest.fixture(params=["threads", "cluster"])
def scheduler(request):
    if request.param == "threads":
        return ThreadScheduler()
    return ClientScheduler(request.getfixturevalue("client"))


@pytest.mark.parametrize("count", [1, 2, 3, 8, 13])
def test_values_are_added_up_and_each_is_told_once(scheduler, count):
    told = []
    tasks = make_tasks("sums", carry, [(number,) for number in range(count)])
    assert scheduler.total(tasks, told.append).sums == sum(range(count))
    assert sorted(told) == list(range(count))


def test_values_come_in_the_order_of_their_tasks(scheduler):
    tasks = make_tasks("sums", carry, [(number,) for number in range(7)])
    assert [each.sums for each in scheduler.each(tasks)] == list(range(7))


def test_what_one_task_refuses_is_raised(scheduler):
    tasks = make_tasks("sums", refuse, [(number,) for number in range(7)])
    with pytest.raises(InputError, match=r"^no$"):
        scheduler.total(tasks, lambda place: None)


def test_what_a_watcher_raises_is_raised(scheduler):
    def stop(place):
        raise KeyError("the caller's own")

    with pytest.raises(KeyError, match="the caller's own"):
        scheduler.total(make_tasks("sums", carry, [(1,), (2,)]), stop)


def test_a_cluster_forgets_the_sums(client):
    tasks = make_tasks("sums", carry, [(number,) for number in range(9)])
    ClientScheduler(client).total(tasks, lambda place: None)
    del tasks
    # The cluster hears of it a moment later.
    for _ in range(2000):
        if not client.futures:
            break
        time.sleep(0.05)
    assert not client.futures


@pytest.mark.parametrize("count", [1, 2, 5, 16, 33])
def test_there_is_one_merge_less_than_there_are_tasks(count):
    tasks = make_tasks("sums", carry, [(number,) for number in range(count)])
    assert len(dict(merge_tasks(tasks).dask)) == 2 * count - 1


def test_names_of_merges_are_random():
    tasks = make_tasks("sums", carry, [(1,), (2,)])
    one, other = merge_tasks(tasks), merge_tasks(tasks)
    assert one.key.startswith("dpcov-merge-")
    assert one.key != other.key


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("KilledWorker", EngineError, "died again and again"),
        ("CancelledError", EngineError, "was lost"),
        ("CommClosedError", EngineError, "was lost"),
        ("ValueError", InputError, "Dask could not compute the table"),
    ],
)
def test_a_failure_is_explained_without_what_was_said(name, kind, said):
    def fail():
        raise type(name, (Exception,), {})(CELL)

    with pytest.raises(kind, match=said) as caught:
        or_explain(fail)
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None
