import csv
import json
import shutil
import sys
from dataclasses import replace

import jsonschema
import numpy as np
import pytest

import dpcov
from dpcov.errors import FolderError, MissingExtraError
from dpcov.publication import card_schema, card_text, tables, verify_folder, write_folder
from dpcov.publication.card import CARD_VERSION, card_to_bytes, make_card, with_files
from publication import forger, releases
from publication.releases import estimate_of

FILES = [
    "card.json",
    "card.md",
    "covariance.csv",
    "covariance.parquet",
    "edges.csv",
    "page.html",
    "release.npz",
]


def rewrite(path, **changes):
    card = json.loads(path.read_text(encoding="utf-8"))
    for place, value in changes.items():
        *parents, last = place.split("__")
        part = card
        for parent in parents:
            part = part[parent]
        part[last] = value
    forger.seal(path.parent, card)


@pytest.fixture(scope="module")
def estimate():
    return releases.dense().estimate()


@pytest.fixture(scope="module")
def written(estimate, tmp_path_factory):
    place = tmp_path_factory.mktemp("folder")
    write_folder(estimate.release, estimate, place / "survey", name="Survey", fdr=0.01)
    return place


@pytest.fixture
def folder(written, tmp_path):
    shutil.copytree(written / "survey", tmp_path / "survey")
    return tmp_path / "survey"


def test_the_folder_is_complete_and_nothing_is_left_beside_it(written):
    assert sorted(file.name for file in (written / "survey").iterdir()) == FILES
    assert [file.name for file in written.iterdir()] == ["survey"]


def test_the_tables_have_the_numbers_of_the_estimate(folder, estimate):
    import pandas as pd

    parquet = pd.read_parquet(folder / "covariance.parquet").set_index("column")
    assert list(parquet.columns) == list(parquet.index) == list(estimate.columns)
    assert np.array_equal(parquet.to_numpy(), estimate.covariance)
    with (folder / "covariance.csv").open(encoding="utf-8", newline="") as file:
        heading, *rows = csv.reader(file)
    assert heading[1:] == [row[0] for row in rows] == list(estimate.columns)
    assert [[float(cell) for cell in row[1:]] for row in rows] == estimate.covariance.tolist()


def test_the_edges_are_those_of_the_estimate(folder, estimate):
    with (folder / "edges.csv").open(encoding="utf-8", newline="") as file:
        heading, *rows = csv.reader(file)
    assert heading == ["first", "second", "value", "standard_error", "q_value", "estimate"]
    edges = list(estimate.edges(0.01))
    assert len(edges) >= 1
    assert [(r[0], r[1], *map(float, r[2:5])) for r in rows] == [tuple(edge) for edge in edges]
    frame = estimate.to_frame()
    assert [float(r[5]) for r in rows] == [frame.loc[r[0], r[1]] for r in rows]


def test_the_release_can_be_read_back(folder, estimate):
    assert dpcov.Release.load(folder / "release.npz") == estimate.release


def test_the_card_keeps_to_its_schema_and_lists_all_other_files(folder):
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    jsonschema.validate(card, card_schema())
    assert sorted([*card["files"], "card.json"]) == FILES


@pytest.mark.parametrize(
    "make", [releases.pairs_with_variances, releases.collected, releases.learned]
)
def test_a_release_of_another_kind_has_a_folder_that_holds(make, tmp_path):
    release = make()
    write_folder(release, estimate_of(release), tmp_path / "out")
    assert verify_folder(tmp_path / "out").holds


def test_a_column_may_be_called_column(tmp_path):
    names = ["column", "a,b", 'quote"', "new\nline", "ü"]
    release = replace(releases.dense(), columns=tuple(names))
    write_folder(release, estimate_of(release), tmp_path / "out")
    with (tmp_path / "out" / "covariance.csv").open(encoding="utf-8", newline="") as file:
        heading, *rows = csv.reader(file)
    assert heading == ["column_", *names]
    assert [row[0] for row in rows] == names


def test_many_columns_are_written_as_a_list_of_entries(estimate, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_COLUMNS", 3)
    for place, each in enumerate((estimate, releases.pairs().estimate())):
        target = tmp_path / str(place)
        target.mkdir()
        tables.write_covariance(each, target)
        with (target / "covariance.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        rebuilt = np.zeros((5, 5))
        for row in rows:
            i, j = (each.columns.index(row[name]) for name in ("first", "second"))
            rebuilt[i, j] = rebuilt[j, i] = float(row["covariance"])
        assert np.array_equal(rebuilt, each.covariance)


def test_an_intact_folder_holds(folder):
    found = verify_folder(folder)
    assert found.holds
    assert sorted([*found.checked, "card.json"]) == FILES
    assert found.unlisted == ()


@pytest.mark.parametrize("name", [name for name in FILES if name != "card.json"])
def test_one_byte_more_is_found(folder, name):
    with (folder / name).open("ab") as file:
        file.write(b" ")
    assert verify_folder(folder).problems == (f"{name} was altered",)


def test_a_missing_file_is_found(folder):
    (folder / "edges.csv").unlink()
    assert verify_folder(folder).problems == ("edges.csv is missing",)


def test_a_file_that_the_card_does_not_know_is_named(folder):
    (folder / "raw.csv").write_text("1")
    assert verify_folder(folder).unlisted == ("raw.csv",)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"guarantee__epsilon": 0.1}, "guarantee.epsilon"),
        ({"guarantee__statement": "(0.1, 1e-06)-differential privacy"}, "guarantee.statement"),
        ({"model": "local"}, "model"),
        ({"data__n_rows": 5}, "data.n_rows"),
        ({"guarantee__attack__power": 0.05}, "guarantee.attack.power"),
        ({"guarantee__neighbors__relation": "add-remove"}, "guarantee.neighbors.relation"),
    ],
)
def test_a_card_that_contradicts_the_release_is_found(folder, change, part):
    rewrite(folder / "card.json", **change)
    expected = f"the card states another {part} than the release"
    assert expected in verify_folder(folder).problems


def test_a_card_cannot_point_out_of_its_folder(folder):
    card = forger.read(folder) | {"files": {"../x": f"sha256:{'0' * 64}"}}
    (folder / "card.json").write_bytes(card_to_bytes(card))
    problems = verify_folder(folder).problems
    assert any("not a file of this folder" in problem for problem in problems)
    assert any("does not list release.npz" in problem for problem in problems)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": "dpcov release card"}', "\x00"])
def test_a_card_that_is_none_is_refused(folder, text):
    (folder / "card.json").write_text(text)
    with pytest.raises(FolderError, match="not a card"):
        verify_folder(folder)


def test_a_card_of_a_newer_version_asks_for_an_upgrade(folder):
    rewrite(folder / "card.json", version=CARD_VERSION + 1)
    with pytest.raises(FolderError, match="Upgrade"):
        verify_folder(folder)


def test_a_folder_without_a_card_is_refused(tmp_path):
    with pytest.raises(FolderError, match=r"no card\.json"):
        verify_folder(tmp_path)
    with pytest.raises(FolderError, match="no folder"):
        verify_folder(tmp_path / "nowhere")


def test_an_existing_folder_is_never_overwritten(folder, estimate):
    before = (folder / "card.json").read_bytes()
    with pytest.raises(FolderError, match="not overwritten"):
        write_folder(estimate.release, estimate, folder)
    assert (folder / "card.json").read_bytes() == before


def test_force_replaces_a_folder_of_ours(folder):
    other = releases.dense()
    write_folder(other, other.estimate(), folder, force=True)
    assert verify_folder(folder).holds
    assert dpcov.Release.load(folder / "release.npz") == other
    assert sorted(file.name for file in folder.iterdir()) == FILES


@pytest.mark.parametrize(
    ("without", "extra"),
    [
        (["jinja2"], "publication"),
        (["pyarrow"], "files"),
        (["matplotlib", "pyarrow"], "files,publication"),
    ],
)
def test_a_folder_without_its_extras_says_which_before_anything_is_written(
    estimate, tmp_path, monkeypatch, without, extra
):
    for name in without:
        monkeypatch.setitem(sys.modules, name, None)
    wanted = rf"needs {' and '.join(without)}: pip install 'dpcov\[{extra}\]'"
    with pytest.raises(MissingExtraError, match=wanted):
        write_folder(estimate.release, estimate, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_without_jinja2_the_text_of_a_card_is_compared_by_digest_alone(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    card_text._template.cache_clear()
    found = verify_folder(folder)
    assert found.holds
    assert "card.md" in found.checked
    assert "card.md" not in found.recomputed
    assert found.notes == ("card.md was compared by digest alone: writing it needs jinja2",)


def test_digests_of_files_change_nothing_else_of_a_card(estimate):
    before = make_card(estimate.release, estimate, files={"a": "0" * 64})
    after = with_files(before, {"b": "1" * 64})
    assert after == make_card(estimate.release, estimate, files={"b": "1" * 64})
    assert before["files"] == {"a": f"sha256:{'0' * 64}"}
