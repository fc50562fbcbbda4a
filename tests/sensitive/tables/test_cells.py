"""Tables as they are: the same rows give the same blocks from every kind of table."""

import datetime

import dask.dataframe as dd
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import dpcov
from dpcov.columns import Column, Columns
from dpcov.columns.written import parse_number
from dpcov.errors import DpcovError, InputError, ParameterError
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.arrow_columns import read_texts
from dpcov.sensitive.tables.arrow_numbers import numbers_in_texts
from dpcov.sensitive.tables.cell_rules import CellRule
from dpcov.sensitive.tables.frames import read_cells
from dpcov.sensitive.tables.spool import readable
from dpcov.sensitive.workers.schedulers import ThreadScheduler

NAN = float("nan")
ROWS = {
    "age": [34, -9, 51, None, 99, 18],
    "sex": ["f", "m", None, "F", "x", "m"],
    "health": ["good", "poor", "fair", "good", "", "superb"],
    "answer": [1, 2, 3, 9, None, 2],
    "city": ["Rome", "Oslo", "unknown", None, "Kiel", "Rome"],
    "born": [datetime.date(2000, 1, day) for day in (1, 2, 3)]
    + [None] * 2
    + [datetime.date(1999, 12, 31)],
    "seen": [datetime.datetime(2000, 1, 1, 12)] * 4 + [None, datetime.datetime(1970, 1, 1)],
    "pay": ["1.234,5", "12", " 7,25 ", "much", None, "1234,5"],
    "yes": [True, False, True, None, False, True],
}
FACTS = Columns.from_mapping(
    {
        "age": {"lower": 0, "missing": [-9, 99]},
        "sex": {"levels": ["f", "m", "x"]},
        "health": {"levels": ["poor", "fair", "good"], "ordered": True},
        "answer": {"levels": [3, 2, 1], "numbers": [0, 2.5, 10]},
        "city": {"levels": ["Rome", "Oslo"], "other": "other", "missing": ["unknown"]},
        "born": {"unit": "days", "since": datetime.date(2000, 1, 1)},
        "seen": {"unit": "hours", "since": "2000-01-01"},
        "pay": {"text": "1.234,5"},
        "yes": {"levels": [False, True], "numbers": [0, 1]},
    }
)
EXPECTED = np.array(
    [
        [34.0, NAN, 51.0, NAN, NAN, 18.0],
        [0.0, 1.0, NAN, NAN, 2.0, 1.0],
        [3.0, 1.0, 2.0, 3.0, NAN, NAN],
        [10.0, 2.5, 0.0, NAN, NAN, 2.5],
        [0.0, 1.0, NAN, NAN, 2.0, 0.0],
        [0.0, 1.0, 2.0, NAN, NAN, -1.0],
        [12.0, 12.0, 12.0, 12.0, NAN, -10957.0 * 24],
        [1234.5, 12.0, 7.25, NAN, NAN, 1234.5],
        [1.0, 0.0, 1.0, NAN, 0.0, 1.0],
    ]
).T


def arrow():
    return pa.table(ROWS)


def pandas():
    """Return what a person has who made the frame by hand."""
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in ROWS.items()})
    frame["age"] = frame["age"].astype(float)
    frame["answer"] = frame["answer"].astype("Int64")
    frame["yes"] = frame["yes"].astype("boolean")
    frame["seen"] = pd.to_datetime(frame["seen"])
    return frame


def categories():
    frame = pandas()
    frame["sex"] = pd.Categorical(frame["sex"], ["x", "m", "never", "F", "f"])
    frame["answer"] = pd.Categorical(frame["answer"], [9, 1, 2, 3])
    frame["seen"] = frame["seen"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    return frame


def dictionaries():
    table = arrow()
    for name in ("sex", "city", "pay"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table.column(name).dictionary_encode())
    return table


def csv(folder, name="x.csv", **written):
    pandas().to_csv(folder / name, index=False, **written)
    return folder / name


def parquet(folder, table=None):
    pq.write_table(arrow() if table is None else table, folder / "x.parquet", row_group_size=4)
    return folder / "x.parquet"


def parquet_folder(folder):
    (folder / "parts").mkdir()
    for start in (0, 2, 4):
        pq.write_table(arrow().slice(start, 2), folder / "parts" / f"{start}.parquet")
    return folder / "parts"


KINDS = {
    "pandas": lambda folder: pandas(),
    "pandas, categories": lambda folder: categories(),
    "pandas, text": lambda folder: pandas().astype({"sex": "string", "city": "string"}),
    "pandas, of Arrow": lambda folder: arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda folder: pl.from_arrow(arrow()),
    "polars, categories": lambda folder: pl.from_arrow(dictionaries()),
    "polars, enum": lambda folder: pl.from_arrow(arrow()).cast(
        {"sex": pl.Enum(["m", "F", "f", "x"])}
    ),
    "polars, lazy": lambda folder: pl.from_arrow(arrow()).lazy(),
    "pyarrow": lambda folder: arrow(),
    "pyarrow, chunked": lambda folder: pa.concat_tables([arrow().slice(0, 1), arrow().slice(1)]),
    "pyarrow, dictionaries": lambda folder: dictionaries(),
    "pyarrow, dictionaries that differ": lambda folder: pa.concat_tables(
        [
            dictionaries().slice(0, 2),
            pa.table(dictionaries().slice(2).to_pydict(), schema=dictionaries().schema),
        ]
    ),
    "record batch": lambda folder: arrow().to_batches()[0],
    "stream": lambda folder: arrow().to_reader(max_chunksize=4),
    "data set": lambda folder: ds.dataset(parquet_folder(folder)),
    "parquet": parquet,
    "parquet, dictionaries": lambda folder: parquet(folder, dictionaries()),
    "parquet, of pandas": lambda folder: parquet(folder, pa.Table.from_pandas(categories())),
    "folder": parquet_folder,
    "csv": csv,
    "csv, compressed": lambda folder: csv(folder, "x.csv.gz"),
}


def read(table, size=4, **stated):
    source = open_table(table, **{"facts": FACTS, "fewest_rows": 1, **stated})
    return np.concatenate(list(source.blocks(size)))


@pytest.mark.claim("P8")
@pytest.mark.parametrize("size", [4, 100])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_give_the_same_blocks(kind, size, tmp_path):
    assert np.array_equal(read(KINDS[kind](tmp_path), size), EXPECTED, equal_nan=True)


def test_a_csv_file_with_semicolons_and_decimal_commas_is_the_same_table(tmp_path):
    from dpcov.columns.csv_form import CsvForm

    path = csv(tmp_path, sep=";", decimal=",")
    cells = read(path, csv=CsvForm(";", ","))
    assert np.array_equal(cells, EXPECTED, equal_nan=True)


@pytest.mark.parametrize("make", [pandas, categories])
def test_dask_gives_the_same_blocks_from_every_partition(make):
    table = dd.from_pandas(make(), npartitions=3)
    source = open_table(table, facts=FACTS, scheduler=ThreadScheduler())
    pieces = [piece.open(piece.delayed.compute()) for piece in source.split(3).pieces]
    cells = np.concatenate([block for piece in pieces for block in piece.blocks(10)])
    assert np.array_equal(cells, EXPECTED, equal_nan=True)


def test_a_spooled_stream_gives_the_same_blocks():
    opened = open_table(dictionaries().to_reader(), facts=FACTS)
    with readable(opened, 2, None) as source:
        for _ in range(2):
            cells = np.concatenate(list(source.blocks(4)))
            assert np.array_equal(cells, EXPECTED, equal_nan=True)


@pytest.mark.parametrize("kind", KINDS)
def test_fields_say_what_the_facts_say(kind, tmp_path):
    fields = open_table(KINDS[kind](tmp_path), facts=FACTS).fields
    levels = [field.levels for field in fields]
    assert levels == [None, ("f", "m", "x"), None, None, ("Rome", "Oslo", "other")] + [None] * 4
    assert all(field.may_be_missing for field in fields)
    assert (fields[3].facts.lower, fields[3].facts.upper) == (0.0, 10.0)


def test_codes_for_all_columns_reach_those_that_do_not_state_their_own():
    table = pd.DataFrame({"a": [1.0, -9.0], "b": [9.0, -9.0], "c": [-9.0, 1.0]})
    facts = Columns.from_mapping({"a": {}, "b": {"levels": [-9, 9]}, "c": {"complete": True}})
    cells = read(table, facts=facts, missing_codes=[-9])
    assert np.array_equal(cells, [[1.0, 1.0, -9.0], [NAN, 0.0, 1.0]], equal_nan=True)


@pytest.mark.parametrize(
    "table",
    [np.array([[1, -9], [2, 3]]), np.ma.array([[1, -9], [2, 3]]), np.array([[1.0, -9], [2, 3]])],
)
def test_codes_reach_arrays(table):
    cells = read(table, facts=None, missing_codes=[-9])
    assert np.array_equal(cells, [[1.0, NAN], [2.0, 3.0]], equal_nan=True)


@pytest.mark.claim("P8")
@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.csr_array])
def test_codes_and_levels_reach_the_columns_of_an_array_beside_plain_ones(make):
    facts = Columns.from_mapping({"x0": {}, "x1": {"levels": [2, 1]}, "x2": {"missing": [-9]}})
    cells = read(make([[5.0, 1, -9], [-9, 7, 1]]), facts=facts)
    assert np.array_equal(cells, [[5, 1, NAN], [-9, NAN, 1]], equal_nan=True)


def test_levels_of_arrays_are_numbers():
    facts = Columns.from_mapping({"x0": {"levels": [2, 1]}})
    assert np.array_equal(
        read(np.array([[1.0, 5], [7, 3]]), facts=facts), [[1.0], [NAN]], equal_nan=True
    )


DTYPE = {"levels": "dtype"}


def of_type(table, **stated):
    return open_table(table, facts=Columns.from_mapping({"a": DTYPE | stated}))


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    ("table", "levels", "expected"),
    [
        (pd.DataFrame({"a": pd.Categorical(["u", "v"], ["v", "w", "u"])}), ("u", "v", "w"), [0, 1]),
        (
            pl.DataFrame({"a": ["u", "v"]}, schema={"a": pl.Enum(["v", "w", "u"])}),
            ("u", "v", "w"),
            [0, 1],
        ),
        (pa.table({"a": pa.array(["v", "u", "v"]).dictionary_encode()}), ("u", "v"), [1, 0, 1]),
        (pd.DataFrame({"a": pd.Categorical([2, 10], [10, 2])}), ("2", "10"), [0, 1]),
        (pd.DataFrame({"a": pd.Categorical([True, False])}), ("false", "true"), [1, 0]),
        (
            dd.from_pandas(pd.DataFrame({"a": pd.Categorical(["u"], ["v", "u"])}), npartitions=1),
            ("u", "v"),
            None,
        ),
    ],
)
def test_levels_of_a_type_that_is_said_to_be_public_are_sorted(table, levels, expected):
    source = open_table(
        table,
        facts=Columns.from_mapping({"a": DTYPE}),
        fewest_rows=1,
        scheduler=ThreadScheduler(),
    )
    assert source.fields[0].levels == levels
    if expected is not None:
        assert np.concatenate(list(source.blocks(4))).ravel().tolist() == expected


def test_an_ordered_type_keeps_its_order_as_numbers():
    table = pd.DataFrame({"a": pd.Categorical(["lo", "hi"], ["lo", "hi"], ordered=True)})
    for each in (table, pa.Table.from_pandas(table)):
        source = of_type(each)
        field = source.fields[0]
        assert (field.levels, field.facts.lower, field.facts.upper) == (None, 1.0, 2.0)
        assert np.concatenate(list(source.blocks(4))).ravel().tolist() == [1.0, 2.0]
    assert of_type(table, ordered=False).fields[0].levels == ("hi", "lo")


def test_codes_and_gaps_among_the_levels_of_a_type_are_missing_cells():
    encoded = pa.array(["b", None, "a", "?", ""]).dictionary_encode(null_encoding="encode")
    facts = Columns.from_mapping({"a": DTYPE | {"missing": ["?"]}})
    table = pa.table({"a": encoded})
    assert open_table(table, facts=facts).fields[0].levels == ("a", "b")
    assert np.array_equal(
        read(table, facts=facts).ravel(), [1.0, NAN, 0.0, NAN, NAN], equal_nan=True
    )
    assert open_table(table, facts=Columns.from_mapping({"a": DTYPE}), missing_codes=["d", "?"])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": ["x", "y"]}),
        pd.DataFrame({"a": [1.0, 2.0]}),
        pd.DataFrame({"a": [True, False]}),
        np.ones((2, 1)),
        pl.DataFrame({"a": ["x", "y"]}, schema={"a": pl.Categorical}),
        pl.LazyFrame({"a": ["x", "y"]}, schema={"a": pl.Categorical}),
        pa.table({"a": pa.array(["x", "y"]).dictionary_encode()}).to_reader(),
        pa.table(
            {
                "a": pa.chunked_array(
                    [pa.array(["x"]).dictionary_encode(), pa.array(["y"]).dictionary_encode()]
                )
            }
        ),
        dd.from_pandas(pd.DataFrame({"a": ["x", "y"]}), npartitions=1).astype("category"),
    ],
)
def test_a_type_without_levels_has_none_to_be_taken(table):
    name = "x0" if isinstance(table, np.ndarray) else "a"
    with pytest.raises(InputError, match="no levels are part of it") as caught:
        open_table(table, facts=Columns.from_mapping({name: DTYPE}), scheduler=ThreadScheduler())
    assert f'"{name}" = {{levels = ["…", "…"]}}' in str(caught.value)


@pytest.mark.parametrize("fact", [{"ordered": True}, {"numbers": [1, 2]}, {"other": "else"}])
def test_levels_of_a_type_are_not_given_an_order_or_numbers(fact):
    with pytest.raises(ParameterError, match="needs levels, as a list"):
        Column("a", levels="dtype", **fact)


def test_a_csv_file_has_no_types_with_levels(tmp_path):
    (tmp_path / "x.csv").write_text("a\nx\ny\n")
    with pytest.raises(InputError, match="no levels are part of it"):
        of_type(tmp_path / "x.csv")


CARRIERS = {
    "pandas": lambda cells: pd.DataFrame({"a": pd.Categorical(cells)}),
    "pandas, as they came": lambda cells: pd.DataFrame(
        {"a": pd.Categorical(cells, dict.fromkeys(cells))}
    ),
    "pandas, ordered": lambda cells: pd.DataFrame({"a": pd.Categorical(cells, ordered=True)}),
    "pandas, of Arrow": lambda cells: pd.DataFrame(
        {"a": pd.Series(cells, dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))}
    ),
    "pyarrow": lambda cells: pa.table({"a": pa.array(cells).dictionary_encode()}),
    "pyarrow, in chunks": lambda cells: pa.table(
        {
            "a": pa.chunked_array(
                [pa.array(part).dictionary_encode() for part in (cells[:2], cells[2:])]
            )
        }
    ),
    "record batch": lambda cells: pa.record_batch({"a": pa.array(cells).dictionary_encode()}),
    "reader": lambda cells: pa.table({"a": pa.array(cells).dictionary_encode()}).to_reader(),
    "polars": lambda cells: pl.DataFrame({"a": pl.Series(cells, dtype=pl.Categorical)}),
    "polars, enum": lambda cells: pl.DataFrame(
        {"a": pl.Series(cells, dtype=pl.Enum(list(dict.fromkeys(cells))))}
    ),
    "polars, lazy enum": lambda cells: pl.LazyFrame(
        {"a": pl.Series(cells, dtype=pl.Enum(list(dict.fromkeys(cells))))}
    ),
    "polars, to Arrow": lambda cells: pl.DataFrame(
        {"a": pl.Series(cells, dtype=pl.Categorical)}
    ).to_arrow(),
    "polars, to pandas": lambda cells: pl.DataFrame(
        {"a": pl.Series(cells, dtype=pl.Categorical)}
    ).to_pandas(),
    "dask": lambda cells: dd.from_pandas(pd.DataFrame({"a": pd.Categorical(cells)}), npartitions=2),
}


def said(make, cells, **stated):
    """Return what is open of a table before noise is drawn: its columns, or a refusal."""
    try:
        source = open_table(make(cells), scheduler=ThreadScheduler(), **stated)
    except DpcovError as error:
        return str(error)
    return [(field, field.facts) for field in source.fields]


@pytest.mark.claim("P8")
@pytest.mark.parametrize("kind", CARRIERS)
@given(data=st.data())
@settings(max_examples=15)
def test_no_row_shows_in_the_levels_of_a_type_that_nobody_said_are_public(kind, data):
    cells = data.draw(st.permutations(["f", "m", "f", "m", "x", "f"]))
    without = ["f" if cell == "x" else cell for cell in cells]
    for stated in ({}, {"facts": Columns.from_mapping({"a": {"levels": ["m", "f"]}})}):
        expected = said(CARRIERS[kind], ["f", "m"] * 3, **stated)
        assert said(CARRIERS[kind], cells, **stated) == expected
        assert said(CARRIERS[kind], without, **stated) == expected
        assert "'x'" not in str(expected)


@pytest.mark.claim("P8")
@pytest.mark.parametrize("kind", [each for each in CARRIERS if "chunks" not in each])
@given(cells=st.permutations(["f", "m", "f", "m", "x", "f"]))
@settings(max_examples=15)
def test_levels_that_are_said_to_be_public_do_not_tell_who_came_first(kind, cells):
    stated = {"facts": Columns.from_mapping({"a": DTYPE})}
    expected = said(CARRIERS[kind], ["f", "m", "f", "m", "x", "f"], **stated)
    assert said(CARRIERS[kind], cells, **stated) == expected


@pytest.mark.claim("P8")
def test_whether_cells_may_be_missing_does_not_depend_on_the_dictionaries_of_a_table():
    cells = pa.array(["f", "m", "f"]).dictionary_encode()
    schema = pa.schema([pa.field("a", cells.type, nullable=False)])
    facts = Columns.from_mapping({"a": {"levels": ["f", "m"]}})
    parts = [[cells], [cells.slice(0, 1), pa.array(["m"]).dictionary_encode()]]
    tables = [pa.table([pa.chunked_array(each)], schema=schema) for each in parts]
    assert all(open_table(table, facts=facts).fields[0].may_be_missing for table in tables)


def test_truth_values_have_their_bounds_by_their_type():
    field = open_table(pd.DataFrame({"a": [True, False]})).fields[0]
    assert (field.facts.lower, field.facts.upper) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("stated", "bounds"),
    [
        ({"center": 0.25}, (0.0, 1.0)),
        ({"center": 0.0}, (0.0, 1.0)),
        ({"center": 1.0}, (0.0, 1.0)),
        ({"lower": -1.0}, (-1.0, 1.0)),
        ({"upper": 0.5}, (0.0, 0.5)),
        ({"center": 2.0}, (None, None)),
        ({"center": -1.0}, (None, None)),
    ],
)
def test_truth_values_have_their_bounds_beside_what_is_stated(stated, bounds):
    facts = Columns.from_mapping({"a": stated})
    field = open_table(pd.DataFrame({"a": [True, False]}), facts=facts).fields[0]
    assert (field.facts.lower, field.facts.upper) == bounds


GROWN = {
    "polars": pl.DataFrame({"a": ["secret", "b"]}, schema={"a": pl.Categorical}),
    "arrow": pa.table(
        {
            "a": pa.chunked_array(
                [pa.array(["secret"]).dictionary_encode(), pa.array(["b"]).dictionary_encode()]
            )
        }
    ),
    "reader": pa.table({"a": pa.array(["secret", "b"]).dictionary_encode()}).to_reader(),
    "dask": dd.from_pandas(pd.DataFrame({"a": ["secret", "b"]}), npartitions=1).astype("category"),
}


@pytest.mark.parametrize("kind", GROWN)
def test_levels_that_grew_with_the_data_are_not_taken(kind):
    match = "may have been made from the rows" if kind == "arrow" else "are no part of its type"
    with pytest.raises(InputError, match=match) as caught:
        open_table(GROWN[kind], header=True, scheduler=ThreadScheduler())
    assert '"a" = {levels = ["…", "…"]}' in str(caught.value)
    assert "secret" not in str(caught.value)


def test_the_dictionary_of_a_parquet_file_is_no_part_of_its_schema(tmp_path):
    path = parquet(tmp_path, pa.Table.from_pandas(categories()[["age", "sex"]]))
    with pytest.raises(InputError, match="State its levels"):
        open_table(path)


TYPED = pd.DataFrame(
    {
        "number": [1.0, 2.0],
        "text": ["secret", "b"],
        "day": pd.to_datetime(["1999-01-01"] * 2),
        "lasted": pd.to_timedelta([1, 2], unit="h"),
        "truth": [True, False],
        "group": pd.Categorical(["u", "v"]),
    }
)


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    ("name", "facts", "message"),
    [
        ("text", {}, "State its levels"),
        ("text", {"lower": 0}, "State its levels"),
        ("day", {}, "state its unit"),
        ("day", {"text": "1234.5"}, "state its unit"),
        ("day", {"levels": ["a", "b"]}, "its stated levels are texts"),
        ("lasted", {}, "state its unit"),
        ("lasted", {"unit": "days", "since": "2000-01-01"}, "no beginning"),
        ("number", {"unit": "days"}, "a number already"),
        ("number", {"levels": ["1", "2"]}, "its stated levels are texts"),
        ("number", {"levels": [False, True]}, "its stated levels are truth values"),
        ("truth", {"levels": ["false", "true"]}, "its stated levels are texts"),
        ("group", {}, "may have been made from the rows"),
        ("group", {"levels": "dtype", "lower": 0}, "is a category, and has no bounds"),
        ("text", {"levels": "dtype"}, "no levels are part of it"),
    ],
)
def test_facts_that_do_not_fit_the_type_are_refused_without_a_cell(name, facts, message):
    with pytest.raises(DpcovError, match=message) as caught:
        open_table(TYPED, facts=Columns.from_mapping({name: facts}))
    assert not any(cell in str(caught.value) for cell in ("secret", "1999", "'u'"))


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("seconds", 5400.0), ("minutes", 90.0), ("hours", 1.5), ("days", 0.0625)],
)
@pytest.mark.parametrize("step", ["s", "ms", "us", "ns"])
def test_durations_are_numbers_of_their_unit_whatever_they_are_stored_in(step, unit, expected):
    cells = np.array([5400], "m8[s]").astype(f"m8[{step}]")
    facts = Columns.from_mapping({"a": {"unit": unit}})
    for table in (pd.DataFrame({"a": cells}), pa.table({"a": cells})):
        assert read(table, facts=facts).tolist() == [[expected]]


@pytest.mark.parametrize("year", [1, 1677, 1969, 2262, 9999])
def test_a_moment_is_the_same_number_in_every_step(year):
    moment = np.datetime64(f"{year:04}-07-01T01:02:03", "s")
    facts = Columns.from_mapping({"a": {"unit": "years", "since": "2000-01-01"}})
    tables = [pa.table({"a": pa.array([moment.astype(f"M8[{step}]")])}) for step in ("s", "us")]
    tables.append(pa.table({"a": [str(moment)]}))
    first, *others = (read(table, facts=facts)[0, 0] for table in tables)
    assert others == [first, first]
    assert abs(first - (year + 0.5 - 2000)) < 0.01


def test_a_moment_keeps_its_nanoseconds():
    cells = np.array(["2020-01-01T00:00:00.000000001", "NaT"], "M8[ns]")
    facts = Columns.from_mapping({"a": {"unit": "seconds", "since": "2020-01-01"}})
    for kind in (pd.DataFrame, pl.DataFrame, pa.table):
        np.testing.assert_array_equal(read(kind({"a": cells}), facts=facts).ravel(), [1e-9, NAN])


def test_a_moment_in_a_time_zone_is_counted_in_utc():
    zone = datetime.timezone(datetime.timedelta(hours=2))
    moment = datetime.datetime(1970, 1, 1, 2, tzinfo=zone)
    facts = Columns.from_mapping({"a": {"unit": "hours"}})
    table = pa.table({"a": pa.array([moment], pa.timestamp("us", "Europe/Berlin"))})
    for each in (table, table.to_pandas(), pl.from_arrow(table), pa.table({"a": [str(moment)]})):
        assert read(each, facts=facts).tolist() == [[0.0]]


UNREADABLE = [
    "-",
    "None",
    "#N/A",
    "?",
    "n/a",
    "$17,759",
    "08/19/2019",
    "1,5",
    "0x10",
    "1 2",
    "+",
    "x",
]
NUMBERS = {"1": 1.0, " 2.5 ": 2.5, "+3": 3.0, "-.5": -0.5, "1e3": 1000.0, "4.": 4.0, "\t5": 5.0}
GAPS = ["", "NA", "null", "nan", "inf", "-Infinity", "1e999", "nan(7)"]


def quoted(cells):
    return "\n".join(f'"{cell}"' for cell in cells) + "\n"


@pytest.mark.claim("P8")
@pytest.mark.parametrize("cell", [*UNREADABLE, *GAPS])
def test_a_cell_of_a_csv_file_that_is_no_number_is_missing(tmp_path, cell):
    (tmp_path / "x.csv").write_text("a\n" + quoted([1, cell, 3]))
    np.testing.assert_array_equal(read(tmp_path / "x.csv", facts=None), [[1], [NAN], [3]])


@pytest.mark.claim("P8")
@pytest.mark.parametrize("seed", range(20))
def test_what_a_cell_of_a_csv_file_becomes_depends_on_that_cell_alone(tmp_path, seed):
    rng = np.random.default_rng(seed)
    known = {**NUMBERS, **dict.fromkeys([*UNREADABLE, *GAPS], NAN)}
    some = rng.choice(list(known), size=rng.integers(1, 6))
    cells = rng.choice(some, size=50).tolist()
    (tmp_path / "x.csv").write_text("a\n" + quoted(cells))
    expected = [known[cell] for cell in cells]
    np.testing.assert_array_equal(read(tmp_path / "x.csv", facts=None).ravel(), expected)


@pytest.mark.claim("P8")
@given(cell=st.text(st.characters(codec="utf-8", exclude_characters='"\r'), max_size=8))
def test_a_cell_is_the_same_number_beside_numbers_and_beside_others(cell):
    alone, beside = (
        numbers_in_texts(pa.array([each.encode() for each in cells]))[0]
        for cells in ([cell, "1"], [cell, "?"])
    )
    number = parse_number(cell)
    expected = NAN if number is None or not np.isfinite(number) else number
    assert np.array_equal([alone, beside], [expected] * 2, equal_nan=True)


@pytest.mark.claim("P8")
def test_decimal_commas_are_read_cell_by_cell():
    cells = pa.array([b"1,5", b"1.5", b"1,5,5", b"-,5"])
    for some, expected in (
        (cells, [1.5, NAN, NAN, -0.5]),
        (cells.slice(0, 1), [1.5]),
        (cells.slice(1, 1), [NAN]),
    ):
        np.testing.assert_array_equal(numbers_in_texts(some, ","), expected)


@pytest.mark.claim("P8")
def test_codes_that_are_texts_are_missing_in_a_csv_file(tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\nrefused\n-9\nsecret\n2\n")
    facts = Columns.from_mapping({"a": {"missing": ["refused", "-9"]}})
    cells = read(tmp_path / "x.csv", facts=facts).ravel()
    assert np.array_equal(cells, [1.0, NAN, NAN, NAN, 2.0], equal_nan=True)


@pytest.mark.claim("P8")
@pytest.mark.parametrize("cell", ["", *UNREADABLE])
def test_a_cell_that_is_no_number_is_treated_as_an_empty_one(tmp_path, cell):
    rows = [[f"{i % 7}", f"{i % 5}"] for i in range(300)]
    rows[150][0] = cell
    (tmp_path / "x.csv").write_text("a,b\n" + "".join(f'"{a}",{b}\n' for a, b in rows))
    stated = {"epsilon": 1.0, "delta": 1e-6, "seed": 0, "allow": {"small", "mismatch"}}
    rows[150][0] = ""
    (tmp_path / "y.csv").write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in rows))
    for missing in ("pairwise", "center"):
        first, second = (
            dpcov.release(tmp_path / name, missing=missing, **stated) for name in ("x.csv", "y.csv")
        )
        assert first == second
    for name in ("x.csv", "y.csv"):
        with pytest.raises(InputError, match="missing or infinite") as caught:
            dpcov.release(tmp_path / name, missing="refuse", **stated)
        assert cell not in ("$17,759", "08/19/2019") or cell not in str(caught.value)


@pytest.mark.claim("P8")
def test_a_column_of_a_csv_file_without_a_number_is_a_column_of_gaps(tmp_path):
    (tmp_path / "x.csv").write_text("a,day\n" + "".join(f"{i},08/{i}/2019\n" for i in range(300)))
    assert np.isnan(read(tmp_path / "x.csv", facts=None)[:, 1]).all()


def test_a_level_may_be_what_marks_a_missing_cell_elsewhere(tmp_path):
    (tmp_path / "x.csv").write_text('a\nNA\nEU\n""\nnull\n')
    facts = Columns.from_mapping({"a": {"levels": ["EU", "NA"], "other": "other"}})
    for table in (tmp_path / "x.csv", pd.DataFrame({"a": ["NA", "EU", "", "null"]})):
        assert np.array_equal(
            read(table, facts=facts).ravel(), [1.0, 0.0, NAN, NAN], equal_nan=True
        )


def test_text_in_a_csv_file_that_is_no_utf_8_is_none_of_the_levels(tmp_path):
    (tmp_path / "x.csv").write_bytes(b"a\nf\n\xff\xfe\nm\n")
    facts = Columns.from_mapping({"a": {"levels": ["f", "m"]}})
    assert np.array_equal(
        read(tmp_path / "x.csv", facts=facts).ravel(), [0.0, NAN, 1.0], equal_nan=True
    )


def test_a_missing_unit_of_a_csv_file_is_still_refused(tmp_path):
    (tmp_path / "x.csv").write_text("who,a\nann,1\nNA,2\n")
    source = open_table(tmp_path / "x.csv", privacy_unit="who")
    with pytest.raises(InputError, match="has missing cells"):
        list(source.unit_keys(10))


def test_a_weight_takes_codes_for_all_columns_and_no_facts():
    table = pd.DataFrame({"a": ["f", "m"], "w": [-9.0, 2.0]})
    facts = Columns.from_mapping({"a": {"levels": ["f", "m"]}})
    cells = read(table, facts=facts, weight="w", missing_codes=[-9])
    assert np.array_equal(cells, [[0.0, NAN], [1.0, 2.0]], equal_nan=True)
    with pytest.raises(InputError, match="is not released"):
        open_table(table, facts=Columns.from_mapping({"a": {}, "w": {}}), weight="w")


DAY = datetime.date(2000, 1, 1)


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    ("facts", "cells", "expected"),
    [
        ({"unit": "days"}, [DAY, None, b"x", object(), [1]], [10957, NAN, NAN, NAN, NAN]),
        ({"unit": "days", "missing": [7]}, [7, 8, np.inf, None], [NAN, 8, NAN, NAN]),
        ({"levels": ["f", "m"], "other": "else"}, ["m", DAY, 1, None], [1, 2, 2, NAN]),
        ({"text": "1234.5"}, [DAY, "7", None], [NAN, 7, NAN]),
        ({"levels": [False, True], "other": "else"}, [True, False, 1, 0.0], [1, 0, 2, 2]),
        (
            {"text": "1234.5", "missing": [-9]},
            [True, "-9.0", -9, -np.inf, 2],
            [1] + [NAN] * 3 + [2],
        ),
    ],
)
def test_every_object_becomes_a_number_or_is_missing(facts, cells, expected):
    rule = CellRule(Column("x", **facts), True, "text")
    np.testing.assert_array_equal([rule.of_cell(cell) for cell in cells], expected)


@pytest.mark.parametrize(("chunks", "expected"), [([["b"], ["a", None]], [1, 0, NAN]), ([], [])])
def test_texts_in_several_chunks_are_all_read(chunks, expected):
    rule = CellRule(Column("x", levels=["a", "b"]), True, "text")
    cells = pa.chunked_array(chunks, pa.string())
    np.testing.assert_array_equal(read_texts(cells, rule), expected)
    of_a_frame = nw.from_native(cells, series_only=True)
    np.testing.assert_array_equal(read_cells(of_a_frame, rule), expected)


@pytest.mark.claim("P8")
@pytest.mark.parametrize("count", [6, 9])
@pytest.mark.parametrize("turn", [1, -1])
def test_what_an_object_becomes_depends_on_no_other(count, turn):
    cells = [1, True, 1.0, False, 0, [1], "x", 0.5, None][:count][::turn]
    expected = [2, 1, 2, 0, 2, 2, 2, 2, NAN][:count][::turn]
    facts = Columns.from_mapping({"x": {"levels": [False, True], "other": "else"}})
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    np.testing.assert_array_equal(read(frame, facts=facts).ravel(), expected)


@pytest.mark.parametrize("kind", ["float64", "Int64"])
def test_a_weight_may_be_missing_if_its_type_has_room_for_it(kind):
    frame = pd.DataFrame({"x": [1.0, 2.0], "w": pd.Series([1, 2], dtype=kind)})
    assert open_table(frame, weight="w").fields[-1].may_be_missing


def test_a_csv_file_may_have_codes_that_are_numbers_and_texts(tmp_path):
    (tmp_path / "x.csv").write_text("x\n1\n-9\ngone\n")
    facts = Columns.from_mapping({"x": {"missing": [-9, "gone"]}})
    np.testing.assert_array_equal(read(tmp_path / "x.csv", facts=facts).ravel(), [1, NAN, NAN])


def test_a_bound_at_which_truth_values_end_is_kept_as_it_is():
    facts = Columns.from_mapping({"x": {"lower": 1}})
    (field,) = open_table(pd.DataFrame({"x": [True, False]}), facts=facts).fields
    assert field.name == "x"


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    ("levels", "message"),
    [([], "no levels that are texts"), ([datetime.date(2000, 1, 1)], "no levels that are texts")],
)
def test_a_category_whose_type_has_no_useful_levels_is_called_by_its_place(levels, message):
    frame = pd.DataFrame({"Ada Lovelace": pd.Categorical([None, None], categories=levels)})
    with pytest.raises(InputError, match=message) as caught:
        open_table(frame, facts=Columns.from_mapping({"*": DTYPE}))
    assert "Ada" not in str(caught.value)


@pytest.mark.parametrize(
    ("level", "cells", "expected"),
    [
        ("a", ["a", "b", 1, None], [0, 1, 1, NAN]),
        (True, [True, False, "true", None], [0, 1, 0, NAN]),
        (1, [1, 2, "1", None], [0, 1, 0, NAN]),
    ],
)
def test_one_level_is_enough_beside_all_others(level, cells, expected):
    facts = Columns.from_mapping({"x": {"levels": [level], "other": "else"}})
    frame = pd.DataFrame({"x": pd.Series(cells, dtype=object)})
    np.testing.assert_array_equal(read(frame, facts=facts).ravel(), expected)


def two_files(folder, first, second):
    """Write two files of categories of so many levels: Arrow stores more of them in more bits."""
    for place, size in enumerate((first, second)):
        cells = pd.Categorical([str(level) for level in range(size)] * 2)
        frame = pd.DataFrame({"a": cells, "x": 1.0})
        frame.to_parquet(folder / f"{place}.parquet", index=False)
    return folder


@pytest.mark.claim("P8")
@pytest.mark.parametrize("sizes", [(3, 3), (3, 300), (300, 3)])
@pytest.mark.parametrize("make", [lambda folder: folder, ds.dataset], ids=["folder", "data set"])
def test_how_many_levels_a_file_has_does_not_show(make, sizes, tmp_path):
    facts = Columns.from_mapping({"a": {"levels": ["1", "2"]}, "x": {}})
    cells = read(make(two_files(tmp_path, *sizes)), facts=facts)
    assert cells.shape == (2 * sum(sizes), 2)
    assert np.isfinite(cells[:, 0]).sum() == 8


def test_the_folders_of_a_data_set_may_state_levels(tmp_path):
    table = pa.table({"a": pa.array(["u", "v"] * 2).dictionary_encode(), "g": ["r", "r", "s", "s"]})
    ds.write_dataset(
        table, tmp_path, format="parquet", partitioning=["g"], partitioning_flavor="hive"
    )
    found = ds.dataset(tmp_path, partitioning=ds.HivePartitioning.discover(infer_dictionary=True))
    facts = Columns.from_mapping({"a": {"levels": ["v", "u"]}, "g": {"levels": ["r", "s"]}})
    assert read(found, facts=facts).tolist() == [[1, 0], [0, 0], [1, 1], [0, 1]]
    filtered = found.filter(ds.field("g") == "s")
    assert read(filtered, facts=facts).tolist() == [[1, 1], [0, 1]]
