"""Files that the executors of a real session read. Set DPCOV_TEST_SPARK=1 to run these."""

import os
import shutil
import sys

import pyarrow.parquet as pq
import pytest

from dpcov.errors import ParameterError
from dpcov.sensitive.engines import spark_engine
from either import release
from spark_cases import BUDGET, CASES, N_ROWS, contents, for_pairs

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("DPCOV_TEST_SPARK") != "1" or shutil.which("java") is None,
        reason="needs Java and DPCOV_TEST_SPARK=1",
    ),
    pytest.mark.filterwarnings("ignore"),  # Spark's own
]


@pytest.fixture(scope="module")
def session():
    sql = pytest.importorskip("pyspark.sql")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2]")
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def in_pieces(monkeypatch):
    monkeypatch.setattr(spark_engine, "choose_parts", lambda *_, **__: [3, 2, 1, 1])


def write(table, folder):
    (folder / "survey").mkdir()
    for number, start in enumerate(range(0, N_ROWS, 150)):
        path = folder / "survey" / f"{number}.parquet"
        pq.write_table(table.slice(start, 150), path, row_group_size=45)
    return folder / "survey"


@pytest.mark.claim("P7")
@pytest.mark.parametrize(
    "case", ["moments", "learned", "categories", "weights", "pairs", "differences"]
)
def test_files_have_the_bytes_of_the_same_table_in_memory(case, session, tmp_path):
    table, options = for_pairs(case)
    made = release(write(table, tmp_path), engine=session, **BUDGET, **options)
    assert contents(made, tmp_path) == contents(release(table, **BUDGET, **options), tmp_path)


@pytest.mark.claim("P34")
def test_units_are_refused_without_encrypted_disks(session, tmp_path):
    with pytest.raises(ParameterError, match="encryption"):
        release(tmp_path, engine=session, **BUDGET, **CASES["units"])


def test_a_frame_of_the_session_is_read_where_it_is(session, tmp_path):
    table, options = for_pairs("learned")
    frame = session.createDataFrame(table)
    made = release(frame, engine=session, **BUDGET, **options)
    assert contents(made, tmp_path) == contents(release(table, **BUDGET, **options), tmp_path)
