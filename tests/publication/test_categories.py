"""Folders of tables with categories, gaps and weights: what is there, and what is noticed."""

import csv
import json

import jsonschema
import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.multiplicity import q_values
from dpcov.postprocess.visibility import visibility_of
from dpcov.publication import card_schema, make_card, verify_folder, write_folder
from dpcov.publication.category_tables import CATEGORY_TABLES
from dpcov.publication.columns import category_rows, column_rows
from dpcov.publication.html import render_page
from publication import releases
from publication.releases import estimate_of
from steady_noise import remembered

HOSTILE = "<b>&'\"=1"


def survey(n_rows=6000):
    generator = np.random.default_rng(3)
    place = generator.choice(3, size=n_rows, p=[0.5, 0.3, 0.2])
    table = pd.DataFrame(
        {
            "age": generator.normal(50, 10, n_rows) + 8 * (place == 0),
            "trust": generator.normal(3, 1, n_rows),
            "sleep": np.where(generator.random(n_rows) < 0.1 + 0.4 * (place == 1), np.nan, 7.0)
            + generator.normal(0, 1, n_rows),
            "region": np.array(["north", "south", HOSTILE])[place],
            "sex": generator.choice(["f", "m"], n_rows),
            "w": generator.uniform(0.2, 1.0, n_rows),
        }
    )
    table["trust"] += 0.05 * table["age"]
    return table


FACTS = {
    "age": {},
    "trust": {},
    "sleep": {},
    "region": {"levels": ["north", "south", HOSTILE]},
    "sex": {"levels": ["f", "m"]},
}


@remembered
def released(names=tuple(FACTS), *, weighted=True):
    options = {"weight": "w", "weight_bound": 1.0} if weighted else {}
    facts = {name: FACTS[name] for name in names}
    table = survey()[[*names, "w"] if weighted else list(names)]
    return estimate_of(dpcov.release(table, epsilon=3.0, delta=1e-6, columns=facts, **options))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("categories") / "out"
    estimate = released()
    write_folder(estimate.release, estimate, folder)
    return folder


def read(file):
    with file.open(encoding="utf-8", newline="") as content:
        return list(csv.DictReader(content))


def test_the_card_keeps_to_its_schema(folder):
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    jsonschema.validate(card, card_schema())
    assert (card["data"]["n_columns"], card["data"]["n_categories"]) == (5, 2)
    assert card["related"]["n_pairs"] == 3
    assert card["related"]["associations"]["n_pairs"] == 7
    assert card["related"]["levels"]["n_pairs"] == 3 * 5 + 6


def test_the_folder_holds_what_its_release_says(folder):
    found = verify_folder(folder)
    assert found.problems == ()
    assert {f"{name}.csv" for name in CATEGORY_TABLES} <= set(found.recomputed)


@pytest.mark.parametrize("name", list(CATEGORY_TABLES))
def test_a_number_that_was_changed_in_a_table_is_noticed(folder, name, tmp_path):
    import shutil

    from dpcov.publication.card import card_to_json, with_files
    from dpcov.publication.card_file import sha256_of

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    file = copy / f"{name}.csv"
    lines = file.read_text(encoding="utf-8").splitlines()
    place = lines[0].split(",").index("low")
    cells = next(csv.reader([lines[1]]))
    changed = lines[1].replace(cells[place], repr(float(cells[place]) + 0.01))
    assert changed != lines[1]
    file.write_text("\n".join([lines[0], changed, *lines[2:]]) + "\n", encoding="utf-8")
    card = json.loads((copy / "card.json").read_text(encoding="utf-8"))
    digests = {each: digest.removeprefix("sha256:") for each, digest in card["files"].items()}
    card = with_files(card, digests | {file.name: sha256_of(file)})
    (copy / "card.json").write_text(card_to_json(card), encoding="utf-8")
    assert f"{name}.csv does not follow from the release" in verify_folder(copy).problems


def test_a_number_of_the_card_that_was_changed_is_noticed(folder, tmp_path):
    import shutil

    from dpcov.publication.card import card_to_json, with_files

    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    card = json.loads((copy / "card.json").read_text(encoding="utf-8"))
    card["related"]["associations"]["strongest"][0]["low"] += 1e-4
    card["related"]["gaps"]["surest"][0]["value"] += 1e-4
    card["data"]["weights"]["effective_rows"] += 1e-3
    digests = {each: digest.removeprefix("sha256:") for each, digest in card["files"].items()}
    (copy / "card.json").write_text(card_to_json(with_files(card, digests)), encoding="utf-8")
    assert {
        f"the card states another {place} than the release"
        for place in (
            "related.associations.strongest[0].low",
            "related.gaps.surest[0].value",
            "data.weights.effective_rows",
        )
    } <= set(verify_folder(copy).problems)


def test_with_a_rule_of_ones_own_tables_of_categories_are_computed_again(tmp_path):
    estimate = released().release.estimate(rule=lambda size, threshold: size, threshold=1.0)
    write_folder(estimate.release, estimate, tmp_path / "own")
    found = verify_folder(tmp_path / "own")
    assert found.problems == ()
    assert {f"{name}.parquet" for name in CATEGORY_TABLES} <= set(found.recomputed)
    assert "pairs.csv" not in found.recomputed


def test_numbers_without_gaps_have_no_such_tables(tmp_path):
    release = releases.learned()
    card = write_folder(release, estimate_of(release), tmp_path / "out")
    assert not {name.partition(".")[0] for name in card["files"]} & set(CATEGORY_TABLES)
    assert card["related"]["levels"] is None
    assert card["related"]["associations"] is None
    assert card["related"]["gaps"] is None
    assert card["data"]["weights"] is None


@pytest.mark.parametrize(
    "names",
    [("sex",), ("region", "sex"), ("age", "sex"), ("age", "trust", "sex"), ("sleep",)],
)
def test_a_table_of_any_kinds_of_columns_has_a_folder(names, tmp_path):
    estimate = released(names, weighted=False)
    card = write_folder(estimate.release, estimate, tmp_path / "out")
    jsonschema.validate(card, card_schema())
    assert verify_folder(tmp_path / "out").problems == ()
    numbers = [name for name in names if name not in ("sex", "region")]
    assert card["related"]["n_pairs"] == len(numbers) * (len(numbers) - 1) // 2


def test_levels_are_text_whatever_they_look_like(folder):
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "<b>&" not in page
    assert "&lt;b&gt;" in page


def test_what_was_learned_is_counted_by_kind(folder):
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    assert (
        "Learned from the table with noise, and paid for out of the promise: the range of 3 "
        "columns, the center of 3 columns, the scale of 3 columns, the shares of the levels of 2 "
        "categories, which share of the cells of 5 columns is missing, how much rows weigh, the "
        "row norm, and how much lies beyond it and beyond the limits."
        in card["learned"]["in_words"]
    )


def test_tables_for_readers_have_numbers_and_categories_apart():
    estimate = released()
    card = make_card(estimate.release, estimate, fdr=0.1)
    assert [row.name for row in column_rows(card)] == ["age", "trust", "sleep"]
    assert [(row.name, row.n_levels) for row in category_rows(card)] == [("region", 3), ("sex", 2)]
    assert "observed" in column_rows(card)[0].cells


def test_a_page_needs_no_folder():
    estimate = released()
    page = render_page(estimate.release, estimate)
    assert 'id="associations"' in page
    assert ".csv" not in page.partition("<script>")[0].partition("</style>")[2]


def test_which_numbers_are_related_does_not_depend_on_levels():
    estimate = released()
    pairs = estimate.pairs()
    numbers = (pairs.first < 3) & (pairs.second < 3)
    sizes = np.abs(estimate.release.matrix) / np.sqrt(estimate.noise.block(slice(None)))
    of_numbers = sizes[pairs.first[numbers], pairs.second[numbers]]
    assert np.allclose(pairs.q_value[numbers], q_values(of_numbers, n_tests=3), rtol=1e-9)
    together = q_values(sizes[pairs.first, pairs.second], n_tests=len(pairs))
    assert not np.allclose(pairs.q_value[numbers], together[numbers], rtol=1e-9)


def test_what_could_have_been_seen_is_told_of_numbers():
    seen = visibility_of(released())
    assert seen.n_columns == 3
    assert set(seen.blind) <= {0, 1, 2}
    assert visibility_of(released(("region", "sex"), weighted=False)).n_columns == 5


def test_files_of_associations_have_bounds():
    from dpcov.publication.file_sizes import most_bytes

    estimate = released()
    card = make_card(estimate.release, estimate, fdr=0.1)
    sizes = most_bytes(card)
    assert all(sizes[f"{name}.csv"] < 3_000_000 for name in CATEGORY_TABLES)
