"""Files that Spark's executors read without Java. Here Spark is a stand-in."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import EngineError, InputError, MissingValueError, ParameterError
from dpcov.mechanisms.door import NOTHING_SPENT
from dpcov.sensitive.engines import spark_engine
from dpcov.sensitive.sums import signs
from dpcov.sensitive.tables.parquet_files import ParquetSource
from dpcov.sensitive.workers import executors
from dpcov.sensitive.workers.carried import Carried
from either import release
from spark_cases import BUDGET, CASES, CELL, HIDDEN, N_ROWS, TABLE, contents, for_pairs
from spark_double import DataFrame, SparkSession, install


@pytest.fixture(autouse=True)
def spark(monkeypatch):
    install(monkeypatch)
    monkeypatch.setattr(signs, "_MOST_BLOCK_ROWS", 30)
    # Also short files are cut, within blocks in which rows are paired.
    monkeypatch.setattr(spark_engine, "choose_parts", lambda *_, **__: [3, 2, 1, 1])


def write(table, folder):
    """Write a table to three files with row groups of 45 rows."""
    (folder / "survey").mkdir()
    for number, start in enumerate(range(0, N_ROWS, 150)):
        path = folder / "survey" / f"{number}.parquet"
        pq.write_table(table.slice(start, 150), path, row_group_size=45)
    return folder / "survey"


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", CASES)
def test_a_release_has_the_bytes_of_the_same_table_in_memory(case, tmp_path):
    table, options = for_pairs(case)
    alone = contents(release(table, **BUDGET, **options), tmp_path)
    session = SparkSession(HIDDEN)
    made = release(write(table, tmp_path), engine=session, **BUDGET, **options)
    assert contents(made, tmp_path) == alone
    assert set(session.log.n_tasks) == {4}


@pytest.mark.claim("P7")
def test_an_array_in_a_file_gives_its_bytes(tmp_path):
    rows = np.random.default_rng(3).normal(size=(N_ROWS, 4))
    np.save(tmp_path / "rows.npy", rows)
    session = SparkSession()
    made = dpcov.release(tmp_path / "rows.npy", engine=session, **BUDGET)
    assert contents(made, tmp_path) == contents(dpcov.release(rows, **BUDGET), tmp_path)
    assert len(session.log.n_tasks) == 3


def test_no_row_is_read_in_this_process(tmp_path, monkeypatch):
    folder, session = write(TABLE, tmp_path), SparkSession()
    real = DataFrame.toArrow

    def run(self):
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(ParquetSource, "_batches", batches)
            return real(self)

    batches = ParquetSource._batches
    monkeypatch.setattr(DataFrame, "toArrow", run)
    monkeypatch.setattr(ParquetSource, "_batches", lambda *_: pytest.fail("read here"))
    assert release(folder, engine=session, **BUDGET, **CASES["learned"]).n_rows == N_ROWS


@pytest.mark.claim("P34")
@pytest.mark.parametrize("case", ["learned", "units", "differences"])
def test_nothing_leaves_a_task_in_the_clear(case, tmp_path):
    table, options = for_pairs(case)
    session = SparkSession(HIDDEN)
    release(write(table, tmp_path), engine=session, **BUDGET, **options)
    assert session.log.boxes
    for box in session.log.boxes:
        assert b"dpcov" not in box
        assert b"person" not in box
        assert b"numpy" not in box


@pytest.mark.claim("P34")
def test_no_sums_and_no_cells_go_to_the_executors(tmp_path):
    table = pa.table({"a": np.full(N_ROWS, float(CELL)), "b": np.arange(float(N_ROWS))})
    session = SparkSession()
    release(write(table, tmp_path), engine=session, **BUDGET)
    assert len(session.log.tasks) == 3
    for task in session.log.tasks:
        assert Carried.__name__.encode() not in task
        assert CELL.encode() not in task
        assert np.float64(CELL).tobytes() not in task


@pytest.mark.claim("P34")
@pytest.mark.parametrize("conf", [{}, {"spark.io.encryption.enabled": "false"}])
def test_units_are_refused_if_spark_writes_tasks_in_the_clear(conf, tmp_path):
    session = SparkSession(conf)
    with pytest.raises(ParameterError, match=r"needs spark\.io\.encryption\.enabled=true") as said:
        release(tmp_path / "not opened", engine=session, **BUDGET, **CASES["units"])
    assert str(said.value).endswith(NOTHING_SPENT)
    assert session.log.tasks == []


@pytest.mark.parametrize("table", [np.ones((9, 2)), TABLE, TABLE.to_reader()])
def test_rows_that_are_in_no_file_do_not_go_to_spark(table):
    with pytest.raises(ParameterError, match="its rows would go to Spark's disks"):
        dpcov.release(table, engine=SparkSession(), **BUDGET)


def test_a_file_that_cannot_be_cut_is_refused(tmp_path):
    pyarrow.csv.write_csv(TABLE.select(["a", "b.c"]), tmp_path / "rows.csv")
    with pytest.raises(ParameterError, match="cannot be cut into parts") as caught:
        dpcov.release(tmp_path / "rows.csv", engine=SparkSession(), **BUDGET)
    assert str(caught.value).endswith(NOTHING_SPENT)


def test_a_session_beside_a_frame_is_where_the_frame_is(tmp_path):
    frame, other = DataFrame.of(TABLE, (150,)), SparkSession()
    made = release(frame, engine=other, **BUDGET, **CASES["learned"])
    assert other.log.tasks == []
    assert len(frame.log.tasks) == 3
    again = release(TABLE, **BUDGET, **CASES["learned"])
    assert contents(made, tmp_path) == contents(again, tmp_path)


@pytest.mark.claim("P7")
@pytest.mark.parametrize("cells", [[0, 1, 2], [0, 1, 2, 2], [0, 1, 2, 3, 3]])
def test_a_piece_that_is_left_out_or_there_twice_is_noticed(cells, tmp_path, monkeypatch):
    tables = tuple(pa.table({"id": pa.array([cell], pa.int64())}) for cell in cells)
    real = SparkSession.range
    monkeypatch.setattr(
        SparkSession, "range", lambda *given: replace(real(*given), partitions=tables)
    )
    with pytest.raises(EngineError, match="did not run the task of each part"):
        release(write(TABLE, tmp_path), engine=SparkSession(), **BUDGET, **CASES["moments"])


@pytest.mark.claim("P20")
def test_units_that_come_in_another_order_are_noticed(tmp_path, monkeypatch):
    folder = write(TABLE, tmp_path)
    real = DataFrame.toArrow

    def swap(self):
        one, other = sorted(folder.iterdir())[:2]
        tables = pq.read_table(one), pq.read_table(other)
        for path, table in zip((other, one), tables, strict=True):
            pq.write_table(table, path, row_group_size=45)
        return real(self)

    monkeypatch.setattr(DataFrame, "toArrow", swap)
    with pytest.raises(InputError, match="units came in another order"):
        release(folder, engine=SparkSession(HIDDEN), **BUDGET, **CASES["units"], row_norm=3.0)


@pytest.mark.claim("P8")
def test_our_refusal_comes_back_as_it_is(tmp_path):
    options = {**CASES["moments"], "missing": "refuse"}
    with pytest.raises(MissingValueError, match="missing or infinite") as caught:
        release(write(TABLE, tmp_path), engine=SparkSession(), **BUDGET, **options)
    assert caught.value.__context__ is caught.value.__cause__ is None


@pytest.mark.claim("P8")
@pytest.mark.parametrize("step", ["range", "toArrow"])
def test_what_spark_says_is_not_repeated(step, tmp_path, monkeypatch):
    def fail(*_):
        raise ValueError(CELL)

    monkeypatch.setattr(SparkSession if step == "range" else DataFrame, step, fail)
    with pytest.raises(InputError, match="or the session has ended") as caught:
        release(write(TABLE, tmp_path), engine=SparkSession(), **BUDGET, **CASES["moments"])
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_an_executor_that_does_not_see_the_files_says_so(tmp_path, monkeypatch):
    folder = write(TABLE, tmp_path)
    real = DataFrame.toArrow

    def elsewhere(self):
        folder.rename(tmp_path / "elsewhere")
        return real(self)

    monkeypatch.setattr(DataFrame, "toArrow", elsewhere)
    with pytest.raises(InputError, match="same paths"):
        release(folder, engine=SparkSession(), **BUDGET, **CASES["moments"])


def test_pieces_share_a_task_where_the_driver_takes_no_more_sums(tmp_path):
    session = SparkSession({"spark.driver.maxResultSize": "1k"})
    made = release(write(TABLE, tmp_path), engine=session, **BUDGET, **CASES["moments"])
    assert session.log.n_tasks == [1, 1]  # counts, and moments
    again = release(TABLE, **BUDGET, **CASES["moments"])
    assert contents(made, tmp_path) == contents(again, tmp_path)


def test_the_rows_are_told_when_a_pass_is_done(tmp_path):
    told = []
    options = {**CASES["learned"], "progress": lambda *each: told.append(each)}
    release(write(TABLE, tmp_path), engine=SparkSession(), **BUDGET, **options)
    assert told == [(name, N_ROWS, N_ROWS) for name in ("columns", "lengths", "moments")]


def test_a_server_that_does_not_say_how_many_cores_it_has_is_taken_for_a_cluster():
    assert executors.Executors(SparkSession()).cores == 2
    assert executors.Executors(SparkSession(sparkContext=None)).cores == 32
