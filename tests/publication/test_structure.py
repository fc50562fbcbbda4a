"""What columns have in common beyond pairs: card, tables and page."""

import csv
import json
import re
import shutil

import jsonschema
import numpy as np
import pandas as pd
import pytest

import dpcov
from designs import public_levels
from dpcov.publication import card_schema, make_card, structure, verify_folder, write_folder
from dpcov.publication.html import render_page
from dpcov.publication.structure_tables import STRUCTURE_TABLES
from dpcov.publication.structure_views import component_rows, partial_rows
from dpcov.publication.tables import tables_to_show
from publication import forger, releases
from publication.releases import estimate_of
from publication.test_agreement import NUMBER, Tables, agrees

FACTORS = 2


def table_of(n_columns=12, n_rows=8000, *, factors=FACTORS):
    """Columns of which each half has a factor in common."""
    generator = np.random.default_rng(2)
    rows = generator.normal(size=(n_rows, n_columns))
    for factor in range(factors):
        part = slice(factor * n_columns // 2, (factor + 1) * n_columns // 2)
        strength = 1.2 if factor else 0.7
        rows[:, part] += strength * generator.normal(size=(n_rows, 1))
    return pd.DataFrame(rows, columns=[f"x{place}" for place in range(n_columns)])


def survey():
    """The same with a category, gaps and weights."""
    generator = np.random.default_rng(4)
    table = table_of(6)
    table["sex"] = pd.Categorical(np.where(table["x4"] + generator.normal(size=8000) > 0, "f", "m"))
    table.loc[generator.random(8000) < 0.2, "x1"] = np.nan
    table["w"] = generator.uniform(1, 2, size=8000)
    return dpcov.release(
        table,
        epsilon=3,
        delta=1e-6,
        weight="w",
        weight_bound=2,
        seed=1,
        columns=public_levels(table, "w"),
    ).estimate()


def estimate_for(table, **options):
    return dpcov.release(table, **({"epsilon": 2, "delta": 1e-6, "seed": 1} | options)).estimate()


@pytest.fixture(scope="module")
def estimate():
    return estimate_for(table_of())


@pytest.fixture(scope="module")
def folder(estimate, tmp_path_factory):
    place = tmp_path_factory.mktemp("structure") / "out"
    write_folder(estimate.release, estimate, place)
    return place


@pytest.fixture(scope="module")
def card(folder):
    return json.loads((folder / "card.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page(folder):
    return Tables((folder / "page.html").read_text(encoding="utf-8"))


def read(file):
    with file.open(encoding="utf-8", newline="") as content:
        return list(csv.DictReader(content))


def related_of(estimate, fdr=0.1):
    return make_card(estimate.release, estimate, fdr=fdr)["related"]


def test_the_card_keeps_to_its_schema(card):
    jsonschema.validate(card, card_schema())
    assert card["related"]["components"]["number"] == FACTORS
    assert card["related"]["partial"]["n_pairs"] == 66


def test_the_folder_holds_what_its_release_says(folder):
    found = verify_folder(folder)
    assert found.problems == ()
    names = {f"{name}.{kind}" for name in STRUCTURE_TABLES for kind in ("csv", "parquet")}
    assert names <= set(found.recomputed)


@pytest.mark.parametrize("name", list(STRUCTURE_TABLES))
def test_a_number_that_was_changed_in_a_table_is_noticed(folder, name, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    file = copy / f"{name}.csv"
    heading, first, *others = file.read_text(encoding="utf-8").splitlines()
    cells = first.split(",")
    cells[heading.split(",").index("low")] = "0.123"
    file.write_text("\n".join([heading, ",".join(cells), *others]) + "\n", encoding="utf-8")
    forger.seal(copy, json.loads((copy / "card.json").read_text(encoding="utf-8")))
    assert f"{name}.csv does not follow from the release" in verify_folder(copy).problems


def test_a_share_of_the_card_that_was_changed_is_noticed(folder, card, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    changed = json.loads(json.dumps(card))
    changed["related"]["components"]["share"] += 1e-4
    forger.seal(copy, changed)
    wanted = "the card states another related.components.share than the release"
    assert wanted in verify_folder(copy).problems


def test_the_tables_have_the_numbers_of_the_answers(folder, estimate):
    found = estimate.release.components()
    values = [float(row["eigenvalue"]) for row in read(folder / "components.csv")]
    assert values == found.eigenvalues.values.tolist()
    loadings = [float(row["loading"]) for row in read(folder / "loadings.csv")]
    assert loadings == found.loadings[:, found.told].T.ravel().tolist()
    partials = estimate.release.partial_correlations()
    rows = read(folder / "partial_correlations.csv")
    assert len(rows) == len(partials)
    for row in rows:
        one = partials[row["first"], row["second"]]
        assert float(row["partial_correlation"]) == one.value
        assert (float(row["low"]), float(row["high"])) == (one.low, one.high)
        assert (row["related"] == "TRUE") == (one.q_value <= 0.1)


def test_components_on_the_page_have_the_numbers_of_the_tables(folder, page):
    _, *lines = page.tables["components"]
    rows = read(folder / "components.csv")
    loadings = {(row["component"], row["column"]): row for row in read(folder / "loadings.csv")}
    assert [line[0] for line in lines] == [row["component"] for row in rows]
    for (name, eigenvalue, share, told), row in zip(lines, rows, strict=True):
        ends = zip(NUMBER.findall(eigenvalue), ("eigenvalue", "low", "high"), strict=True)
        assert all(agrees(text, row[key]) for text, key in ends)
        assert agrees(share.removesuffix(" %"), 100 * float(row["share"]))
        shown = re.findall(r"(x\d+) (\S+) (\S+) to (\S+)", told)
        assert len(shown) == 5
        for column, *texts in shown:
            keys = zip(texts, ("loading", "low", "high"), strict=True)
            assert all(agrees(text, loadings[name, column][key]) for text, key in keys)


def test_pairs_given_others_on_the_page_are_the_strongest_of_the_table(folder, page):
    _, *lines = page.tables["partials"]
    rows = [row for row in read(folder / "partial_correlations.csv") if row["related"] == "TRUE"]
    rows.sort(key=lambda row: -abs(float(row["partial_correlation"])))
    names = [f"{row['first']} – {row['second']}" for row in rows]
    assert [line[0] for line in lines] == names[:12]
    for (_, shown, _), row in zip(lines, rows, strict=False):
        texts = zip(NUMBER.findall(shown), ("partial_correlation", "low", "high"), strict=True)
        assert all(agrees(text, row[key]) for text, key in texts)


def test_the_sentences_count_what_the_tables_have(folder, card, page):
    text = " ".join(" ".join(page.text).split())
    said = re.search(r"They carry (\S+) % \(95 % interval: (\S+) to (\S+) %\)", text)
    shares = [float(row["share"]) for row in read(folder / "components.csv")]
    stated = card["related"]["components"]
    assert stated["share"] == pytest.approx(sum(shares))
    assert all(map(agrees, said.groups(), (100 * stated[key] for key in ("share", "low", "high"))))
    rows = read(folder / "partial_correlations.csv")
    related = sum(row["related"] == "TRUE" for row in rows)
    assert f"{related} of {len(rows)} pairs of columns are related given all other columns" in text
    assert "2 components of 12 numbers stand above" in text
    assert all(sentence in text for sentence in card["related"]["partial"]["in_words"])


def test_nothing_that_is_there_is_said_to_be_absent(folder):
    assert "There is no" not in (folder / "README.md").read_text("utf-8")


def test_card_md_has_the_same_sentences(folder, card):
    text = (folder / "card.md").read_text(encoding="utf-8")
    for part in ("components", "partial"):
        assert all(sentence in text for sentence in card["related"][part]["in_words"])


def test_the_page_names_the_commands_that_say_more(page):
    text = " ".join(page.text)
    assert all(f"dpcov {name}" in text for name in ("components", "partial", "regress"))


def test_the_joint_share_is_that_of_the_table(card):
    values = np.linalg.eigvalsh(table_of().corr().to_numpy())
    stated = card["related"]["components"]
    assert stated["low"] < values[-FACTORS:].sum() / 12 < stated["high"]
    assert stated["high"] - stated["low"] < 0.06


def test_unrelated_columns_have_no_such_section(tmp_path):
    made = estimate_for(table_of(6, factors=0))
    card = write_folder(made.release, made, tmp_path / "out")
    assert card["related"]["components"] is card["related"]["partial"] is None
    assert not {name.partition(".")[0] for name in card["files"]} & set(STRUCTURE_TABLES)
    readme = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "There is no `components.csv`: no component stands above" in readme
    assert "There is no `partial_correlations.csv`: the noise is too large to tell" in readme
    assert "All columns together" not in (tmp_path / "out" / "page.html").read_text("utf-8")
    assert verify_folder(tmp_path / "out").problems == ()


@pytest.mark.parametrize("make", [releases.pairs, releases.pairs_with_means, releases.collected])
def test_pairs_and_two_columns_have_none(make):
    made = estimate_of(make())
    assert structure.components_of(made) is structure.partials_of(made, 0.9) is None


def test_a_release_with_too_much_noise_has_none():
    related = related_of(estimate_of(releases.hopeless()))
    assert related["components"] is related["partial"] is None


def test_few_and_very_many_columns_have_none():
    three = related_of(estimate_for(table_of(3)))
    assert three["components"] is None
    assert three["partial"] is not None
    many = related_of(estimate_for(table_of(104, 4000), epsilon=20))
    assert many["components"] is not None
    assert many["partial"] is None


def test_reports_of_the_local_model_have_a_page_whatever_noise_leaves():
    plan = dpcov.local.CollectionPlan(
        columns=list("abcd"), row_norm=2.0, epsilon=8.0, mechanism="gaussian", delta=1e-6
    )
    rows = np.clip(table_of(4, 1500).to_numpy(), -1, 1)
    collector = dpcov.local.Collector(plan)
    collector.add_many([dpcov.local.randomize(row, plan) for row in rows])
    made = estimate_of(collector.release())
    jsonschema.validate(make_card(made.release, made, fdr=0.1), card_schema())
    assert render_page(made.release, made)


def test_levels_are_counted_apart_with_weights_and_gaps(tmp_path):
    made = survey()
    card = write_folder(made.release, made, tmp_path / "out")
    jsonschema.validate(card, card_schema())
    assert verify_folder(tmp_path / "out").problems == ()
    found = card["related"]["partial"]
    rows = read(tmp_path / "out" / "partial_correlations.csv")
    levels = [row for row in rows if row["with_level"] == "TRUE"]
    assert (found["n_pairs"], found["levels"]["n_pairs"]) == (15, 6)
    assert found["levels"]["number"] == sum(row["related"] == "TRUE" for row in levels) >= 1
    assert "pairs with a level of a category are related given" in found["in_words"][0]
    assert card["related"]["components"]["n_columns"] == 6


def test_with_a_rule_of_ones_own_the_tables_are_computed_again(estimate, tmp_path):
    own = estimate.release.estimate(rule=lambda size, threshold: size, threshold=1.0)
    write_folder(own.release, own, tmp_path / "own")
    found = verify_folder(tmp_path / "own")
    assert found.problems == ()
    assert {f"{name}.csv" for name in STRUCTURE_TABLES} <= set(found.recomputed)


def test_components_that_cannot_be_told_apart_show_no_loadings():
    rows = np.random.default_rng(0).normal(size=(4000, 8))
    for part in (slice(0, 4), slice(4, 8)):  # alike
        rows[:, part] += np.random.default_rng(part.stop).normal(size=(4000, 1))
    made = estimate_for(pd.DataFrame(rows, columns=list("abcdefgh")), epsilon=1)
    card = make_card(made.release, made, fdr=0.1)
    tables = tables_to_show(card, made, 0.1)
    assert "loadings" not in tables
    first, second = component_rows(tables, 8)
    assert (first.loadings, second.loadings) == ([], [])
    assert first.untold == "cannot be told from C2"
    assert "loadings of 2 of them cannot be told" in card["related"]["components"]["in_words"][1]
    assert "cannot be told from C2" in render_page(made.release, made)


def test_no_more_pairs_than_asked_for_are_shown(estimate):
    tables = tables_to_show(make_card(estimate.release, estimate, fdr=0.1), estimate, 0.1)
    assert len(partial_rows(tables, 3)) == 3


def test_both_are_computed_once_for_an_estimate(monkeypatch):
    made, calls = estimate_for(table_of(5)), []
    for name in ("components", "partial_correlations"):
        whole = getattr(dpcov.Release, name)
        monkeypatch.setattr(
            dpcov.Release,
            name,
            lambda self, name=name, whole=whole: calls.append(name) or whole(self),
        )
    render_page(made.release, made)
    assert sorted(calls) == ["components", "partial_correlations"]
