"""pyarrow data sets: the same rows by every way, and little of them in memory."""

import base64
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from dpcov.errors import InputError
from dpcov.sensitive.tables import datasets, open_table
from dpcov.sensitive.tables.description import describe_table

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


def with_a_gap(folder):
    pq.write_table(table(ROWS[:300]), folder / "0.parquet")
    pq.write_table(table(ROWS[300:]).drop_columns("b"), folder / "1.parquet")
    return ds.dataset(folder)


def read_by_options(folder):
    pq.write_table(table(), folder / "0.parquet")
    options = ds.ParquetReadOptions(dictionary_columns=["never"])
    return ds.dataset(folder, format=ds.ParquetFileFormat(read_options=options))


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
    [
        (plain, "_read_files"),
        (hive, "_read_files"),
        (cast, "_scan"),
        (union, "_scan"),
        (with_a_gap, "_scan"),
        (read_by_options, "_scan"),
    ],
)
def test_every_way_gives_the_rows_of_the_scanner(make, way, ways, tmp_path):
    dataset = make(tmp_path)
    expected = np.column_stack([dataset.to_table()[label].to_numpy() for label in LABELS])
    assert np.array_equal(read(dataset, select=LABELS), expected, equal_nan=True)
    assert ways == [way]


def encrypted(folder, *, signed):
    """Return a data set with the key of its files, whose metadata are encrypted or signed."""
    encryption = pytest.importorskip("pyarrow.parquet.encryption")

    class Keys(encryption.KmsClient):
        def wrap_key(self, key_bytes, master_key_identifier):
            return base64.b64encode(key_bytes)

        def unwrap_key(self, wrapped_key, master_key_identifier):
            return base64.b64decode(wrapped_key)

    made = encryption.CryptoFactory(lambda config: Keys())
    whose = encryption.KmsConnectionConfig()
    locked = made.file_encryption_properties(
        whose,
        encryption.EncryptionConfiguration(
            footer_key="k", column_keys={"k": LABELS}, plaintext_footer=signed
        ),
    )
    pq.write_table(table(), folder / "x.parquet", encryption_properties=locked)
    key = ds.ParquetDecryptionConfig(made, whose, encryption.DecryptionConfiguration())
    stated = ds.ParquetFragmentScanOptions(decryption_config=key)
    return ds.dataset(folder, format=ds.ParquetFileFormat(default_fragment_scan_options=stated))


@pytest.mark.parametrize("signed", [False, True])
def test_an_encrypted_data_set_is_read_with_its_key(signed, ways, tmp_path):
    dataset = encrypted(tmp_path, signed=signed)
    assert np.array_equal(read(dataset), ROWS)
    assert np.array_equal(read(dataset.filter(ds.field("a") > 0)), ROWS[ROWS[:, 0] > 0])
    assert ways == ["_scan", "_scan"]


def asked_of(dataset_format):
    """Return what is asked of the scanner of a data set."""
    return datasets._scan(SimpleNamespace(format=dataset_format, to_batches=dict), ["a"])


def test_the_scanner_reads_little_ahead_and_through_a_buffer():
    asked = asked_of(ds.ParquetFileFormat())
    assert asked["fragment_scan_options"].use_buffered_stream
    assert not asked["fragment_scan_options"].pre_buffer
    assert asked["batch_readahead"] == asked["fragment_readahead"] == 1


def test_options_that_a_caller_stated_are_left_to_the_scanner():
    stated = ds.ParquetFragmentScanOptions(thrift_string_size_limit=10**9)
    asked = asked_of(ds.ParquetFileFormat(default_fragment_scan_options=stated))
    assert "fragment_scan_options" not in asked


@pytest.mark.parametrize("take", [describe_table, open_table])
@pytest.mark.parametrize(
    "part",
    [ds.dataset(table()).scanner(), *ds.dataset(table()).get_fragments(), ds.IpcFileFormat()],
    ids=["scanner", "fragment", "format"],
)
def test_a_part_of_a_data_set_is_refused(part, take):
    with pytest.raises(InputError, match="must be a data set of pyarrow"):
        take(part)


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


def test_a_part_of_a_file_that_is_called_like_a_column_is_refused(tmp_path):
    table = pa.table({"a": [1.0, 2.0], "b.c": [3.0, 4.0], "b": [{"c": 7.0}, {"c": 8.0}]})
    pq.write_table(table, tmp_path / "x.parquet")
    source = open_table(ds.dataset(tmp_path / "x.parquet"), select=["a", "b.c"])
    with pytest.raises(InputError, match="A file of the data set has more than one column"):
        list(source.blocks(10))
