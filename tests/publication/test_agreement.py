"""Page, card, README.md, terminal, CSV and Parquet of one folder say the same, number by number.

The folder is read as a stranger would: texts are parsed, and every number in them is looked for in
the tables and in the card.
"""

import csv
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from cli.runner import invoke
from dpcov.publication.dictionary import describe_files
from dpcov.releases.tails import INSTEAD, Tails

NUMBER = re.compile(r"(?<![\w.^])[+-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
# Numbers of sentences that are about no data: odds, rates, powers, a paper of 2019, half and ten.
WORDS = {1, 2, 5, 10, 95, 99, 100, 0.0001, 2019, 0, 3600, 60, 200, 256}
NOISY = "too noisy to tell"


def table_of_people():
    """Columns in all units; two that go together, one that goes against, one that hardly varies."""
    generator = np.random.default_rng(5)
    rows = generator.normal(size=(6000, 8))
    rows[:, 1] = 0.6 * rows[:, 0] + 0.8 * rows[:, 1]
    rows[:, 3] = -0.9 * rows[:, 2] + 0.4 * rows[:, 3]
    rows[:, 5] += 0.3 * rows[:, 4]
    rows[:, 7] = rows[:, 7] > 3.2
    names = ["age", "income", "sleep", "stress", "height", "weight", "mood", "rare"]
    units = [15, 9000, 1.2, 0.3, 9, 12, 1, 1]
    return pd.DataFrame(rows * units + np.array(units) * 3, columns=names)


def table_of_a_survey():
    """The same people with categories, gaps that are not at random, and weights."""
    generator = np.random.default_rng(6)
    table = table_of_people()[["age", "income", "sleep", "stress", "rare"]]
    places = np.array(["north", "south", "west"])
    region = generator.choice(3, size=len(table), p=[0.5, 0.3, 0.2])
    table["age"] += 12 * (region == 0)
    table["region"] = places[region]
    table["sex"] = np.where(generator.random(len(table)) < 0.5 + 0.3 * (region == 1), "f", "m")
    table.loc[generator.random(len(table)) < 0.1 + 0.3 * (table["sex"] == "f"), "sleep"] = np.nan
    table["w"] = generator.uniform(0.5, 2.0, size=len(table))
    return table


FACTS = """
[columns]
age = {}
income = {}
sleep = {}
stress = {}
rare = [0, 5]
region = {levels = ["north", "south", "west"]}
sex = {levels = ["f", "m"]}
"""


class Tables(HTMLParser):
    """The cells of the tables of a page, by the tables' ids, and its visible text."""

    def __init__(self, source):
        super().__init__()
        self.tables, self.text = {}, []
        self._table, self._hidden = None, 0
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "table":
            self._table = self.tables.setdefault(attributes.get("id", "facts"), [])
        if tag == "tr" and self._table is not None:
            self._table.append([])
        if tag in ("td", "th") and self._table is not None:
            self._table[-1].append("")
        self._hidden += tag in ("script", "style", "svg", "pre", "title")

    def handle_endtag(self, tag):
        self._hidden -= tag in ("script", "style", "svg", "pre", "title")
        if tag == "table":
            self._table = None

    def handle_data(self, data):
        if self._hidden:
            return
        self.text.append(data)
        if self._table and self._table[-1]:
            self._table[-1][-1] += data


class Folder:
    """A published folder, read back, with what the command printed about it."""

    def __init__(self, path, printed):
        self.path, self.terminal = path, printed
        self.card = json.loads((path / "card.json").read_text(encoding="utf-8"))
        self.page = Tables((path / "page.html").read_text(encoding="utf-8"))
        texts = {
            name: (path / name).read_text(encoding="utf-8") for name in ("card.md", "README.md")
        }
        self.texts = {name: text.replace("\\", "") for name, text in texts.items()}
        # Which files were written where is no finding.
        self.texts |= {"page": " ".join(self.page.text), "terminal": printed.split("Written to")[0]}
        self.texts = {name: text.replace("−", "-") for name, text in self.texts.items()}

    @property
    def tables(self):
        return [file.stem for file in self.path.glob("*.csv")]

    @property
    def has_categories(self):
        return self.card["data"]["n_categories"] > 0

    @property
    def number_pairs(self):
        """Pairs of numbers: all of them, if there are no categories."""
        return {names: row for names, row in self.pairs.items() if row.get("with_level") != "TRUE"}

    def rows(self, table):
        with (self.path / f"{table}.csv").open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    @property
    def pairs(self):
        return {(row["first"], row["second"]): row for row in self.rows("pairs")}

    @property
    def numbers(self):
        """All numbers of the tables and of the card."""
        cells = [
            cell
            for table in self.tables
            if table not in ("correlation", "covariance")
            for row in self.rows(table)
            for cell in row.values()
        ]
        return np.array([*filter(np.isfinite, map(number_of, cells)), *numbers_in(self.card)])


def number_of(cell):
    try:
        return float(cell)
    except ValueError:
        return np.nan


def numbers_in(value):
    if isinstance(value, dict):
        return [number for inner in value.values() for number in numbers_in(inner)]
    if isinstance(value, list):
        return [number for inner in value for number in numbers_in(inner)]
    return [] if isinstance(value, (bool, str)) or value is None else [float(value)]


def half_a_digit(text):
    """Half a unit of the last digit of a number, as it is written."""
    digits, _, exponent = text.replace(",", "").partition("e")
    whole, _, decimals = digits.lstrip("+-").partition(".")
    step = (
        10.0 ** -len(decimals) if decimals else 10.0 ** (len(whole) - len(whole.rstrip("0") or "0"))
    )
    return 0.5000001 * step * 10.0 ** int(exponent or 0)


def agrees(text, number, error=0.0):
    """Whether a number is the one that is written, to its digits or to two of its error."""
    near = max(half_a_digit(text), 0.0500001 * float(error))
    return abs(float(text.replace(",", "")) - float(number)) <= near


def published(place, table, *options):
    table.to_parquet(place / "people.parquet", index=False)
    said = ("--name", "People", "--curator", "Office", "--date", "2026-02-03")
    source, out = place / "people.parquet", place / "out"
    result = invoke(["release", source, "--delta", "1e-6", *said, *options, "--out", out])
    assert result.exit_code == 0, result.stderr
    return Folder(place / "out", result.stdout)


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    place = tmp_path_factory.mktemp("survey")
    (place / "facts.toml").write_text(FACTS, encoding="utf-8")
    weights = ("--weight", "w", "--weight-bound", "2")
    facts = ("--columns", place / "facts.toml", "--epsilon", "2")
    return published(place, table_of_a_survey(), *facts, *weights)


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return published(tmp_path_factory.mktemp("people"), table_of_people(), "--epsilon", "1")


@pytest.fixture(params=["people", "survey"])
def folder(request):
    return request.getfixturevalue(request.param)


def test_every_pair_on_the_page_has_the_numbers_of_the_table(folder):
    _, *lines = folder.page.tables["pairs"]
    assert [tuple(line[:2]) for line in lines] == list(folder.number_pairs)
    for name, (_, *more) in folder.page.tables.items():
        lines += more if name.startswith("levels-") else []
    assert sorted(tuple(line[:2]) for line in lines) == sorted(folder.pairs)
    for first, second, correlation, estimate, q_value, covariance in lines:
        row = folder.pairs[first, second]
        if row["told"] == "TRUE":
            value, low, high = NUMBER.findall(correlation)
            assert agrees(value, row["released"])
            assert agrees(low, row["low"])
            assert agrees(high, row["high"])
        else:
            assert correlation == NOISY
        assert agrees(estimate, row["estimate"])
        if q_value.startswith("<"):
            assert float(row["q_value"]) < float(q_value[2:]) == 0.0001
        else:
            assert float(q_value) == pytest.approx(float(row["q_value"]), rel=0.06)
        value, error = covariance.strip().split(" ± ")
        assert agrees(value, row["released_covariance"], row["covariance_error"])
        assert agrees(error, row["covariance_error"])


def test_every_column_on_the_page_has_the_numbers_of_the_table(folder):
    heading, *lines = folder.page.tables["columns"]
    columns = {row["column"]: row for row in folder.rows("columns") if not row.get("level")}
    assert [line[0] for line in lines] == list(columns)
    for name, *cells in lines:
        shown, row = dict(zip(heading[1:], cells, strict=True)), columns[name]
        for label, value, error in (
            ("limited mean ± se", "mean", "mean_error"),
            ("limited sd ± se", "standard_deviation", "standard_deviation_error"),
        ):
            if row["tails"] != "not seen":
                assert shown[label] == INSTEAD[Tails(row["tails"])]
                continue
            number, spread = shown[label].split(" ± ")
            assert agrees(number, row[value], row[error])
            assert agrees(spread, row[error])
        limits = shown["limits"].split(" to ")
        assert all(map(agrees, limits, (row["lower_limit"], row["upper_limit"])))
        if folder.has_categories:
            observed = shown["observed"].removesuffix(" %").split(" ± ")
            shares = (100 * float(row[name]) for name in ("observed", "observed_error"))
            assert all(map(agrees, observed, shares))
        beyond = shown["cells beyond"].removesuffix(" %").split(" ± ")
        shares = (100 * float(row[name]) for name in ("beyond_limits", "beyond_limits_error"))
        assert all(map(agrees, beyond, shares))


def test_the_terminal_shows_the_surest_related_pairs_of_the_table(folder):
    cells = [re.split(r" {2,}", line.strip()) for line in folder.terminal.splitlines()]
    shown = [line for line in cells if tuple(line[:2]) in folder.pairs]
    related = [names for names, row in folder.number_pairs.items() if row["related"] == "TRUE"]
    assert [tuple(line[:2]) for line in shown] == related[:10]
    for first, second, correlation, *interval, estimate, _ in shown:
        row = folder.pairs[first, second]
        assert agrees(estimate, row["estimate"])
        if row["told"] == "FALSE":
            assert (correlation, interval) == (NOISY, [])
            continue
        (interval,) = interval
        assert agrees(correlation.removesuffix(" †"), row["released"])
        assert ("†" in correlation) == (row.get("limited") == "TRUE")
        assert ("‡" in correlation) == (row.get("gaps") == "TRUE")
        assert all(map(agrees, interval.split(" to "), (row["low"], row["high"])))


@pytest.mark.parametrize("view", ["page", "card.md", "README.md", "terminal"])
def test_every_view_counts_the_related_pairs_of_the_table(folder, view):
    pairs, what = folder.number_pairs, "numbers" if folder.has_categories else "columns"
    related = [row for row in pairs.values() if row["related"] == "TRUE"]
    untold = [row for row in pairs.values() if row["told"] == "FALSE"]
    assert (len(related), len(untold)) == (
        folder.card["related"]["number"],
        folder.card["related"]["too_noisy"],
    )
    text = " ".join(folder.texts[view].split())
    assert f"{len(related)} of {len(pairs)} pairs of {what} are related" in text
    assert f"each of {len(untold)} pairs is {NOISY}" in text


@pytest.mark.parametrize("view", ["page", "card.md", "README.md", "terminal"])
def test_every_view_names_the_strongest_pairs_with_the_numbers_of_the_table(folder, view):
    text = " ".join(folder.texts[view].split())
    named = re.findall(r"'(\w+)' and '(\w+)' (\S+) \((\S+) to (\S+)\)", text)
    assert len(named) == len(folder.card["related"]["strongest"]) >= 1
    for first, second, value, low, high in named:
        row = folder.pairs[first, second]
        assert row["related"] == "TRUE"
        assert agrees(value, row["released"])
        assert agrees(low, row["low"])
        assert agrees(high, row["high"])


@pytest.mark.parametrize("view", ["page", "card.md", "README.md", "terminal"])
def test_every_number_of_a_view_is_one_of_the_tables_or_of_the_card(folder, view):
    text = re.sub(r"sha256:\w+|\d{4}-\d{2}-\d{2}|\(2026\)|0\.1\.0|P\d+", "", folder.texts[view])
    text = re.sub(r"2\^\d+|AES-256-CTR|round\(σ N\(0, 1\)\)", "", text)
    known = folder.numbers
    left_out = folder.card["related"]["number"] - 10
    rough = 300 * folder.card["learned"]["beyond_error"]  # three standard errors, in percent
    known = np.concatenate([known, 100 * known, 100 * (1 - known), [left_out, rough]])
    # "Lower by" says the sign in a word.
    known = np.concatenate([known, np.abs(known), counts_of_levels(folder)])
    found = NUMBER.findall(text)
    assert len(found) > 20
    strange = [
        number
        for number in found
        if float(number.replace(",", "")) not in WORDS
        and not (np.abs(known - float(number.replace(",", ""))) <= 2 * half_a_digit(number)).any()
    ]
    assert [number for number in strange if not is_noise_in_own_units(folder, number)] == []


def counts_of_levels(folder):
    """How many levels there are, and how many pairs with those of each category."""
    category = {
        row["column"]: row["category"] for row in folder.rows("columns") if row.get("category")
    }
    under = [
        (category.get(first) or category[second], row["related"] == "TRUE")
        for (first, second), row in folder.pairs.items()
        if row.get("with_level") == "TRUE"
    ]
    pairs = [sum(name == each for each, _ in under) for name in set(category.values())]
    related = [sum((name, True) == each for each in under) for name in set(category.values())]
    return [len(category), *pairs, *related]


def is_noise_in_own_units(folder, text):
    """Whether a number is a noise of the card in units of one or two columns."""
    scales = [float(row["working_scale"]) for row in folder.rows("columns")]
    units = np.concatenate([scales, np.outer(scales, scales).ravel()])
    noises = np.array([noise["value"] for noise in folder.card["mechanism"]["noise"]])
    sizes = np.outer(noises, units).ravel()
    return bool((np.abs(sizes - float(text.replace(",", ""))) <= half_a_digit(text)).any())


def test_a_number_that_is_nobodys_would_be_found(folder):
    known = np.concatenate([folder.numbers, 100 * folder.numbers])
    assert not (np.abs(known - 0.314159) <= half_a_digit("0.314159")).any()
    assert not agrees("+0.62", 0.6300)
    assert agrees("+0.62", 0.6249)


def test_parquet_and_csv_have_the_same_numbers(folder):
    for table in folder.tables:
        stored = pd.read_parquet(folder.path / f"{table}.parquet")
        rows = folder.rows(table)
        assert list(rows[0]) == list(stored.columns)
        for name in stored.columns:
            cells = [row[name] for row in rows]
            if stored[name].dtype == np.float64:
                values = [float(cell) if cell else np.nan for cell in cells]
                assert np.array_equal(values, stored[name].to_numpy(), equal_nan=True)
            else:
                assert cells == [
                    str(cell).upper() if isinstance(cell, (bool, np.bool_)) else cell
                    for cell in stored[name]
                ]


def test_the_matrices_have_the_numbers_of_the_pairs(folder):
    correlation = {row["column"]: row for row in folder.rows("correlation")}
    covariance = {row["column"]: row for row in folder.rows("covariance")}
    for (first, second), row in folder.pairs.items():
        entry = float(correlation[first][second])
        assert entry == float(correlation[second][first]) == float(row["estimate"])
        unit = np.sqrt(float(covariance[first][first]) * float(covariance[second][second]))
        assert float(covariance[first][second]) == pytest.approx(entry * unit, abs=1e-9 * unit)


def test_the_columns_of_the_card_are_those_of_the_table(folder):
    for row, column in zip(folder.rows("columns"), folder.card["data"]["columns"], strict=True):
        assert row["column"] == column["name"]
        for name in ("mean", "mean_error", "standard_deviation", "standard_deviation_error"):
            assert float(row[name]) == column[name]


def test_show_prints_what_release_printed(folder):
    shown = invoke(["show", folder.path]).stdout
    assert folder.terminal.partition("Written to")[0].strip() in shown
    found = json.loads(invoke(["show", folder.path, "--json"]).stdout)
    assert found["card"] == folder.card
    related = [row for row in folder.rows("pairs") if row["related"] == "TRUE"]
    assert [line["first"] for line in found["related"]] == [row["first"] for row in related]
    assert [line["released"] for line in found["related"]] == [
        float(row["released"]) for row in related
    ]


def test_all_files_are_on_the_card_and_in_the_dictionary(folder):
    names = {file.name for file in folder.path.iterdir()}
    assert {*folder.card["files"], "card.json"} == names
    assert {name for note in describe_files(folder.card) for name in note.name.split(", ")} == names


def test_intervals_hold_the_correlations_of_the_limited_table(people):
    folder = people
    table, columns = table_of_people(), {row["column"]: row for row in folder.rows("columns")}
    for name, row in columns.items():
        table[name] = table[name].clip(float(row["lower_limit"]), float(row["upper_limit"]))
    truth = table.corr()
    told = {names: row for names, row in folder.pairs.items() if row["told"] == "TRUE"}
    held = [
        float(row["low"]) <= truth.loc[names] <= float(row["high"]) for names, row in told.items()
    ]
    assert len(held) >= 20
    assert np.mean(held) > 0.75
    for name, row in columns.items():
        assert abs(float(row["mean"]) - table[name].mean()) < 6 * float(row["mean_error"])
        spread = abs(float(row["standard_deviation"]) - table[name].std())
        assert spread < 6 * float(row["standard_deviation_error"])


def test_a_category_is_one_line_on_the_page_with_the_shares_of_the_table(survey):
    _, *lines = survey.page.tables["categories"]
    assert [line[0] for line in lines] == ["region", "sex"]
    shares = {(row["category"], row["level"]): row for row in survey.rows("categories")}
    for name, observed, levels in lines:
        assert observed.endswith(" %")
        named = re.findall(r"(\w+) (\S+) ± (\S+) %", levels)
        assert [(name, level) for level, *_ in named] == [key for key in shares if key[0] == name]
        for level, share, error in named:
            row = shares[name, level]
            assert agrees(share, 100 * float(row["share"]))
            assert agrees(error, 100 * float(row["standard_error"]))


def test_shares_of_levels_are_their_means_in_the_table_of_columns(survey):
    columns = {row["column"]: row for row in survey.rows("columns")}
    for row in survey.rows("categories"):
        line = columns[f"{row['category']}={row['level']}"]
        assert (line["mean"], line["mean_error"]) == (row["share"], row["standard_error"])
        assert (line["category"], line["level"]) == (row["category"], row["level"])
        assert line["lower_limit"] == line["beyond_limits"] == ""


def test_every_association_on_the_page_has_the_numbers_of_the_table(survey):
    _, *lines = survey.page.tables["associations"]
    rows = survey.rows("associations")
    assert [tuple(line[:2]) for line in lines] == [(row["first"], row["second"]) for row in rows]
    assert survey.card["related"]["associations"]["n_pairs"] == len(rows) == 11
    for (_, _, shown, _), row in zip(lines, rows, strict=True):
        if row["told"] == "TRUE":
            measure, value, *marks, low, _, high = shown.split()
            assert measure == row["measure"]
            assert (marks == ["‡"]) == (row["gaps"] == "TRUE")
            pairs = zip((value, low, high), ("value", "low", "high"), strict=True)
            assert all(agrees(text, row[name]) or "e-" in text for text, name in pairs)


@pytest.mark.parametrize("view", ["page", "card.md", "README.md", "terminal"])
def test_every_view_counts_the_associations_of_the_table(survey, view):
    rows = survey.rows("associations")
    related = sum(row["related"] == "TRUE" for row in rows)
    text = " ".join(survey.texts[view].split())
    assert related >= 2
    assert f"{related} of {len(rows)} pairs of columns with a category are related" in text


def test_means_of_groups_on_the_page_are_those_of_the_table(survey):
    rows = {
        (row["number"], row["category"], row["level"]): row for row in survey.rows("group_means")
    }
    seen = 0
    names = [name for name in survey.page.tables if name.startswith("means-")]
    categories = [row["category"] for row in survey.rows("categories")]
    for name in names:
        table = [[cell.strip() for cell in line] for line in survey.page.tables[name]]
        (_, _, *numbers), *lines = table
        levels = [line[0] for line in lines]
        (category,) = {
            each
            for each in categories
            if all((numbers[0], each, level) in rows for level in levels)
        }
        for level, _, *cells in lines:
            for number, cell in zip(numbers, cells, strict=True):
                row = rows[number, category, level]
                assert all(map(agrees, cell.split(" ± "), (row["mean"], row["standard_error"])))
                seen += 1
    assert seen >= 3


def test_all_findings_about_gaps_are_on_the_page(survey):
    found = [row for row in survey.rows("gaps") if row["found"] == "TRUE"]
    assert len(found) == survey.card["related"]["gaps"]["number"] >= 1
    text = " ".join(survey.texts["page"].split())
    assert survey.card["related"]["gaps"]["columns"] == ["sleep"]
    assert "Whether 'sleep' is missing goes with 'sex'" in text
    for view in ("page", "card.md", "terminal"):
        said = " ".join(survey.texts[view].split())
        assert "Cells are missing in 1 of 7 columns" in said


@pytest.mark.parametrize("view", ["page", "card.md", "terminal"])
def test_weights_are_one_sentence_with_the_rows_that_they_count_as(survey, view):
    weights = survey.card["data"]["weights"]
    said = re.search(r"count as (\S+) ± (\S+) rows", " ".join(survey.texts[view].split()))
    assert agrees(said[1], weights["effective_rows"])
    assert agrees(said[2], weights["effective_rows_error"])
    weight = table_of_a_survey()["w"]
    truth = weight.sum() ** 2 / (weight**2).sum()
    assert abs(truth - weights["effective_rows"]) < 6 * weights["effective_rows_error"]


def test_a_category_is_one_line_in_the_terminal(survey):
    lines = [line.split() for line in survey.terminal.splitlines()]
    for name in ("region", "sex"):
        (line,) = [line for line in lines if line and line[0] == name and "%" in line]
        shares = [row for row in survey.rows("categories") if row["category"] == name]
        levels = [line.index(row["level"]) for row in shares]
        for place, row in zip(levels, shares, strict=True):
            assert agrees(line[place + 1], 100 * float(row["share"]))


def test_shares_associations_and_means_are_those_of_the_weighted_table(survey):
    table = table_of_a_survey()
    weight = table["w"]
    for row in survey.rows("categories"):
        truth = weight[table[row["category"]] == row["level"]].sum() / weight.sum()
        assert abs(float(row["share"]) - truth) < 6 * float(row["standard_error"])
    limits = {row["column"]: row for row in survey.rows("columns")}
    for row in survey.rows("group_means"):
        ends = (float(limits[row["number"]][name]) for name in ("lower_limit", "upper_limit"))
        cells = table[row["number"]].clip(*ends)
        there = (table[row["category"]] == row["level"]) & cells.notna()
        truth = np.average(cells[there], weights=weight[there])
        assert abs(float(row["mean"]) - truth) < 6 * float(row["standard_error"])
    held = [
        float(row["low"]) - 0.01 <= association(table, limits, row) <= float(row["high"]) + 0.01
        for row in survey.rows("associations")
        if row["told"] == "TRUE"
    ]
    assert len(held) >= 9
    assert np.mean(held) > 0.75


def association(table, limits, row):
    """Cramér's V or η² of the raw table, weighted."""
    weight, second = table["w"], table[row["second"]]
    if row["measure"] == "V":
        joint = pd.crosstab(table[row["first"]], second, weight, aggfunc="sum").to_numpy()
        joint = joint / joint.sum()
        apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        return np.sqrt(((joint - apart) ** 2 / apart).sum() / (min(joint.shape) - 1))
    ends = (float(limits[row["first"]][name]) for name in ("lower_limit", "upper_limit"))
    cells = table[row["first"]].clip(*ends)
    there = cells.notna()
    cells, weight, second = cells[there], weight[there], second[there]
    means = (cells * weight).groupby(second).sum() / weight.groupby(second).sum()
    whole = np.average(cells, weights=weight)
    between = np.average((second.map(means) - whole) ** 2, weights=weight)
    return between / np.average((cells - whole) ** 2, weights=weight)
