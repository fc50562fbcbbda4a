"""Tables that are read in batches: what is held of them, and which row groups go together."""

import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpcov.sensitive.tables import open_table, row_groups
from dpcov.sensitive.tables.batches import BatchSource
from dpcov.sensitive.tables.refusals import read_all_or_refuse

N_COLUMNS = 3


class Cells:
    """A column of a batch, which somebody may hold."""

    def __init__(self, length):
        self.numbers = np.zeros(length)


class Watched(BatchSource):
    """Batches that notice whether the one before is still held when the next is read."""

    def __init__(self, opened, lengths):
        super().__init__(opened._choice, sum(lengths), "The table")
        self._lengths, self.held = lengths, []

    def _batches(self, places):
        return read_all_or_refuse(self._read, "")

    def _read(self):
        before = None
        for length in self._lengths:
            self.held.append(before is not None and before() is not None)
            batch = [Cells(length) for _ in range(N_COLUMNS)]
            before = weakref.ref(batch[0])
            yield batch
            del batch

    def _cells(self, column, rule):
        return Numbers(column)

    def _keys(self, column, name):
        raise AssertionError


def Numbers(column):  # noqa: N802 - an array that holds its column, as one from a buffer does
    class Held(np.ndarray):
        pass

    held = column.numbers.view(Held)
    held.column = column
    return held


@pytest.fixture
def opened(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"c{place}": [1.0, 2.0] for place in range(N_COLUMNS)}), path)
    return open_table(path)


@pytest.mark.parametrize("size", [3, 7, 100])
def test_a_batch_is_let_go_before_the_next_one_is_read(opened, size):
    source = Watched(opened, [10, 20, 5, 30])
    assert sum(len(block) for block in source.blocks(size)) == 65
    assert source.held == [False] * 4


def written(path, groups, n_columns=N_COLUMNS, cells=None):
    """Write row groups of some lengths, and return all of their rows."""
    rows = np.random.default_rng(0).standard_normal((sum(groups), n_columns))
    rows = rows if cells is None else np.full_like(rows, cells)
    table = pa.table({f"c{place}": rows[:, place] for place in range(n_columns)})
    starts = np.cumsum([0, *groups])
    with pq.ParquetWriter(path, table.schema) as file:
        for start, length in zip(starts, groups, strict=False):
            file.write_table(table.slice(start, length), row_group_size=length)
    return rows


def runs_of(path: Path, n_columns=N_COLUMNS):
    return list(row_groups.plan_runs(pq.ParquetFile(path).metadata, None, n_columns))


LAYOUTS = {
    "one": [100_000],
    "tiny": [50] * 40,
    "tiny, then middling": [50, 60, 90_000, 70],
    "too large": [140_000],
    "large, then middling": [140_000, 90_000],
}


@pytest.mark.parametrize("groups", LAYOUTS.values(), ids=LAYOUTS)
def test_rows_are_the_same_from_row_groups_of_all_sizes(tmp_path, groups):
    rows = written(tmp_path / "x.parquet", groups)
    read = np.concatenate(list(open_table(tmp_path / "x.parquet").blocks(1 << 14)))
    np.testing.assert_array_equal(read, rows)


def test_row_groups_of_a_middling_size_are_read_whole(tmp_path):
    written(tmp_path / "x.parquet", [50, 60, 90_000, 70, 140_000, 131_072])
    expected = [([0, 1], False), ([2], True), ([3, 4], False), ([5], True)]
    assert runs_of(tmp_path / "x.parquet") == expected


def test_a_row_group_that_is_stored_in_much_less_than_its_numbers_is_read_in_batches(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(row_groups, "_SMALL_BYTES", 0)
    written(tmp_path / "x.parquet", [90_000], cells=1.0)
    assert runs_of(tmp_path / "x.parquet") == [([0], False)]
    written(tmp_path / "y.parquet", [90_000])
    assert runs_of(tmp_path / "y.parquet") == [([0], True)]


def test_only_what_is_planned_to_be_read_whole_comes_in_one_batch(tmp_path):
    written(tmp_path / "x.parquet", [90_000, 140_000])
    file = pq.ParquetFile(tmp_path / "x.parquet")
    batches = row_groups.read_groups(file, None, ["c0"], "x.parquet", use_threads=True)
    assert [len(batch) for batch in batches] == [90_000, 65_536, 65_536, 8_928]


def test_chunks_of_what_is_read_whole_come_in_their_order(monkeypatch):
    # Arrow makes several of one row group only where its texts have gigabytes.
    table = pa.table({"c0": pa.chunked_array([[1.0, 2.0], [3.0], [4.0]])})
    file = SimpleNamespace(metadata=None, read_row_groups=lambda *_, **__: table)
    monkeypatch.setattr(row_groups, "plan_runs", lambda *_: [([0], True)])
    batches = row_groups.read_groups(file, None, ["c0"], "x.parquet", use_threads=True)
    assert [batch.column(0).to_pylist() for batch in batches] == [[1, 2], [3], [4]]


MEGABYTES = 33.554432  # 32 << 20


@pytest.mark.parametrize(
    ("numbers", "stored", "is_whole"),
    [
        (0.99 * MEGABYTES, 0.0, True),
        (1.01 * MEGABYTES, 0.0, False),
        (51.2, 0.45 * 51.2, False),
        (51.2, 0.55 * 51.2, True),
    ],
)
def test_a_row_group_is_read_whole_if_it_is_small_or_its_numbers_are_not_twice_what_is_stored(
    numbers, stored, is_whole
):
    n_columns, n_all = 64, 640
    group = SimpleNamespace(
        num_rows=int(numbers * 1e6 / 8 / n_columns),
        num_columns=n_all,
        total_byte_size=int(stored * 1e6 * n_all / n_columns),
    )
    file = SimpleNamespace(num_row_groups=1, row_group=lambda _: group)
    assert list(row_groups.plan_runs(file, None, n_columns)) == [([0], is_whole)]
