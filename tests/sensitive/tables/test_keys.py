"""Whose row it is: one person must never become two, however the cells are stored."""

import datetime
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from dpcov.errors import InputError, MissingValueError
from dpcov.exact.grid import Grid
from dpcov.sensitive.engines.dask_engine import DaskEngine
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.sums.gram import GramKernel
from dpcov.sensitive.tables import csv_file, open_table
from dpcov.sensitive.tables.arrow_columns import read_arrow_keys
from dpcov.sensitive.tables.keys import as_keys, check_keys
from dpcov.sensitive.tables.privacy_units import limit_rows
from dpcov.sensitive.workers.schedulers import ThreadScheduler

DAY, OTHER = datetime.date(1999, 1, 1), datetime.date(2001, 2, 3)
MOMENT = datetime.datetime(1999, 1, 1, 12, 30)


def codes(table, size=2, unit="who"):
    """Return, for each row, the first row of the same unit."""
    source = open_table(table, select=["a"], privacy_unit=unit)
    keys = [key for run in source.unit_keys(size) for key in run.cells.tolist()]
    return [keys.index(key) for key in keys]


def make(kind, who, folder):
    table = pa.table({"a": np.arange(float(len(who))), "who": who})
    if kind == "table":
        return table
    if kind == "polars":
        return pl.from_arrow(table)
    if kind == "lazy":
        return pl.from_arrow(table).lazy()
    if kind == "pandas":
        return table.to_pandas()
    if kind == "pandas, arrow":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    pq.write_table(table, folder / "x.parquet", row_group_size=2)
    return folder / "x.parquet" if kind == "parquet" else ds.dataset(folder)


KINDS = ["table", "polars", "lazy", "pandas", "pandas, arrow", "parquet", "data set"]
CELLS = {
    "int8": pa.array([7, 1, 7, 7], pa.int8()),
    "int64 beyond floats": pa.array([2**53 + 1, 2**53, 2**53 + 1, 2**53 + 1], pa.int64()),
    "uint64": pa.array([2**64 - 1, 2**64 - 2, 2**64 - 1, 2**64 - 1], pa.uint64()),
    "truth": pa.array([True, False, True, True]),
    "float": pa.array([1.5, 2.0, 1.5, 1.5]),
    "two zeros": pa.array([0.0, 1.0, -0.0, 0.0]),
    "infinite": pa.array([np.inf, -np.inf, np.inf, np.inf]),
    "float32": pa.array([0.1, 0.2, 0.1, 0.1], pa.float32()),
    "text": pa.array(["ann", "bob", "ann", "ann"]),
    "long text": pa.array(["ann" * 99, "ann" * 98, "ann" * 99, "ann" * 99], pa.large_string()),
    "empty text": pa.array(["", " ", "", ""]),
    "categories": pa.array(["ann", "bob", "ann", "ann"]).dictionary_encode(),
    "date": pa.array([DAY, OTHER, DAY, DAY]),
    "moment": pa.array([MOMENT, MOMENT.replace(second=1), MOMENT, MOMENT]),
    "decimal": pa.array([Decimal("1.50"), Decimal("1.51"), Decimal("1.5"), Decimal("1.50")]),
    "bytes": pa.array([b"\xff\x00", b"\xff", b"\xff\x00", b"\xff\x00"]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cells", CELLS)
def test_keys_of_every_type_are_equal_exactly_when_cells_are(cells, kind, tmp_path):
    assert codes(make(kind, CELLS[cells], tmp_path)) == [0, 1, 0, 0]


@pytest.mark.claim("P20")
@pytest.mark.parametrize("kind", ["table", "polars", "lazy", "pandas", "pandas, arrow"])
@pytest.mark.parametrize("cells", CELLS)
def test_a_cell_of_any_type_that_is_missing_is_refused(cells, kind, tmp_path):
    holed = pa.concat_arrays([CELLS[cells], pa.nulls(1, CELLS[cells].type)])
    with pytest.raises(MissingValueError):
        codes(make(kind, holed, tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_a_date_that_is_missing_is_refused(kind, tmp_path):
    with pytest.raises(MissingValueError):
        codes(make(kind, pa.array([DAY, None, DAY, DAY]), tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_that_is_missing_is_refused(kind, tmp_path):
    with pytest.raises(MissingValueError):
        codes(make(kind, pa.array([1, 2, None, 3]), tmp_path))


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_that_is_not_a_number_is_missing(kind, tmp_path):
    with pytest.raises(MissingValueError):
        codes(make(kind, pa.array([1.0, 2.0, np.nan, 3.0]), tmp_path))


def test_a_moment_that_is_none_is_missing():
    with pytest.raises(MissingValueError):
        as_keys(np.array(["2020-01-01", "NaT"], dtype="M8[s]"), "who")


@pytest.mark.claim("P20")
@pytest.mark.parametrize("level", ["ann", 7, DAY, MOMENT, MOMENT.time(), True])
def test_a_category_that_is_null_is_missing(level):
    cells = pa.DictionaryArray.from_arrays([0, 1, 0, 1], pa.array([level, None]))
    with pytest.raises(MissingValueError):
        codes(make("table", cells, None))


def test_a_uuid_can_say_whose_row_it_is(tmp_path):
    ids = [uuid.UUID(int=place).bytes for place in (5, 6, 5, 5)]
    assert codes(make("parquet", pa.array(ids, pa.uuid()), tmp_path)) == [0, 1, 0, 0]


def chunked():
    """Return two chunks in which the same code stands for two people."""
    first = pa.DictionaryArray.from_arrays([0, 1], ["ann", "bob"])
    second = pa.DictionaryArray.from_arrays([0, 1], ["bob", "ann"])
    return pa.chunked_array([first, second])


@pytest.mark.parametrize("kind", ["table", "parquet", "data set", "polars", "pandas"])
def test_a_person_is_the_same_under_another_code(kind, tmp_path):
    assert codes(make(kind, chunked(), tmp_path)) == [0, 1, 1, 0]


def test_a_person_is_the_same_in_files_with_other_dictionaries(tmp_path):
    for index, who in enumerate((["ann", "bob"], ["cid", "ann"])):
        table = pa.table({"a": [1.0, 2.0], "who": pa.array(who).dictionary_encode()})
        pq.write_table(table, tmp_path / f"{index}.parquet")
    assert codes(tmp_path) == [0, 1, 2, 0]


@pytest.mark.parametrize("other", [pa.string(), pa.large_string()])
def test_text_and_categories_of_two_files_are_the_same_people(tmp_path, other):
    who = pa.array(["ann", "bob"])
    for index, cells in enumerate((who.dictionary_encode(), who.cast(other))):
        pq.write_table(pa.table({"a": [1.0, 2.0], "who": cells}), tmp_path / f"{index}.parquet")
    assert codes(tmp_path) == [0, 1, 0, 1]


def test_text_and_numbers_of_two_files_are_refused(tmp_path):
    for index, who in enumerate(([1, 2], ["1", "2"])):
        pq.write_table(pa.table({"a": [1.0, 2.0], "who": who}), tmp_path / f"{index}.parquet")
    with pytest.raises(InputError, match=r"'who' is of another type in 1\.parquet"):
        open_table(tmp_path, select=["a"], privacy_unit="who")


def test_unread_columns_of_two_files_may_differ_in_type(tmp_path):
    for index, note in enumerate(([1, 2], ["x", "y"])):
        pq.write_table(pa.table({"a": [1.0, 2.0], "note": note}), tmp_path / f"{index}.parquet")
    assert open_table(tmp_path, select=["a"]).n_rows == 4


def test_polars_categories_are_the_same_people_in_every_batch():
    parts = [pl.DataFrame({"a": [1.0, 2.0], "who": who}) for who in (["x", "y"], ["y", "x"])]
    frame = pl.concat(part.with_columns(pl.col("who").cast(pl.Categorical)) for part in parts)
    assert codes(frame) == codes(frame.lazy()) == [0, 1, 1, 0]


@pytest.mark.parametrize("cells", [[17, 18, 17, 17], ["x", "y", "x", "x"], [1.5, 2.5, 1.5, 1.5]])
def test_categories_of_pandas_are_compared_by_what_they_stand_for(cells):
    frame = pd.DataFrame({"a": np.arange(4.0), "who": pd.Categorical(cells)})
    assert codes(frame) == [0, 1, 0, 0]


def objects(*cells):
    return pd.DataFrame({"a": np.arange(float(len(cells))), "who": pd.Series(cells, dtype=object)})


@pytest.mark.parametrize(
    "cells",
    [
        ("ann", "bob", "ann", "ann"),
        (7, 8, 7, 7),
        (2**70, 2**70 + 1, 2**70, 2**70),
        (DAY, OTHER, DAY, DAY),
        (uuid.UUID(int=1), uuid.UUID(int=2), uuid.UUID(int=1), uuid.UUID(int=1)),
        (b"x", b"y", b"x", b"x"),
    ],
)
def test_objects_of_one_kind_are_compared_by_their_contents(cells):
    assert codes(objects(*cells)) == [0, 1, 0, 0]


class Person:
    """Two of them are never equal, though they may be one person."""


@pytest.mark.parametrize(
    "cells",
    [
        # What pandas makes of a long CSV file whose ids are not all numbers.
        (1, 2, "1", "secret"),
        (1, 2.0, 1, 1),
        (DAY, MOMENT, DAY, DAY),
        (Person(), Person(), Person(), Person()),
        (("secret",), ("x",), ("y",), ("z",)),
        (["secret"], ["x"], ["y"], ["z"]),
    ],
)
@pytest.mark.parametrize("size", [1, 4])
def test_a_person_who_may_be_written_in_two_ways_is_refused(cells, size):
    with pytest.raises(InputError, match="must hold cells of one kind") as caught:
        codes(objects(*cells), size=size)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("hole", [None, np.nan, pd.NA, pd.NaT])
def test_objects_that_are_missing_are_refused(hole):
    with pytest.raises(MissingValueError):
        codes(objects("ann", "bob", hole, "ann"))


@pytest.mark.parametrize("kind", ["table", "polars", "lazy", "parquet", "data set"])
def test_a_list_cannot_say_whose_row_it_is(kind, tmp_path):
    with pytest.raises(InputError, match=r"Unit column 'who' is of type [Ll]ist, which cannot"):
        codes(make(kind, pa.array([[1], [2], [1], [1]]), tmp_path))


def test_a_complex_unit_is_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0], "who": [1j, 2j]})
    with pytest.raises(InputError, match="Unit column 'who' is of type"):
        codes(frame)


@pytest.mark.parametrize("kind", ["c16", "V4", "M8[M]", "M8[2D]", "m8[D]"])
def test_cells_of_numpy_that_cannot_say_whose_row_it_is_are_refused(kind):
    with pytest.raises(InputError, match=r"Unit column 'who' is of type .* cannot say"):
        as_keys(np.zeros(2, kind), "who")


def csv(folder, *who):
    path = folder / "x.csv"
    path.write_bytes(b"who,a\n" + b"".join(cell + b",1\n" for cell in who))
    return path


def test_the_unit_of_a_csv_file_is_read_as_it_is_written(tmp_path):
    path = csv(tmp_path, b"007", b"7", b"007", b"9007199254740993", b"9007199254740992")
    assert codes(path) == [0, 1, 0, 3, 4]


def test_quotes_of_a_csv_file_are_not_part_of_a_name(tmp_path):
    assert codes(csv(tmp_path, b'"ann"', b"bob", b"ann")) == [0, 1, 0]


def test_a_unit_of_a_csv_file_may_be_in_any_encoding(tmp_path):
    assert codes(csv(tmp_path, "Jörg".encode("latin-1"), b"J", "Jörg".encode("latin-1"))) == [
        0,
        1,
        0,
    ]


@pytest.mark.parametrize("cell", [b"", b'""', b"NA", b"null", b"nan"])
def test_an_empty_unit_of_a_csv_file_is_missing(tmp_path, cell):
    with pytest.raises(MissingValueError):
        codes(csv(tmp_path, b"ann", cell))


def test_a_person_is_the_same_in_every_piece_of_a_csv_file(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_file, "_block_bytes", lambda n_columns: 40)
    who = [b"ann", b"bob", b"1", b"cid"] * 50
    assert codes(csv(tmp_path, *who)) == [0, 1, 2, 3] * 50


def test_a_masked_unit_is_missing():
    rows = np.ma.array([[1, 1], [99, 0], [3, 1]], mask=[[0, 0], [1, 0], [0, 0]])
    with pytest.raises(MissingValueError):
        list(open_table(rows, privacy_unit="x0").unit_keys(2))


def test_whole_numbers_of_an_array_keep_all_their_digits():
    rows = np.array([[2**53, 1], [2**53 + 1, 0]])
    (run,) = open_table(rows, privacy_unit="x0").unit_keys(2)
    keys = run.cells
    assert keys[0] != keys[1]


def test_a_query_that_gives_its_rows_in_another_order_is_refused():
    calls = []

    def turn(frame):
        calls.append(1)
        return frame.reverse() if len(calls) % 2 else frame

    frame = pl.LazyFrame({"a": np.arange(50.0), "who": np.arange(50) % 7})
    source = open_table(frame.map_batches(turn, projection_pushdown=False), privacy_unit="who")
    list(source.unit_keys(10))
    with pytest.raises(InputError, match="rows came in another order"):
        list(source.blocks(10))


@pytest.mark.parametrize("kind", ["csv", "parquet", "data set"])
def test_a_file_whose_units_change_after_they_were_counted_is_refused(kind, tmp_path):
    def write(who):
        frame = pd.DataFrame({"a": np.arange(4.0), "who": who})
        if kind == "csv":
            frame.to_csv(tmp_path / "x.csv", index=False)
            return tmp_path / "x.csv"
        frame.to_parquet(tmp_path / "x.parquet")
        return tmp_path / "x.parquet" if kind == "parquet" else ds.dataset(tmp_path)

    source = open_table(write(["ann", "ann", "bob", "cid"]), privacy_unit="who")
    list(source.unit_keys(10))
    write(["cid", "ann", "bob", "ann"])
    with pytest.raises(InputError, match="other units, than when they were counted"):
        list(source.blocks(10))


@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_a_file_that_shrinks_before_its_units_are_read_is_refused(kind, tmp_path):
    path = tmp_path / f"x.{kind}"
    if kind == "csv":
        path = csv(tmp_path, b"1", b"2", b"3")
        source = open_table(path, privacy_unit="who")
        csv(tmp_path, b"1", b"2")
    else:
        np.save(path, np.ones((9, 2)))
        source = open_table(path, privacy_unit="x0")
        np.save(path, np.ones((8, 2)))
    with pytest.raises(InputError, match="changed while it was read"):
        list(source.unit_keys(2))


@pytest.mark.parametrize("hole", [float("nan"), Decimal("nan")])
def test_an_object_that_is_not_itself_is_a_missing_unit(hole):
    kind = type(hole)
    frame = pl.DataFrame(
        {"p": pl.Series([hole, kind(1), kind(2)], dtype=pl.Object), "a": [1.0, 2.0, 3.0]}
    )
    with pytest.raises(MissingValueError):
        list(open_table(frame, privacy_unit="p").unit_keys(10))


@pytest.mark.claim("P20")
@pytest.mark.parametrize("cut", [False, True])
def test_an_array_file_whose_units_change_after_they_were_counted_is_refused(cut, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.column_stack([[1, 1, 2, 3], np.zeros(4)]))
    source = limit_rows(open_table(path, privacy_unit="x0"), 1, bytes(32))
    np.save(path, np.column_stack([[3, 1, 2, 1], np.zeros(4)]))
    engine = DaskEngine(ThreadScheduler(), parts=2) if cut else SerialEngine()
    with pytest.raises(InputError, match=r"other units, than|has other units than"):
        engine.run("sums", source, GramKernel(1, Grid(row_norm=1.0, bits=8), "refuse"))


@pytest.mark.parametrize("cut", [False, True])
def test_an_array_file_that_stays_as_it_is_is_read_with_units(cut, tmp_path):
    np.save(tmp_path / "x.npy", np.column_stack([[1, 1, 2, 3], np.zeros(4)]))
    source = limit_rows(open_table(tmp_path / "x.npy", privacy_unit="x0"), 1, bytes(32))
    engine = DaskEngine(ThreadScheduler(), parts=2) if cut else SerialEngine()
    kernel = GramKernel(1, Grid(row_norm=1.0, bits=8), "refuse")
    assert engine.run("sums", source, kernel).n_rows == 3


ZONE = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
AT = datetime.datetime(1965, 3, 4, 5, 6, 7, 890_123)
# Objects of Python, and the same cells in a type that stores them.
STORED = {
    "dates": (AT.date(), pa.date32()),
    "moments": (AT, pa.timestamp("us")),
    "moments of pandas": (pd.Timestamp("2020-01-02 03:04:05.678901234"), pa.timestamp("ns")),
    "moments in a zone": (AT.replace(tzinfo=ZONE), pa.timestamp("us", "Asia/Tokyo")),
    "times of day": (AT.time(), pa.time64("us")),
    "spans": (datetime.timedelta(days=-3, seconds=5, microseconds=7), pa.duration("us")),
    "spans of pandas": (pd.Timedelta("3 days 00:00:05.000007008"), pa.duration("ns")),
    "truth values": (True, pa.bool_()),
    "whole numbers": (-7, pa.int32()),
    "numbers": (0.1, pa.float64()),
    "text": ("zoë", pa.string()),
    "bytes": (b"\xff", pa.binary()),
}


@pytest.mark.claim("P20")
@pytest.mark.parametrize(("cell", "kind"), STORED.values(), ids=STORED)
def test_an_object_has_the_key_of_the_type_that_stores_it(cell, kind):
    cells = np.empty(2, dtype=object)
    cells[:] = [cell, cell]
    found, known = as_keys(cells, "who"), read_arrow_keys(pa.array(cells, kind), "who")
    assert found.cells.tolist() == known.cells.tolist()
    assert (found.kind, found.step) == (known.kind, known.step)


@pytest.mark.claim("P20")
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("kind", ["i1", "f4", "M8[ns]", "m8[ns]"])
def test_a_frame_has_the_keys_of_the_type_that_it_stores(kind, frame):
    cells = np.array([7, 1, 7]).astype(kind)
    table = frame({"a": np.arange(3.0), "who": cells})
    (found,) = open_table(table, select=["a"], privacy_unit="who").unit_keys(3)
    known = as_keys(cells, "who")
    assert found.cells.tolist() == known.cells.tolist()
    assert (found.kind, found.step) == (known.kind, known.step)


class Day(datetime.date):
    """A date of somebody's own class."""


@pytest.mark.claim("P20")
def test_a_date_of_another_class_is_the_same_day():
    cells = np.array([DAY, Day(DAY.year, DAY.month, DAY.day)], dtype=object)
    known = as_keys(np.array([DAY], "M8[D]"), "who").cells.tolist()
    assert as_keys(cells, "who").cells.tolist() == known * 2


@pytest.mark.claim("P20")
@pytest.mark.parametrize("unit", ["h", "m", "s", "ms", "us", "ns", "5m", "100ns"])
@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_times_of_every_unit_are_counted_in_nanoseconds(kind, unit):
    cells = np.array([-7, 1, 3], f"{kind}[{unit}]")
    found = as_keys(cells, "who")
    assert found.cells.tolist() == cells.astype(f"{kind}[ns]").astype(np.int64).tolist()
    assert found.cells[1] == found.step


@pytest.mark.claim("P20")
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("year", [1, 1678, 1970, 2262, 9999])
def test_times_beyond_64_bits_of_nanoseconds_are_exact(year, unit):
    moment = datetime.datetime(year, 12, 31, 23, 59, 58)
    stored, written = (np.array([moment, MOMENT], kind) for kind in (f"M8[{unit}]", object))
    assert as_keys(stored, "who").cells.tolist() == as_keys(written, "who").cells.tolist()


@pytest.mark.claim("P20")
@pytest.mark.parametrize("cell", ["zoe", b"zoe"])
def test_texts_and_bytes_of_numpy_are_those_of_python(cell):
    found, known = (as_keys(np.array([cell], dtype), "who") for dtype in (None, object))
    assert (found.kind, found.cells.tolist()) == (known.kind, known.cells.tolist())


@pytest.mark.claim("P20")
@pytest.mark.parametrize("turn", [1, -1])
def test_times_with_digits_that_a_coarser_unit_cannot_store_are_refused(turn):
    coarse, fine, finest = (
        as_keys(np.array([nanoseconds], "M8[ns]").astype(f"M8[{unit}]"), "who")
        for nanoseconds, unit in ((5000, "us"), (7000, "ns"), (7001, "ns"))
    )
    assert len(list(together(coarse, fine, turn))) == 2
    with pytest.raises(InputError, match="must hold cells of one kind"):
        list(together(coarse, finest, turn))


@pytest.mark.parametrize("turn", [1, -1])
def test_times_of_one_unit_may_have_all_of_its_digits(turn):
    one, other = (as_keys(np.array([each], "M8[ns]"), "who") for each in (7001, 7003))
    assert len(list(together(one, other, turn))) == 2


@pytest.mark.parametrize("kind", ["f4", "U1", "M8[s]", object])
def test_what_an_empty_piece_is_said_to_store_means_nothing(kind):
    whole, empty = (as_keys(np.ones(size, dtype), "who") for size, dtype in ((2, int), (0, kind)))
    for runs in ((whole, empty), (empty, whole)):
        assert len(list(check_keys(runs, n_rows=2, name="who", of="The table"))) == 2


def together(one, other, turn):
    return check_keys((one, other)[::turn], n_rows=2, name="who", of="The table")
