"""The first line of a CSV file: names pass, people do not, and nobody is repeated."""

import re

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.columns import Column, Columns
from dpcov.errors import DpcovError, InputError
from dpcov.sensitive.tables import csv_header, open_table
from dpcov.sensitive.tables.csv_header import read_header
from dpcov.sensitive.tables.description import describe_table
from sensitive.tables.first_lines import (
    HEADERS,
    NUMBERED,
    ROWS,
    TEXT_ROWS,
    WORD_ROWS,
    WORDY,
    random_person,
)


def table(folder, first, *, below=2):
    """Write a file of numbers below a first line."""
    (folder / "survey.csv").write_text(first + "\n", encoding="utf-8", newline="")
    width = len(read_header(folder / "survey.csv").labels)
    rows = "".join(",".join([str(row)] * width) + "\n" for row in range(below))
    (folder / "survey.csv").write_text(first + "\n" + rows, encoding="utf-8", newline="")
    return folder / "survey.csv"


def names(path):
    return [column.name for column in describe_table(path)]


def assert_nothing_said(message, first):
    """Fail if a cell of the first line that is long enough to tell stands in a message."""
    said = message.replace("survey.csv", "")
    for cell in re.split(r'[,"\s]+', first):
        assert len(cell) < 4 or cell not in said


@pytest.mark.parametrize("kind", HEADERS)
def test_a_header_of_single_words_is_read_and_shown(kind, tmp_path):
    path = table(tmp_path, HEADERS[kind])
    assert names(path) == HEADERS[kind].split(",")
    source = open_table(path)
    assert sorted([*source.columns, *source.left_out]) == sorted(HEADERS[kind].split(","))


@pytest.mark.parametrize("kind", WORDY)
def test_a_wordy_header_is_read_and_not_shown_before_it_is_confirmed(kind, tmp_path):
    path = table(tmp_path, WORDY[kind])
    assert open_table(path).n_rows == 2
    with pytest.raises(InputError, match=r"column \d is not, .* Say header=True") as caught:
        describe_table(path)
    assert_nothing_said(str(caught.value), WORDY[kind])
    shown = [column.name for column in describe_table(path, header=True)]
    assert tuple(shown) == open_table(path).columns


@pytest.mark.parametrize("kind", NUMBERED)
def test_a_header_like_a_row_is_read_when_it_is_confirmed(kind, tmp_path):
    path = table(tmp_path, NUMBERED[kind])
    with pytest.raises(InputError, match="looks like a value"):
        open_table(path)
    labels = tuple(NUMBERED[kind].split(","))
    assert open_table(path, header=True).columns == labels
    assert open_table(path, select=labels).columns == labels
    assert open_table(path, columns=labels).columns == labels
    assert tuple(each.name for each in describe_table(path, header=True)) == labels


@pytest.mark.claim("P8")
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("read", [open_table, describe_table])
def test_a_first_person_is_refused_and_not_repeated(kind, read, tmp_path):
    path = table(tmp_path, ROWS[kind])
    with pytest.raises(InputError, match="may be somebody's row") as caught:
        read(path)
    assert_nothing_said(str(caught.value), ROWS[kind])
    assert caught.value.__context__ is None


@pytest.mark.claim("P8")
@pytest.mark.parametrize("kind", ROWS | TEXT_ROWS | WORD_ROWS)
@pytest.mark.parametrize(
    "stated",
    [
        {"select": ["age"]},
        {"select": ["age", "sex"], "privacy_unit": "person"},
        {"privacy_unit": "person"},
        {"columns": ["age"]},
        {"columns": ["a", "b", "c", "d", "e", "f"]},
        {},
    ],
)
def test_no_refusal_repeats_a_first_person(kind, stated, tmp_path):
    first = (ROWS | TEXT_ROWS | WORD_ROWS)[kind]
    path = tmp_path / "survey.csv"
    path.write_text(f"{first}\n{first}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(open_table(path, **stated).blocks(8))
    assert_nothing_said(str(caught.value), first)


@pytest.mark.parametrize("kind", TEXT_ROWS)
def test_people_without_numbers_are_not_shown(kind, tmp_path):
    with pytest.raises(InputError, match="may be somebody's row") as caught:
        describe_table(table(tmp_path, TEXT_ROWS[kind]))
    assert_nothing_said(str(caught.value), TEXT_ROWS[kind])


@pytest.mark.parametrize("kind", WORD_ROWS)
def test_people_of_single_words_are_taken_for_names(kind, tmp_path):
    assert names(table(tmp_path, WORD_ROWS[kind])) == WORD_ROWS[kind].split(",")


def test_a_row_with_a_numeric_cell_never_passes(tmp_path):
    rng = np.random.default_rng(0)
    for _ in range(300):
        with pytest.raises(InputError, match="somebody's row"):
            open_table(table(tmp_path, random_person(rng) + ",Ada"))


BROKEN = {
    "a quote that is not closed": b'age,"income\n36,secret1\n41,"secret2\n',
    "a quote that rows close": b'age,"income\n36,secret1\n"41",secret2\n',
    "a quote inside a name": b'age,in"come\n36,secret1\n',
    "text after a quote": b'age,"income"secret1\n36,2\n',
    "a quoted line break": b'age,"in\ncome"\n36,secret1\n',
    "a carriage return in quotes": b'age,"in\rcome"\r36,secret1\r',
}


@pytest.mark.claim("P8")
@pytest.mark.parametrize("kind", BROKEN)
@pytest.mark.parametrize("stated", [{}, {"header": True}, {"select": ["age"]}])
def test_a_header_ends_at_its_line(kind, stated, tmp_path):
    (tmp_path / "survey.csv").write_bytes(BROKEN[kind])
    with pytest.raises(InputError, match=r"column 2 of survey\.csv has a quotation mark") as caught:
        open_table(tmp_path / "survey.csv", **stated)
    assert "secret" not in str(caught.value)
    with pytest.raises(InputError, match="quotation mark"):
        describe_table(tmp_path / "survey.csv", header=True)


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x0b", "\x85", "\u2028", "\u202e", "\t"])
@pytest.mark.parametrize("stated", [{}, {"header": True}, {"select": ["age"]}])
def test_a_control_character_in_a_header_is_refused_by_its_place(character, stated, tmp_path):
    (tmp_path / "survey.csv").write_text(f"age,se{character}cret\n1,2\n3,4\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"column 2 of survey\.csv has a line break") as caught:
        open_table(tmp_path / "survey.csv", **stated)
    assert "cret" not in str(caught.value)


def test_tabs_between_columns_are_recognized(tmp_path):
    (tmp_path / "survey.csv").write_text("age\tincome\n1\t2\n")
    with pytest.raises(InputError, match="separated by them"):
        open_table(tmp_path / "survey.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("begin", ["", "\ufeff", "\n", "\r\n\r\n"])
def test_every_line_break_ends_a_header(begin, end, tmp_path):
    text = begin + end.join(['age,"income"', "1,2", "3,4", ""])
    (tmp_path / "survey.csv").write_bytes(text.encode())
    source = open_table(tmp_path / "survey.csv")
    assert source.columns == ("age", "income")
    assert np.concatenate(list(source.blocks(8))).tolist() == [[1, 2], [3, 4]]


def test_a_first_line_of_any_length_is_refused(tmp_path):
    (tmp_path / "survey.csv").write_bytes(b"a" * (5 << 20))
    with pytest.raises(InputError, match="end within 4194304 bytes"):
        open_table(tmp_path / "survey.csv")


@pytest.mark.parametrize("begin", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_the_longest_first_line_is_read_to_its_end(begin, end, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_header, "_MOST_BYTES", 16)
    path = tmp_path / "survey.csv"
    path.write_bytes(begin + b"age,income,size" + end + b"1,2,3" + end)
    header = read_header(path)
    assert header.labels == ("age", "income", "size")
    assert header.end == len(begin) + 15 + len(end)
    path.write_bytes(begin + b"age,income,sizes" + end + b"1,2,3" + end)
    with pytest.raises(InputError, match="end within 16 bytes"):
        read_header(path)


@pytest.mark.parametrize("header", [b"age,income,size", b"age,income,s\r"])
def test_a_first_line_that_is_not_read_to_its_end_is_refused(header, tmp_path, monkeypatch):
    monkeypatch.setattr(csv_header, "_MOST_BYTES", 16)
    path = tmp_path / "survey.csv"
    path.write_bytes(b"\n" * (21 - len(header)) + header + b"\n1,2,3\n")
    with pytest.raises(InputError, match="end within 16 bytes, with the blank lines before it"):
        read_header(path)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_line_break_of_a_header_is_no_row_of_one_column(end, tmp_path):
    (tmp_path / "survey.csv").write_bytes(end.join(["age", "1", "2", ""]).encode())
    source = open_table(tmp_path / "survey.csv")
    assert source.n_rows == 2
    assert np.concatenate(list(source.blocks(8))).tolist() == [[1], [2]]


def test_another_header_while_it_is_read_is_refused(tmp_path):
    path = table(tmp_path, "age,income")
    source = open_table(path)
    path.write_text("age,weight\n0,0\n1,1\n")
    with pytest.raises(InputError, match="changed while it was read"):
        list(source.blocks(8))


def test_names_that_are_not_read_may_be_repeated(tmp_path):
    path = table(tmp_path, "age,x,x")
    assert open_table(path, select=["age"]).columns == ("age",)
    with pytest.raises(InputError, match="'x' appears twice"):
        open_table(path, select=["x"])


def test_a_file_without_a_header_is_read_with_stated_names(tmp_path):
    path = tmp_path / "survey.csv"
    path.write_text("1,2\n3,4\n5,6\n")
    for stated in ({"columns": ["a", "b"]}, {"select": ["a", "b"]}):
        source = open_table(path, header=False, **stated)
        assert source.columns == ("a", "b")
        assert np.concatenate(list(source.blocks(8))).tolist() == [[1, 2], [3, 4], [5, 6]]
    units = open_table(path, columns=["who", "b"], privacy_unit="who", header=False)
    assert units.columns == ("b",)


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({}, "names of all columns"),
        ({"privacy_unit": "who"}, "names of all columns"),
        ({"select": ["a"], "privacy_unit": "who"}, "names of all columns"),
        ({"columns": ["a"]}, "Row 1 of survey.csv.* the 1 names that are stated"),
        ({"columns": ["a"]}, "Without a header all columns of a file are stated"),
        ({"facts": Columns([Column("a*")])}, "'a\\*' is a pattern of names"),
        ({"select": ["a", "b", "c"]}, "Row 1 of survey.csv.* the 3 names that are stated"),
    ],
)
def test_a_file_without_a_header_needs_all_names(stated, message, tmp_path):
    (tmp_path / "survey.csv").write_text("1,2\n3,4\n5,6\n")
    with pytest.raises(InputError, match=message):
        open_table(tmp_path / "survey.csv", header=False, **stated)


def test_facts_for_a_file_without_a_header_say_how_to_read_it(tmp_path):
    path = table(tmp_path, ROWS["Ada"])
    with pytest.raises(InputError, match="release it with header=False"):
        open_table(path, select=["age", "income"])


def test_row_numbers_without_a_name_are_recognized(tmp_path):
    with pytest.raises(InputError, match="row numbers of pandas or R"):
        open_table(table(tmp_path, NUMBERED["row numbers"]))


@pytest.mark.parametrize("table", [np.ones((3, 2)), pa.table({"a": [1.0, 2.0]})])
def test_only_a_csv_file_can_have_no_header(table):
    with pytest.raises(InputError, match="header=False is for a CSV file"):
        open_table(table, header=False)


def test_header_must_be_yes_or_no():
    with pytest.raises(InputError, match="header must be True, False or None"):
        open_table(np.ones((3, 2)), header="yes")


def test_a_release_of_a_file_without_a_header_counts_its_first_row(tmp_path):
    rows = np.random.default_rng(0).normal(size=(200, 2))
    np.savetxt(tmp_path / "x.csv", rows, delimiter=",")
    facts = {name: {"lower": -4, "upper": 4} for name in ("a", "b")}
    stated = {"epsilon": 1.0, "delta": 1e-6, "seed": 1, "columns": facts}
    release = dpcov.release(tmp_path / "x.csv", header=False, **stated)
    assert (release.n_rows, release.columns) == (200, ("a", "b"))


ALPHABET = [b",", b'"', b"\n", b"\r", b";", b"\t", b"\x00", b"\xff", b"\xc3\xa9", b"1", b" ", b""]


def what_is_said(path, stated):
    try:
        list(open_table(path, **stated).blocks(8))
    except DpcovError as error:
        return str(error)
    return ""


@pytest.mark.claim("P8")
@pytest.mark.parametrize("stated", [{}, {"select": ["age"]}, {"privacy_unit": "age"}])
def test_random_bytes_raise_nothing_of_their_own_and_are_not_repeated(stated, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "survey.csv"
    for _ in range(500):
        parts = [ALPHABET[k] for k in rng.integers(len(ALPHABET), size=rng.integers(1, 12))]
        path.write_bytes(b"Qzx7".join(parts))
        assert "Qzx7" not in what_is_said(path, stated)
