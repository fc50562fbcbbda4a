import os

import pytest

from dpcov.errors import FolderError
from dpcov.writing import check_apart


@pytest.fixture
def place(tmp_path, monkeypatch):
    (tmp_path / "data" / "parts").mkdir(parents=True)
    (tmp_path / "data" / "table.csv").write_text("a,b\n")
    (tmp_path / "data" / "parts" / "one.parquet").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "data")
    (tmp_path / "table_link.csv").symlink_to(tmp_path / "data" / "table.csv")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("out", "source"),
    [
        ("data/table.csv", "data/table.csv"),
        ("data/../data/table.csv", "data/table.csv"),
        ("data", "data/table.csv"),
        (".", "data/table.csv"),
        ("link", "data/table.csv"),
        ("data", "link/table.csv"),
        ("data", "table_link.csv"),
        (".", "table_link.csv"),
        ("table_link.csv", "data/table.csv"),
        ("data/parts", "data/parts"),
        ("data/parts/new", "data/parts"),
        ("link/parts/new/deeper", "data/parts"),
        ("data", "data/parts"),
    ],
)
def test_paths_that_meet_are_refused(place, out, source):
    for stated in (out, place / out):
        with pytest.raises(FolderError, match="Write somewhere else"):
            check_apart(stated, [source])


def test_a_hard_link_to_what_is_read_is_refused(place):
    os.link("data/table.csv", "same.csv")
    os.link("data/table.csv", "out/pairs.csv")
    os.link("data/parts/one.parquet", "one")
    for out, source in [
        ("same.csv", "data/table.csv"),
        ("out", "data/table.csv"),
        ("one", "data/parts"),
    ]:
        with pytest.raises(FolderError, match="Write somewhere else"):
            check_apart(out, [source])


@pytest.mark.parametrize(
    ("out", "source"),
    [
        ("out", "data/table.csv"),
        ("new", "data/table.csv"),
        ("data/new", "data/table.csv"),
        ("data/table", "data/table.csv"),
        ("data/parts2", "data/parts"),
        ("new", "nowhere.csv"),
        ("new", "null\0name"),
    ],
)
def test_paths_that_do_not_meet_are_let_pass(place, out, source):
    check_apart(out, [source])
