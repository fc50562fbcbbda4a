"""What readers convert before anybody compares keys: one person never counts as two."""

import datetime
import gzip
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from dpcov.errors import InputError
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.arrow_columns import read_arrow_keys, stored_alike
from dpcov.sensitive.tables.key_cells import Kind
from dpcov.sensitive.tables.privacy_units import rows_of_units
from dpcov.sensitive.workers.schedulers import ThreadScheduler

pytestmark = [
    pytest.mark.claim("P20"),
    pytest.mark.filterwarnings("ignore:(?s).*The inplace keyword"),  # Dask's own
]


def people_in(table, unit="who", **stated):
    """Return how many rows count when a person may have one."""
    source = open_table(table, privacy_unit=unit, scheduler=ThreadScheduler(), **stated)
    return int(sum(kept.sum() for kept in rows_of_units(source.unit_keys(1000), 1, bytes(32))))


def texts(folder, first="who,a\n007,1\nbob,2\n", second="who,a\n007,1\n008,2\n"):
    """Write two files, of which the second alone can be read as numbers."""
    paths = [folder / "x.txt", folder / "y.txt"]
    for path, text in zip(paths, (first, second), strict=True):
        path.write_text(text)
    return [str(path) for path in paths]


def fixed(folder):
    return texts(folder, "who a\n007 1\nbob 2\n", "who a\n007 1\n008 2\n")


def lines(folder):
    first = '{"who": "007", "a": 1}\n{"who": "bob", "a": 2}\n'
    return texts(folder, first, first.replace("bob", "008"))


GUESSED = {
    "csv": lambda folder: dd.read_csv(texts(folder)),
    "table": lambda folder: dd.read_table(texts(folder), sep=","),
    "fixed widths": lambda folder: dd.read_fwf(fixed(folder)),
    "json": lambda folder: dd.read_json(lines(folder), lines=True),
    "json in blocks": lambda folder: dd.read_json(lines(folder), lines=True, blocksize=100),
    "json of a stated type": lambda folder: dd.read_json(
        lines(folder), lines=True, dtype={"who": str}
    ),
    "some columns": lambda folder: dd.read_csv(texts(folder))[["who", "a"]],
    "some rows": lambda folder: dd.read_csv(texts(folder)).query("a > 0"),
    "another is stated": lambda folder: dd.read_csv(texts(folder), dtype={"a": float}),
    "categories": lambda folder: dd.read_csv(texts(folder), dtype={"who": "category"}),
    "the other's type is stated": lambda folder: (
        dd.read_csv(texts(folder), dtype={"a": str})
        .rename(columns={"who": "a", "a": "who"})[["a"]]
        .assign(b=1.0)
    ),
    "another takes the name of one that is stated": lambda folder: dd.read_csv(
        texts(folder), dtype={"a": str}
    ).pipe(lambda x: x.assign(b=1.0, a=x["who"])[["a", "b"]]),
    "Arrow guesses first": lambda folder: dd.read_csv(
        texts(folder), dtype={"who": str}, engine="pyarrow"
    ),
}


@pytest.mark.parametrize("kind", GUESSED)
def test_a_unit_whose_type_each_block_guesses_is_refused(kind, tmp_path):
    table = GUESSED[kind](tmp_path)
    unit = "who" if "who" in table.columns else "a"
    with pytest.raises(InputError, match="each block guesses its type") as caught:
        people_in(table, unit)
    assert "bob" not in str(caught.value)


@pytest.mark.parametrize(
    "dtype",
    [str, "string", object, {"who": str}, {"who": "string"}, {"who": pd.StringDtype("python")}],
    ids=str,
)
def test_a_unit_that_is_stated_as_text_is_read(dtype, tmp_path):
    table = dd.read_csv(texts(tmp_path), dtype=dtype)
    assert people_in(table.assign(b=1.0, c=table["who"], d="who"), select=["b"]) == 3


def test_a_table_of_text_files_without_a_unit_is_read(tmp_path):
    table = dd.read_csv(texts(tmp_path))[["a"]]
    assert open_table(table, scheduler=ThreadScheduler()).n_rows == 4


def test_a_frame_that_a_caller_s_function_reads_is_compared_piece_by_piece(tmp_path):
    table = dd.from_map(pd.read_csv, texts(tmp_path))
    with pytest.raises(InputError, match="must hold cells of one kind"):
        people_in(table)


def test_frames_that_a_caller_delays_are_read():
    parts = [pd.DataFrame({"who": ["x", "y"], "a": [1.0, 2.0]})] * 2
    assert people_in(dd.from_delayed([dask.delayed(part) for part in parts])) == 2


def two_widths(folder, kinds, *, index=False):
    for place, kind in enumerate(kinds):
        part = pd.DataFrame({"who": np.array([0.1, 0.2], kind), "a": [1.0, 2.0], "b": [1.0, 1.0]})
        (part.set_index("who") if index else part).to_parquet(folder / f"{place}.parquet")
    return folder


CHANGED = {
    "index": (True, "who", lambda x: x.reset_index()),
    "names": (False, "a", lambda x: x.rename(columns={"who": "a", "a": "c"})),
    "assigned": (False, "a", lambda x: x.assign(a=x["who"])[["a", "b"]]),
    "filtered": (False, "who", lambda x: x[x["b"] > 0]),
}


@pytest.mark.parametrize("filesystem", ["fsspec", "arrow"])
@pytest.mark.parametrize("kinds", [("f8", "f4"), ("f4", "f8")])
@pytest.mark.parametrize("change", CHANGED)
def test_files_of_two_types_are_found_whatever_became_of_the_column(
    change, kinds, filesystem, tmp_path
):
    index, unit, make = CHANGED[change]
    files = two_widths(tmp_path, kinds, index=index)
    table = make(dd.read_parquet(files, filesystem=filesystem))
    with pytest.raises(InputError, match="one type in all pieces"):
        people_in(table, unit)


@pytest.mark.parametrize("filesystem", ["fsspec", "arrow"])
@pytest.mark.parametrize("change", CHANGED)
def test_files_of_one_type_are_read_whatever_became_of_the_column(change, filesystem, tmp_path):
    index, unit, make = CHANGED[change]
    files = two_widths(tmp_path, ("f8", "f8"), index=index)
    assert people_in(make(dd.read_parquet(files, filesystem=filesystem)), unit) == 2


def write(folder, *columns):
    for place, who in enumerate(columns):
        pq.write_table(pa.table({"who": who, "a": [1.0, 2.0]}), folder / f"{place}.parquet")
    return folder


def moments(zone):
    days = [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)]
    return pa.array(days, pa.timestamp("us", zone))


DECLARED = pa.schema([("who", pa.string()), ("a", pa.float64())])


@pytest.mark.parametrize("zones", [("UTC", "Europe/Berlin"), ("UTC", "UTC")])
def test_moments_that_a_data_set_declares_as_text_are_refused(zones, tmp_path):
    files = write(tmp_path, *map(moments, zones))
    with pytest.raises(InputError, match="one type in all pieces"):
        people_in(ds.dataset(files, schema=DECLARED))


def test_moments_that_dask_is_told_to_read_as_text_are_refused(tmp_path):
    files = write(tmp_path, moments("UTC"), moments("Europe/Berlin"))
    with pytest.raises(InputError, match="one type in all pieces"):
        people_in(dd.read_parquet(files, dataset={"schema": DECLARED}))


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("csv", "who,a\n007,1\n7,2\n", "who,a\n007,1\nbob,2\n"),
        ("json", '{"who": "2020-01-01", "a": 1}\n', '{"who": "2020-01-01", "a": 1}\n{"who": "x"}'),
    ],
)
def test_text_of_a_data_set_is_of_the_type_that_it_declares(kind, first, second, tmp_path):
    people = 3 if kind == "csv" else 2
    assert people_in(ds.dataset(texts(tmp_path, first, second), DECLARED, format=kind)) == people


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_files_behind_one_of_text_are_compared(kind, tmp_path):
    text = tmp_path / f"x.{kind}"
    text.write_text("who,a\n2020-01-01,1\n" if kind == "csv" else '{"who": "2020-01-01", "a": 1}\n')
    (tmp_path / "stored").mkdir()
    parts = [
        ds.dataset(text, DECLARED, format=kind),
        ds.dataset(write(tmp_path / "stored", moments("UTC")), DECLARED),
    ]
    with pytest.raises(InputError, match="one type in all pieces"):
        people_in(ds.dataset(parts))


def test_moments_of_two_zones_that_are_declared_as_moments_are_one_person_s(tmp_path):
    files = write(tmp_path, moments("UTC"), moments("Europe/Berlin"))
    assert people_in(ds.dataset(files)) == 2


NOON, HALF = datetime.time(12), datetime.time(12, 0, 0, 500_000)
ONE = datetime.time(13)


def times(kind, *cells):
    return pa.array(cells, kind)


def arrow_frames(first, second):
    parts = [
        pd.DataFrame({"who": who.to_pandas(types_mapper=pd.ArrowDtype), "a": [1.0, 2.0]})
        for who in (first, second)
    ]
    return dd.from_map(lambda part: part, parts, meta=parts[0].iloc[:0])


TIMES = {
    "folder": lambda folder, *pair: write(folder, *pair),
    "frame of Arrow": lambda folder, *pair: arrow_frames(*pair),
}


@pytest.mark.parametrize("table", TIMES)
@pytest.mark.parametrize(
    ("coarse", "fine"),
    [
        (times(pa.time32("s"), NOON, ONE), times(pa.time64("us"), HALF, ONE)),
        (times(pa.timestamp("s"), 0, 1), times(pa.timestamp("us"), 500_000, 1_000_000)),
        (times(pa.time64("us"), NOON, ONE), times(pa.time64("ns"), 1, 2)),
    ],
)
def test_times_with_digits_that_a_coarser_file_cannot_store_are_refused(
    coarse, fine, table, tmp_path
):
    with pytest.raises(InputError, match="one type in all pieces"):
        people_in(TIMES[table](tmp_path, coarse, fine))


@pytest.mark.parametrize("table", TIMES)
def test_times_of_day_that_all_units_can_store_are_compared(table, tmp_path):
    pair = times(pa.time32("s"), NOON, ONE), times(pa.time64("us"), NOON, ONE)
    assert people_in(TIMES[table](tmp_path, *pair)) == 2


def chunks_of(*kinds):
    """Return an array that declares 64 bits, with a chunk of its own for the unit column."""
    whose = [
        da.from_delayed(dask.delayed(np.array)([[0.1], [0.2]], kind), (2, 1), np.float64)
        for kind in kinds
    ]
    return da.block([[each, da.ones((2, 2))] for each in whose])


def test_a_chunk_that_is_not_of_the_declared_type_is_refused():
    with pytest.raises(InputError, match="must hold cells of one kind"):
        people_in(chunks_of(np.float32, np.float64), "x0")


def test_chunks_of_the_declared_type_are_read():
    assert people_in(chunks_of(np.float64, np.float64), "x0") == 2


def zipped(path, content):
    path.write_bytes(gzip.compress(content))


MARKED = {
    "behind a blank line": b"\n\xef\xbb\xbf7,1\n7,2\n8,1\n",
    "twice": b"\xef\xbb\xbf\xef\xbb\xbf7,1\n7,2\n8,1\n",
    "in the middle": b"7,1\n8,1\n\xef\xbb\xbf7,2\n",
    "before a quotation mark": b'\n\xef\xbb\xbf"7",1\n7,2\n8,1\n',
}


@pytest.mark.parametrize("kind", MARKED)
def test_a_byte_order_mark_makes_nobody_a_second_person(kind, tmp_path):
    path = tmp_path / "survey.csv"
    path.write_bytes(MARKED[kind])
    with pytest.raises(InputError, match="byte order mark"):
        people_in(path, header=False, columns=["who", "a"])
    for before in (b"who,a\n", b"who,a\n\n", b"\xef\xbb\xbfwho,a\r\n"):
        path.write_bytes(before + MARKED[kind])
        with pytest.raises(InputError, match="byte order mark"):
            people_in(path)
    path.write_bytes(b"who,a\n\xef\xbb\xbf7,1\n7,2\n8,1\n")
    with pytest.raises(InputError, match="byte order mark"):
        people_in(path)


@pytest.mark.parametrize("written", [Path.write_bytes, zipped])
def test_a_byte_order_mark_at_the_top_of_a_file_is_no_part_of_a_cell(written, tmp_path):
    path = tmp_path / ("survey.csv.gz" if written is zipped else "survey.csv")
    written(path, b"\xef\xbb\xbf7,1\n7,2\n8,1\n")
    assert people_in(path, header=False, columns=["who", "a"]) == 2
    written(path, b"\xef\xbb\xbfwho,a\n7,1\n7,2\n8,1\n")
    assert people_in(path) == 2


@pytest.mark.claim("P8")
@pytest.mark.parametrize("written", [Path.write_bytes, zipped])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize(
    "cell", [b"\xef\xbb\xbf7", b"\xef\xbc\x97", b"\xef\xbc\x887", b"\xef", b"\xef\xbb", b"\xff"]
)
def test_a_cell_is_read_alike_in_the_first_row_and_in_any_other(written, end, cell, tmp_path):
    path = tmp_path / ("survey.csv.gz" if written is zipped else "survey.csv")
    rows = [cell + b",1", b"8,2", b"9,3"]
    for turn in range(3):
        turned = rows[-turn:] + rows[:-turn]
        written(path, end.join([b"a,b", *turned, b""]))
        read = np.concatenate(list(open_table(path).blocks(10)))
        expected = [[np.nan, 1.0], [8.0, 2.0], [9.0, 3.0]]
        np.testing.assert_array_equal(read, np.roll(expected, turn, axis=0))


def test_a_file_without_rows_may_have_keys_of_another_type(tmp_path):
    pq.write_table(pa.table({"who": ["ann", "bob"]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"who": pa.array([], pa.float64())}), tmp_path / "1.parquet")
    assert stored_alike(ds.dataset(tmp_path).get_fragments(), ["who"])


@pytest.mark.parametrize("chunks", [None, 1, 2])
def test_whole_numbers_of_a_dictionary_are_not_rounded_beside_a_null(chunks):
    levels = pa.array([2**53, 2**53 + 1, None])
    cells = pa.DictionaryArray.from_arrays(pa.array([0, 1]), levels)
    keys = read_arrow_keys(pa.chunked_array([cells] * chunks) if chunks else cells, "who")
    assert keys.kind == Kind.WHOLE
    assert keys.cells.tolist() == [2**53, 2**53 + 1] * (chunks or 1)
