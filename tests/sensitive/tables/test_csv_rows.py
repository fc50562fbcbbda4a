"""Rows of a CSV file by its line breaks: as many as the parser finds, or none are told."""

import gzip
import itertools

import pyarrow as pa
import pyarrow.csv as pc
import pytest

import dpcov
from dpcov.errors import InputError
from dpcov.sensitive.tables import csv_rows, open_table
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
    assert count_lines(path, 4) == pc.read_csv(path).num_rows


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
            assert counted is None or counted == pc.read_csv(path).num_rows


def test_rows_of_a_compressed_file_are_not_counted_by_its_bytes(tmp_path):
    # Stored as it is, so that its bytes have line breaks, and neither quotes nor returns.
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n5,6\n", compresslevel=0, mtime=0))
    assert count_lines(path, 4) is not None
    assert count_lines(path, 4) != 3
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
    monkeypatch.setattr("dpcov.sensitive.tables.csv_file._BLOCK_BYTES", 64)
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "1,2\n" * 100 + "987654,3,4\n" + "1,2\n" * 100)
    source = open_table(path)
    with pytest.raises(InputError, match=r"^Row 102 of x\.csv, counted from") as caught:
        list(source.blocks(50))
    assert "987654" not in str(caught.value)
    assert caught.value.__context__ is None
