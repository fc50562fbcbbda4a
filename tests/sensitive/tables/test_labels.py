"""Labels of tables that are no plain text: a person's row never becomes names."""

import datetime
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcov.errors import InputError
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.likeness import is_plain, looks_like_a_value

pytestmark = pytest.mark.claim("P8")


def frame(labels):
    return pd.DataFrame(np.ones((3, len(labels))), columns=labels)


ROWS = {
    "ascending numbers": pd.Index([36, 1200]),
    "numbers from two": pd.Index([2, 3]),
    "places with a gap": pd.Index([0, 2]),
    "truth": pd.Index([False, True]),
    "a place and truth": pd.Index([0, True], dtype=object),
    "a place and a float": pd.Index([1, 2.0], dtype=object),
    "a time": pd.Index([datetime.time(7, 30), 5], dtype=object),
    "a moment": pd.Index([pd.Timestamp("1999-01-01"), 5], dtype=object),
    "moments": pd.DatetimeIndex(["1999-01-01", "1999-01-02"]),
    "spans": pd.to_timedelta([1, 2], unit="D"),
    "None": pd.Index([None, 5], dtype=object),
    "decimals": pd.Index([Decimal("1.5"), Decimal("2.5")], dtype=object),
    "numpy's floats": pd.Index([np.float32(1.5), "age"], dtype=object),
    "bytes": pd.Index([b"36", b"age"], dtype=object),
    "a quarter": pd.PeriodIndex(["2020Q1", "2020Q2"], freq="Q"),
    "a number below a name": pd.MultiIndex.from_tuples([("age", "36"), ("income", "1200")]),
    "a time below a name": pd.MultiIndex.from_tuples(
        [("age", NOON := datetime.time(12)), ("b", NOON)]
    ),
}


# Of old versions of narwhals, which ask pandas for the types of columns by their labels.
@pytest.mark.filterwarnings("ignore:Series.__getitem__ treating keys as positions:FutureWarning")
@pytest.mark.parametrize("kind", ROWS)
def test_labels_that_may_be_a_row_need_the_word_of_the_caller(kind):
    table = frame(ROWS[kind])
    with pytest.raises(
        InputError, match=r"The name of column [12] of the table looks like a value"
    ):
        open_table(table)
    assert open_table(table, header=True).columns == tuple(map(str, table.columns))
    assert open_table(table, columns=["a", "b"]).columns == ("a", "b")


@pytest.mark.parametrize(
    "labels",
    [[0, 1], [1, 2], pd.RangeIndex(2), np.array([0, 1], np.int8), [("age", "mean"), ("age", "sd")]],
    ids=str,
)
def test_places_and_names_in_parts_are_names(labels):
    table = frame(pd.Index(labels))
    assert open_table(table).columns == tuple(map(str, table.columns))


def test_two_header_lines_do_not_publish_the_first_person():
    table = pd.read_csv(io.StringIO("age,income\n36,1200\n41,900\n42,800\n"), header=[0, 1])
    with pytest.raises(InputError, match="somebody's row") as caught:
        open_table(table)
    assert "1200" not in str(caught.value)


def test_places_beside_a_unit_that_was_added_are_names():
    table = frame([0, 1]).assign(who=["x", "y", "x"])
    assert open_table(table, privacy_unit="who").columns == ("0", "1")


@pytest.mark.parametrize("index", ["Ada Lovelace", "Ada"])
@pytest.mark.parametrize("stated", [{"columns": ["age", "x"]}, {"select": ["a", "b"]}])
def test_the_name_of_an_index_that_nobody_confirmed_is_not_repeated(index, stated, tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0], "c": [1.0, 2.0]}, index=pd.Index(["x", "y"], name=index))
    pq.write_table(pa.Table.from_pandas(table), tmp_path / "n.parquet")
    unit = {"privacy_unit": "patient"} if "columns" in stated else {}
    with pytest.raises(InputError, match=r"that the table does not have: .*, number 3\.") as caught:
        open_table(tmp_path / "n.parquet", **stated, **unit)
    assert "Ada" not in str(caught.value)
    with pytest.raises(InputError, match=index):
        open_table(tmp_path / "n.parquet", **stated, **unit, header=True)


@pytest.mark.parametrize(
    "cell",
    [
        "-nan(ind)",
        "+NaN(snan)",
        "nan(ind)",
        "1.#IND",
        "-1.#INF00",
        "1.#QNAN",
        "0x1F",
        "1.5D+03",
        "1,5e3",
        "NaT",
        "<NA>",
    ],
)
def test_every_way_to_write_a_number_or_none_looks_like_a_value(cell):
    assert looks_like_a_value(cell)


@pytest.mark.parametrize("cell", ["yes", "36", "n/a", "12-Mar-1990", "ada@example.org", "7:30"])
@pytest.mark.parametrize("mark", [".1", "_duplicated_0"])
def test_a_cell_that_a_library_marked_as_a_repeated_name_looks_like_a_value(cell, mark):
    assert looks_like_a_value(cell + mark)


@pytest.mark.parametrize(
    ("longest", "longer"),
    [("x" * 100, "x" * 101), ("x " * 12, "x " * 13)],
    ids=["letters", "words"],
)
def test_a_name_of_more_than_100_letters_or_12_words_looks_like_a_value(longest, longer):
    assert not looks_like_a_value(longest)
    assert looks_like_a_value(longer)


def test_a_name_of_more_than_60_letters_is_not_shown():
    assert is_plain("x" * 60)
    assert not is_plain("x" * 61)


@pytest.mark.parametrize("name", ["", "null", "NaT", "none.1", "yes", "ada", "b" * 32])
def test_a_word_that_looks_like_a_value_is_not_shown(name):
    assert is_plain(name) == (name == "ada")
