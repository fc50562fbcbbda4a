"""Means and deviations that limits have taken far from the table's are shown nowhere."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import dpcov
from dpcov import plot
from dpcov.postprocess.column_errors import mean_errors
from dpcov.publication import make_card, write_folder
from dpcov.publication.category_views import association_rows, gap_sentences, groups
from dpcov.publication.columns import column_rows, headings, hidden_numbers
from dpcov.publication.structure_views import component_rows, partial_rows
from dpcov.publication.tables import tables_of
from dpcov.releases import tails
from dpcov.releases.learned import Known
from dpcov.releases.tails import INSTEAD, Tails, tails_of, withheld

N_ROWS = 4000
NUMBERS = ["amount", "height", "weight", "rare"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    region = rng.choice(["north", "south"], N_ROWS)
    amount = np.where(rng.random(N_ROWS) < 0.06, rng.lognormal(6.5, 1.0, N_ROWS), 0.0)
    return pd.DataFrame(
        {
            "amount": amount,
            "height": rng.normal(170, 9, N_ROWS) + 20 * (region == "south"),
            "weight": rng.normal(70, 9, N_ROWS) + 20 * (region == "south"),
            "rare": (rng.random(N_ROWS) < 0.03).astype(float),
            "region": region,
        }
    )


def released(table, seed, **options):
    options = {"epsilon": 1.0, "delta": 1e-6, "seed": seed, **options}
    return dpcov.release(table, **options)


def names_of(pairs):
    return ([pairs.columns[place] for place in each] for each in (pairs.first, pairs.second))


def card_of(made):
    return make_card(made, made.estimate(), fdr=0.1)


def shown(card):
    return {row.name: row.cells for row in column_rows(card)}


@pytest.mark.parametrize("seed", range(4))
def test_a_mean_of_amounts_that_are_mostly_nothing_is_not_shown(seed, table):
    made = released(table[NUMBERS], seed)
    card = card_of(made)
    hidden = hidden_numbers(card)
    # The control: the mean of the limited cells is far from the truth by its own error.
    line = card["data"]["columns"][0]
    assert abs(line["mean"] - table["amount"].mean()) > 10 * line["mean_error"]
    assert hidden["amount"] in (Tails.CUT, Tails.UNKNOWN)
    cells = shown(card)
    assert {cells["amount"]["mean"], cells["amount"]["deviation"]} == {INSTEAD[hidden["amount"]]}
    assert "height" not in hidden
    assert cells["height"]["mean"].startswith("1")


def test_files_say_of_which_columns_tails_are_cut(table, tmp_path):
    made = released(table[NUMBERS], 1)
    folder = tmp_path / "out"
    write_folder(made, made.estimate(), folder)
    frame = pd.read_csv(folder / "columns.csv", index_col="column")
    hidden = hidden_numbers(card_of(made))
    for name in frame.index:
        assert frame.loc[name, "tails"] == hidden.get(name, Tails.NOT_SEEN).value
    for file in ("card.md", "page.html"):
        assert INSTEAD[hidden["amount"]] in (folder / file).read_text(encoding="utf-8")
    sentences = " ".join(card_of(made)["learned"]["in_words"])
    assert "'amount'" in sentences
    assert "shown" in sentences


def test_means_of_groups_are_withheld_like_those_of_all(table):
    names = ["height", "weight", "region"]
    facts = {"region": {"levels": ["north", "south"]}, "height": (0, 400), "weight": (0, 400)}
    made = released(table[names], 2, epsilon=8.0, columns=facts)
    card = card_of(made)
    listed = tables_of(card, made.estimate(), 0.1)
    (group,) = groups(card, listed)
    assert sorted(group.numbers) == ["height", "weight"]
    assert all("±" in text for _, _, means in group.levels for text in means)
    height = next(each for each in card["learned"]["columns"] if each["name"] == "height")
    weight = next(each for each in card["learned"]["columns"] if each["name"] == "weight")
    height["beyond"], weight["beyond"] = 0.5, 0.0
    (group,) = groups(card, listed)
    found = {
        name: {means[place] for _, _, means in group.levels}
        for place, name in enumerate(group.numbers)
    }
    assert found["height"] == {"tails cut"}
    assert all("±" in text for text in found["weight"])


def test_answers_name_columns_whose_whole_cells_may_be_far_from_what_they_say(table):
    made = released(table[NUMBERS], 1)
    assert "amount" in {NUMBERS[place] for place in withheld(made)}
    warning = "More than 1 % of the cells of 'amount' lie beyond, or may lie beyond"
    asked = ["amount", "height", "weight"]
    answers = [
        made.regress("weight", on=["amount", "height"]),
        made.regress("amount", on=["weight", "height"]),
        made.partial_correlations(columns=asked),
        made.components(2, columns=asked),
        made.factors(1, columns=asked),
        made.reliability(asked),
    ]
    assert all(warning in " ".join(each.summary().split()) for each in answers)
    assert "More than 1 %" not in made.regress("weight", on=["height"]).summary()


def test_correlations_of_columns_with_cut_tails_are_marked_and_make_no_headline(table, tmp_path):
    rng = np.random.default_rng(6)
    table = table[NUMBERS].assign(visits=(table["amount"] > 0) * rng.integers(1, 9, N_ROWS))
    table["weight"] += table["height"]
    made = released(table, 0, epsilon=3.0)
    hidden = {table.columns[place] for place in withheld(made)}
    assert {"amount", "visits"} <= hidden
    assert not {"height", "weight"} & hidden
    estimate = made.estimate()
    pairs = estimate.pairs()
    both = zip(*names_of(pairs), strict=True)
    assert pairs.limited.tolist() == [bool({*names} & hidden) for names in both]
    # The control: it is a strong one, which would come first, and the truth is far from it.
    one = estimate["amount", "visits"]
    assert one.limited
    assert "limited" in repr(one)
    assert one.released > 0.9 > estimate["height", "weight"].released
    assert table.corr().loc["amount", "visits"] < one.interval[0]
    write_folder(made, estimate, tmp_path / "out")
    card = make_card(made, estimate, fdr=0.1)
    words = " ".join(card["related"]["in_words"])
    assert "marked ones left out" in words
    assert (
        not {line[end] for line in card["related"]["strongest"] for end in ("first", "second")}
        & hidden
    )
    assert tails.MARKED in (tmp_path / "out" / "page.html").read_text(encoding="utf-8")
    ax = plot.intervals(estimate, Figure().subplots())
    assert any(label.get_text().endswith(tails.MARK) for label in ax.get_yticklabels())
    listed = pd.read_csv(tmp_path / "out" / "pairs.csv")
    assert listed["limited"].sum() == pairs.limited.sum()


def test_associations_and_means_of_groups_are_marked_and_make_no_headline(table):
    rng = np.random.default_rng(7)
    gifts = rng.random(N_ROWS) < np.where(table["region"] == "south", 0.11, 0.0)
    table = table.assign(amount=np.where(gifts, rng.lognormal(6.5, 1.0, N_ROWS), 0.0))
    facts = {"region": {"levels": ["north", "south"]}, "height": (0, 400), "weight": (0, 400)}
    made = released(table[["amount", *facts]], 0, epsilon=3.0, columns=facts | {"amount": {}})
    estimate = made.estimate()
    assert {made.columns[place] for place in withheld(made)} == {"amount"}
    card = card_of(made)
    listed = tables_of(card, estimate, 0.1)
    for name, column in (("associations", "first"), ("group_means", "number")):
        names, limited = listed[name][column].values, listed[name]["limited"].values
        assert [each == "amount" for each in names] == limited.tolist()
    rows = association_rows(listed["associations"], 9)
    assert [row.value.endswith(tails.MARK) for row in rows] == [
        row.first == "amount" for row in rows
    ]
    strongest = card["related"]["associations"]["strongest"]
    assert "amount" not in {line["first"] for line in strongest}
    words = " ".join(card["related"]["associations"]["in_words"])
    assert "The strongest associations, marked ones left out" in words
    edges = estimate.edges(0.1)
    marked = [edge for edge in edges if edge.limited]
    assert marked
    assert all("amount" in (edge.first, edge.second) for edge in marked)
    assert repr(edges).count(tails.MARKED) == 1


def test_loadings_and_partial_correlations_of_such_columns_are_marked(table):
    rng = np.random.default_rng(8)
    table = table[NUMBERS].assign(visits=(table["amount"] > 0) * rng.integers(1, 9, N_ROWS))
    for name in ("width", "depth"):
        table[name] = table["height"] + 9 * rng.normal(size=N_ROWS)
    made = released(pd.concat([table] * 5), 0, epsilon=3.0)
    hidden = {"visits", "width"}
    beyond = np.where(table.columns.isin(list(hidden)), 0.5, 0.0)
    made = replace(made, learned=replace(made.learned, beyond=beyond))
    assert {table.columns[place] for place in withheld(made)} == hidden
    listed = tables_of(card_of(made), made.estimate(), 0.1)
    loadings, partial = listed["loadings"], listed["partial_correlations"]
    own = [name in hidden for name in loadings["column"].values]
    assert any(own)
    assert loadings["limited"].values.tolist() == own
    both = zip(partial["first"].values, partial["second"].values, strict=True)
    assert partial["limited"].values.tolist() == [bool({*names} & hidden) for names in both]
    marked = [row for row in partial_rows(listed, 99) if row.limited]
    assert marked
    assert all(row.correlation.endswith(tails.MARK) for row in marked)
    assert any(row.limited for row in component_rows(listed, 9))


def test_no_correlation_is_marked_where_all_tails_are_there(table, tmp_path):
    made = released(
        table[["height", "weight"]], 1, columns={"height": (0, 300), "weight": (0, 300)}
    )
    assert not withheld(made)
    assert not made.estimate().pairs().limited.any()
    write_folder(made, made.estimate(), tmp_path / "out")
    assert tails.MARK not in (tmp_path / "out" / "page.html").read_text(encoding="utf-8")


def test_the_plot_of_means_draws_nothing_for_them(table):
    made = released(table[NUMBERS], 1)
    hidden = withheld(made)
    ax = plot.means(made.estimate(), Figure().subplots())
    (line,) = [each for each in ax.lines if each.get_marker() == "o"]
    assert np.isnan(line.get_xdata()).tolist() == [place in hidden for place in range(4)]
    first = ax.get_yticklabels()[0].get_text()
    assert INSTEAD[hidden[0]] in first


def test_without_learning_cells_have_no_limits_and_no_tails():
    rows = np.random.default_rng(0).normal(size=(500, 3))
    made = dpcov.release(rows, epsilon=20.0, delta=1e-6, row_norm=2.0, seed=0)
    card = card_of(made)
    assert hidden_numbers(card) == {}
    assert headings(card)["mean"] == "mean ± se"
    assert list(tables_of(card, made.estimate(), 0.1)["columns"]["tails"].values) == ["none"] * 3


def test_levels_have_no_tails(table):
    facts = {"region": {"levels": ["north", "south"]}, "height": (0.0, 400.0)}
    made = released(table[["height", "region"]], 3, columns=facts)
    card = card_of(made)
    columns = tables_of(card, made.estimate(), 0.1)["columns"]
    found = dict(zip(columns["column"].values, columns["tails"].values, strict=True))
    assert found.pop("height") == "not seen"
    assert set(found.values()) == {"none"}


@pytest.mark.parametrize(
    ("beyond", "error", "guessed", "expected"),
    [
        (0.0, 0.02, False, Tails.NOT_SEEN),
        (0.049, 0.02, False, Tails.NOT_SEEN),
        (0.06, 0.02, False, Tails.CUT),
        (0.06, 0.02, True, Tails.CUT),
        (0.009, 1e-5, False, Tails.NOT_SEEN),
        (0.011, 1e-5, False, Tails.CUT),
        (-0.3, 0.02, True, Tails.UNKNOWN),  # noise that is lucky says nothing
        (0.0, 0.0049, True, Tails.NOT_SEEN),
        (0.0, 0.0051, True, Tails.UNKNOWN),
        (0.005, 0.0026, True, Tails.UNKNOWN),
    ],
)
def test_a_share_beyond_limits_must_stand_out_of_its_noise(beyond, error, guessed, expected):
    known = Known.NOT_SEEN if guessed else Known.LEARNED
    assert tails_of(beyond, error, range_is=known, n_columns=10) is expected


@pytest.mark.parametrize(
    ("known", "error", "expected"),
    [
        (Known.LEARNED, 0.19, Tails.NOT_SEEN),
        (Known.LEARNED, 0.21, Tails.UNKNOWN),
        (Known.STATED, 0.21, Tails.NOT_SEEN),
    ],
)
def test_a_range_that_is_learned_from_few_rows_is_as_good_as_guessed(known, error, expected):
    assert tails_of(0.0, error, range_is=known, n_columns=10) is expected


@pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning")
def test_no_mean_of_few_rows_is_shown_far_from_the_truth():
    rng = np.random.default_rng(0)
    rows = rng.normal(50, 10, size=(300, 8))
    far = 0
    for seed in range(6):
        made = dpcov.release(rows, epsilon=1.0, delta=1e-6, seed=seed, allow={"small"})
        away = np.abs(made.location - rows.mean(axis=0)) / mean_errors(made.estimate())
        far += sum(ratio > 4 for place, ratio in enumerate(away) if place not in withheld(made))
        assert (away > 4).any()  # the control: some are
    assert far == 0


def test_what_goes_with_gaps_has_no_number_of_cells_whose_tails_are_cut():
    rng = np.random.default_rng(1)
    gift = np.where(rng.random(N_ROWS) < 0.06, rng.lognormal(6.5, 1.0, N_ROWS), 0.0)
    other = np.where(rng.random(N_ROWS) < 0.1 + 0.6 * (gift > 0), np.nan, rng.normal(size=N_ROWS))
    table = pd.DataFrame({"gift": gift, "other": other, "height": rng.normal(170, 9, N_ROWS)})
    made = released(table, 0, epsilon=2.0)
    assert 0 in withheld(made)
    (line,) = (each for each in made.estimate().gaps(0.1) if each.column == "gift")
    assert line.limited
    assert line.in_words == "Where other is missing, gift is higher on average."
    card = card_of(made)
    listed = tables_of(card, made.estimate(), 0.1)
    assert listed["gaps"]["limited"].values.tolist().count(True) == 1
    said = " ".join(card["related"]["gaps"]["in_words"])
    assert "'gift' is higher on average." in said
    sentence = "Where 'other' is missing, 'gift' is higher on average."
    assert sentence in gap_sentences(listed["gaps"], 5)
    # The control: a number whose tails are there is told by how much.
    assert "by" in line._replace(limited=False).in_words


def test_card_and_release_agree_on_what_is_withheld_beside_many_levels():
    rng = np.random.default_rng(2)
    levels = [str(each) for each in range(40)]
    table = pd.DataFrame({"amount": rng.normal(size=3_000), "town": rng.choice(levels, 3_000)})
    made = released(table, 0, epsilon=3.0, columns={"amount": {}, "town": {"levels": levels}})
    error = made.learned.beyond_error
    cut = 0.01 + (tails._likely(1) + tails._likely(41)) / 2 * error
    beyond = np.where(made.design.is_number, cut, 0.0)
    made = replace(made, learned=replace(made.learned, beyond=beyond))
    assert {made.columns[place] for place in withheld(made)} == {"amount"}
    assert set(hidden_numbers(card_of(made))) == {"amount"}


@pytest.mark.parametrize(
    ("n_columns", "few", "many"), [(1, 1.9, 2.1), (20, 2.2, 2.3), (83, 2.7, 2.8)]
)
def test_of_more_columns_a_cut_tail_must_stand_out_by_more(n_columns, few, many):
    assert few < tails._likely(n_columns) < many
