"""What blocks are said to hold, and the weight: the same from every kind of table."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from dpcov.columns import Column, Columns
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.errors import InputError
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.differences import DifferenceSource
from dpcov.sensitive.tables.privacy_units import limit_rows
from dpcov.sensitive.tables.spool import readable
from dpcov.sensitive.tables.working import Reading, WorkingSource
from dpcov.sensitive.workers.schedulers import ThreadScheduler

N = 23
ROWS = np.random.default_rng(0).normal(size=(N, 3))
FRAME = pd.DataFrame(ROWS, columns=["a", "w", "b"])


def arrow():
    return pa.Table.from_pandas(FRAME, preserve_index=False)


def parquet(folder):
    pq.write_table(arrow(), folder / "x.parquet", row_group_size=7)
    return folder / "x.parquet"


def csv(folder):
    FRAME.to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def npy(folder):
    np.save(folder / "x.npy", ROWS)
    return folder / "x.npy"


NAMED = {
    "pandas": lambda folder: FRAME,
    "polars": lambda folder: pl.from_pandas(FRAME),
    "polars, lazy": lambda folder: pl.from_pandas(FRAME).lazy(),
    "pyarrow": lambda folder: arrow(),
    "data set": lambda folder: ds.dataset(parquet(folder)),
    "stream": lambda folder: arrow().to_reader(max_chunksize=7),
    "csv": csv,
    "parquet": parquet,
}
NUMBERED = {
    "numpy": lambda folder: ROWS,
    "npy": npy,
    "sparse": lambda folder: scipy.sparse.csr_array(ROWS),
}
WEIGHT = dict.fromkeys(NAMED, "w") | dict.fromkeys(NUMBERED, "x1")


def read(source, size=5):
    return np.concatenate(list(source.blocks(size)))


@pytest.mark.parametrize("kind", NAMED | NUMBERED)
def test_the_weight_stands_last(kind, tmp_path):
    source = open_table((NAMED | NUMBERED)[kind](tmp_path), weight=WEIGHT[kind])
    assert source.columns[2] == WEIGHT[kind]
    assert tuple(field.name for field in source.fields) == source.columns
    assert np.array_equal(read(source), ROWS[:, [0, 2, 1]])


@pytest.mark.parametrize("kind", NAMED)
def test_the_weight_stands_after_the_columns_that_are_asked_for(kind, tmp_path):
    source = open_table(NAMED[kind](tmp_path), select=["b"], weight="w")
    assert source.columns == ("b", "w")
    assert np.array_equal(read(source), ROWS[:, [2, 1]])


@pytest.mark.parametrize("make", [da.from_array, lambda rows: dd.from_pandas(FRAME, npartitions=3)])
def test_the_weight_stands_last_in_every_piece_of_a_dask_collection(make):
    table = make(ROWS)
    weight = "x1" if hasattr(table, "chunks") else "w"
    source = open_table(table, weight=weight, scheduler=ThreadScheduler())
    pieces = [piece.open(piece.delayed.compute()) for piece in source.split(3).pieces]
    assert [field.name for field in source.fields][2] == weight
    assert np.array_equal(np.concatenate([read(piece) for piece in pieces]), ROWS[:, [0, 2, 1]])


@pytest.mark.parametrize("stream", [False, True])
def test_a_weight_that_is_the_only_column_leaves_none_to_release(stream):
    table = arrow().select(["w"]).to_reader() if stream else FRAME[["w"]]
    with pytest.raises(InputError, match="no columns"):
        open_table(table, weight="w")


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({"weight": "v"}, "weight= names columns that the table does not have: 'v'"),
        ({"weight": 1}, "weight must be the name of a column"),
        ({"weight": "w", "privacy_unit": "w"}, "cannot say both"),
        ({"weight": "w", "select": ["a", "w"]}, "is not released: leave it out of columns="),
    ],
)
def test_a_weight_that_cannot_be_one_is_refused(stated, message):
    with pytest.raises(InputError, match=message):
        open_table(FRAME, **stated)


def test_a_weight_of_text_is_refused_by_its_type():
    table = FRAME.assign(w="heavy")
    with pytest.raises(InputError, match="Column 'w' is of type") as caught:
        open_table(table, weight="w")
    assert "heavy" not in str(caught.value)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (np.array([1, 2]), False),
        (np.array([True, False]), False),
        (np.array([1.0, 2.0]), True),
    ],
)
def test_the_type_says_whether_cells_of_an_array_may_be_missing(column, expected):
    assert open_table(column[:, None]).fields[0].may_be_missing is expected


@pytest.mark.parametrize(
    "column",
    [
        np.array([1, 2]),
        np.array([True, False]),
        np.array([1.0, 2.0]),
        pd.array([1, 2], dtype="Int64"),
        pd.array([True, False], dtype="boolean"),
    ],
)
def test_cells_of_pandas_may_be_missing_whatever_type_they_gave_a_column(column):
    # An empty cell in a file makes pandas read whole numbers as floats.
    assert open_table(pd.DataFrame({"a": column})).fields[0].may_be_missing


@pytest.mark.claim("P28")
@pytest.mark.parametrize("cells", [[1, 2], [True, False], [1.0, 2.0]])
@pytest.mark.parametrize("lazy", [False, True])
def test_cells_of_polars_may_be_missing_in_every_type(cells, lazy):
    frame = pl.DataFrame({"a": cells})
    assert open_table(frame.lazy() if lazy else frame).fields[0].may_be_missing


@pytest.mark.parametrize(
    ("kind", "nullable", "expected"),
    [
        (pa.int64(), True, True),
        (pa.int64(), False, False),
        (pa.bool_(), False, False),
        (pa.float64(), False, True),
    ],
)
def test_the_schema_says_whether_cells_of_arrow_may_be_missing(kind, nullable, expected, tmp_path):
    schema = pa.schema([pa.field("a", kind, nullable=nullable)])
    table = pa.table({"a": pa.array([1, 0]).cast(kind)}, schema=schema)
    pq.write_table(table, tmp_path / "x.parquet")
    for each in (table, tmp_path / "x.parquet"):
        assert open_table(each).fields[0].may_be_missing is expected


@pytest.mark.claim("P26")
@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, False),
        ({"missing": [-9]}, True),
        ({"levels": [1, 2]}, True),
        ({"levels": [1, 2], "other": "else"}, False),
        ({"levels": [1, 2], "complete": True}, False),
        ({"complete": False}, True),
    ],
)
def test_facts_say_whether_cells_may_be_missing_where_the_type_has_no_room(facts, expected):
    stated = Columns.from_mapping({"x0": facts})
    assert open_table(np.array([[1], [2]]), facts=stated).fields[0].may_be_missing is expected


def test_a_masked_array_may_have_missing_cells_of_any_type():
    fields = open_table(np.ma.array([[1], [2]], mask=[[0], [0]])).fields
    assert fields[0].may_be_missing is True
    assert open_table(np.array([[1], [2]])).fields[0].may_be_missing is False


def test_every_layer_says_what_its_source_says():
    table = FRAME.assign(who=1)
    source = open_table(table, privacy_unit="who")
    names = ("a", "w", "b")
    layers = [
        WorkingSource(source, Reading.of(Design.numbers_of(names))),
        DifferenceSource(source, 0),
        limit_rows(source, 5, bytes(32)),
    ]
    assert all(tuple(f.name for f in layer.fields) == names for layer in layers)
    with readable(open_table(arrow().to_reader()), 2, None) as spooled:
        assert spooled.fields == tuple(Field(name, facts=Column(name)) for name in names)
