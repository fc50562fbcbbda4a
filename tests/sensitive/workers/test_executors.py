"""What Spark's executors are given and asked for, and a partition that breaks off."""

import pyarrow as pa
import pytest

from dpcov.errors import ParameterError
from dpcov.sensitive.engines.spark_engine import count_rows
from dpcov.sensitive.workers.boxes import Recipient
from dpcov.sensitive.workers.executors import BoxedTask, Executors, _most_tasks, unbox
from dpcov.version import __version__
from spark_double import SparkSession, install

BATCH = pa.RecordBatch.from_pydict({"a": [1.0, 2.0]})
CELL = "987654"  # must not be in any message
SIZES = {
    "700": 700,
    "700b": 700,
    "3k": 3 << 10,
    "3kb": 3 << 10,
    "3m": 3 << 20,
    " 3MB ": 3 << 20,
    "3g": 3 << 30,
    "3t": 3 << 40,
    "3p": 3 << 50,
    "odd": 1 << 30,
}


class Silent:
    """Settings of a server that does not say them."""

    def get(self, *_):
        raise ValueError


def session_of(size):
    return SparkSession({"spark.driver.maxResultSize": size})


@pytest.mark.parametrize("size", SIZES)
def test_so_many_sums_are_asked_for_as_fit_half_of_what_the_driver_takes(size):
    assert _most_tasks(session_of(size), SIZES[size] // 14) == 7


def test_a_server_that_does_not_say_how_much_it_takes_has_what_spark_has_by_default():
    assert _most_tasks(SparkSession(Silent()), (1 << 30) // 14) == 7


@pytest.mark.parametrize("size", ["0", "3p"])
def test_without_a_limit_ten_thousand_sums_are_asked_for(size):
    assert _most_tasks(session_of(size), 1) == 10_000


def test_one_sum_is_asked_for_however_long_it_is():
    assert _most_tasks(session_of("1k"), 1 << 30) == 1


@pytest.mark.parametrize(("said", "cores"), [(0, 1), (1, 1), (2, 2), (64, 64)])
def test_a_session_has_one_core_at_least(said, cores):
    context = type("Context", (), {"defaultParallelism": said})
    assert Executors(SparkSession(sparkContext=context)).cores == cores


@pytest.mark.claim("P34")
def test_units_are_refused_by_a_server_that_does_not_say_whether_it_encrypts_its_disks():
    session = SparkSession(Silent())
    assert not Executors.hide_tasks(session)
    with pytest.raises(ParameterError, match=r"needs spark\.io\.encryption\.enabled=true"):
        Executors(session).check_units("who")


@pytest.mark.claim("P7")
@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_partition_that_breaks_off_gives_no_box(count, monkeypatch):
    """Spark must see it, and try again: else the last batch counts twice, and others not at all."""

    def break_off():
        yield from [BATCH] * count
        raise ValueError(CELL)

    install(monkeypatch)
    recipient = Recipient()
    task = BoxedTask(__version__, recipient.address, count_rows)
    (whole,) = task(iter([BATCH] * count))
    assert unbox(recipient, whole.column(0)[0].as_py())[1] == 2 * count
    with pytest.raises(BaseException, match=r"^The partition broke off\.$") as caught:
        next(task(break_off()))
    assert not isinstance(caught.value, Exception), "our own guard would make a refusal of it"
    assert caught.value.__context__ is caught.value.__cause__ is None
