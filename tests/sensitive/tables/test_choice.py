"""Which columns are read: `select` and `unit` over every kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from dpcov.columns import Columns
from dpcov.errors import InputError, MissingValueError
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.arrow_columns import choose_from_schema
from dpcov.sensitive.tables.choice import Wanted, choose_from_array, shown_names
from dpcov.sensitive.tables.spool import readable

N = 101
ROWS = np.random.default_rng(0).normal(size=(N, 3))
WHO = np.random.default_rng(1).integers(1, 20, size=N)
CITY = np.array([f"secret {code}" for code in WHO])
FRAME = pd.DataFrame(
    {"a": ROWS[:, 0], "who": WHO, "b": ROWS[:, 1], "city": CITY, "c": ROWS[:, 2]},
)
NUMBERS = FRAME[["a", "who", "b", "c"]].to_numpy()  # x0, x1, x2, x3


def arrow():
    return pa.Table.from_pandas(FRAME, preserve_index=False)


def csv(folder):
    FRAME.to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def parquet(folder):
    pq.write_table(arrow(), folder / "x.parquet", row_group_size=7)
    return folder / "x.parquet"


def parquet_folder(folder):
    (folder / "parts").mkdir()
    for index, start in enumerate(range(0, N, 13)):
        pq.write_table(arrow().slice(start, 13), folder / "parts" / f"{index:02}.parquet")
    return folder / "parts"


def npy(folder, order=np.ascontiguousarray):
    np.save(folder / "x.npy", order(NUMBERS))
    return folder / "x.npy"


NAMED = {
    "pandas": lambda folder: FRAME,
    "polars": lambda folder: pl.from_pandas(FRAME),
    "polars, lazy": lambda folder: pl.from_pandas(FRAME).lazy(),
    "polars, scanned": lambda folder: pl.scan_parquet(parquet(folder)),
    "pyarrow": lambda folder: arrow(),
    "pyarrow, chunked": lambda folder: pa.concat_tables(
        [arrow().slice(start, 9) for start in range(0, N, 9)]
    ),
    "data set": lambda folder: ds.dataset(parquet_folder(folder)),
    "csv": csv,
    "parquet": parquet,
    "folder": parquet_folder,
}
NUMBERED = {
    "numpy": lambda folder: NUMBERS,
    "numpy, by columns": lambda folder: np.asfortranarray(NUMBERS),
    "masked": lambda folder: np.ma.array(NUMBERS),
    "npy": npy,
    "npy, by columns": lambda folder: npy(folder, np.asfortranarray),
    "sparse": lambda folder: scipy.sparse.csr_array(NUMBERS),
    "sparse, by columns": lambda folder: scipy.sparse.csc_matrix(NUMBERS),
}
STREAMS = {"stream": lambda folder: arrow().to_reader(max_chunksize=7)}
OWN = dict.fromkeys(NAMED | STREAMS, ("c", "a", "who"))
OWN |= dict.fromkeys(NUMBERED, ("x3", "x0", "x1"))
ALL = NAMED | NUMBERED | STREAMS


def read(source, size=16):
    return np.concatenate(list(source.blocks(size)))


def codes(source, size=16):
    """Return, for each row, the first row of the same unit."""
    keys = [key for run in source.unit_keys(size) for key in run.cells.tolist()]
    return [keys.index(key) for key in keys]


FIRST = [WHO.tolist().index(who) for who in WHO]


@pytest.mark.parametrize("kind", ALL)
def test_selected_columns_come_in_the_order_asked_for(kind, tmp_path):
    source = open_table(ALL[kind](tmp_path), select=OWN[kind][:2])
    assert source.columns == OWN[kind][:2]
    assert (read(source) == ROWS[:, [2, 0]]).all()


@pytest.mark.claim("P8")
@pytest.mark.parametrize("kind", ALL)
def test_blocks_of_selected_columns_have_one_length_whatever_the_table(kind, tmp_path):
    source = open_table(ALL[kind](tmp_path), select=OWN[kind][:2])
    assert [block.shape for block in source.blocks(16)] == [(16, 2)] * 6 + [(5, 2)]


@pytest.mark.parametrize("kind", NAMED | NUMBERED)
def test_the_unit_column_is_no_part_of_the_selected_rows(kind, tmp_path):
    *select, unit = OWN[kind]
    source = open_table(ALL[kind](tmp_path), select=select, privacy_unit=unit)
    assert source.columns == tuple(select)
    assert (read(source) == ROWS[:, [2, 0]]).all()


@pytest.mark.claim("P8")
@pytest.mark.parametrize("kind", NAMED | NUMBERED)
def test_keys_are_equal_exactly_when_units_are(kind, tmp_path):
    *select, unit = OWN[kind]
    assert codes(open_table(ALL[kind](tmp_path), select=select, privacy_unit=unit)) == FIRST


@pytest.mark.parametrize("kind", NAMED)
def test_text_can_say_whose_row_it_is(kind, tmp_path):
    source = open_table(ALL[kind](tmp_path), select=["a"], privacy_unit="city")
    assert codes(source) == FIRST


@pytest.mark.parametrize("kind", NAMED | NUMBERED)
def test_rows_are_the_same_before_and_after_the_keys_were_read(kind, tmp_path):
    *select, unit = OWN[kind]
    source = open_table(ALL[kind](tmp_path), select=select, privacy_unit=unit)
    before = read(source)
    list(source.unit_keys(10))
    assert (read(source) == before).all()
    assert codes(source) == FIRST


@pytest.mark.parametrize("kind", NUMBERED)
def test_without_select_all_columns_but_the_unit_are_read(kind, tmp_path):
    source = open_table(ALL[kind](tmp_path), privacy_unit="x1")
    assert source.columns == ("x0", "x2", "x3")
    assert (read(source) == ROWS).all()


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars, lazy", "pyarrow", "data set"])
def test_without_select_a_text_column_that_is_not_the_unit_is_refused(kind, tmp_path):
    with pytest.raises(InputError, match="Column 'city' is of type"):
        open_table(ALL[kind](tmp_path), privacy_unit="who")


@pytest.mark.parametrize("kind", ["pandas", "polars", "polars, lazy", "pyarrow"])
def test_without_select_the_unit_may_be_the_only_text(kind, tmp_path):
    assert open_table(ALL[kind](tmp_path), privacy_unit="city").columns == ("a", "who", "b", "c")


@pytest.mark.parametrize("kind", ALL)
def test_unknown_names_are_said_with_those_that_exist(kind, tmp_path):
    known = OWN[kind][0]
    said = f"There are stated columns .* not have: 'age', 'sex'. Its columns are .*'{known}'"
    with pytest.raises(InputError, match=said):
        open_table(ALL[kind](tmp_path), select=["age", known, "sex"])


@pytest.mark.parametrize("kind", NAMED | NUMBERED)
def test_an_unknown_unit_is_refused(kind, tmp_path):
    with pytest.raises(
        InputError, match="privacy_unit= names columns that the table does not have: 'person'"
    ):
        open_table(ALL[kind](tmp_path), privacy_unit="person")


def test_at_most_ten_names_are_listed():
    with pytest.raises(InputError, match=r"'x9', … \(30 in all\)") as caught:
        open_table(np.ones((3, 30)), select=["a"])
    assert "x10" not in str(caught.value)


def test_the_names_of_a_file_without_a_header_are_not_listed():
    table = pa.table({"987654": [1.0, 2.0], "1.5": [1.0, 2.0]})
    with pytest.raises(InputError, match="may be somebody's row") as caught:
        open_table(table, select=["a"])
    assert "987654" not in str(caught.value)


def test_a_repeated_name_that_is_not_asked_for_is_not_quoted():
    table = pa.Table.from_arrays([pa.array([1.0, 2.0])] * 3, names=["987", "987", "a"])
    assert open_table(table.to_reader(), select=["a"]).columns == ("a",)
    with pytest.raises(InputError, match="'987' appears twice"):
        open_table(table.to_reader(), select=["987"])


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"select": ["x0"], "columns": ["a", "b"]}, "but not both"),
        ({"select": "x0"}, "select must be a sequence of names"),
        ({"select": []}, "select must be a sequence of names"),
        ({"select": [0]}, "select must be a sequence of names"),
        ({"select": {"x0"}}, "select must be a sequence of names"),
        ({"select": ["x0", "x0"]}, "'x0' appears twice"),
        ({"select": ["x0", "x1"], "privacy_unit": "x1"}, "leave it out of columns="),
        ({"privacy_unit": 1}, "privacy_unit must be the name of a column"),
        ({"privacy_unit": ["x1"]}, "privacy_unit must be the name of a column"),
    ],
)
def test_a_choice_that_makes_no_sense_is_refused(keywords, message):
    with pytest.raises(InputError, match=message):
        open_table(np.ones((3, 2)), **keywords)


def test_given_names_name_the_unit_column_too():
    source = open_table(NUMBERS, columns=["a", "who", "b", "c"], privacy_unit="who")
    assert source.columns == ("a", "b", "c")
    assert codes(source) == FIRST


def test_a_table_that_has_nothing_but_a_unit_is_refused():
    with pytest.raises(InputError, match="no columns"):
        open_table(pd.DataFrame({"who": [1, 2, 3]}), privacy_unit="who")


def test_a_stream_cannot_say_whose_rows_it_has_before_it_gives_them():
    with pytest.raises(InputError, match=r"only once\. Write it to a Parquet file"):
        open_table(arrow().to_reader(), select=["a"], privacy_unit="who").unit_keys(16)


def test_a_name_with_a_point_is_not_part_of_another(tmp_path):
    table = pa.table({"a.b": [1.0, 2.0], "a": [3.0, 4.0], "^.*$": [5.0, 6.0]})
    pq.write_table(table, tmp_path / "x.parquet")
    for kind in (tmp_path / "x.parquet", ds.dataset(table), pl.from_arrow(table).lazy(), table):
        assert read(open_table(kind, select=["a"])).ravel().tolist() == [3, 4]
        assert read(open_table(kind, select=["a.b"])).ravel().tolist() == [1, 2]
        assert read(open_table(kind, select=["^.*$", "a"])).tolist() == [[5, 3], [6, 4]]


def test_columns_that_are_not_selected_are_not_read_from_parquet(tmp_path):
    path = parquet(tmp_path)
    place = pq.ParquetFile(path).metadata.row_group(0).column(3)
    assert place.path_in_schema == "city"
    content = bytearray(path.read_bytes())
    start = min(place.dictionary_page_offset, place.data_page_offset)
    content[start : start + 8] = b"\xff" * 8
    path.write_bytes(content)
    assert (read(open_table(path, select=["a", "b", "c"])) == ROWS).all()
    with pytest.raises(InputError, match="not a complete Parquet file"):
        list(open_table(path, select=["a"], privacy_unit="city").unit_keys(10))


@pytest.mark.parametrize("kind", ["parquet", "data set", "pyarrow", "stream"])
def test_an_index_that_pandas_wrote_is_no_data(kind, tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[30, 10, 20])
    frame.to_parquet(tmp_path / "x.parquet")
    table = {
        "parquet": lambda: tmp_path / "x.parquet",
        "data set": lambda: ds.dataset(tmp_path / "x.parquet"),
        "pyarrow": lambda: pq.read_table(tmp_path / "x.parquet"),
        "stream": lambda: pq.read_table(tmp_path / "x.parquet").to_reader(),
    }[kind]
    assert read(open_table(table())).tolist() == [[1], [2], [3]]
    assert open_table(table(), columns=["z"]).columns == ("z",)
    index = "__index_level_0__"
    assert read(open_table(table(), select=[index])).ravel().tolist() == [30, 10, 20]


def test_an_index_that_pandas_wrote_can_be_the_unit(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2, 3]}, index=pd.Index(["ann", "bob", "ann"], name="who"))
    frame.to_parquet(tmp_path / "x.parquet")
    source = open_table(tmp_path / "x.parquet", privacy_unit="who")
    assert source.columns == ("a",)
    assert codes(source) == [0, 1, 0]


@pytest.mark.parametrize("notes", [b"no json", b"[]", b"{}", b'{"index_columns": 7}', b"null"])
def test_notes_of_pandas_that_cannot_be_read_are_ignored(notes):
    table = pa.table({"a": [1.0, 2.0]}).replace_schema_metadata({b"pandas": notes})
    assert open_table(table).columns == ("a",)


@pytest.mark.parametrize("kind", NAMED | NUMBERED)
def test_a_unit_that_is_missing_is_refused_without_a_place(kind, tmp_path, monkeypatch):
    holes, numbers = FRAME.copy(), NUMBERS.copy()
    holes["city"] = holes["city"].astype(object)
    holes.loc[70, "city"] = None
    numbers[70, 1] = np.nan
    monkeypatch.setitem(globals(), "FRAME", holes)
    monkeypatch.setitem(globals(), "NUMBERS", numbers)
    named = kind in NAMED
    source = open_table(
        ALL[kind](tmp_path), select=OWN[kind][:2], privacy_unit="city" if named else OWN[kind][2]
    )
    with pytest.raises(MissingValueError, match="has missing cells") as caught:
        list(source.unit_keys(16))
    assert "70" not in str(caught.value)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


HIDDEN = "a\nsecret 36"
UNSEEN = {
    "pandas": lambda folder: pd.DataFrame({"x": [1.0, 2.0], HIDDEN: [1.0, 2.0]}),
    "polars": lambda folder: pl.DataFrame({"x": [1.0, 2.0], HIDDEN: [1.0, 2.0]}),
    "polars, lazy": lambda folder: pl.LazyFrame({"x": [1.0, 2.0], HIDDEN: [1.0, 2.0]}),
    "pyarrow": lambda folder: pa.table({"x": [1.0, 2.0], HIDDEN: [1.0, 2.0]}),
    "stream": lambda folder: pa.table({"x": [1.0, 2.0], HIDDEN: [1.0, 2.0]}).to_reader(),
    "data set": lambda folder: ds.dataset(pa.table({"x": [1.0, 2.0], HIDDEN: [1.0, 2.0]})),
    "parquet": lambda folder: _written(folder, pa.table({"x": [1.0, 2.0], HIDDEN: [1.0, 2.0]})),
}


def _written(folder, table):
    pq.write_table(table, folder / "x.parquet")
    return folder / "x.parquet"


@pytest.mark.claim("P8")
@pytest.mark.parametrize("kind", UNSEEN)
@pytest.mark.parametrize("stated", [{}, {"header": True}, {"select": ["x", HIDDEN]}])
def test_a_line_break_in_a_name_is_refused_by_its_place(kind, stated, tmp_path):
    with pytest.raises(InputError, match=r"The name of column 2 of .* has a line break") as caught:
        open_table(UNSEEN[kind](tmp_path), **stated)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("kind", UNSEEN)
def test_a_line_break_in_a_name_that_is_not_read_is_fine(kind, tmp_path):
    assert open_table(UNSEEN[kind](tmp_path), select=["x"]).columns == ("x",)


@pytest.mark.parametrize("stated", [{"columns": ["a\x1b", "b"]}, {"privacy_unit": "a\x1b"}])
def test_a_control_character_in_a_stated_name_is_refused(stated):
    with pytest.raises(InputError, match=r"name of column 1 of .* has a line break"):
        open_table(np.ones((3, 2)), **stated)


PERSON = pa.table({"Ada Lovelace": ["x", "y"], "diabetes": ["x", "y"], "Main Road": ["x", "y"]})


@pytest.mark.claim("P8")
@pytest.mark.parametrize("stated", [{}, {"select": ["age"]}, {"privacy_unit": "age"}])
@pytest.mark.parametrize(
    "kind",
    [
        lambda table: table,
        pa.Table.to_pandas,
        pl.from_arrow,
        lambda table: pl.from_arrow(table).lazy(),
    ],
)
def test_a_text_table_whose_names_may_be_a_person_is_not_quoted(kind, stated):
    with pytest.raises(InputError) as caught:
        open_table(kind(PERSON), **stated)
    assert not any(name in str(caught.value) for name in PERSON.column_names)


def test_a_text_column_beside_numbers_is_named_if_its_name_is_one_word():
    table = pa.table({"age": [1.0, 2.0], "Main Road": ["x", "y"], "city": ["x", "y"]})
    with pytest.raises(InputError, match="Column 2 is of type"):
        open_table(table)
    with pytest.raises(InputError, match="Column 'city' is of type"):
        open_table(table.drop_columns(["Main Road"]))
    with pytest.raises(InputError, match="Column 'Main Road' is of type"):
        open_table(table, header=True)


def test_unknown_names_are_listed_by_their_places_if_they_may_be_cells():
    table = pa.table({"age": [1.0, 2.0], "Main Road": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"'sex'\. Its columns are 'age', number 2\."):
        open_table(table, select=["age", "sex"])
    with pytest.raises(InputError, match="may be somebody's row"):
        open_table(table, select=["sex"])
    with pytest.raises(InputError, match="Its columns are 'age', 'Main Road'"):
        open_table(table, select=["sex"], header=True)


class CountedSchema:
    """A schema of Arrow that counts how often its lists are made."""

    metadata = None

    def __init__(self, size):
        self.size, self.made = size, 0

    @property
    def names(self):
        self.made += 1
        return [f"c{place}" for place in range(self.size)]

    @property
    def types(self):
        self.made += 1
        return [pa.float64()] * self.size

    def __iter__(self):
        self.made += 1
        return iter([pa.field("c", pa.float64())] * self.size)


@pytest.mark.parametrize("select", [None, ["c0", "c1", "c2"]])
def test_the_lists_of_a_schema_are_made_a_few_times_for_any_number_of_columns(select):
    schema = CountedSchema(500)
    assert len(choose_from_schema(schema, Wanted(select=select)).places) == (3 if select else 500)
    assert schema.made <= 4


@pytest.mark.parametrize(
    "table", [np.ones((3, 2)), pd.DataFrame(np.ones((3, 2)), columns=["a", "b"])]
)
def test_only_a_csv_file_can_be_without_a_header(table):
    with pytest.raises(InputError, match="header=False is for a CSV file"):
        open_table(table, header=False)


@pytest.mark.claim("P8")
def test_a_name_that_a_pattern_found_and_that_may_be_a_cell_is_not_published():
    frame = pd.DataFrame({"age": [1.0, 2.0], "36 Main Street": [1.0, 2.0]})
    with pytest.raises(InputError, match="column 2 of the table looks like a value") as caught:
        open_table(frame, facts=Columns.from_mapping({"age": {}, "36*": {}}))
    assert "Main" not in str(caught.value)


@pytest.mark.claim("P8")
def test_beside_a_name_that_may_be_a_cell_none_is_shown_unless_all_are_names():
    assert shown_names(("age", "36"), (), ()) == {}
    assert shown_names(("age", "36"), (), range(2)) == {"age": 0, "36": 1}


def test_a_given_name_cannot_be_that_of_an_index():
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=pd.Index(["x", "y"], name="who"))
    with pytest.raises(InputError, match="have the same name"):
        open_table(pa.Table.from_pandas(frame), columns=["who"])


def test_codes_for_all_columns_are_those_of_each_that_is_not_complete():
    facts = Columns.from_mapping({"x0": {"missing": [7]}, "x1": {"complete": True}})
    choice = choose_from_array(2, Wanted(facts=facts, missing_codes=(-9.0,)))
    assert [column.missing for column in choice.facts] == [(7.0, -9.0), ()]


def test_ten_names_are_listed_without_their_number():
    with pytest.raises(InputError) as caught:
        open_table(np.ones((2, 10)), select=["y"])
    assert "'x9'." in str(caught.value)


LIKE_A_PERSON = pd.DataFrame({"pid": [1, 1, 2], "a": [1.0, 2.0, 3.0], "b": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize(
    ("stated", "found"),
    [
        ({}, "pid"),
        ({"select": ["a", "b"]}, "pid"),
        ({"privacy_unit": "pid"}, None),
        ({"columns": ["subject_id", "age", "score"]}, "subject_id"),
        ({"columns": ["weight", "age", "score"]}, None),
    ],
)
def test_a_column_called_like_a_person_is_known_if_no_unit_is_stated(stated, found, tmp_path):
    LIKE_A_PERSON.to_csv(tmp_path / "x.csv", index=False)
    LIKE_A_PERSON.to_parquet(tmp_path / "x.parquet", index=False)
    arrow = pa.Table.from_pandas(LIKE_A_PERSON)
    frames = [LIKE_A_PERSON, pl.from_pandas(LIKE_A_PERSON).lazy(), arrow.to_reader()]
    for table in (tmp_path / "x.csv", tmp_path / "x.parquet", *frames):
        source = open_table(table, **stated)
        assert source.person_column == found
        with readable(source, 2, None) as rows:
            assert rows.person_column == found


def test_a_file_without_a_header_is_not_looked_at_for_people(tmp_path):
    (tmp_path / "x.csv").write_text("pid,36,a\n1,2,b\n3,4,c\n", encoding="utf-8")
    source = open_table(tmp_path / "x.csv", select=["36"])
    assert source.person_column is None
