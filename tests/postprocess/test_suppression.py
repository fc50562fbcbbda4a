"""What is marked: pairs of which the gaps of one go with the other, in every view."""

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.postprocess.suppression import marks_of
from dpcov.publication import make_card
from dpcov.publication.findings import pair_rows
from dpcov.publication.structure_views import component_rows, partial_rows
from dpcov.publication.tables import tables_of
from dpcov.releases.tails import GAPS_MARK, GAPS_MARKED

N_ROWS = 20_000


def survey(kind, share=0.3, seed=0):
    """Return wages that are missing for the old, as in a labor survey, and schooling at random."""
    rng = np.random.default_rng(seed)
    common = rng.normal(size=N_ROWS)
    age, wages, school, tenure = (
        strength * common + rng.normal(size=N_ROWS) for strength in (1.0, 1.2, 0.8, 0.9)
    )
    standing = (age - age.mean()) / age.std()
    score = {"level": standing, "spread": np.abs(standing), "random": rng.normal(size=N_ROWS)}[kind]
    wages = np.where(score > np.quantile(score, 1 - share), np.nan, wages)
    school = np.where(rng.random(N_ROWS) < 0.2, np.nan, school)
    return pd.DataFrame(
        {"age": 40 + 12 * age, "wages": 15 + 6 * wages, "school": school, "tenure": tenure}
    )


def release_of(table, seed=0, **options):
    return dpcov.release(table, epsilon=1.0, delta=1e-6, seed=seed, **options)


@pytest.fixture(scope="module")
def dependent():
    return release_of(survey("level"))


@pytest.fixture(scope="module")
def at_random():
    return release_of(survey("random"))


def marked(release):
    pairs = release.estimate().pairs()
    listed = zip(pairs.first[pairs.gaps], pairs.second[pairs.gaps], strict=True)
    return {frozenset((pairs.columns[one], pairs.columns[other])) for one, other in listed}


def test_what_is_off_by_more_than_its_interval_is_marked(dependent):
    truth = survey("level").corr().loc["age", "wages"]
    pair = dependent.estimate()["age", "wages"]
    assert not pair.interval[0] <= truth <= pair.interval[1]  # why it must be
    assert pair.gaps
    assert "gaps" in repr(pair)


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_gaps_that_go_with_the_level_of_a_column_are_marked_beside_it(share, seed):
    assert {"age", "wages"} in marked(release_of(survey("level", share, seed), seed))


def test_columns_without_gaps_are_not_marked_beside_each_other(dependent):
    assert {"age", "tenure"} not in marked(dependent)


def test_gaps_at_random_are_rarely_marked():
    found = [marked(release_of(survey("random", seed=seed), seed)) for seed in range(20)]
    # Of 20 releases 2 on average at most, by noise alone: 9 have a chance of less than 1e-3.
    assert sum(bool(each) for each in found) < 9


@pytest.mark.parametrize("kind", ["level", "random"])
def test_intervals_without_a_mark_hold_what_pandas_computes(kind):
    held = []
    for seed in range(6):
        table = survey(kind, (0.1, 0.3, 0.5)[seed % 3], seed)
        made = release_of(table, seed)
        pairs = made.estimate().pairs()
        truth = table.clip(*made.limits, axis=1).corr().to_numpy()[pairs.first, pairs.second]
        held += ((pairs.low <= truth) & (truth <= pairs.high))[~pairs.gaps].tolist()
    assert len(held) >= 18
    assert np.mean(held) >= 0.93


def test_complete_rows_have_no_marks():
    assert marked(release_of(survey("level"), missing="complete")) == set()


def test_gaps_that_go_with_both_ends_alike_are_not_seen():
    # A limit that is told: no released number holds squares beside gaps.
    assert {"age", "wages"} not in marked(release_of(survey("spread")))


def test_a_category_is_marked_with_all_its_levels():
    rng = np.random.default_rng(0)
    town = rng.choice(["a", "b", "c"], N_ROWS)
    income = rng.normal(size=N_ROWS) * np.where(town == "a", 3.0, 1.0) + (town == "a")
    income[rng.random(N_ROWS) < np.where(town == "a", 0.6, 0.1)] = np.nan
    table = pd.DataFrame({"town": town, "income": income, "age": rng.normal(size=N_ROWS)})
    made = release_of(table, columns={"town": {"levels": ["a", "b", "c"]}, "income": {}, "age": {}})
    expected = {frozenset((f"town={level}", "income")) for level in "abc"}
    assert marked(made) == expected
    tables = tables_of(make_card(made, made.estimate(), fdr=0.1), made.estimate(), 0.1)
    names, gaps = tables["associations"]["first"].values, tables["associations"]["gaps"].values
    assert [name == "income" for name in names] == gaps.tolist()


def test_every_analysis_that_rests_on_a_marked_pair_says_so(dependent, at_random):
    names = list(dependent.columns)
    analyses = (
        lambda release: release.regress("wages", on=["age"]),
        lambda release: release.partial_correlations(names),
        lambda release: release.components(2, columns=names),
        lambda release: release.factors(1, columns=names),
        lambda release: release.reliability(names),
    )
    for analysis in analyses:
        assert "'age' with 'wages'" in analysis(dependent).summary()
        assert 'missing="complete"' in analysis(dependent).summary()
        assert 'missing="complete"' not in analysis(at_random).summary()
    assert "'age' with" not in dependent.regress("tenure", on=["age"]).summary()


def test_data_frames_of_slopes_and_partial_correlations_have_the_mark(dependent, at_random):
    assert dependent.regress("tenure", on=["age", "wages"]).to_frame()["gaps"].all()
    assert not dependent.regress("tenure", on=["age"]).to_frame()["gaps"].any()
    frame = dependent.partial_correlations().to_frame().set_index(["first", "second"])
    assert frame.loc[("age", "wages"), "gaps"]
    assert not at_random.partial_correlations().to_frame()["gaps"].any()


def test_edges_are_marked_and_the_mark_is_explained(dependent, at_random):
    edges = dependent.estimate().edges()
    assert {frozenset(edge[:2]) for edge in edges if edge.gaps} == marked(dependent)
    cells = {frozenset(line[:2]): line[2] for line in edges.cells()}
    assert cells[frozenset(("age", "wages"))].endswith(GAPS_MARK)
    assert repr(edges).endswith(GAPS_MARKED)
    assert GAPS_MARK not in repr(at_random.estimate().edges())


def test_tables_page_and_headline_follow_one_decision(dependent):
    estimate = dependent.estimate()
    card = make_card(dependent, estimate, fdr=0.1)
    tables = tables_of(card, estimate, 0.1)
    pairs = tables["pairs"]
    columns = (pairs[name].values for name in ("first", "second", "gaps"))
    table = {frozenset(line[:2]) for line in zip(*columns, strict=True) if line[2]}
    assert table == marked(dependent)
    rows = {frozenset((row.first, row.second)): row for row in pair_rows(pairs, 10)}
    assert {names for names, row in rows.items() if row.gaps} == table
    assert all((GAPS_MARK in row.correlation) == row.gaps for row in rows.values())
    strongest = {
        frozenset((line["first"], line["second"])) for line in card["related"]["strongest"]
    }
    assert strongest
    assert strongest.isdisjoint(table)
    assert tables["components"]["gaps"].values.all()
    touched = {name for names in table for name in names}
    assert [name in touched for name in tables["loadings"]["column"].values] == (
        tables["loadings"]["gaps"].values.tolist()
    )
    assert all(row.gaps for row in component_rows(tables, 5))
    assert {"age", "wages"} in [
        {row.first, row.second} for row in partial_rows(tables, 10) if row.gaps
    ]


def test_a_table_without_gaps_has_no_marks_and_no_column_for_them():
    made = release_of(survey("level").drop(columns=["wages", "school"]).to_numpy())
    assert marks_of(made).dependent is None
    card = make_card(made, made.estimate(), fdr=0.1)
    assert "gaps" not in tables_of(card, made.estimate(), 0.1)["pairs"]
