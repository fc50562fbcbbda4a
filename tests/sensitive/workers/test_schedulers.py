"""Threads and clusters make, merge and explain tasks in one way."""

import sys
import time
from contextlib import contextmanager
from types import SimpleNamespace

import dask
import pytest

from dpcov.errors import EngineError, InputError, MissingExtraError, ParameterError
from dpcov.sensitive.workers import schedulers
from dpcov.sensitive.workers.carried import Carried
from dpcov.sensitive.workers.executors import Executors
from dpcov.sensitive.workers.schedulers import (
    ClientScheduler,
    ThreadScheduler,
    choose_workers,
    current_scheduler,
)
from dpcov.sensitive.workers.tasks import import_dask, make_tasks, merge_tasks, or_explain
from spark_double import DataFrame, SparkSession

CELL = "987654"  # must not be in any message


def carry(number):
    return Carried(number)


def refuse(number):
    if number == 3:
        raise InputError("no")
    return Carried(number)


def stand_in(**said):
    """Return what a client says of itself, without a cluster."""
    usual = {"asynchronous": False, "status": "running", "nthreads": dict}
    return SimpleNamespace(**usual | said)


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


def held(client):
    """Return what the client still wants, when it has come to rest: it hears a moment later."""
    for _ in range(2000):
        if not client.futures:
            break
        time.sleep(0.05)
    return client.futures


def test_a_cluster_forgets_the_sums(client):
    tasks = make_tasks("sums", carry, [(number,) for number in range(9)])
    ClientScheduler(client).total(tasks, lambda place: None)
    del tasks
    assert not held(client)


def test_a_cluster_forgets_them_also_while_somebody_looks_at_a_failure(client):
    def stop(place):
        raise KeyError("the caller's own")

    tasks = make_tasks("sums", carry, [(number,) for number in range(9)])
    with pytest.raises(KeyError) as caught:
        ClientScheduler(client).total(tasks, stop)
    del tasks
    assert not held(client)
    assert caught.tb is not None, "its frames are held"


class Future:
    """What a client gives for a task."""

    def __init__(self, value):
        self.value, self.is_released = value, False

    def result(self):
        if self.value is None:
            raise ValueError(CELL)
        return self.value

    def release(self):
        self.is_released = True


@pytest.mark.parametrize("values", [[1, 2, 3], [1, None, 3], [None, 2, 3]])
def test_values_are_forgotten_that_came_and_that_nobody_waits_for(values):
    futures = [Future(value) for value in values]
    client = stand_in(compute=lambda tasks, retries: list(futures))
    found = ClientScheduler(client).each([])
    if None in values:
        with pytest.raises(InputError, match="Dask could not compute"):
            list(found)
    else:
        assert list(found) == values
    assert all(future.is_released for future in futures)


def test_a_task_of_the_caller_that_raises_is_tried_three_times(client, tmp_path):
    def fail():
        with (tmp_path / "tried").open("a") as told:
            told.write("once ")
        raise ValueError(CELL)

    tasks = make_tasks("sums", carry, [(dask.delayed(fail)(),)])
    with pytest.raises(InputError, match="Dask could not compute"):
        ClientScheduler(client).total(tasks, lambda place: None)
    assert (tmp_path / "tried").read_text() == 3 * "once "


def test_a_client_is_chosen_by_itself_or_as_the_one_of_this_process(client):
    assert isinstance(choose_workers(client), ClientScheduler)
    assert isinstance(current_scheduler(), ClientScheduler)
    assert isinstance(choose_workers("dask"), ClientScheduler)


def test_a_process_that_loads_distributed_last_is_told_how_sums_travel(monkeypatch):
    told = []
    monkeypatch.setattr(schedulers, "allow_transport", lambda: told.append("told"))
    ClientScheduler(stand_in())
    assert told == ["told"]


@pytest.mark.parametrize(("threads", "cores"), [({}, 1), ({"a": 1}, 1), ({"a": 2, "b": 3}, 5)])
def test_a_cluster_has_the_threads_of_its_workers_and_one_core_at_least(threads, cores):
    assert ClientScheduler(stand_in(nthreads=lambda: threads)).cores == cores


@pytest.mark.parametrize(
    ("said", "match"),
    [
        ({"asynchronous": True}, "an asynchronous Client"),
        ({"status": "closed"}, "a Client that is closed; connect a new one"),
    ],
)
def test_a_client_that_cannot_be_waited_for_is_refused(said, match):
    with pytest.raises(ParameterError, match=match):
        ClientScheduler(stand_in(**said))


def test_spark_works_on_frames_where_they_are_unless_the_driver_is_asked_for():
    assert isinstance(choose_workers("spark"), Executors)
    assert isinstance(choose_workers("spark", "spark"), Executors)
    assert choose_workers("driver", "spark") is None


@pytest.mark.parametrize("home", ["here", "files", "dask"])
def test_spark_does_not_work_on_other_tables(home):
    with pytest.raises(ParameterError, match="is for Spark data frames, and the table is none"):
        choose_workers("spark", home)


def test_a_session_is_told_by_its_module_and_its_name():
    session = SparkSession()
    assert choose_workers(session, "files").session is session
    for wish in (type("SparkSession", (), {})(), DataFrame(())):
        with pytest.raises(ParameterError, match=f"got a {type(wish).__name__}"):
            choose_workers(wish, "files")


def test_each_task_of_threads_has_one_thread_of_blas(monkeypatch):
    allowed = []

    @contextmanager
    def limit(threads):
        allowed.append(threads)
        yield

    monkeypatch.setattr(schedulers, "blas_threads", limit)
    ThreadScheduler().total(make_tasks("sums", carry, [(1,), (2,)]), lambda place: None)
    assert allowed == [1]


def test_without_dask_it_is_said_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dpcov\[dask\]'"):
        import_dask()


@pytest.mark.parametrize("count", [1, 2, 5, 16, 33])
def test_there_is_one_merge_less_than_there_are_tasks(count):
    tasks = make_tasks("sums", carry, [(number,) for number in range(count)])
    assert len(dict(merge_tasks(tasks).dask)) == 2 * count - 1


def test_sums_are_merged_before_further_ones_are_begun():
    tasks = make_tasks("sums", carry, [(number,) for number in range(5)])
    layers = merge_tasks(tasks).dask.layers.items()
    ranks = {name: layer.annotations["priority"] for name, layer in layers}
    sums = [ranks.pop(task.key) for task in tasks]
    assert len(ranks) == 4
    assert min(ranks.values()) > sums[0]
    assert sums == sorted(sums, reverse=True)
    assert sums[-1] > 0, "tasks of a caller's own have 0"


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
