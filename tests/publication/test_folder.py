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
from dpcov.publication.dictionary import describe_files
from dpcov.publication.table_files import write_table
from publication import forger, releases
from publication.releases import estimate_of

FILES = [
    "README.md",
    "card.json",
    "card.md",
    "columns.csv",
    "columns.parquet",
    "components.csv",
    "components.parquet",
    "correlation.csv",
    "correlation.parquet",
    "covariance.csv",
    "covariance.parquet",
    "loadings.csv",
    "loadings.parquet",
    "page.html",
    "pairs.csv",
    "pairs.parquet",
    "partial_correlations.csv",
    "partial_correlations.parquet",
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


def read(file):
    with file.open(encoding="utf-8", newline="") as content:
        return list(csv.DictReader(content))


@pytest.mark.parametrize("what", ["correlation", "covariance"])
def test_the_matrices_have_the_numbers_of_the_estimate(folder, estimate, what):
    import pandas as pd

    parquet = pd.read_parquet(folder / f"{what}.parquet").set_index("column")
    assert list(parquet.columns) == list(parquet.index) == list(estimate.columns)
    assert np.array_equal(parquet.to_numpy(), getattr(estimate, what))
    with (folder / f"{what}.csv").open(encoding="utf-8", newline="") as file:
        heading, *rows = csv.reader(file)
    assert heading[1:] == [row[0] for row in rows] == list(estimate.columns)
    assert [[float(cell) for cell in row[1:]] for row in rows] == getattr(estimate, what).tolist()


def test_the_pairs_are_those_of_the_estimate(folder, estimate):
    rows = read(folder / "pairs.csv")
    assert len(rows) == estimate.n_pairs
    names = {"correlation": "estimate"} | {
        name: name for name in ("released", "standard_error", "q_value")
    }
    for row in rows:
        pair = estimate[row["first"], row["second"]]
        assert all(float(row[cell]) == getattr(pair, name) for name, cell in names.items())
        assert (float(row["low"]), float(row["high"])) == pair.interval
        assert row["told"] == str(pair.told).upper()
        assert row["related"] == str(pair.q_value <= 0.01).upper()


def test_the_related_pairs_are_the_list_at_the_rate(folder, estimate):
    listed = {
        (row["first"], row["second"])
        for row in read(folder / "pairs.csv")
        if row["related"] == "TRUE"
    }
    edges = estimate.edges(0.01)
    assert listed == set(zip(edges.first, edges.second, strict=True)) != set()


def test_parquet_holds_what_csv_does(folder):
    import pandas as pd

    for table in ("pairs", "columns", "correlation", "covariance"):
        parquet = pd.read_parquet(folder / f"{table}.parquet")
        text = pd.read_csv(folder / f"{table}.csv")
        # Its parser is off by the last digits now and then, and older ones by more of them.
        pd.testing.assert_frame_equal(parquet, text, rtol=1e-12, atol=1e-15, check_dtype=False)


def test_a_column_has_its_mean_and_deviation_with_errors(folder, estimate):
    rows = read(folder / "columns.csv")
    assert [row["column"] for row in rows] == list(estimate.columns)
    assert [float(row["mean"]) for row in rows] == estimate.location.tolist()
    deviations = [float(row["standard_deviation"]) for row in rows]
    assert deviations == estimate.released_deviations.tolist()
    assert all(float(row["mean_error"]) > 4000**-0.5 * 0.9 for row in rows)
    assert all(0 < float(row["standard_deviation_error"]) < 0.2 for row in rows)
    assert {(row["observed"], row["observed_error"]) for row in rows} == {("1.0", "0.0")}
    assert {row["lower_limit"] for row in rows} == {""}


def test_what_was_learned_of_a_column_is_in_its_table(tmp_path):
    release = releases.uneven()
    write_folder(release, estimate_of(release), tmp_path / "out")
    rows = {row["column"]: row for row in read(tmp_path / "out" / "columns.csv")}
    learned = release.learned
    assert [float(row["lower_limit"]) for row in rows.values()] == learned.lower.tolist()
    assert [float(row["beyond_limits"]) for row in rows.values()] == learned.beyond.tolist()
    how = [rows["b"][fact] for fact in ("range", "center", "scale")]
    assert how == ["stated", "learned", "learned"]


@pytest.mark.parametrize("make", [releases.dense, releases.pairs, releases.uneven])
def test_the_dictionary_has_every_file_and_every_column(make, tmp_path):
    release = make()
    card = write_folder(release, estimate_of(release), tmp_path / "out")
    told = {name: note for note in describe_files(card) for name in note.name.split(", ")}
    assert sorted(told) == sorted(file.name for file in (tmp_path / "out").iterdir())
    text = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    for table in ("pairs", "columns"):
        with (tmp_path / "out" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
            heading = next(csv.reader(file))
        assert list(told[f"{table}.csv"].columns) == heading
        assert all(f"| `{name}` |" in text for name in heading)


def test_nothing_is_called_a_covariance_that_is_a_correlation(tmp_path):
    release = releases.pairs()
    write_folder(release, release.estimate(), tmp_path / "out")
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert not {name for name in names if "covariance" in name}
    assert "covariance" not in (tmp_path / "out" / "pairs.csv").read_text()
    assert verify_folder(tmp_path / "out").holds


def test_of_very_many_pairs_the_surest_are_listed(estimate, monkeypatch):
    monkeypatch.setattr(tables, "MOST_PAIRS", 3)
    table = tables.pairs_table(estimate, 0.1)
    assert len(table["first"]) == 3
    assert table["q_value"].values.tolist() == sorted(estimate.pairs().q_value)[:3]


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
        for what in ("correlation", "covariance"):
            write_table(tables.matrix_table(each, what), tmp_path / f"{what}{place}")
            rows = read(tmp_path / f"{what}{place}.csv")
            rebuilt = np.eye(5) if what == "correlation" else np.zeros((5, 5))
            for row in rows:
                i, j = (each.columns.index(row[name]) for name in ("first", "second"))
                rebuilt[i, j] = rebuilt[j, i] = float(row[what])
            assert np.allclose(rebuilt, getattr(each, what), rtol=1e-14, atol=0)


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
    (folder / "pairs.csv").unlink()
    assert verify_folder(folder).problems == ("pairs.csv is missing",)


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


@pytest.mark.parametrize("step", [-1, 1])
def test_a_card_of_another_version_is_refused(folder, step):
    rewrite(folder / "card.json", version=CARD_VERSION + step)
    with pytest.raises(FolderError, match="version of dpcov that wrote it"):
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
    wanted = "README.md and card.md were compared by digest alone: writing them needs jinja2"
    assert found.notes == (wanted,)


def test_digests_of_files_change_nothing_else_of_a_card(estimate):
    before = make_card(estimate.release, estimate, files={"a": "0" * 64})
    after = with_files(before, {"b": "1" * 64})
    assert after == make_card(estimate.release, estimate, files={"b": "1" * 64})
    assert before["files"] == {"a": f"sha256:{'0' * 64}"}
