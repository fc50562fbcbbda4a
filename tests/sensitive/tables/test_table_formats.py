"""Folders of table formats: some of their files do not count, and only their own readers know."""

import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import InputError
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.description import describe_table
from dpcov.sensitive.workers.schedulers import ThreadScheduler

TABLE = pa.table({"a": np.arange(300.0), "b": np.arange(300.0) % 7})
FORMATS = {
    "Delta Lake": ("_delta_log/00000000000000000000.json", "deltalake.DeltaTable("),
    "Iceberg": ("metadata/v1.metadata.json", "pyiceberg.table.StaticTable.from_metadata("),
    "Hudi": (".hoodie/hoodie.properties", "hudi.HudiTable("),
}


@pytest.fixture(params=FORMATS)
def made(request, tmp_path):
    """A folder of a format with a file, a part of it, and what a refusal says."""
    log, reader = FORMATS[request.param]
    (tmp_path / "table" / "k=1").mkdir(parents=True)
    (tmp_path / "table" / log).parent.mkdir()
    (tmp_path / "table" / log).write_text("{}")
    for path in ("part-0.parquet", "k=1/part-1.parquet"):
        pq.write_table(TABLE, tmp_path / "table" / path)
    TABLE.to_pandas().to_csv(tmp_path / "table" / "x.csv", index=False)
    return tmp_path / "table", f"table of {request.param}.*{reader.rstrip('(')}"


def as_link(folder):
    link = folder.parent / "link.parquet"
    link.symlink_to(folder / "part-0.parquet")
    return link


def as_subtree(folder):
    place = pyarrow.fs.SubTreeFileSystem(str(folder / "k=1"), pyarrow.fs.LocalFileSystem())
    return ds.dataset("part-1.parquet", filesystem=place)


class Elsewhere(pyarrow.fs.FSSpecHandler):
    """Files that Arrow reaches by another library."""


def as_elsewhere(folder, name="part-0.parquet"):
    from fsspec.implementations.local import LocalFileSystem

    place = pyarrow.fs.PyFileSystem(Elsewhere(LocalFileSystem()))
    return ds.dataset(str(folder / name), filesystem=place)


WAYS = {
    "folder": lambda folder: folder,
    "path as text": str,
    "folder inside": lambda folder: folder / "k=1",
    "file": lambda folder: folder / "k=1" / "part-1.parquet",
    "csv file": lambda folder: folder / "x.csv",
    "link": as_link,
    "data set": lambda folder: ds.dataset(
        [str(folder / "part-0.parquet"), str(folder / "k=1" / "part-1.parquet")]
    ),
    "data set of a folder": lambda folder: ds.dataset(folder / "k=1", format="parquet"),
    "filtered data set": lambda folder: ds.dataset(folder / "k=1").filter(ds.field("a") > 5),
    "data sets": lambda folder: ds.dataset([ds.dataset(TABLE), ds.dataset(folder / "k=1")]),
    "data set of a subtree": as_subtree,
    "data set elsewhere": as_elsewhere,
    "dask": lambda folder: dd.read_parquet(folder / "part-0.parquet"),
    "dask, of Arrow": lambda folder: dd.read_parquet(
        folder / "part-0.parquet", filesystem="pyarrow"
    ),
    "dask, computed on": lambda folder: dd.read_parquet([folder / "k=1" / "part-1.parquet"])[
        ["a", "b"]
    ].astype(float),
}


@pytest.mark.claim("P8")
@pytest.mark.parametrize("way", WAYS)
def test_files_of_a_table_format_are_refused_before_a_row_is_read(way, made):
    folder, message = made
    with pytest.raises(InputError, match=message) as caught:
        open_table(WAYS[way](folder), scheduler=ThreadScheduler())
    assert caught.value.__context__ is None


@pytest.mark.claim("P8")
def test_a_release_and_a_template_of_a_table_format_are_refused_for_nothing(made):
    folder, message = made
    with pytest.raises(InputError, match=f"{message}.*Nothing was spent"):
        dpcov.release(folder, epsilon=1.0, delta=1e-6, seed=0, engine="dask")
    for path in (folder, folder / "part-0.parquet"):
        with pytest.raises(InputError, match=message):
            describe_table(path)


def test_a_relative_path_inside_a_table_format_is_refused(made, monkeypatch):
    folder, message = made
    monkeypatch.chdir(folder / "k=1")
    for table in ("part-1.parquet", ".", ds.dataset("part-1.parquet")):
        with pytest.raises(InputError, match=message):
            open_table(table)


def test_the_newest_metadata_of_iceberg_are_named(tmp_path):
    (tmp_path / "metadata").mkdir()
    for version in (1, 9, 10):
        (tmp_path / "metadata" / f"v{version}.metadata.json").write_text("{}")
    pq.write_table(TABLE, tmp_path / "a.parquet")
    for table in (tmp_path / "a.parquet", as_elsewhere(tmp_path, "a.parquet")):
        with pytest.raises(InputError, match=r"v10\.metadata\.json"):
            open_table(table)


@pytest.mark.parametrize("other", ["_SUCCESS", "metadata/notes.json", "delta_log/0.json"])
def test_other_folders_beside_files_are_no_table_format(other, tmp_path):
    (tmp_path / "x" / other).parent.mkdir(exist_ok=True, parents=True)
    (tmp_path / "x" / other).write_text("{}")
    pq.write_table(TABLE, tmp_path / "x" / "a.parquet")
    assert open_table(tmp_path / "x" / "a.parquet").n_rows == 300
    assert open_table(ds.dataset(tmp_path / "x" / "a.parquet")).n_rows == 300


def test_what_delta_s_own_reader_gives_is_read(tmp_path):
    (tmp_path / "_delta_log").mkdir()
    pq.write_table(TABLE, tmp_path / "a.parquet")
    from fsspec.implementations.local import LocalFileSystem

    own = type("DeltaStorageHandler", (Elsewhere,), {"__module__": "deltalake.fs"})
    place = pyarrow.fs.PyFileSystem(own(LocalFileSystem()))
    table = ds.dataset(str(tmp_path / "a.parquet"), filesystem=place)
    assert open_table(table).n_rows == 300
