import base64
import os
import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import InputError, MissingExtraError
from dpcov.sensitive.tables import open_table
from sensitive.tables.memory import megabytes_to_read, needs_linux

ROWS = np.random.default_rng(0).normal(size=(101, 3))
NAMES = ["a", "b", "c"]
CELL = "987654"  # must not be in any message


def blocks(table, size=16, **keywords):
    return list(open_table(table, **keywords).blocks(size))


def read(table, **keywords):
    return np.concatenate(blocks(table, **keywords))


def table_of(rows, names=NAMES):
    return pa.table(dict(zip(names, rows.T, strict=True)))


def write(folder, kind):
    """Write ROWS in a way of storing them, and return its path."""
    frame = pd.DataFrame(ROWS, columns=NAMES)
    if kind == "csv":
        frame.to_csv(folder / "x.csv", index=False)
        return folder / "x.csv"
    if kind == "parquet":
        pq.write_table(table_of(ROWS), folder / "x.parquet", row_group_size=7)
        return folder / "x.parquet"
    if kind == "folder":
        inside = folder / "parts"
        inside.mkdir()
        for index, start in enumerate(range(0, 101, 13)):
            part = table_of(ROWS[start : start + 13])
            pq.write_table(part, inside / f"part-{index:02}.parquet")
        (inside / "_SUCCESS").touch()
        (inside / ".part-00.parquet.crc").touch()
        return inside
    order = np.asfortranarray if kind == "npy, by columns" else np.ascontiguousarray
    np.save(folder / "x.npy", order(ROWS))
    return folder / "x.npy"


KINDS = ["csv", "parquet", "folder", "npy", "npy, by columns"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_gives_its_numbers(tmp_path, kind):
    assert (read(write(tmp_path, kind)) == ROWS).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_knows_its_rows_and_names_before_it_is_read(tmp_path, kind):
    source = open_table(write(tmp_path, kind))
    assert source.n_rows == 101
    assert source.columns == (("x0", "x1", "x2") if "npy" in kind else ("a", "b", "c"))


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_have_one_length_whatever_the_pieces_of_the_file(tmp_path, kind):
    assert [len(block) for block in blocks(write(tmp_path, kind), size=16)] == [16] * 6 + [5]


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_can_be_read_twice(tmp_path, kind):
    source = open_table(write(tmp_path, kind))
    first, second = (np.concatenate(list(source.blocks(10))) for _ in range(2))
    assert (first == second).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_path_may_be_a_string(tmp_path, kind):
    assert (read(str(write(tmp_path, kind))) == ROWS).all()


@pytest.mark.parametrize("kind", KINDS)
def test_given_names_replace_those_of_a_file(tmp_path, kind):
    source = open_table(write(tmp_path, kind), columns=["u", "v", "w"])
    assert source.columns == ("u", "v", "w")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_shrinks_after_it_was_opened_is_refused(tmp_path, kind):
    path = write(tmp_path, kind)
    source = open_table(path)
    if kind == "csv":
        path.write_text("a,b,c\n1,2,3\n4,5,6\n")
    elif "npy" in kind:
        np.save(path, ROWS[:50])
    else:
        file = path if kind == "parquet" else path / "part-00.parquet"
        pq.write_table(table_of(ROWS[:5]), file)
    with pytest.raises(InputError, match="changed while it was read"):
        list(source.blocks(16))


def test_small_pieces_of_a_csv_file_leave_no_trace(tmp_path, monkeypatch):
    monkeypatch.setattr("dpcov.sensitive.tables.csv_file._BLOCK_BYTES", 300)
    path = write(tmp_path, "csv")
    assert (read(path) == ROWS).all()
    assert [len(block) for block in blocks(path, size=40)] == [40, 40, 21]


@pytest.mark.parametrize("cell", ["", '""', "NA", "nan", "NaN", "null"])
def test_an_empty_cell_of_a_csv_file_is_missing(tmp_path, cell):
    path = tmp_path / "x.csv"
    path.write_text(f"a,b\n1,{cell}\n2,3\n")
    np.testing.assert_array_equal(read(path), [[1, np.nan], [2, 3]])


def test_a_blank_line_of_a_csv_file_with_one_column_is_a_missing_cell(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n\n3\n")
    np.testing.assert_array_equal(read(path), [[1], [np.nan], [3]])


def test_a_blank_line_of_a_csv_file_with_more_columns_is_no_row(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,2\n\n3,4\n\n")
    assert open_table(path).n_rows == 2


@pytest.mark.parametrize(
    "text", ["\ufeffa,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4", 'a,"b"\n1,"2"\n3,4\n']
)
def test_csv_files_of_other_programs_are_read(tmp_path, text):
    path = tmp_path / "x.CSV"
    path.write_bytes(text.encode())
    assert open_table(path).columns == ("a", "b")
    assert read(path).tolist() == [[1, 2], [3, 4]]


def csv(text):
    def make(folder):
        (folder / "survey.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
        return folder / "survey.csv"

    return make


def npy(array):
    def make(folder):
        np.save(folder / "survey.npy", array, allow_pickle=True)
        return folder / "survey.npy"

    return make


def npz(folder):
    with (folder / "survey.npy").open("wb") as file:
        np.savez(file, ROWS)
    return folder / "survey.npy"


def parquet(*tables):
    def make(folder):
        for index, table in enumerate(tables):
            pq.write_table(table, folder / f"part-{index}.parquet")
        return folder

    return make


def cut(maker, keep):
    """Return a maker of the same file, truncated."""

    def make(folder):
        path = maker(folder)
        file = path if path.is_file() else next(path.iterdir())
        file.write_bytes(file.read_bytes()[:keep])
        return path

    return make


def named(name, content=b""):
    def make(folder):
        if content is not None:
            (folder / name).write_bytes(content)
        return folder / name

    return make


def nested(folder):
    (folder / "year=2020").mkdir()
    pq.write_table(table_of(ROWS), folder / "year=2020" / "part.parquet")
    return folder


def damaged(folder):
    path = parquet(table_of(np.random.default_rng(0).normal(size=(5000, 3))))(folder)
    file = path / "part-0.parquet"
    raw = bytearray(file.read_bytes())
    raw[4:200] = b"\xff" * 196
    file.write_bytes(raw)
    return path


two = np.array([[1.5, 2.5], [3.5, 4.5]])
TEXT = pa.table({"a": [1.0, 2.0], "city": [CELL, "x"]})

BAD = {
    "ragged": (csv(f"a,b\n1,2\n{CELL}\n3,4\n"), "Row 3 of survey.csv, .* has more or fewer"),
    "too many cells": (csv(f"a,b\n1,2\n3,4,{CELL}\n"), "more or fewer cells than the 2"),
    "text": (csv(f"a,city\n1,x{CELL}\n2,y\n"), "Column 2 of survey.csv is not numeric"),
    "late text": (
        csv("a,city\n" + "1,2\n" * 3_000_000 + f"1,x{CELL}\n"),
        "Column 2 of survey.csv is not numeric",
    ),
    "truth": (csv("a,city\n1,true\n2,false\n"), "Column 2 of survey.csv is not numeric"),
    "date": (csv(f"a,day\n1,2{CELL}-01-01\n2,3\n"), "Column 2 of survey.csv is not"),
    "no header": (csv(f"{CELL},1.5\n2,3\n4,5\n"), "first line of survey.csv .* somebody's row"),
    "empty csv": (csv(""), "survey.csv is empty"),
    "blank csv": (csv("\n\n"), "survey.csv is empty"),
    "header only": (csv("a,b\n"), "n_samples=0"),
    "one row": (csv(f"a,b\n{CELL},2\n"), "n_samples=1"),
    "same names": (csv("a,a\n1,2\n3,4\n"), "Columns 1 and 2 of the table have the same name"),
    "latin-1 header": (csv("gr\xf6\xdfe,b\n1,2\n3,4\n".encode("latin-1")), "survey.csv cannot"),
    "binary": (csv(b"\x00\xff\xfe" * 500), "survey.csv"),
    "text parquet": (
        parquet(TEXT),
        "Column 'city' of part-0.parquet is of type string.* by columns=",
    ),
    "other columns": (
        parquet(table_of(ROWS), table_of(two, ["a", "d"])),
        "part-1.parquet has other",
    ),
    "other order": (
        parquet(table_of(ROWS), table_of(ROWS, ["a", "c", "b"])),
        "part-1.parquet has other columns than part-0.parquet",
    ),
    "other types": (
        parquet(table_of(ROWS), table_of(ROWS.astype(np.float32))),
        "Column 'a' is of another type in part-1.parquet than in part-0.parquet",
    ),
    "empty folder": (parquet(), "has no files that end in .parquet or .pq"),
    "folder of csv": (
        lambda folder: csv("a,b\n1,2\n3,4\n")(folder).parent,
        r"has no files that end in \.parquet or \.pq\.",
    ),
    "nested folder": (nested, "has folders inside"),
    "truncated parquet": (cut(parquet(table_of(ROWS)), 500), "part-0.parquet is not a complete"),
    "damaged parquet": (damaged, "part-0.parquet is not a complete"),
    "empty parquet": (named("x.parquet"), "x.parquet is not a complete"),
    "no columns": (parquet(pa.table({})), "no columns"),
    "missing file": (named("gone.csv", None), "no file or folder .*gone.csv"),
    "missing parquet": (named("gone.parquet", None), "no file or folder .*gone.parquet"),
    "missing, unknown": (named("gone", None), "no file or folder .*gone"),
    "unknown": (
        named("x.xlsx"),
        "x.xlsx is of an unknown kind; a path must end in .npy, .csv, .*folder of .parquet or .pq",
    ),
    "pickle": (npy(np.array([[CELL, object]], dtype=object)), "holds pickled objects"),
    "only a pickle": (named("x.npy", pickle.dumps([[1, 2]])), "x.npy is not a complete"),
    "archive": (npz, "survey.npy is not a complete"),
    "vector": (npy(np.ones(3)), "survey.npy must be a 2-D array; got 1"),
    "text array": (npy(np.array([[CELL], ["x"]])), "survey.npy must hold real numbers; got str"),
    "complex array": (npy(np.ones((2, 2)) * 1j), "survey.npy must hold real"),
    "truncated npy": (cut(npy(ROWS), 300), "survey.npy is not a complete"),
    "empty array": (npy(np.ones((0, 3))), "n_samples=0"),
    "no path": (lambda folder: "", "A path must be a text"),
    "path of bytes": (lambda folder: "a\0b.csv", "A path must be a text"),
}


@pytest.mark.claim("P8")
@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_refused_without_quoting_it_and_spends_nothing(what, tmp_path, monkeypatch):
    make, message = BAD[what]
    path = make(tmp_path)
    monkeypatch.setattr("dpcov.mechanisms.dense.release_gram", None)
    stated = {"row_norm": 1.0, "missing": "center", "allow": {"small"}}
    with pytest.raises(InputError, match=message) as caught:
        dpcov.release(path, epsilon=1.0, delta=1e-9, **stated)
    assert CELL not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.npy", "folder"])
def test_a_file_that_may_not_be_read_is_refused(name, tmp_path, monkeypatch):
    path = tmp_path / name
    path.mkdir() if name == "folder" else path.touch()

    def forbid(*_, **__):
        raise PermissionError(13, "Permission denied")

    # Permissions bind everybody but the administrator, who may run the tests.
    monkeypatch.setattr(Path, "open", forbid)
    monkeypatch.setattr(Path, "iterdir", forbid)
    with pytest.raises(InputError, match=f"No permission to read .*{name}") as caught:
        open_table(path)
    assert caught.value.__context__ is None


def test_a_text_column_is_called_by_its_given_name(tmp_path):
    path = csv("a,Smith\n1,x\n2,y\n")(tmp_path)
    with pytest.raises(InputError, match="Column 'surname'") as caught:
        read(path, columns=["age", "surname"])
    assert "Smith" not in str(caught.value)


def test_given_names_do_not_hide_that_a_csv_file_has_no_header(tmp_path):
    path = csv("1,2\n3,4\n5,6\n")(tmp_path)
    with pytest.raises(InputError, match="somebody's row"):
        open_table(path, columns=["a", "b"])


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    for name, number in (("b", 2.0), ("a", 1.0), ("c", 3.0)):
        pq.write_table(pa.table({"x": [number]}), tmp_path / f"{name}.parquet")
    assert read(tmp_path).ravel().tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", ["csv", "parquet", "folder"])
def test_without_pyarrow_a_path_says_what_to_install(tmp_path, kind, monkeypatch):
    path = write(tmp_path, kind)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dpcov\[files\]'"):
        open_table(path)


def test_a_npy_file_needs_no_pyarrow(tmp_path, monkeypatch):
    path = write(tmp_path, "npy")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert (read(path) == ROWS).all()


def test_nothing_is_written_beside_a_file(tmp_path):
    paths = [write(tmp_path, kind) for kind in ("csv", "parquet", "folder", "npy")]
    before = sorted(os.walk(tmp_path))
    for path in paths:
        read(path)
    assert sorted(os.walk(tmp_path)) == before


@pytest.mark.parametrize(
    "make", [pq.write_table, lambda t, path: pl.from_arrow(t).write_parquet(path)]
)
def test_every_number_type_is_read_from_parquet_as_from_memory(tmp_path, make):
    table = pa.table(
        {
            "int": pa.array([2**53 + 1, None, -(2**63)], pa.int64()),
            "uint": pa.array([2**64 - 1, 7, None], pa.uint64()),
            "small": pa.array([1, None, 3], pa.int8()),
            "truth": pa.array([True, None, False]),
            "single": pa.array([0.1, None, np.nan], pa.float32()),
            "decimal": pa.array([None, 1, 2], pa.int32()).cast(pa.decimal128(12, 2)),
        }
    )
    make(table, tmp_path / "x.parquet")
    np.testing.assert_array_equal(read(tmp_path / "x.parquet"), read(table))
    assert read(table)[0, 0] == 2.0**53


@needs_linux
@pytest.mark.parametrize("kind", ["parquet", "npy", "npy, by columns"])
def test_memory_does_not_grow_with_the_rows_of_a_file(kind, tmp_path):
    def megabytes(rows):
        path = tmp_path / ("x.parquet" if kind == "parquet" else "x.npy")
        if kind == "parquet":
            pq.write_table(table_of(rows, list("abcdefghij")), path, row_group_size=len(rows))
        else:
            np.save(path, np.asfortranarray(rows) if "columns" in kind else rows)
        return megabytes_to_read(path, "pyarrow.parquet")

    rows = np.random.default_rng(0).normal(size=(1_000_000, 10))
    assert megabytes(rows) - megabytes(rows[:200_000]) < 30, "the rows between have 61 MB"


def test_a_file_with_semicolons_is_told_from_one_column(tmp_path):
    path = tmp_path / "euro.csv"
    path.write_text("age;income\n30;1000\n")
    with pytest.raises(InputError, match="separated by them"):
        open_table(path)


@pytest.mark.parametrize("name", ["a-first", "part-03z", "z-last"])
def test_an_empty_file_of_a_folder_may_be_of_any_type(name, tmp_path):
    folder = write(tmp_path, "folder")
    nothing = pa.table(dict.fromkeys(NAMES, pa.nulls(0)))
    pq.write_table(nothing, folder / f"{name}.parquet")
    assert (read(folder) == ROWS).all()


def test_an_empty_file_of_a_folder_has_the_same_columns(tmp_path):
    folder = write(tmp_path, "folder")
    pq.write_table(pa.table({"a": pa.nulls(0)}), folder / "part-99.parquet")
    with pytest.raises(InputError, match=r"part-99\.parquet has other columns"):
        open_table(folder)


@pytest.mark.claim("P8")
def test_a_time_that_is_not_what_its_file_notes_is_not_quoted(tmp_path):
    noted = pa.schema({"a": pa.float64(), "who": pa.timestamp("s")})
    table = pa.table({"a": [1.0, 2.0], "who": pa.array([int(CELL), 0], pa.timestamp("ms"))})
    with pq.ParquetWriter(tmp_path / "x.parquet", table.schema, store_schema=False) as file:
        file.write_table(table)
        note = base64.b64encode(noted.serialize().to_pybytes())
        file.add_key_value_metadata({"ARROW:schema": note})
    source = open_table(tmp_path / "x.parquet", privacy_unit="who")
    with pytest.raises(InputError, match=r"x\.parquet notes another type") as caught:
        list(source.unit_keys(10))
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("unit", [None, "b.c"])
def test_a_part_that_is_called_like_a_column_is_refused(unit, tmp_path):
    parts = [{"c": 7.0}, {"c": 8.0}]
    table = pa.table({"a": [1.0, 2.0], "b.c": [3.0, 4.0], "b": parts})
    pq.write_table(table, tmp_path / "x.parquet")
    asked = {"select": ["a", "b.c"]} if unit is None else {"select": ["a"], "privacy_unit": unit}
    source = open_table(tmp_path / "x.parquet", **asked)
    with pytest.raises(InputError, match="more than one column, or part of a column"):
        list(source.blocks(10) if unit is None else source.unit_keys(10))


@pytest.mark.parametrize(
    ("names", "stated"),
    [("xax", {}), ("xxa", {"weight": "u"}), ("xxa", {"privacy_unit": "u"})],
)
def test_columns_of_one_name_are_not_taken_for_others(names, stated, tmp_path):
    cells = [[7.0, 7.0], [1.0, 2.0], [3.0, 4.0]]
    pq.write_table(pa.Table.from_arrays(cells, names=list(names)), tmp_path / "x.parquet")
    source = open_table(tmp_path / "x.parquet", columns=["u", "v", "w"], **stated)
    with pytest.raises(InputError, match="more than one column, or part of a column"):
        list(source.unit_keys(10) if "privacy_unit" in stated else source.blocks(10))
