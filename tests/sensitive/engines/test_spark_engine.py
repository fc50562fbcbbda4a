"""Partitions are added up where they are, and come back in boxes. Here Spark is a stand-in."""

import sys
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.columns.missing import Missing
from dpcov.errors import EngineError, InputError, MissingExtraError, MissingValueError
from dpcov.sensitive.engines.paired import Pairing
from dpcov.sensitive.engines.spark_engine import SumPartition
from dpcov.sensitive.sums import signs
from dpcov.sensitive.sums.signs import SignKernel
from dpcov.sensitive.tables.choice import Wanted
from dpcov.sensitive.tables.spark_frame import SparkSource
from dpcov.sensitive.workers import executors
from dpcov.sensitive.workers.carried import Carried, Refused
from dpcov.version import __version__
from either import release
from spark_cases import BUDGET, CASES, CELL, HIDDEN, N_ROWS, NUMBERS, TABLE, contents, for_pairs
from spark_double import DataFrame, install

PLAIN = pa.table({"a": np.arange(10.0), "b": np.arange(10.0) % 3})
CUTS = {"one": (), "some": (1, 150, 151, 399), "empty ones": (0, 0, 200, 400)}


@pytest.fixture(autouse=True)
def spark(monkeypatch):
    install(monkeypatch)
    monkeypatch.setattr(signs, "_MOST_BLOCK_ROWS", 30)


@pytest.mark.claim("P7")
@pytest.mark.parametrize("cuts", CUTS)
@pytest.mark.parametrize("case", CASES)
def test_a_release_has_the_bytes_of_the_same_table_in_memory(case, cuts, tmp_path, monkeypatch):
    table, options = for_pairs(case)
    alone = contents(release(table, **BUDGET, **options), tmp_path)
    monkeypatch.setattr(SparkSource, "_batches", lambda *_: pytest.fail("read here"))
    frame = DataFrame.of(table, CUTS[cuts], conf=HIDDEN)
    assert contents(release(frame, **BUDGET, **options), tmp_path) == alone


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", ["learned", "units", "differences of people"])
def test_the_driver_gives_the_same_bytes(case, tmp_path):
    table, options = for_pairs(case)
    frame = DataFrame.of(table, (150,), conf=HIDDEN)
    made = release(frame, engine="driver", **BUDGET, **options)
    assert frame.log.tasks == []
    assert contents(made, tmp_path) == contents(release(table, **BUDGET, **options), tmp_path)


@pytest.mark.claim("P7")
def test_one_column_has_the_bytes_of_the_same_table_in_memory(tmp_path):
    table = PLAIN.select(["a"])
    frame = DataFrame.of(table, (3,))
    made = release(frame, **BUDGET, row_norm=3.0)
    assert len(frame.log.tasks) == 1
    assert contents(made, tmp_path) == contents(release(table, **BUDGET, row_norm=3.0), tmp_path)


def test_a_frame_is_asked_for_no_row_to_say_what_its_columns_are(monkeypatch):
    def limit(self, size):
        asked.append(size)
        return real(self, size)

    asked, real = [], DataFrame.limit
    monkeypatch.setattr(DataFrame, "limit", limit)
    assert SparkSource(DataFrame.of(PLAIN), Wanted()).columns == ("a", "b")
    assert asked == [0]


def test_without_pyarrow_a_frame_says_what_to_install(monkeypatch):
    def fail(self):
        raise ImportError("Spark's own words")

    monkeypatch.setattr(DataFrame, "toArrow", fail)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dpcov\[files\]'"):
        SparkSource(DataFrame.of(PLAIN), Wanted())


@pytest.mark.claim("P34")
def test_units_are_read_here_if_spark_writes_tasks_in_the_clear(tmp_path):
    frame = DataFrame.of(TABLE, (150,))
    made = release(frame, **BUDGET, **CASES["units"])
    assert frame.log.tasks == []
    again = release(TABLE, **BUDGET, **CASES["units"])
    assert contents(made, tmp_path) == contents(again, tmp_path)


@pytest.mark.claim("P34")
@pytest.mark.parametrize("case", ["moments", "units", "differences"])
def test_nothing_leaves_a_task_in_the_clear(case):
    """A pickle names the classes in it; and text of keys would stand in it as it is."""
    table, options = for_pairs(case)
    frame = DataFrame.of(table, (150,), conf=HIDDEN)
    release(frame, **BUDGET, **options)
    assert frame.log.boxes
    for box in frame.log.boxes:
        assert b"dpcov" not in box
        assert b"person" not in box
        assert b"numpy" not in box


@pytest.mark.claim("P34")
def test_boxes_that_are_not_closed_would_be_found(monkeypatch):
    monkeypatch.setattr(executors, "close_box", lambda address, content: content)
    monkeypatch.setattr(executors.Recipient, "open", lambda self, box: box)
    frame = DataFrame.of(TABLE, (150,))
    release(frame, **BUDGET, **CASES["moments"])
    assert all(b"dpcov" in box for box in frame.log.boxes)


@pytest.mark.claim("P34")
def test_no_sums_and_no_cells_go_to_the_executors():
    table = pa.table({"a": np.full(50, float(CELL)), "b": np.arange(50.0)})
    frame = DataFrame.of(table, (20,))
    release(frame, **BUDGET)
    assert len(frame.log.tasks) == 3
    for task in frame.log.tasks:
        assert Carried.__name__.encode() not in task
        assert CELL.encode() not in task
        assert np.float64(CELL).tobytes() not in task


@pytest.mark.claim("P7")
def test_a_partition_that_lost_rows_is_noticed():
    def lose(place, batches):
        return batches[:-1] if place == 1 else batches

    frame = DataFrame.of(TABLE, (150,), lose=lose)
    with pytest.raises(InputError, match="another number of rows"):
        release(frame, **BUDGET, **CASES["moments"])


@pytest.mark.claim("P20")
def test_partitions_that_change_places_are_noticed():
    table = TABLE.slice(0, 300)

    def swap(place, batches):
        seen.append(place)
        if len(seen) <= 6:  # each twice, for the keys
            return batches
        return table.slice(100 * (2 - place), 100).select(names).to_batches()

    seen, names = [], ["a", "b.c", "d`", "who"]
    frame = DataFrame.of(table, (100, 200), conf=HIDDEN, lose=swap)
    with pytest.raises(InputError, match="in another order or with other units"):
        release(frame, **BUDGET, **CASES["units"], row_norm=3.0)


@pytest.mark.claim("P20")
def test_a_row_that_is_nobodys_when_it_is_added_up_is_refused():
    def forget(place, batches):
        seen.append(place)
        if len(seen) <= 2:  # twice, for the keys
            return batches
        return [batch.set_column(3, "c5", pa.nulls(len(batch), pa.string())) for batch in batches]

    seen = []
    frame = DataFrame.of(TABLE, conf=HIDDEN, lose=forget)
    with pytest.raises(MissingValueError, match="Unit column 'who' has missing cells"):
        release(frame, **BUDGET, **CASES["units"], row_norm=3.0)
    assert len(seen) == 4


@pytest.mark.parametrize("case", ["units", "differences"])
def test_another_number_of_partitions_is_noticed(case, monkeypatch):
    table, options = for_pairs(case)
    frame = DataFrame.of(table, (150,), conf=HIDDEN)
    real, ran = DataFrame.toArrow, []

    def other(self):
        if self.task is None:
            return real(self)
        ran.append(self)
        whole = pa.concat_tables(self.partitions)
        cut = tuple(whole.slice(start, 100) for start in range(0, N_ROWS, 100))
        return real(self if len(ran) == 1 else replace(self, partitions=cut))

    monkeypatch.setattr(DataFrame, "toArrow", other)
    with pytest.raises(InputError, match="changed while it was read"):
        release(frame, **BUDGET, **options, row_norm=3.0)
    assert len(ran) == 2


@pytest.mark.claim("P19")
def test_a_partition_that_is_new_or_of_another_length_is_noticed_where_it_is():
    (piece,) = SparkSource(DataFrame.of(PLAIN), Wanted(), on_executors=True).split(1).pieces
    kernel = SignKernel(2, None, None, Missing.REFUSE)
    work = SumPartition((piece,), kernel, Pairing(1, 6), (0, 10, 20))
    batches = PLAIN.to_batches()
    seen, _ = work(1, iter(batches))
    assert seen == 10
    for place, short in [(2, batches), (3, batches), (1, PLAIN.slice(1).to_batches())]:
        with pytest.raises(InputError, match="changed while it was read"):
            work(place, iter(short))


@pytest.mark.claim("P19")
def test_a_task_that_does_not_know_its_partition_is_refused_where_it_matters(monkeypatch):
    monkeypatch.setattr(sys.modules["pyspark"].TaskContext, "get", lambda: None)
    (piece,) = SparkSource(DataFrame.of(PLAIN), Wanted(), on_executors=True).split(1).pieces
    kernel = SignKernel(2, None, None, Missing.REFUSE)
    work = SumPartition((piece,), kernel, Pairing(1, 6), (0, 10, 20))
    recipient = executors.Recipient()
    task = executors.BoxedTask(__version__, recipient.address, work)
    (made,) = task(iter(PLAIN.to_batches()))
    value = executors.unbox(recipient, made.column(0)[0].as_py())
    assert isinstance(value, Refused)


@pytest.mark.claim("P8")
def test_our_refusal_comes_back_as_it_is():
    with pytest.raises(MissingValueError, match="missing or infinite") as caught:
        release(DataFrame.of(TABLE, (150,)), **BUDGET, columns=NUMBERS, row_norm=1.0)
    assert caught.value.__context__ is caught.value.__cause__ is None


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    ("said", "kind", "match"),
    [
        (f"cannot cast {CELL}", InputError, "cannot be computed"),
        ("ModuleNotFoundError: No module named 'dpcov'", EngineError, "executors need dpcov"),
        ("is bigger than spark.driver.maxResultSize", EngineError, "maxResultSize allows"),
        (f"ExecutorLostFailure ({CELL})", EngineError, "lost again and again"),
    ],
)
def test_what_spark_says_is_explained_and_not_repeated(said, kind, match, monkeypatch):
    def fail(self):
        if self.task is None:
            return real(self)
        raise ValueError(said)

    real = DataFrame.toArrow
    monkeypatch.setattr(DataFrame, "toArrow", fail)
    with pytest.raises(kind, match=match) as caught:
        release(DataFrame.of(TABLE, (150,)), **BUDGET, **CASES["moments"])
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_partitions_share_a_task_where_the_driver_takes_no_more_sums():
    cuts = tuple(range(10, N_ROWS, 10))
    counts = {}
    for limit in ("0", "1g", "1k", "2kb", "odd"):
        frame = DataFrame.of(TABLE, cuts, conf={"spark.driver.maxResultSize": limit})
        release(frame, **BUDGET, **CASES["moments"])
        counts[limit] = frame.log.n_tasks[0]
    assert counts["0"] == counts["1g"] == counts["odd"] == len(cuts) + 1
    assert 1 <= counts["1k"] <= counts["2kb"] < 4


def test_the_rows_are_told_when_a_pass_is_done():
    told = []
    frame = DataFrame.of(TABLE, (150,))
    release(frame, progress=lambda *each: told.append(each), **BUDGET, **CASES["learned"])
    assert told == [(name, N_ROWS, N_ROWS) for name in ("columns", "lengths", "moments")]


def test_a_dask_engine_reads_a_spark_frame_here():
    frame = DataFrame.of(TABLE, (150,))
    dpcov.release(frame, engine="dask", **BUDGET, **CASES["moments"])
    assert frame.log.tasks == []
