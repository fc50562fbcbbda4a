"""Pieces of a table: every row in one of them, wherever they are read."""

import os
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
import scipy.sparse
from hypothesis import example, given
from hypothesis import strategies as st

from designs import numbers
from dpcov.columns import Column
from dpcov.errors import InputError
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.pieces import cut_range, cut_runs, split_rows, tapering
from dpcov.sensitive.tables.privacy_units import limit_rows
from dpcov.sensitive.tables.working import Reading, WorkingSource

ROWS = np.random.default_rng(0).normal(size=(101, 3))
WHO = np.random.default_rng(1).integers(0, 30, 101)
FRAME = pd.DataFrame(ROWS, columns=list("abc")).assign(who=[f"person {who}" for who in WHO])


def write_npy(folder, rows=ROWS):
    np.save(folder / "x.npy", rows)
    return folder / "x.npy"


def write_parquet(folder, frame=FRAME):
    (folder / "parts").mkdir(exist_ok=True)
    for index, start in enumerate((0, 40, 60)):
        stop = (40, 60, 101)[index]
        table = pa.Table.from_pandas(frame.iloc[start:stop], preserve_index=False)
        pq.write_table(table, folder / "parts" / f"{index}.parquet", row_group_size=9)
    return folder / "parts"


NUMBERS = FRAME[["a", "b", "c"]]
TABLES = {
    "array": lambda folder: ROWS,
    "masked array": lambda folder: np.ma.masked_array(ROWS),
    "sparse": lambda folder: scipy.sparse.csr_array(ROWS),
    "npy": write_npy,
    "npy of columns": lambda folder: write_npy(folder, np.asfortranarray(ROWS)),
    "pandas": lambda folder: NUMBERS,
    "polars": lambda folder: pl.from_pandas(NUMBERS),
    "arrow": lambda folder: pa.Table.from_pandas(NUMBERS),
    "parquet": lambda folder: write_parquet(folder, NUMBERS),
}


def read(piece):
    """Read a piece as another process would."""
    piece = pickle.loads(pickle.dumps(piece))
    rows = piece.open(None)
    for layer in piece.layers:
        rows = layer(rows)
    blocks = list(rows.blocks(7))
    return np.concatenate(blocks) if blocks else np.empty((0, 3))


@pytest.mark.parametrize("parts", [1, 3, 7])
@pytest.mark.parametrize("kind", TABLES)
def test_the_pieces_together_are_the_table(kind, parts, tmp_path):
    pieces = split_rows(open_table(TABLES[kind](tmp_path)), parts).pieces
    assert len(pieces) == parts
    assert (np.concatenate([read(piece) for piece in pieces]) == ROWS).all()
    assert [piece.start for piece in pieces] == np.cumsum(
        [0] + [piece.n_rows for piece in pieces[:-1]]
    ).tolist()


@pytest.mark.parametrize("parts", [1, 3, 7])
@pytest.mark.parametrize("kind", ["pandas", "parquet"])
def test_the_kept_rows_of_the_pieces_are_those_of_the_table(kind, parts, tmp_path):
    table = FRAME if kind == "pandas" else write_parquet(tmp_path)
    source = limit_rows(open_table(table, privacy_unit="who"), 2, bytes(32))
    pieces = split_rows(source, parts).pieces
    whole = np.concatenate(list(source.blocks(50)))
    assert (np.concatenate([read(piece) for piece in pieces]) == whole).all()
    assert sum(piece.n_rows for piece in pieces) == source.n_rows == len(whole)


def test_the_pieces_of_working_rows_are_in_working_units():
    source = WorkingSource(
        open_table(ROWS), Reading.of(numbers(3), [Column(f"x{i}", scale=2.0) for i in range(3)])
    )
    pieces = split_rows(source, 3).pieces
    assert (np.concatenate([read(piece) for piece in pieces]) == ROWS / 2).all()


@pytest.mark.parametrize("kind", ["csv", "lazy", "data set"])
def test_other_kinds_have_no_pieces(kind, tmp_path):
    NUMBERS.to_csv(tmp_path / "x.csv", index=False)
    table = {
        "csv": tmp_path / "x.csv",
        "lazy": pl.from_pandas(NUMBERS).lazy(),
        "data set": ds.dataset(pa.Table.from_pandas(NUMBERS)),
    }[kind]
    assert split_rows(WorkingSource(open_table(table), Reading.of(numbers(3))), 4) is None


def test_more_pieces_than_rows_are_not_made():
    assert [piece.n_rows for piece in split_rows(open_table(ROWS[:3]), 10).pieces] == [1, 1, 1]


def test_a_piece_of_an_arrow_table_takes_its_own_rows_only():
    table = pa.table({"a": np.random.default_rng(0).normal(size=100_000)})
    piece = split_rows(open_table(table), 100).pieces[5]
    assert len(pickle.dumps(piece)) < 20_000


def test_a_piece_does_not_show_its_rows():
    piece = split_rows(open_table(np.full((4, 2), 987654.0)), 2).pieces[0]
    assert "987654" not in repr(piece) + repr(piece.open)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_a_file_that_a_worker_does_not_see_is_named(kind, tmp_path):
    path = TABLES[kind](tmp_path)
    piece = split_rows(open_table(path), 2).pieces[0]
    path.rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=r"A worker does not find '/.*All workers must see"):
        read(piece)


@pytest.mark.parametrize("kind", ["npy", "parquet"])
def test_a_piece_of_a_file_can_be_read_from_another_folder(kind, tmp_path, monkeypatch):
    name = TABLES[kind](tmp_path).name
    monkeypatch.chdir(tmp_path)
    pieces = split_rows(open_table(name), 2).pieces
    monkeypatch.chdir(os.sep)
    assert (np.concatenate([read(piece) for piece in pieces]) == ROWS).all()


lengths = st.lists(st.integers(0, 50), min_size=1, max_size=20)


@given(lengths, st.integers(1, 8))
def test_runs_cover_all_lengths_in_order(sizes, parts):
    runs = cut_runs(sizes, parts)
    assert [place for run in runs for place in range(run.start, run.stop)] == list(
        range(len(sizes))
    )


@example([5, 0], 1)
@example([0, 0, 0], 2)
@given(lengths, st.integers(1, 8))
def test_there_are_no_more_runs_than_asked_for(sizes, parts):
    assert 1 <= len(cut_runs(sizes, parts)) <= parts


@example([5], 2)
@given(lengths, st.integers(1, 8))
def test_no_run_is_without_a_length(sizes, parts):
    assert all(run.start < run.stop for run in cut_runs(sizes, parts))


@pytest.mark.parametrize("length", [1, 7])
def test_runs_of_equal_lengths_are_equal(length):
    assert cut_runs([length] * 6, 3) == [slice(0, 2), slice(2, 4), slice(4, 6)]


@given(lengths, st.integers(1, 8))
def test_no_run_is_much_longer_than_the_others(sizes, parts):
    longest = max(sum(sizes[run]) for run in cut_runs(sizes, parts))
    assert longest <= sum(sizes) / parts + max(sizes)


shares = st.lists(st.integers(1, 9), min_size=1, max_size=8)


@given(lengths, shares)
def test_runs_of_stated_lengths_cover_all_in_order(sizes, parts):
    runs = cut_runs(sizes, parts)
    places = [place for run in runs for place in range(run.start, run.stop)]
    assert places == list(range(len(sizes)))
    assert 1 <= len(runs) <= len(parts)


@given(lengths, shares)
def test_no_run_is_longer_than_stated_by_more_than_one_length(sizes, parts):
    longest = max(sum(sizes[run]) for run in cut_runs(sizes, parts))
    assert longest <= sum(sizes) * max(parts) / sum(parts) + max(sizes)


@given(st.integers(0, 200), shares)
def test_slices_cover_all_rows_in_order_and_none_is_empty(length, parts):
    cut = cut_range(length, parts)
    assert [row for each in cut for row in range(each.start, each.stop)] == list(range(length))
    assert all(each.start < each.stop for each in cut)


@given(st.integers(1, 500), st.integers(1, 20))
def test_pieces_grow_shorter_and_the_last_are_the_shortest(length, cores):
    lengths = tapering(length, cores)
    assert sum(lengths) == length
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] == 1
    assert lengths[0] <= max(1, length / (2 * cores))
