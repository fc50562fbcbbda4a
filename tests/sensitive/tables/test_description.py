"""What a table says of itself, without a cell being read."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from dpcov.errors import InputError
from dpcov.sensitive.tables.description import ColumnType, describe_table

DAY = datetime.datetime(1999, 1, 1)
TABLE = pa.table(
    {
        "height": [1.5, 2.5],
        "children": [1, 2],
        "smokes": [True, False],
        "city": ["x", "y"],
        "born": [DAY, DAY],
        "parts": [[1], [2]],
    }
)
KINDS = ("number", "whole number", "boolean", "text", "date", "other")


def parquet(folder):
    pq.write_table(TABLE, folder / "x.parquet")
    return folder / "x.parquet"


def write_folder(folder):
    parquet(folder)
    return folder


class Relation:
    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.__arrow_c_stream__(requested_schema)


TABLES = {
    "pyarrow": lambda folder: TABLE,
    "polars": lambda folder: pl.from_arrow(TABLE),
    "lazy": lambda folder: pl.from_arrow(TABLE).lazy(),
    "pandas": lambda folder: TABLE.to_pandas(types_mapper=pd.ArrowDtype),
    "data set": lambda folder: ds.dataset(TABLE),
    "stream": lambda folder: TABLE.to_reader(),
    "relation": lambda folder: Relation(),
    "parquet": parquet,
    "folder": write_folder,
}


@pytest.mark.parametrize("kind", TABLES)
def test_declared_types_become_kinds(kind, tmp_path):
    described = describe_table(TABLES[kind](tmp_path))
    assert described == tuple(map(ColumnType, TABLE.column_names, KINDS))


@pytest.mark.parametrize(
    ("array", "kind"),
    [
        (np.ones((3, 2)), "number"),
        (np.ones((3, 2), np.float32), "number"),
        (np.ones((3, 2), np.uint8), "whole number"),
        (np.ones((3, 2), bool), "boolean"),
        ([[1, 2], [3, 4]], "number"),
        (scipy.sparse.csc_array(np.ones((3, 2))), "number"),
    ],
)
def test_the_columns_of_an_array_are_of_its_type(array, kind):
    assert describe_table(array) == (ColumnType("x0", kind), ColumnType("x1", kind))


def test_a_npy_file_is_described_by_its_header(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((3, 1), np.int16))
    assert describe_table(tmp_path / "x.npy") == (ColumnType("x0", "whole number"),)


def test_a_csv_file_declares_names_and_no_types(tmp_path):
    (tmp_path / "x.csv").write_text("a,city\n1,x\n2,y\n")
    described = (ColumnType("a", "unknown"), ColumnType("city", "unknown"))
    assert describe_table(str(tmp_path / "x.csv")) == described


@pytest.mark.parametrize("end", ["\n1,2,3\n", "", "\n\xff,x", "\r\n1,2"])
def test_nothing_but_the_header_of_a_csv_file_is_read(tmp_path, end):
    (tmp_path / "x.csv").write_bytes(b'\na,"b "" c"' + end.encode("latin-1"))
    described = describe_table(tmp_path / "x.csv", header=True)
    assert [column.name for column in described] == ["a", 'b " c']


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": ["x"]}, schema={"a": pl.Enum(["x"])}),
        pl.DataFrame({"a": ["x"]}, schema={"a": pl.Categorical}),
        pd.DataFrame({"a": pd.Categorical(["x"])}),
        pa.table({"a": pa.array(["x"]).dictionary_encode()}),
    ],
)
def test_categories_are_categories(table):
    assert describe_table(table) == (ColumnType("a", "category"),)


def test_long_text_is_text():
    table = pa.table({"a": pa.array(["x"], pa.large_string())})
    assert describe_table(table) == (ColumnType("a", "text"),)


@pytest.mark.parametrize("cells", [["x", "y"], [1, 2], [None, None]])
def test_python_objects_are_objects_whatever_their_cells(cells):
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object)})
    assert describe_table(frame) == (ColumnType("a", "object"),)


def test_a_lazy_frame_is_not_computed():
    def fail(frame):
        raise AssertionError("computed")

    frame = pl.LazyFrame({"a": [1.0]}).map_batches(fail, schema={"a": pl.Float64})
    assert describe_table(frame) == (ColumnType("a", "number"),)


def test_a_parquet_file_is_described_by_its_end(tmp_path):
    path = parquet(tmp_path)
    content = path.read_bytes()
    metadata = pq.read_metadata(path).serialized_size + 8
    path.write_bytes(b"PAR1" + bytes(len(content) - metadata - 4) + content[-metadata:])
    assert [column.kind for column in describe_table(path)] == list(KINDS)


def test_a_folder_is_described_by_its_first_file(tmp_path):
    for name, cells in (("b", [1]), ("a", [1.5])):
        pq.write_table(pa.table({"height": cells}), tmp_path / f"{name}.parquet")
    assert describe_table(tmp_path) == (ColumnType("height", "number"),)


def test_a_stream_can_still_be_read_after_it_was_described():
    reader = TABLE.to_reader()
    describe_table(reader)
    assert reader.read_all().num_rows == 2


def test_an_index_that_pandas_wrote_is_not_described(tmp_path):
    pd.DataFrame({"a": [1.0]}, index=["x"]).to_parquet(tmp_path / "x.parquet")
    assert describe_table(tmp_path / "x.parquet") == (ColumnType("a", "number"),)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"987654": ["x"], "1.5": [2]}), "somebody's row"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "same name"),
        (np.array([["secret"]]), "real numbers"),
        (None, "The table must be"),
        ("gone.csv", "no file"),
    ],
)
def test_what_cannot_be_described_is_refused(table, message):
    with pytest.raises(InputError, match=message) as caught:
        describe_table(table)
    assert "987654" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_query_of_duckdb_is_described_without_a_row():
    class DuckDBPyRelation(Relation):
        def limit(self, size):
            asked.append(size)
            return Relation()

    DuckDBPyRelation.__module__ = "duckdb.duckdb"
    asked = []
    assert tuple(column.kind for column in describe_table(DuckDBPyRelation())) == KINDS
    assert asked == [0]
