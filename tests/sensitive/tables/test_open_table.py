import datetime
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpcov.errors import InputError
from dpcov.sensitive.tables import open_table

ROWS = np.array([[1.0, 0.5], [0.0, 2.0], [1.0, -1.0]])
FRAMES = {
    "pandas": pd.DataFrame(ROWS, columns=["a", "b"]),
    "polars": pl.DataFrame({"a": ROWS[:, 0], "b": ROWS[:, 1]}),
    "pyarrow": pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}),
}


def read(table, size=2, **keywords):
    return np.concatenate(list(open_table(table, **keywords).blocks(size)))


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_gives_its_numbers_and_names(kind):
    source = open_table(FRAMES[kind])
    assert source.columns == ("a", "b")
    assert source.n_rows == 3
    assert (read(FRAMES[kind]) == ROWS).all()


def test_an_array_gives_numbered_names():
    assert open_table(ROWS).columns == ("x0", "x1")
    assert (read(ROWS) == ROWS).all()


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ([0, 1], ("0", "1")),
        ([("u", "v"), ("u", "w")], ("('u', 'v')", "('u', 'w')")),
        ([1, 2], ("1", "2")),
    ],
)
def test_places_and_labels_in_parts_become_names(labels, names):
    frame = pd.DataFrame(ROWS, columns=labels)
    assert open_table(frame).columns == names
    assert (read(frame) == ROWS).all()


def test_a_file_without_a_header_does_not_publish_its_first_row():
    frame = pd.read_csv(io.StringIO("987654,1.5\n2,3\n4,5"))
    with pytest.raises(InputError, match="somebody's row") as caught:
        open_table(frame)
    assert "987654" not in str(caught.value)
    assert open_table(frame, columns=["987654", "1.5"]).columns == ("987654", "1.5")


@pytest.mark.parametrize(
    "text",
    [
        "1.5,1.5,2.5\n1,2,3\n3,4,5\n",
        ",1.5,2.5\n1,2,3\n3,4,5\n",
        "NA,1.5,2.5\n1,2,3\n3,4,5\n",
    ],
)
@pytest.mark.parametrize("read_csv", [pd.read_csv, pl.read_csv])
def test_repeated_and_empty_cells_do_not_hide_a_missing_header(text, read_csv):
    with pytest.raises(InputError, match="somebody's row"):
        open_table(read_csv(io.StringIO(text)))


@pytest.mark.parametrize("labels", [["wave", "2019", "score"], ["wave", 2019, "score"]])
def test_one_name_that_looks_like_a_value_needs_the_word_of_the_caller(labels):
    frame = pd.DataFrame(np.ones((3, 3)), columns=labels)
    with pytest.raises(
        InputError, match=r"The name of column 2 of the table looks like a value"
    ) as caught:
        open_table(frame)
    assert "2019" not in str(caught.value)
    names = tuple(map(str, labels))
    assert open_table(frame, header=True).columns == names
    assert open_table(frame, columns=names).columns == names
    assert open_table(frame, select=names).columns == names


def test_given_names_replace_the_frame_s_own():
    assert open_table(FRAMES["pandas"], columns=["u", "v"]).columns == ("u", "v")


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_s_own_names_in_another_order_are_refused(kind):
    names = open_table(FRAMES[kind]).columns
    assert open_table(FRAMES[kind], columns=names).columns == names
    with pytest.raises(InputError, match="own columns in another order"):
        open_table(FRAMES[kind], columns=names[::-1])


@pytest.mark.parametrize("table", [ROWS.tolist(), tuple(map(tuple, ROWS)), ROWS.view(np.recarray)])
def test_other_tables_of_numbers_are_read(table):
    assert (read(table) == ROWS).all()


@pytest.mark.parametrize(
    "table",
    [
        ROWS[::-1],
        np.asfortranarray(ROWS),
        np.repeat(ROWS, 2, axis=1)[:, ::2],
    ],
)
def test_any_layout_is_read(table):
    assert (read(table) == np.asarray(table)).all()


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [True, False, True]}),
        pl.DataFrame({"a": [1, None, 3], "b": [True, False, True]}),
        pa.table({"a": pa.array([1, None, 3]), "b": [True, False, True]}),
        np.ma.array([[1, 1], [99, 0], [3, 1]], mask=[[0, 0], [1, 0], [0, 0]]),
        list(np.ma.array([[1, 1], [99, 0], [3, 1]], mask=[[0, 0], [1, 0], [0, 0]])),
    ],
)
def test_nulls_of_every_kind_are_nan(table):
    np.testing.assert_array_equal(read(table), [[1, 1], [np.nan, 0], [3, 1]])


@pytest.mark.parametrize(
    "table",
    [
        pl.DataFrame({"a": [Decimal("1.5"), Decimal("2.5")]}),
        pa.table({"a": [Decimal("1.5"), Decimal("2.5")]}),
        pd.DataFrame({"a": [1.5, 2.5]}, dtype="double[pyarrow]"),
    ],
)
def test_decimals_are_numbers(table):
    assert read(table).tolist() == [[1.5], [2.5]]


def test_very_long_integers_are_numbers():
    frame = pl.DataFrame({"a": [1, 2**100]}, schema={"a": pl.Int128})
    assert read(frame).tolist() == [[1.0], [2.0**100]]


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame])
def test_integers_beyond_2_to_the_53_are_read_as_the_nearest_float(make):
    big = 2**64 - 1
    table = make({"a": np.array([big, 1], dtype=np.uint64)})
    assert read(table)[0, 0] == float(big)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="no longer floats here")
@pytest.mark.parametrize("make", [np.asarray, np.ma.masked_array])
def test_longer_floats_are_the_nearest_of_64_bits_and_none_of_them_becomes_missing(make):
    cells = ["0.1", "-2.5", "1e4000", "-1e4000", "1e-4000", "nan", "inf"]
    found = read(make(np.array(cells, dtype=np.longdouble).reshape(-1, 1)))
    most = np.finfo(np.float64).max
    np.testing.assert_array_equal(found[:, 0], [0.1, -2.5, most, -most, 0, np.nan, np.inf])
    assert found.dtype == np.float64


@pytest.mark.parametrize(
    "column",
    [
        ["secret one", "secret two", "secret three"],
        [1j, 2j, 3j],
        [object(), object(), object()],
        [datetime.date(1999, 1, 1)] * 3,
        pd.Categorical([datetime.date(1999, 1, 1)] * 3),
    ],
)
def test_a_column_that_is_not_numeric_is_named_and_not_quoted(column):
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0], "diagnosis": column})
    with pytest.raises(InputError, match=r"Column 'diagnosis' is (of type|a category)") as caught:
        open_table(frame)
    assert not any(token in str(caught.value) for token in ("secret", "1999", "17", "1j"))
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_refused_column_is_called_by_its_given_name():
    frame = pd.DataFrame({"Smith": ["Jones", "Miller"]})
    with pytest.raises(InputError, match="Column 'surname'") as caught:
        open_table(frame, columns=["surname"])
    assert "Smith" not in str(caught.value)


def test_the_categories_of_a_polars_frame_that_grew_with_it_are_not_quoted():
    frame = pl.DataFrame({"a": ["secret"] * 2}, schema={"a": pl.Categorical})
    with pytest.raises(InputError, match="type Categorical whose levels are no part") as caught:
        open_table(frame)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        np.array([["secret", "x"], ["y", "z"]]),
        np.array([[1, "secret"], [2, 3]], dtype=object),
        np.array([["2020-01-01"] * 2] * 2, dtype="M8[D]"),
        [["secret", "b"], ["c", "d"]],
        [[Decimal(1), Decimal(2)], [Decimal(3), Decimal(4)]],
        np.zeros(3, dtype=[("a", float)]).reshape(3, 1),
    ],
)
def test_an_array_that_is_not_numeric_is_refused(table):
    with pytest.raises(InputError, match="The table must hold real numbers") as caught:
        open_table(table)
    assert "secret" not in str(caught.value)
    assert "<U" not in str(caught.value), "the length of the longest string is data"


@pytest.mark.parametrize("table", [np.ones(3), np.ones((2, 2, 2)), [1.0, 2.0], np.float64(3)])
def test_another_number_of_dimensions_is_refused(table):
    with pytest.raises(InputError, match="The table must be a 2-D numpy array"):
        open_table(table)


@pytest.mark.parametrize(
    "table",
    [
        None,
        pa.chunked_array([[1.0, 2.0]]),
        {"a": [1, 2]},
        pd.Series([1.0, 2.0]),
        pl.Series([1.0, 2.0]),
        object(),
        iter([1, 2]),
    ],
)
def test_another_kind_of_object_is_refused(table):
    with pytest.raises(
        InputError,
        match=r"The table must (be a 2-D numpy array, .*path of a file|have rows and columns);",
    ):
        open_table(table)


def test_what_an_object_says_when_it_cannot_be_converted_is_not_repeated():
    class Stubborn:
        def __array__(self, *args, **kwargs):
            raise RuntimeError("secret")

    with pytest.raises(InputError) as caught:
        open_table([Stubborn(), Stubborn()])
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_ragged_sequences_are_refused_without_quoting_them():
    with pytest.raises(InputError, match="no common shape") as caught:
        open_table([[1.0, 77.5], [3.0]])
    assert "77.5" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(ROWS, columns=["a", "a"]),
        pa.Table.from_arrays([pa.array([1.0, 2.0])] * 2, names=["a", "a"]),
        pd.DataFrame(ROWS, columns=[1, "1"]),
    ],
)
def test_duplicated_names_are_refused(table):
    with pytest.raises(InputError, match="same name"):
        open_table(table, header=True)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a"], "1 names; the table has 2 columns. A list names all .* state a mapping"),
        (["a", "b", "c"], "3 names; the table has 2 columns"),
        (["a", "a"], "'a' appears twice"),
        ("ab", "sequence of names"),
        ([1, 2], "sequence of names"),
        ({"a", "b"}, "sequence of names"),
        (["a", "\ud800"], "name of column 2 of columns= .* no valid Unicode"),
        (7, "sequence of names"),
    ],
)
def test_wrong_names_are_refused(columns, message):
    with pytest.raises(InputError, match=message):
        open_table(ROWS, columns=columns)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ones((0, 3)), "n_samples=0; at least 2 needed"),
        (np.ones((1, 3)), "n_samples=1; at least 2 needed"),
        (np.ones((3, 0)), "no columns"),
        (pd.DataFrame(), "no columns"),
        (pl.DataFrame({"a": [1.0]}), "n_samples=1; at least 2 needed"),
    ],
)
def test_an_empty_table_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        open_table(table)
