"""Rows of a CSV file by its line breaks: as many as the parser finds, or none are told."""

import gzip
import itertools

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import dpcov
from dpcov.errors import InputError
from dpcov.sensitive.tables import csv_file, csv_rows, open_table
from dpcov.sensitive.tables.csv_rows import count_lines

PLAIN = [b"1,2\n", b"1,2", b"", b"1,2\n3,4\n", b"1,2\n3,4", b",\n,\n", b"1,2\n,"]
UNSURE = [b"\n", b"\n1,2\n", b"1,2\n\n3,4\n", b"1,2\n\n", b"1,2\r\n", b'1,"2"\n', b"1,2\r3,4\n"]


@pytest.fixture(params=[1, 2, 3, 5, 1 << 20])
def chunks(request, monkeypatch):
    monkeypatch.setattr(csv_rows, "_CHUNK_BYTES", request.param)


@pytest.mark.parametrize("rows", PLAIN)
@pytest.mark.usefixtures("chunks")
def test_lines_are_the_rows_of_the_parser(tmp_path, rows):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n" + rows)
    longest = max(map(len, rows.split(b"\n")))
    assert count_lines(path, 4) == (pc.read_csv(path).num_rows, longest)


@pytest.mark.parametrize("rows", UNSURE)
@pytest.mark.usefixtures("chunks")
def test_lines_that_may_be_no_rows_are_not_counted(tmp_path, rows):
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\n" + rows)
    assert count_lines(path, 4) is None


@pytest.mark.usefixtures("chunks")
def test_every_short_text_is_counted_as_the_parser_counts_it_or_not_at_all(tmp_path):
    path = tmp_path / "x.csv"
    for length in range(7):
        for letters in itertools.product((b"1,2", b"\n", b"\r"), repeat=length):
            rows = b"".join(letters).replace(b"21", b"2\n1")
            path.write_bytes(b"a,b\n" + rows)
            counted = count_lines(path, 4)
            assert counted is None or counted[0] == pc.read_csv(path).num_rows


def test_rows_of_a_compressed_file_are_not_counted_by_its_bytes(tmp_path):
    # Stored as it is, so that its bytes have line breaks, and neither quotes nor returns.
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n5,6\n", compresslevel=0, mtime=0))
    assert count_lines(path, 4) not in (None, (3, 3))
    assert open_table(path).n_rows == 3


@pytest.mark.parametrize("rest", ["", "3,4\n" * 10])
@pytest.mark.parametrize("broken", ["1,2,3", "1", "2,2,"])
def test_a_row_of_another_length_is_refused_by_its_number_before_anything_is_spent(
    tmp_path, broken, rest
):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "1,2\n" * 5 + f"{broken}\n{rest}")
    with pytest.raises(InputError, match=r"^Row 7 of x\.csv, counted from its first line, has"):
        dpcov.release(path, epsilon=1.0, delta=1e-6, seed=0)


@pytest.fixture
def two_threads():
    """Let Arrow parse on several threads, where it does not say which row it refuses."""
    before = pa.cpu_count()
    pa.set_cpu_count(2)
    yield
    pa.set_cpu_count(before)


@pytest.mark.claim("P8")
@pytest.mark.usefixtures("two_threads")
def test_a_row_of_another_length_in_a_late_block_is_refused_without_its_cells(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(csv_file, "_block_bytes", lambda n_columns: 64)
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "1,2\n" * 100 + "987654,3,4\n" + "1,2\n" * 100)
    source = open_table(path)
    with pytest.raises(InputError, match=r"^Row 102 of x\.csv, counted from") as caught:
        list(source.blocks(50))
    assert "987654" not in str(caught.value)
    assert caught.value.__context__ is None


LIMIT = 1 << 20


def long_row(n_columns, size, where):
    """Return a file of rows, one of which has so many bytes, at its beginning, middle or end."""
    header = ",".join(f"c{place}" for place in range(n_columns))
    row = ",".join("1" * n_columns)
    long = "1" * (size - (len(row) - 1)) + row[1:]
    rows = [row] * 600_000
    rows[{"first": 0, "middle": 300_001, "last": -1}[where]] = long
    return "\n".join([header, *rows, ""]).encode()


@pytest.mark.claim("P8")
@pytest.mark.parametrize("where", ["first", "middle", "last"])
@pytest.mark.parametrize("ends", [b"\n", b"\r\n"])
@pytest.mark.parametrize("n_columns", [1, 2])
def test_a_row_is_too_long_wherever_it_stands(tmp_path, n_columns, ends, where):
    path = tmp_path / "x.csv"
    path.write_bytes(long_row(n_columns, LIMIT, where).replace(b"\n", ends))
    assert open_table(path).n_rows == 600_000
    path.write_bytes(long_row(n_columns, LIMIT + 1, where).replace(b"\n", ends))
    with pytest.raises(
        InputError, match=r"A row of x\.csv has more than 1,048,576 bytes"
    ) as caught:
        open_table(path)
    assert caught.value.__context__ is None


@pytest.mark.claim("P8")
@pytest.mark.parametrize("columns", ["a", "a,b"])
@pytest.mark.parametrize("cell", ["1" * 30_000_000, '"' + "1\n" * 15_000_000 + '"'])
def test_a_cell_of_30_megabytes_is_refused_before_anything_is_spent(tmp_path, cell, columns):
    path = tmp_path / "x.csv"
    rest = columns[1:].replace("b", "2")
    path.write_text(f"{columns}\n1{rest}\n{cell}{rest}\n3{rest}\n")
    with pytest.raises(InputError, match=r"has more than 1,048,576 bytes.*Nothing was spent"):
        dpcov.release(path, epsilon=1.0, delta=1e-6, seed=0)


def test_a_row_of_many_columns_may_be_longer(tmp_path):
    path = tmp_path / "x.csv"
    for size, fits in ((100, True), (101, False)):
        row = ",".join(["1" * (size - 1)] * 20_000) + " "
        path.write_text(",".join(f"c{place}" for place in range(20_000)) + f"\n{row}\n{row}\n")
        if fits:
            assert open_table(path).n_rows == 2
        else:
            with pytest.raises(InputError, match="more than 2,000,000 bytes"):
                open_table(path)


@pytest.mark.claim("P8")
def test_a_cell_of_several_lines_is_one_cell_also_where_a_block_ends(tmp_path, monkeypatch):
    monkeypatch.setattr(csv_file, "_block_bytes", lambda n_columns: 40)
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + '1,"x\ny\nz"\n' * 50)
    assert open_table(path).n_rows == 50
    path.write_text("a\n" + '"x\ny\nz"\n' * 50)
    assert open_table(path).n_rows == 50
