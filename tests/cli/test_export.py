"""``dpcov export``: from a folder that holds, or a file, to another program."""

import json

import pytest

from cli.runner import invoke
from dpcov.publication import write_folder
from publication import releases


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    place = tmp_path_factory.mktemp("published")
    for make in (releases.dense, releases.pairs):
        release = make()
        name = {"name": "Survey", "curator": "Office"}
        write_folder(release, release.estimate(), place / make.__name__, **name)
    return place


def run(*arguments):
    return invoke(("export", *arguments))


def test_a_folder_becomes_a_model(survey, tmp_path):
    out = tmp_path / "model"
    result = run(survey / "dense", "--to", "lavaan", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert "model.R" in result.stdout
    assert "Cite as: Office (" in (out / "model.R").read_text(encoding="utf-8")


def test_without_a_name_the_folder_is_called_after_its_source(survey, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run(survey / "dense", "--to", "r").exit_code == 0
    assert (tmp_path / "dense-r" / "read_dpcov.R").exists()


def test_a_file_alone_is_enough(survey, tmp_path):
    result = run(survey / "dense" / "release.npz", "--to", "lavaan", "--out", tmp_path / "paper")
    assert result.exit_code == 0
    assert "Cite as" not in (tmp_path / "paper" / "model.R").read_text(encoding="utf-8")


def test_an_altered_folder_is_refused(tmp_path):
    release = releases.dense()
    write_folder(release, release.estimate(), tmp_path / "survey")
    with (tmp_path / "survey" / "pairs.csv").open("a") as file:
        file.write("more\n")
    result = run(tmp_path / "survey", "--to", "lavaan", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "pairs.csv was altered" in result.stderr
    assert not (tmp_path / "out").exists()


def test_columns_are_named_with_commas_and_quotes(survey, tmp_path):
    release = releases.dense()
    first, second = release.columns[:2]
    out = tmp_path / "out"
    columns = f'"{second}", {first}'
    result = run(survey / "dense", "--to", "lavaan", "--out", out, "--columns", columns, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["to"] == "lavaan"
    names = (out / "names.csv").read_text(encoding="utf-8").split("\n")[1:3]
    assert [name.split(",", 1)[1].strip('"') for name in names] == [second, first]


def test_an_unknown_column_is_refused(survey, tmp_path):
    result = run(survey / "dense", "--to", "lavaan", "--out", tmp_path / "out", "--columns", "no")
    assert result.exit_code == 1
    assert "There is no column 'no'" in result.stderr


def test_what_exists_is_replaced_only_with_force(survey, tmp_path):
    arguments = (survey / "dense", "--to", "spss-matrix", "--out", tmp_path / "out")
    assert run(*arguments).exit_code == 0
    again = run(*arguments)
    assert again.exit_code == 1
    assert "--force" in again.stderr
    assert run(*arguments, "--force", "--quiet").exit_code == 0


def test_nothing_is_written_into_what_is_read(survey):
    result = run(survey / "dense", "--to", "spss-matrix", "--out", survey / "dense" / "out")
    assert result.exit_code == 1
    assert "which is read" in result.stderr


def test_pairs_have_no_model(survey, tmp_path):
    result = run(survey / "pairs", "--to", "lavaan", "--out", tmp_path / "out")
    assert result.exit_code == 1
    assert "no whole matrix" in result.stderr
    assert run(survey / "pairs", "--to", "r", "--out", tmp_path / "out").exit_code == 0


def test_a_file_that_is_no_release_is_refused(tmp_path):
    (tmp_path / "x.npz").write_bytes(b"no")
    assert run(tmp_path / "x.npz", "--to", "r", "--out", tmp_path / "out").exit_code == 1
    assert run(tmp_path / "nowhere", "--to", "r", "--out", tmp_path / "out").exit_code == 1
