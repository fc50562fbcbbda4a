"""pyarrow data sets: the same rows by every way, and little of them in memory."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from dpcov.errors import InputError
from dpcov.sensitive.tables import datasets, open_table

ROWS = np.random.default_rng(0).normal(size=(600, 3))
LABELS = ["a", "b", "c"]


def table(rows=ROWS):
    return pa.table(dict(zip(LABELS, rows.T, strict=True)))


def read(dataset, **options):
    return np.concatenate(list(open_table(dataset, header=True, **options).blocks(64)))


def plain(folder):
    for place in range(3):
        part = table(ROWS[200 * place : 200 * (place + 1)])
        pq.write_table(part, folder / f"part-{place}.parquet", row_group_size=70)
    return ds.dataset(folder)


def hive(folder):
    for place in range(2):
        (folder / f"year={place}").mkdir()
        part = table(ROWS[300 * place : 300 * (place + 1)])
        pq.write_table(part, folder / f"year={place}" / "x.parquet")
    return ds.dataset(folder, partitioning="hive")


def cast(folder):
    pq.write_table(table(ROWS[:300]), folder / "0.parquet")
    short = pa.schema([(label, pa.float32()) for label in LABELS])
    pq.write_table(table(ROWS[300:]).cast(short), folder / "1.parquet")
    return ds.dataset(folder)


def union(folder):
    pq.write_table(table(ROWS[:300]), folder / "0.parquet")
    return ds.dataset([ds.dataset(folder / "0.parquet"), ds.dataset(table(ROWS[300:]))])


@pytest.fixture
def ways(monkeypatch):
    """Count which way data sets are read."""
    taken = []
    for name in ("_scan", "_read_files"):
        real = getattr(datasets, name)
        monkeypatch.setattr(datasets, name, lambda *a, n=name, f=real: taken.append(n) or f(*a))
    return taken


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    ("make", "way"),
    [(plain, "_read_files"), (hive, "_read_files"), (cast, "_scan"), (union, "_scan")],
)
def test_every_way_gives_the_rows_of_the_scanner(make, way, ways, tmp_path):
    dataset = make(tmp_path)
    expected = np.column_stack([dataset.to_table()[label].to_numpy() for label in LABELS])
    assert np.array_equal(read(dataset, select=LABELS), expected)
    assert ways == [way]


def test_a_column_that_folders_name_is_read_by_the_scanner(ways, tmp_path):
    found = read(hive(tmp_path), select=["a", "year"])
    assert found[:, 1].tolist() == [0.0] * 300 + [1.0] * 300
    assert ways == ["_scan"]


def test_a_filtered_data_set_has_the_rows_that_pass(ways, tmp_path):
    found = read(plain(tmp_path).filter(ds.field("a") > 0))
    assert np.array_equal(found, ROWS[ROWS[:, 0] > 0])
    assert ways == ["_scan"]


def test_only_the_row_groups_of_a_fragment_are_read(tmp_path):
    pq.write_table(table(), tmp_path / "x.parquet", row_group_size=100)
    (file,) = ds.dataset(tmp_path / "x.parquet").get_fragments()
    batches = datasets._read_files([file.subset(row_group_ids=[1, 4])], ["b"])
    found = np.concatenate([batch.column(0).to_numpy() for batch in batches])
    assert np.array_equal(found, ROWS[[*range(100, 200), *range(400, 500)], 1])


def test_a_unit_of_a_filtered_data_set_is_refused_with_a_way_out(tmp_path):
    with pytest.raises(InputError, match="does not show them, as when it is filtered"):
        open_table(plain(tmp_path).filter(ds.field("a") > 0), privacy_unit="a")


def test_a_large_row_group_is_never_in_memory_as_a_whole(tmp_path):
    """One of 32 MB; Arrow's own scanner holds it."""
    rows = np.random.default_rng(0).normal(size=(10, 400_000))
    wide = pa.table({f"c{place}": column for place, column in enumerate(rows)})
    pq.write_table(wide, tmp_path / "x.parquet", compression="NONE", use_dictionary=False)
    code = """if True:
    import sys, pyarrow as pa, pyarrow.dataset as ds
    from dpcov.sensitive.tables import datasets, open_table
    if sys.argv[2] == "scanner":
        datasets._plain_files = lambda *_: None
    for block in open_table(ds.dataset(sys.argv[1]), header=True).blocks(4096): pass
    print(pa.default_memory_pool().max_memory())
    """
    ours, scanner = (
        int(
            subprocess.run(
                [sys.executable, "-c", code, str(tmp_path), way],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for way in ("ours", "scanner")
    )
    assert ours < 26e6  # 14 MB with newer Arrow
    assert scanner > 32e6
