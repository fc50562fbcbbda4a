"""The folder of an export: nothing is lost, nothing is half there."""

import json

import pytest

import dpcov
from answers.exported import three_factor_release, with_categories
from dpcov.answers.exports import folder as folders
from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.registry import FORMATS
from dpcov.errors import FolderError, ParameterError
from publication import releases


@pytest.fixture(scope="module")
def release():
    return three_factor_release(0)


@pytest.fixture
def out(release, tmp_path):
    return dpcov.answers.export(release, "lavaan", tmp_path / "model")


def test_what_exists_is_not_overwritten(release, out):
    with pytest.raises(FolderError, match="exists and is not overwritten"):
        dpcov.answers.export(release, "r", out)
    assert (out / "model.R").exists()


def test_an_export_that_nobody_changed_is_replaced(release, out):
    dpcov.answers.export(release, "r", out, force=True)
    assert sorted(file.name for file in out.iterdir()) == ["export.json", "read_dpcov.R"]
    assert [file.name for file in out.parent.iterdir()] == ["model"]


def test_a_model_that_somebody_wrote_is_never_lost(release, out):
    (out / "model.R").write_text("my model")
    with pytest.raises(FolderError, match=r"changed since: model\.R"):
        dpcov.answers.export(release, "lavaan", out, force=True)
    assert (out / "model.R").read_text() == "my model"


@pytest.mark.parametrize("make", [lambda path: path.write_text("x"), lambda path: path.mkdir()])
def test_a_file_of_ones_own_is_never_lost(release, out, make):
    make(out / "notes")
    with pytest.raises(FolderError, match="notes"):
        dpcov.answers.export(release, "lavaan", out, force=True)


@pytest.mark.parametrize("text", ["", "[]", '{"files": 3}', "{" * 100_000, '{"files": {}}'])
def test_a_list_of_files_that_is_none_proves_nothing(release, out, text):
    (out / "export.json").write_text(text)
    with pytest.raises(FolderError, match="did not export"):
        dpcov.answers.export(release, "lavaan", out, force=True)


def test_a_file_is_not_replaced_by_a_folder(release, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FolderError, match="not a folder"):
        dpcov.answers.export(release, "r", tmp_path / "file", force=True)
    assert (tmp_path / "file").read_text() == "mine"


def test_a_write_that_fails_leaves_what_was_there(release, out, monkeypatch):
    def fail(path):
        raise OSError("no room")

    before = {file.name: file.read_bytes() for file in out.iterdir()}
    monkeypatch.setattr(folders, "sync_file", fail)
    with pytest.raises(OSError, match="no room"):
        dpcov.answers.export(release, "r", out, force=True)
    assert {file.name: file.read_bytes() for file in out.iterdir()} == before
    assert [file.name for file in out.parent.iterdir()] == ["model"]


def test_it_says_what_it_is(release, out):
    said = json.loads((out / "export.json").read_text())
    assert (said["format"], said["to"]) == ("dpcov export", "lavaan")
    assert said["promise"] == str(release.promise)
    assert set(said["files"]) | {"export.json"} == {file.name for file in out.iterdir()}


def test_refusals_write_nothing(release, tmp_path):
    for to, columns in (("excel", None), ("lavaan", ["nobody"]), ("r", ["x1"]), ("lavaan", [])):
        with pytest.raises(ParameterError):
            dpcov.answers.export(release, to, tmp_path / "out", columns=columns)
    assert not list(tmp_path.iterdir())


def test_columns_are_a_list_and_differ():
    for release in (three_factor_release(0), releases.pairs()):
        first = release.columns[0]
        for columns in (first, [first, first], ["nobody"]):
            with pytest.raises(ParameterError):
                ask(release, columns)


def test_all_levels_of_a_category_are_refused():
    with pytest.raises(ParameterError, match="add up to one"):
        ask(with_categories(), ["sex=f", "sex=m", "sex=x"])


@pytest.mark.parametrize("to", sorted(FORMATS))
def test_every_file_of_a_real_release_says_its_promise(to, tmp_path):
    release = releases.dense()
    out = dpcov.answers.export(release, to, tmp_path / "out")
    texts = [file.read_bytes() for file in out.iterdir() if file.suffix in (".R", ".sps")]
    assert all(str(release.promise).encode() in text for text in texts) or to == "r"
