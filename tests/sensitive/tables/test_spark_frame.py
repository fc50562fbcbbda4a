"""Spark, for real. A session takes long to start: set DPCOV_TEST_SPARK=1 to run these."""

import os
import shutil
import sys

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import InputError, MissingValueError
from dpcov.mechanisms.door import NOISE_DRAWN, NOTHING_SPENT
from dpcov.sensitive.tables import is_streamed, open_table
from dpcov.sensitive.tables.description import describe_table
from either import release

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("DPCOV_TEST_SPARK") != "1" or shutil.which("java") is None,
        reason="needs Java and DPCOV_TEST_SPARK=1",
    ),
    pytest.mark.filterwarnings("ignore"),  # Spark's own
]
ROWS = np.random.default_rng(0).normal(size=(101, 3))
WHO = np.random.default_rng(1).integers(1, 20, size=101)
TABLE = pa.table(
    {"a": ROWS[:, 0], "who": WHO, "b.c": ROWS[:, 1], "c`": ROWS[:, 2], "t": WHO.astype(str)}
)
CELL = "987654"


@pytest.fixture(scope="module")
def session():
    pyspark = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark.SparkSession.builder.master("local[2]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "10",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame(session):
    return session.createDataFrame(TABLE)


def test_a_spark_frame_gives_its_numbers_in_blocks_of_one_length(frame):
    source = open_table(frame, select=["c`", "a", "b.c"])
    assert source.columns == ("c`", "a", "b.c")
    assert source.n_rows == 101
    blocks = list(source.blocks(16))
    assert [len(block) for block in blocks] == [16] * 6 + [5]
    assert (np.concatenate(blocks) == ROWS[:, [2, 0, 1]]).all()


@pytest.mark.parametrize("unit", ["who", "t"])
def test_its_keys_are_equal_exactly_when_units_are(frame, unit):
    source = open_table(frame, select=["a"], privacy_unit=unit)
    keys = [key for run in source.unit_keys(16) for key in run.cells.tolist()]
    assert [keys.index(key) for key in keys] == [WHO.tolist().index(who) for who in WHO]
    assert (np.concatenate(list(source.blocks(16)))[:, 0] == ROWS[:, 0]).all()


def test_rows_that_come_in_another_order_are_refused(frame):
    source = open_table(frame, select=["a"], privacy_unit="who")
    list(source.unit_keys(16))
    source._table = frame.orderBy("a")
    with pytest.raises(InputError, match="rows came in another order"):
        list(source.blocks(16))


def test_a_shuffle_gives_one_order_to_keys_and_rows(frame):
    source = open_table(frame.repartition(4), select=["a"], privacy_unit="who")
    keys = np.concatenate([run.cells for run in source.unit_keys(16)])
    rows = np.concatenate(list(source.blocks(16)))[:, 0]
    assert dict(zip(rows, keys, strict=True)) == dict(zip(ROWS[:, 0], WHO, strict=True))


def test_a_release_has_the_bytes_of_the_same_table_in_memory(frame):
    budget = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 1.0, "seed": 3}
    released = dpcov.release(frame.drop("t"), **budget)
    assert (released.matrix == dpcov.release(TABLE.drop_columns("t"), **budget).matrix).all()


HOLES = np.random.default_rng(2).random(101) < 0.1
LEARNING = {
    "nothing stated": {},
    "stated in part": {"columns": {"a": (-2, None), "b.c": {}, "c`": {"center": 0.0}}},
    "missing cells": {"missing": "center"},
    "add-remove": {"neighbors": "add-remove"},
    "units": {"privacy_unit": "who", "rows_per_unit": 2, "missing": "center"},
    "pairs": {"center": "learned", "max_pairs": 2},
}


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", LEARNING)
def test_what_is_learned_has_the_bytes_of_the_same_table_in_memory(session, case, tmp_path):
    options = {"epsilon": 5.0, "delta": 1e-6, "seed": 3, **LEARNING[case]}
    cells = pa.array(ROWS[:, 0], mask=HOLES if "missing" in options else None)
    table = TABLE.drop_columns("t").set_column(0, "a", cells)
    saved, told = [], []
    for each in (session.createDataFrame(table), table):
        made = release(each, progress=lambda name, *_: told.append(name), **options)
        made.save(tmp_path / "release.npz")
        saved.append((tmp_path / "release.npz").read_bytes())
    assert saved[0] == saved[1]
    passes = ["centers", "co-movements"] if case == "pairs" else ["columns", "lengths", "moments"]
    assert list(dict.fromkeys(told)) == passes


@pytest.mark.claim("P8")
@pytest.mark.parametrize("reading", ["columns", "lengths"])
def test_a_frame_that_fails_meanwhile_says_what_was_spent(session, reading):
    frame = session.createDataFrame(TABLE).selectExpr("a", "`b.c` as b").filter("a > -100")

    class DataFrame:
        """A frame that can be lost."""

        def __init__(self, table):
            self._table, self.columns, self.count = table, table.columns, table.count

        def limit(self, size):
            return self._table.limit(size)

        def select(self, *names):
            if lost:
                return self._table.selectExpr(
                    *(f"cast(raise_error('{CELL}') as double) as {name}" for name in names)
                )
            return self._table.select(*names)

    DataFrame.__module__ = "pyspark.sql.classic.dataframe"
    lost = [] if reading == "lengths" else [True]

    def lose(name, done, total):
        lost.append(name)

    with pytest.raises(InputError, match="cannot be computed") as caught:
        dpcov.release(DataFrame(frame), epsilon=1.0, delta=1e-6, progress=lose)
    said = NOTHING_SPENT if reading == "columns" else NOISE_DRAWN
    assert str(caught.value).endswith(said)
    assert CELL not in str(caught.value)


def test_it_is_described_without_being_computed(session):
    frame = session.sql(f"select cast('{CELL}x' as int) as a, 1.5 as b, 'x' as c, current_date() d")
    kinds = ["whole number", "number", "text", "date"]
    assert [column.kind for column in describe_table(frame)] == kinds


@pytest.mark.claim("P8")
def test_what_spark_says_is_not_repeated(session):
    frame = session.range(3).selectExpr(f"cast(concat(id, '{CELL}x') as int) as a")
    with pytest.raises(InputError, match="cannot be computed") as caught:
        list(open_table(frame).blocks(2))
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_text_column_is_refused(frame):
    with pytest.raises(InputError, match="Column 't' is of type string"):
        open_table(frame)


def test_a_missing_unit_is_refused(session):
    frame = session.sql("select * from values (1.0, 1), (2.0, null) as t(a, who)")
    with pytest.raises(MissingValueError):
        list(open_table(frame, privacy_unit="who").unit_keys(2))


def test_only_open_table_can_read_it(frame):
    assert is_streamed(frame)


def test_without_a_stream_the_rows_are_collected(frame):
    class DataFrame:
        """What Spark 4.0 offers."""

        def __init__(self, table):
            self.columns, self.count, self.toArrow = table.columns, table.count, table.toArrow
            self.limit = lambda size: DataFrame(table.limit(size))
            self.select = lambda *names: DataFrame(table.select(*names))
            self.toDF = lambda *names: DataFrame(table.toDF(*names))

    DataFrame.__module__ = "pyspark.sql.classic.dataframe"
    source = open_table(DataFrame(frame), select=["a"], privacy_unit="who")
    assert sum(len(run) for run in source.unit_keys(16)) == 101
    assert (np.concatenate(list(source.blocks(16)))[:, 0] == ROWS[:, 0]).all()


@pytest.mark.claim("P20")
@pytest.mark.parametrize("other", ["7", "7.0", "'7'"])
def test_a_person_in_two_parts_of_a_union_counts_once(session, other):
    frame = session.sql(f"select 1.0D as a, '7' as who union all select 2.0D, {other}")
    runs = list(open_table(frame, privacy_unit="who").unit_keys(16))
    assert len({keys.kind for keys in runs}) == 1
    assert len({key for keys in runs for key in keys.cells.tolist()}) == 1
