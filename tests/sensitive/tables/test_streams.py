import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import dpcov
from dpcov.errors import InputError, MissingExtraError, WeakPromiseWarning
from dpcov.mechanisms import dense
from dpcov.sensitive.tables import is_streamed, open_table, streams

ROWS = np.random.default_rng(0).normal(size=(101, 3))
TABLE = pa.table(dict(zip("abc", ROWS.T, strict=True)))
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 1.0}
CELL = "987654"  # must not be in any message


class Relation:
    """Anything that offers an Arrow stream, as a DuckDB relation does."""

    def __arrow_c_stream__(self, requested_schema=None):
        return TABLE.to_reader(max_chunksize=7).__arrow_c_stream__(requested_schema)


def failing(schema=TABLE.schema, after=1):
    """Return a reader that breaks off, with a cell in its message."""

    def batches():
        yield from TABLE.to_batches(max_chunksize=7)[:after]
        raise ValueError(CELL)

    return pa.RecordBatchReader.from_batches(schema, batches())


STREAMS = {
    "reader": lambda: TABLE.to_reader(max_chunksize=7),
    "relation": Relation,
}
LAZY = {
    "batch": lambda: TABLE.to_batches()[0],
    "data set": lambda: ds.dataset(TABLE),
    "lazy frame": lambda: pl.from_arrow(TABLE).lazy(),
    "lazy query": lambda: pl.concat([pl.from_arrow(TABLE)] * 2).lazy().slice(101),
}
SPARSE = {
    kind: (lambda kind=kind: getattr(scipy.sparse, kind)(ROWS))
    for kind in ("csr_array", "csc_array", "coo_matrix", "csr_matrix", "lil_array")
}
ALL = STREAMS | LAZY | SPARSE


def read(table, size=16, **keywords):
    return np.concatenate(list(open_table(table, **keywords).blocks(size)))


@pytest.mark.parametrize("kind", ALL)
def test_every_kind_gives_its_numbers(kind):
    assert (read(ALL[kind]()) == ROWS).all()


@pytest.mark.parametrize("kind", ALL)
def test_blocks_have_one_length_whatever_the_batches(kind):
    lengths = [len(block) for block in open_table(ALL[kind]()).blocks(16)]
    assert lengths == [16] * 6 + [5]


@pytest.mark.parametrize("kind", STREAMS | LAZY)
def test_names_are_those_of_the_schema(kind):
    assert open_table(ALL[kind]()).columns == ("a", "b", "c")


@pytest.mark.parametrize("kind", LAZY | SPARSE)
def test_what_is_not_a_stream_knows_its_rows(kind):
    assert open_table(ALL[kind]()).n_rows == 101


@pytest.mark.parametrize("kind", STREAMS)
def test_a_stream_knows_its_rows_after_it_was_read(kind):
    source = open_table(STREAMS[kind]())
    assert source.n_rows is None
    list(source.blocks(16))
    assert source.n_rows == 101


@pytest.mark.parametrize("kind", ALL)
def test_only_open_table_can_read_these(kind):
    assert is_streamed(ALL[kind]())


@pytest.mark.parametrize("table", [ROWS, ROWS.tolist(), TABLE, pl.from_arrow(TABLE), None, 7])
def test_tables_in_memory_are_not_streamed(table):
    assert not is_streamed(table)


def test_a_path_can_be_read_by_open_table_only(tmp_path):
    assert is_streamed("survey.csv")
    assert is_streamed(tmp_path)


def test_a_lazy_frame_is_read_where_polars_has_no_batches(monkeypatch):
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    assert (read(LAZY["lazy query"]()) == ROWS).all()


def test_nulls_in_streams_are_nan():
    table = pa.table({"a": [1, None, 3], "b": [True, False, None]})
    expected = [[1, 1], [np.nan, 0], [3, np.nan]]
    np.testing.assert_array_equal(read(table.to_reader()), expected)
    np.testing.assert_array_equal(read(pl.from_arrow(table).lazy()), expected)


@pytest.mark.parametrize(
    "make", [lambda t: t.to_reader(), ds.dataset, lambda t: pl.from_arrow(t).lazy()]
)
def test_integers_beyond_2_to_the_53_are_rounded(make):
    numbers = [2**53 + 1, 2**63 - 1, -(2**53) - 3]
    assert read(make(pa.table({"a": numbers}))).ravel().tolist() == [float(n) for n in numbers]


def test_cells_that_are_not_stored_are_zero():
    table = scipy.sparse.coo_array(([5.0, np.nan], ([0, 2], [1, 0])), shape=(3, 2))
    np.testing.assert_array_equal(read(table), [[0, 5], [0, 0], [np.nan, 0]])


def test_a_stream_can_be_opened_but_not_read_twice():
    source = open_table(TABLE.to_reader())
    list(source.blocks(16))
    with pytest.raises(InputError, match="read already"):
        list(source.blocks(16))


def test_a_consumed_stream_is_refused():
    reader = TABLE.to_reader()
    reader.read_all()
    with pytest.raises(InputError, match=r"gave 0 row\(s\).*read before"):
        read(reader)


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    "make",
    [
        failing,
        lambda: failing(after=0),
        lambda: pl.LazyFrame({"a": [CELL, "x"]}).select(pl.col("a").cast(pl.Float64)),
    ],
)
def test_a_stream_that_breaks_off_is_refused_without_quoting_it(make, monkeypatch):
    monkeypatch.setattr(dense, "release_gram", None)
    with pytest.raises(InputError, match=r"broke off|cannot be computed") as caught:
        dpcov.release(make(), **BUDGET, allow={"small"})
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_lazy_frame_that_changes_between_its_readings_is_refused():
    calls = []

    def shrink(frame):
        calls.append(1)
        return frame.head(100 // len(calls))

    frame = pl.from_arrow(TABLE).lazy().map_batches(shrink)
    with pytest.raises(InputError, match="changed while it was read"):
        read(frame)


def test_a_data_set_whose_file_is_gone_is_refused(tmp_path):
    pq.write_table(TABLE, tmp_path / "x.parquet")
    dataset = ds.dataset(tmp_path)
    (tmp_path / "x.parquet").unlink()
    with pytest.raises(InputError, match="data set cannot be read") as caught:
        open_table(dataset)
    assert caught.value.__context__ is None


def test_a_stream_that_is_too_long_is_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr(streams, "MAX_STREAM_ROWS", 100)
    with pytest.raises(InputError, match=r"more than 100 rows.*Parquet"):
        read(TABLE.to_reader())


def test_a_stream_that_is_read_once_may_have_3_800_000_rows():
    def stream(n_rows):
        batches = [pa.record_batch({"a": np.zeros(n, np.int8)}) for n in (n_rows - 1, 1)]
        return pa.RecordBatchReader.from_batches(batches[0].schema, batches)

    assert sum(map(len, open_table(stream(3_800_000)).blocks(1 << 16))) == 3_800_000
    with pytest.raises(InputError, match="more than 3800000 rows"):
        list(open_table(stream(3_800_001)).blocks(1 << 16))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (pa.table({"a": [1.0], "city": [CELL]}).to_reader(), "Column 'city' is of type string"),
        (pl.LazyFrame({"a": [1.0], "city": [CELL]}), "Column 'city' is of type String"),
        (ds.dataset(pa.table({"a": [{CELL: 1}]})), "Column 1 is of type struct, not"),
        (pa.table({"1.5": [1.0], "2": [3.0]}).to_reader(), "somebody's row"),
        (pa.table({}).to_reader(), "no columns"),
        (pa.Table.from_arrays([pa.array([1.0])] * 2, names=["a", "a"]).to_reader(), "same name"),
        (pl.LazyFrame({"a": [1.0]}), "n_samples=1"),
        (pl.LazyFrame({"a": [1.0]}).select("b"), "cannot be computed"),
        (scipy.sparse.csr_array(np.ones((2, 2)) * 1j), "real numbers"),
        (scipy.sparse.coo_array(np.ones(3)), "1 dimension"),
        (scipy.sparse.csr_array((0, 3)), "n_samples=0"),
    ],
)
def test_unusable_streams_are_refused(table, message):
    with pytest.raises(InputError, match=message) as caught:
        open_table(table)
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is None


def test_without_pyarrow_a_stream_says_what_to_install(monkeypatch):
    stream = Relation()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dpcov\[files\]'"):
        open_table(stream)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_short_stream_is_refused_after_it_was_read(rows, monkeypatch):
    reader = TABLE.slice(0, rows).to_reader()
    if rows == 2:
        assert len(read(reader)) == 2
        return
    monkeypatch.setattr(dense, "release_gram", None)
    with pytest.raises(InputError, match=r"gave 1 row\(s\); at least 2 needed"):
        dpcov.release(reader, **BUDGET)


def test_a_large_delta_is_warned_of_for_streams_too():
    with pytest.warns(WeakPromiseWarning, match="above 1 / n_rows"):
        dpcov.release(TABLE.to_reader(), epsilon=1, delta=0.1, row_norm=100)
