"""What is said about a table depends on its types and never on its cells.

Finite cells at the ends of every type of number go through every kind of table and many
options, while floating-point errors raise. Whatever a release says then, an error, a
warning or nothing, it must also say of a table of the same types with small cells.
"""

import warnings
from decimal import Decimal
from itertools import cycle

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

from dpcov.errors import DpcovError, SaturationWarning
from dpcov.sensitive.tables import differences, key_order, slices
from either import release

N_ROWS = 60
NAMES = ["x0", "x1", "x2"]
LONG = np.longdouble
NUMBERS = {
    "float64": [1.7e308, -1.7e308, 1.797e308, 5e-324, -5e-324, -0.0, 1e-300, 1e154, -1e155, 2.0],
    "float32": [3.4e38, -3.4e38, 1e-45, -0.0],
    "float16": [65504, -65504, 6e-8, -0.0],
    "longdouble": [LONG("1e4000"), LONG("-1e4000"), LONG("1e-4000"), LONG("1.7e308"), LONG(0.1)],
    "int64": [2**63 - 1, -(2**63), 2**53 + 1, -1],
    "uint64": [2**64 - 1, 2**63, 2**53 + 1, 0],
    "int8": [127, -128],
    "bool": [False],
}
OPTIONS = {
    "public": {"row_norm": 1.0},
    "tiny norm": {"row_norm": 1e-20},
    "huge norm": {"row_norm": 1e20, "missing": "center"},
    "center": {
        "row_norm": 1.0,
        "columns": {"x0": {"center": 1e100}, "x1": {"center": -1e100}, "x2": {"center": 0.5}},
    },
    "radius": {},
    "scales": {
        "row_norm": 1.0,
        "missing": "center",
        "columns": {"x0": {"scale": 1e-100}, "x1": {"scale": 1e100}, "x2": {}},
    },
    "open ends": {"row_norm": 1.0, "columns": {"x0": (0, None), "x1": (None, 1e100), "x2": {}}},
    "bounds": {"columns": {name: {"lower": -1e100, "upper": 1e100} for name in NAMES}},
    "pairs": {"max_pairs": 1, "center": 0.0},
    "differences": {
        "max_pairs": 1,
        "center": "differences",
        "row_norm": 1.0,
        "cell_bound": 1.0,
    },
    "pairs by the rule": {"max_pairs": 1},
    "pairs about learned centers": {"max_pairs": 1, "center": "learned", "row_norm": 1.0},
    "unit": {"row_norm": 1.0, "privacy_unit": "x0", "rows_per_unit": 2},
}


def rows(numbers, dtype):
    """Return a table in which the numbers stand in all columns, among small ones."""
    cells = (np.arange(3 * N_ROWS) % 100).astype(dtype)
    for place, number in zip(range(0, len(cells), 2), cycle(numbers), strict=False):
        cells[place] = number
    return cells.reshape(N_ROWS, 3)


def arrow(cells):
    return pa.table({name: cells[:, place] for place, name in enumerate(NAMES)})


def stored(folder, write, name):
    write(folder / name)
    return folder / name


def pandas(cells):
    return pd.DataFrame(cells, columns=NAMES)


TABLES = {
    "numpy": lambda cells, folder: cells,
    "masked": lambda cells, folder: np.ma.masked_array(cells),
    "npy": lambda cells, folder: stored(folder, lambda path: np.save(path, cells), "x.npy"),
    "sparse": lambda cells, folder: scipy.sparse.csr_array(cells),
    "Dask array": lambda cells, folder: da.from_array(cells, chunks=(17, 2)),
    "pandas": lambda cells, folder: pandas(cells),
    "pandas, nullable": lambda cells, folder: pandas(cells).convert_dtypes(),
    "Dask frame": lambda cells, folder: dd.from_pandas(pandas(cells), npartitions=3),
    "pyarrow": lambda cells, folder: arrow(cells),
    "polars, lazy": lambda cells, folder: pl.from_arrow(arrow(cells)).lazy(),
    "parquet": lambda cells, folder: stored(
        folder, lambda path: pq.write_table(arrow(cells), path, row_group_size=7), "x.parquet"
    ),
    "csv": lambda cells, folder: stored(
        folder, lambda path: pandas(cells).to_csv(path, index=False), "x.csv"
    ),
}


def said(table, options):
    """Return what is said while a table is released, when floating-point errors raise."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="raise"):
        warnings.simplefilter("always")
        # It is read from the noisy release, which may depend on the cells.
        warnings.simplefilter("ignore", SaturationWarning)
        try:
            release(table, epsilon=90.0, delta=1e-6, seed=3, allow={"small"}, **options)
            ending = "released"
        except DpcovError as error:
            ending = f"{type(error).__name__}: {error}"
        except Exception as error:
            ending = f"not our own: {type(error).__name__}: {error}"
    return ending, [str(warning.message) for warning in caught]


def make(table, cells, folder):
    """Return a table, or None if its library has no such numbers."""
    if cells.dtype == LONG and table in ("csv", "pandas, nullable"):
        return None  # they would be other numbers
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a library says while it makes its table
            return TABLES[table](cells, folder)
    except (pa.ArrowException, NotImplementedError, ValueError, TypeError):
        return None


@pytest.mark.claim("P8")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("numbers", NUMBERS)
def test_nothing_is_said_about_numbers_at_the_ends_of_their_type(numbers, table, tmp_path):
    made = make(table, rows(NUMBERS[numbers], numbers), tmp_path)
    if made is None:
        return
    heard = {name: said(made, options) for name, options in OPTIONS.items()}
    small = make(table, rows([], numbers), tmp_path)
    for name, (ending, told) in heard.items():
        assert not ending.startswith("not our own")
        if (ending, told) != ("released", []):
            assert (ending, told) == said(small, OPTIONS[name])


def decimals(*cells, of):
    return pa.array([Decimal(cell) for cell in cells] * 20, of)


WIDE = {
    "decimal128": (pa.decimal128(38, 0), ["9" * 38, "-" + "9" * 38, "0"]),
    "decimal128, small": (pa.decimal128(38, 38), ["1e-38", "-1e-38", "0.5"]),
    "decimal256": (pa.decimal256(76, 0), ["9" * 76, "-1", "0"]),
}


@pytest.mark.claim("P8")
@pytest.mark.parametrize("options", ["public", "differences", "unit", "pairs"])
@pytest.mark.parametrize("kind", WIDE)
def test_nothing_is_said_about_wide_decimals(kind, options, tmp_path):
    of, cells = WIDE[kind]
    heard = []
    for row in (cells, ["0", "0", "0"]):
        table = pa.table(dict.fromkeys(NAMES, decimals(*row, of=of)))
        pq.write_table(table, tmp_path / "x.parquet")
        kinds = (table, table.to_pandas(types_mapper=pd.ArrowDtype), tmp_path / "x.parquet")
        heard.append([said(each, OPTIONS[options]) for each in (*kinds, ds.dataset(tmp_path))])
    # All are released; that few units are few rows is public.
    assert all(ending == "released" for ending, _ in heard[0]) or heard[0] == heard[1]


@pytest.mark.parametrize("name", ["Int128", "UInt128"])
def test_nothing_is_said_about_128_bits(name):
    kind = getattr(pl, name, None)
    if kind is None:
        pytest.skip("this polars has no such type")
    frame, small = (
        pl.DataFrame({name: pl.Series(cells * 20, dtype=kind) for name in NAMES})
        for cells in ([2**100, 2**127 - 1, 1], [1, 2, 3])
    )
    for options in OPTIONS.values():
        assert said(frame, options) == said(small, options)


def test_huge_cells_that_are_there_are_not_missing_in_differences():
    table = rows([1.7e308, -1.7e308], np.float64)
    assert said(table, OPTIONS["differences"]) == ("released", [])


@pytest.mark.parametrize("missing", [np.nan, np.inf, -np.inf])
def test_a_missing_cell_is_missing_in_differences(missing):
    ending, _ = said(rows([missing], np.float64), OPTIONS["differences"])
    assert ending.startswith("MissingValueError")


# Controls: each mend undone is heard.
def count_floats(cells):
    return cells.astype(np.float64).view(np.uint64)  # which warns of a longer float


def subtract(one, other):
    with np.errstate(all="ignore"):
        return np.subtract(one, other, dtype=np.float64) * 0.5**0.5


@pytest.mark.parametrize(
    ("module", "name", "bug", "numbers", "options", "table"),
    [
        (key_order, "key_words", count_floats, "longdouble", "unit", "Dask array"),
        (differences, "_half_differences", subtract, "float64", "differences", "numpy"),
        (slices, "within_floats", lambda block: block, "longdouble", "public", "numpy"),
    ],
)
def test_a_planted_bug_is_heard(module, name, bug, numbers, options, table, tmp_path, monkeypatch):
    monkeypatch.setattr(module, name, bug)
    heard = [
        said(make(table, rows(cells, numbers), tmp_path), OPTIONS[options])
        for cells in (NUMBERS[numbers], [])
    ]
    assert heard[0] != heard[1]
