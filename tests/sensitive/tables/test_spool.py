"""Streams that are read several times: where their rows wait, and that nothing of them stays."""

import errno
import io
import os
import signal
import subprocess
import sys
import tempfile

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import InputError
from dpcov.sensitive.tables import open_table, spool, streams
from dpcov.sensitive.tables.spool import SpooledSource, readable

RANDOM = np.random.default_rng(0)
N_ROWS = 1500
WHO = RANDOM.integers(0, 700, N_ROWS)
CELL = "987654"  # must not be in any message, nor in a file if its column is not used
TABLE = pa.table(
    {
        "city": [CELL] * N_ROWS,
        "a": RANDOM.normal(size=N_ROWS),
        "b": RANDOM.normal(size=N_ROWS).astype(np.float32),
        "who": pa.array([f"p{who}" for who in WHO]),
        "c": RANDOM.integers(-(2**60), 2**60, N_ROWS),
        "d": RANDOM.random(N_ROWS) < 0.3,
        "e": pa.array(RANDOM.integers(0, 9999, N_ROWS)).cast(pa.decimal128(22, 2)),
        "f": pa.array(RANDOM.normal(size=N_ROWS), mask=RANDOM.random(N_ROWS) < 0.1),
    }
)
NUMBERS = {name: {} for name in "fabcde"}
LEARNED = {"epsilon": 1.0, "delta": 1e-6, "seed": 3, "columns": NUMBERS, "missing": "center"}
UNIT = {"privacy_unit": "who", "rows_per_unit": 2, "allow": {"small"}}
STATED = LEARNED | {"columns": {"a": (-1, 1), "b": (-1, 1)}, "row_norm": 1.0}
PAIRS = {"epsilon": 1.0, "delta": 1e-6, "seed": 3, "center": 0.0, "max_pairs": 3}

posix = pytest.mark.skipif(os.name != "posix", reason="open files keep their names")


def reader(table=TABLE):
    return table.to_reader(max_chunksize=70)


@pytest.fixture
def files(monkeypatch, tmp_path):
    """Let files be made in an empty folder, and remember them."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    made = []
    real = tempfile.TemporaryFile

    def make(*args, **keywords):
        made.append(real(*args, **keywords))
        return made[-1]

    monkeypatch.setattr(tempfile, "TemporaryFile", make)
    yield made
    assert all(file.closed for file in made)
    assert not list(tmp_path.iterdir())


def spooled(table, **keywords):
    return readable(open_table(table, **keywords), 2, None)


def saved(release, folder):
    release.save(folder / "release.npz")
    content = (folder / "release.npz").read_bytes()
    (folder / "release.npz").unlink()
    return content


@pytest.mark.claim("P7")
@pytest.mark.parametrize("more", [{}, UNIT], ids=["rows", "units"])
def test_a_stream_has_the_bytes_of_the_same_table_in_memory(more, files, tmp_path):
    from_stream = dpcov.release(reader(), **LEARNED, **more)
    assert len(files) == 1
    in_memory = dpcov.release(TABLE, **LEARNED, **more)
    assert len(files) == 1
    assert saved(from_stream, tmp_path) == saved(in_memory, tmp_path)


def test_pairs_of_people_with_several_rows_come_from_streams_too(files):
    table = TABLE.select(["a", "b", "who", "c"])
    from_stream = dpcov.release_pairs(reader(table), **PAIRS, **UNIT)
    in_memory = dpcov.release_pairs(table, **PAIRS, **UNIT)
    assert len(files) == 1
    assert (from_stream.co_movement == in_memory.co_movement).all()
    assert from_stream.n_rows == in_memory.n_rows < N_ROWS


@pytest.mark.parametrize(
    "release",
    [
        lambda: dpcov.release(reader(), **STATED, allow={"mismatch"}),
        lambda: dpcov.release_pairs(reader(TABLE.select(["a", "b", "c"])), **PAIRS),
        lambda: dpcov.release(pa.RecordBatch.from_pylist(TABLE.to_pylist()), **LEARNED),
        lambda: dpcov.release(pl.from_arrow(TABLE).lazy(), **LEARNED),
    ],
    ids=["row norm", "pairs", "batch in memory", "lazy frame"],
)
def test_nothing_is_written_if_it_is_not_needed(release, files):
    release()
    assert not files


@posix
def test_the_file_has_no_name_and_is_its_owners_alone(files, tmp_path):
    with spooled(reader(), select=["a"]):
        (file,) = files
        assert not list(tmp_path.iterdir())
        assert os.fstat(file.fileno()).st_mode & 0o777 == 0o600
        assert os.fstat(file.fileno()).st_nlink == 0


def test_only_columns_that_are_used_are_written(files):
    with spooled(reader(), select=["c", "a"], privacy_unit="who"):
        (file,) = files
        file.seek(0)
        written = pa.ipc.open_stream(file).read_all()
    assert written.column_names == ["c", "a", "who"]
    assert written.equals(TABLE.select(["c", "a", "who"]))
    assert not written.schema.metadata


def test_it_can_be_read_as_often_as_needed_and_not_after_the_end(files):
    with spooled(reader(), select=["c", "a"], privacy_unit="who") as source:
        assert isinstance(source, SpooledSource)
        assert (source.columns, source.n_rows) == (("c", "a"), N_ROWS)
        keys = np.concatenate([run.cells for run in source.unit_keys(16)])
        assert keys.tolist() == TABLE["who"].to_pylist()
        for _ in range(3):
            lengths, rows = zip(*((len(b), b) for b in source.blocks(400)), strict=True)
            assert lengths == (400, 400, 400, 300)
            expected = np.stack([TABLE["c"].to_numpy(), TABLE["a"].to_numpy()], axis=1)
            np.testing.assert_array_equal(np.concatenate(rows), expected)
    with pytest.raises(InputError, match="cannot be read back") as caught:
        list(source.blocks(400))
    assert caught.value.__context__ is None


def test_categories_may_be_other_ones_in_each_batch(files):
    parts = [["x", "y", "x"], ["z", "y"], ["x"]]
    batches = [
        pa.record_batch({"who": pa.array(who).dictionary_encode(), "a": np.arange(len(who))})
        for who in parts
    ]
    stream = pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches))
    with spooled(stream, privacy_unit="who") as source:
        keys = [key for run in source.unit_keys(16) for key in run.cells.tolist()]
    assert keys == ["x", "y", "x", "z", "y", "x"]


def test_categories_may_be_more_than_one_list_has_room_for(files):
    """A hundred in each batch, counted in bytes: together they would be too many."""
    places = pa.array(range(100), pa.int8())
    lists = [[f"p{batch} {place}" for place in range(100)] for batch in range(5)]
    batches = [
        pa.record_batch({"who": pa.DictionaryArray.from_arrays(places, who), "a": places})
        for who in lists
    ]
    stream = pa.RecordBatchReader.from_batches(batches[0].schema, iter(batches))
    with spooled(stream, privacy_unit="who") as source:
        keys = [key for run in source.unit_keys(16) for key in run.cells.tolist()]
        rows = np.concatenate(list(source.blocks(64)))[:, 0]
    assert keys == [key for who in lists for key in who]
    assert rows.tolist() == list(range(100)) * 5


@pytest.mark.parametrize("length", [1, 7, 999])
def test_short_batches_take_the_room_of_their_rows(length, files):
    n_rows = 20_000
    table = pa.table({name: RANDOM.normal(size=n_rows) for name in "abc"})
    with spooled(table.to_reader(max_chunksize=length)) as source:
        assert os.fstat(files[0].fileno()).st_size < 1.05 * 3 * 8 * n_rows
        rows = np.concatenate(list(source.blocks(n_rows)))
    assert (rows == np.stack([table[name].to_numpy() for name in "abc"], axis=1)).all()


def _batches(lengths):
    """Return rows 0, 1, … in batches of some lengths."""
    table = pa.table({"a": np.arange(sum(lengths))})
    starts = np.cumsum([0, *lengths])
    parts = (table.slice(start, size) for start, size in zip(starts, lengths, strict=False))
    batches = [batch for part in parts for batch in part.to_batches()]
    return pa.RecordBatchReader.from_batches(table.schema, batches)


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([4, 6], [10]),
        ([5, 5], [10]),
        ([4, 7], [4, 7]),
        ([5, 6], [5, 6]),
        ([6, 4], [6, 4]),
        ([6, 4, 6], [6, 10]),
        ([6, 5, 6], [6, 5, 6]),
        ([23], [10, 10, 3]),
        ([1] * 9, [4, 4, 1]),
    ],
)
def test_batches_are_joined_while_they_are_short_and_fit(lengths, expected, files, monkeypatch):
    monkeypatch.setattr(spool, "batch_rows", lambda n_columns: 10)
    monkeypatch.setattr(spool, "_MOST_WAITING", 4)
    with spooled(_batches(lengths)) as source:
        files[0].seek(0)
        assert list(map(len, pa.ipc.open_stream(files[0]))) == expected
        assert np.concatenate(list(source.blocks(64)))[:, 0].tolist() == [*range(sum(lengths))]


@pytest.mark.skipif(not pa.Codec.is_available("lz4"), reason="needs pyarrow with lz4")
def test_rows_that_say_little_take_little_room(files):
    n_rows = 20_000
    with spooled(pa.table({"a": np.zeros(n_rows)}).to_reader()):
        assert os.fstat(files[0].fileno()).st_size < 8 * n_rows / 10


def test_the_weight_stands_after_the_numbers_and_the_unit_last():
    choice = open_table(reader(), select=["c"], weight="a", privacy_unit="who").used_choice
    assert choice.labels == ("c", "a", "who")
    assert (choice.weight, choice.privacy_unit) == (1, 2)
    assert open_table(reader(), select=["c"]).used_choice.weight is None


def test_a_batch_of_all_rows_is_read_back_in_parts(files):
    table = pa.table({"a": np.zeros(300_000)})
    with spooled(pa.RecordBatchReader.from_batches(table.schema, table.to_batches())):
        files[0].seek(0)
        assert max(map(len, pa.ipc.open_stream(files[0]))) <= 1 << 16


def test_its_number_of_rows_has_no_limit(files, monkeypatch):
    monkeypatch.setattr(streams, "MAX_STREAM_ROWS", 100)
    assert dpcov.release(reader(), **LEARNED).n_rows == N_ROWS
    with pytest.raises(InputError, match=r"more than 100 rows.*Nothing was spent"):
        dpcov.release(reader(), **STATED, allow={"mismatch"})


def test_progress_says_where_it_is_written(files, tmp_path):
    told = []
    dpcov.release(reader(), **LEARNED, progress=lambda *each: told.append(each))
    assert told[0] == (f"spooling to {tmp_path}", 70, None)
    passes = list(dict.fromkeys(name for name, _, _ in told))
    assert passes == [f"spooling to {tmp_path}", "columns", "lengths", "moments"]


@pytest.mark.parametrize("name", ["spooling", "columns", "moments"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError, SystemExit])
def test_nothing_stays_when_it_is_stopped(name, kind, files):
    def stop(now, done, total):
        if now.startswith(name):
            raise kind

    with pytest.raises(kind):
        dpcov.release(reader(), **LEARNED, progress=stop)
    assert len(files) == 1


@posix
def test_nothing_stays_when_it_is_killed(tmp_path):
    script = (
        "import os, signal, dpcov, numpy as np, pyarrow as pa\n"
        "def kill(name, done, total):\n"
        "    if name == 'lengths': os.kill(os.getpid(), signal.SIGKILL)\n"
        "table = pa.table({'a': np.arange(5000.0), 'b': np.ones(5000)})\n"
        "dpcov.release(table.to_reader(), epsilon=1, delta=1e-6, progress=kill)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"TMPDIR": str(tmp_path)}, check=False
    )
    assert run.returncode == -signal.SIGKILL
    assert not list(tmp_path.iterdir())


@pytest.mark.claim("P8")
def test_a_stream_that_breaks_off_leaves_nothing(files):
    def batches():
        yield from TABLE.to_batches(max_chunksize=70)[:3]
        raise ValueError(CELL)

    stream = pa.RecordBatchReader.from_batches(TABLE.schema, batches())
    with pytest.raises(InputError, match=r"broke off.*Nothing was spent") as caught:
        dpcov.release(stream, **LEARNED)
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is None
    assert len(files) == 1


def test_a_stream_that_was_read_before_is_refused(files):
    stream = reader()
    stream.read_all()
    with pytest.raises(InputError, match=r"gave 0 row\(s\).*Nothing was spent"):
        dpcov.release(stream, **LEARNED)


class _FullDisk(io.BytesIO):
    """A file for which there is room for some bytes."""

    def __init__(self, room):
        super().__init__()
        self.room = room

    def write(self, data):
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return super().write(data)

    def flush(self):
        if self.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self):
        super().close()
        if self.room <= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _written(monkeypatch):
    """Return how many bytes a spooled table has."""
    file = _FullDisk(1 << 30)
    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "TemporaryFile", lambda **_: file)
        dpcov.release(reader(), **LEARNED)
    return (1 << 30) - file.room


@pytest.mark.claim("P8")
@pytest.mark.parametrize("share", [0, 0.5, 1], ids=["at once", "half-way", "at the end"])
def test_a_full_disk_is_said_and_costs_nothing(share, monkeypatch):
    file = _FullDisk(int(share * _written(monkeypatch)))
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: file)
    with pytest.raises(InputError) as caught:
        dpcov.release(reader(), **LEARNED)
    message = str(caught.value)
    for part in (os.strerror(errno.ENOSPC), "TMPDIR", "row_norm=", "Nothing was spent."):
        assert part in message
    assert caught.value.__context__ is None
    assert file.closed


@pytest.mark.claim("P8")
@pytest.mark.parametrize("kind", [ValueError, OSError])
def test_what_is_said_of_rows_that_cannot_be_written_is_not_repeated(kind, monkeypatch):
    class Broken(io.BytesIO):
        def write(self, data):
            raise kind(CELL)

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Broken())
    with pytest.raises(InputError, match=r"temporary file in '[^']*'\. Set TMPDIR") as caught:
        dpcov.release(reader(), **LEARNED)
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is None


def test_no_other_folder_is_taken_than_the_one_that_was_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "not mounted"))
    with pytest.raises(InputError, match=r"not mounted.*Nothing was spent"):
        dpcov.release(reader(), **LEARNED)


def test_workers_are_not_sent_to_a_file_that_they_cannot_open(files):
    from_stream = dpcov.release(reader(), **LEARNED, engine="dask")
    assert (from_stream.matrix == dpcov.release(TABLE, **LEARNED).matrix).all()
