"""A kind of table is one module and one line: how it is found, opened and described."""

import subprocess
import sys
import types
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import scipy.sparse

import dpcov
from dpcov.errors import InputError
from dpcov.sensitive.tables import frames, home_of, is_streamed, open_table, registry
from dpcov.sensitive.tables.arrays import ArraySource
from dpcov.sensitive.tables.cell_types import CellType
from dpcov.sensitive.tables.description import ColumnType, describe_table
from dpcov.sensitive.tables.kinds import Declared, TableKind
from dpcov.sensitive.tables.registry import KINDS, find_kind

TABLES = Path(registry.__file__).parent
ROWS = np.arange(12.0).reshape(6, 2)
TABLE = pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]})
OBJECTS = {
    "arrays": ROWS,
    "sparse": scipy.sparse.csr_array(ROWS),
    "lazy_frame": pl.LazyFrame({"a": [1.0]}),
    "frames": pd.DataFrame({"a": [1.0]}),
    "datasets": ds.dataset(TABLE),
    "streams": TABLE.to_reader(),
}


class Ledger:
    """A kind of table that nobody has seen before."""

    rows = ROWS


def declare_ledger(table, wanted):
    return Declared(["in", "out"], [CellType("number")] * 2)


@pytest.fixture
def ledgers(monkeypatch):
    """One module with one registration, and one line in the list."""
    module = types.ModuleType("dpcov.sensitive.tables.ledgers")
    module.KIND = TableKind(
        called="a ledger",
        open=lambda table, opening: ArraySource(_rows_of(table), opening.wanted),
        declare=declare_ledger,
        recognize=lambda table: isinstance(table, Ledger),
        suffixes=(".ledger",),
        in_folders=True,
    )
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(registry, "KINDS", (*KINDS, "ledgers"))


def _rows_of(table):
    return table.rows if isinstance(table, Ledger) else ROWS[: 3 * len(table.paths)]


@pytest.mark.usefixtures("ledgers")
def test_a_new_kind_is_opened_and_described():
    assert np.array_equal(next(open_table(Ledger()).blocks(6)), ROWS)
    assert describe_table(Ledger()) == (ColumnType("in", "number"), ColumnType("out", "number"))
    assert is_streamed(Ledger())
    assert home_of(Ledger()) == "here"


@pytest.mark.usefixtures("ledgers")
def test_a_new_kind_is_released():
    stated = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 1.0, "allow": {"small"}}
    made = dpcov.release(Ledger(), **stated, seed=1)
    again = dpcov.release(ROWS, **stated, seed=1)
    assert np.array_equal(made.matrix, again.matrix)


@pytest.mark.usefixtures("ledgers")
def test_the_files_of_a_new_kind_are_found_by_their_ending(tmp_path):
    for name in ("a.ledger", "b.LEDGER"):
        (tmp_path / name).touch()
    assert open_table(tmp_path / "a.ledger").n_rows == 3
    assert open_table(tmp_path).n_rows == 6
    assert len(describe_table(tmp_path / "b.LEDGER")) == 2


@pytest.mark.usefixtures("ledgers")
def test_a_refusal_lists_every_kind():
    with pytest.raises(InputError, match=r"a sparse matrix, .* or a ledger, or the path of a file"):
        open_table(object())


@pytest.mark.usefixtures("ledgers")
def test_a_refused_path_lists_every_ending(tmp_path):
    (tmp_path / "x.xlsx").touch()
    with pytest.raises(InputError, match=r"\.csv, .*\.ledger, or be a folder of .* or \.ledger"):
        open_table(tmp_path / "x.xlsx")


def test_every_module_with_a_kind_is_in_the_list():
    registered = {path.stem for path in TABLES.glob("*.py") if "\nKIND = " in path.read_text()}
    assert registered == set(KINDS)
    assert len(set(KINDS)) == len(KINDS)


@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_is_of_its_own_kind(name):
    found, _ = find_kind(OBJECTS[name])
    assert found is import_module(f"dpcov.sensitive.tables.{name}").KIND


def test_what_is_narrower_stands_before_what_is_wider():
    """Frames and data sets are Arrow streams, too; the last in the list takes what is left."""
    streams = import_module("dpcov.sensitive.tables.streams").KIND
    assert streams.recognize(TABLE)
    assert streams.recognize(OBJECTS["datasets"])
    assert KINDS[-1] == "streams"


def test_no_two_kinds_have_one_ending():
    endings = [
        suffix
        for name in KINDS
        for suffix in import_module(f"dpcov.sensitive.tables.{name}").KIND.suffixes
    ]
    assert len(set(endings)) == len(endings)
    assert all(suffix == suffix.lower() and suffix.startswith(".") for suffix in endings)


def test_a_query_is_no_frame_in_memory():
    """narwhals takes those of others for frames, too, which offer an Arrow stream."""
    assert not frames.KIND.recognize(OBJECTS["lazy_frame"])
    with pytest.raises(InputError, match="cannot be read as a data frame"):
        frames.as_frame(OBJECTS["lazy_frame"])


@pytest.mark.parametrize("name", KINDS)
def test_a_kind_is_asked_also_where_its_library_is_missing(name, monkeypatch):
    for loaded in [each for each in sys.modules if each.split(".")[0] in LIBRARIES]:
        monkeypatch.setitem(sys.modules, loaded, None)
    spec = find_spec(f"dpcov.sensitive.tables.{name}")
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    assert not module.KIND.recognize(object())


TO_ARRAYS = "import numpy, dpcov.sensitive.tables as t; t.open_table(numpy.eye(3))"
ALL_KINDS = "import dpcov.sensitive.tables.registry as r; list(r._kinds()); r.is_streamed(object())"
LIBRARIES = {"pyarrow", "pandas", "polars", "dask", "distributed", "anndata", "pyspark"}


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import dpcov; dpcov.release", LIBRARIES | {"narwhals"}),
        (TO_ARRAYS, LIBRARIES | {"narwhals"}),
        (ALL_KINDS, LIBRARIES),
    ],
)
def test_a_library_is_not_loaded_before_its_table_comes(code, heavy):
    found = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not heavy & set(found.stdout.split())
