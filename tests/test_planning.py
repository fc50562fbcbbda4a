import math
import re
from dataclasses import replace

import numpy as np
import pytest

import dpcov
from dpcov.detection import dense_detectable, pairs_detectable
from dpcov.errors import InputError, ParameterError
from dpcov.mechanisms import dense_outlook
from dpcov.mechanisms.dense import DenseOptions
from dpcov.mechanisms.outlook import typical_row_norm
from either import release

BUDGET = {"epsilon": 1.0, "delta": 1e-5}


def detected(mechanism, n, p, correlation, max_pairs, runs, seed):
    """How often the only related pair passes a test of all pairs at 5 %."""
    hits = 0
    for run in range(runs):
        generator = np.random.default_rng(1000 * seed + run)
        rows = generator.standard_normal((n, p))
        rows[:, 1] = correlation * rows[:, 0] + math.sqrt(1 - correlation**2) * rows[:, 1]
        options = {"row_norm": typical_row_norm(p)}
        if mechanism == "pairs":
            options = {"max_pairs": max_pairs}
        made = release(rows, **BUDGET, **options, seed=run)
        how = {"psd": "none"} if mechanism == "pairs" else {"psd": "none", "threshold": 3.0}
        edges = made.estimate(**how).edges(fdr=0.05)
        hits += any((edge.first, edge.second) == ("x0", "x1") for edge in edges)
    return hits / runs


@pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning")
@pytest.mark.parametrize(
    ("mechanism", "n", "p"), [("dense", 5000, 20), ("pairs", 4000, 60), ("pairs", 2500, 24)]
)
def test_the_promised_power_is_that_of_simulations_to_fifteen_percent(mechanism, n, p):
    forecast = dpcov.plan(n=n, p=p, **BUDGET, max_pairs=20, row_norm=typical_row_norm(p))
    outlook = forecast.outlook(mechanism)
    runs = 40
    # At 15 % less the pair shows clearly less often than promised, at 15 % more clearly more.
    below, above = (
        detected(mechanism, n, p, factor * outlook.shown_half, 20, runs, seed)
        for seed, factor in enumerate((0.85, 1.15))
    )
    assert below < 0.5 < above
    assert detected(mechanism, n, p, 1.15 * outlook.shown_most, 20, runs, 7) > 0.9


def test_many_columns_and_few_rows_ask_for_pairs():
    plan = dpcov.plan(n=20_000, p=1000, **BUDGET, max_pairs=200)
    assert plan.recommended == "pairs"
    assert plan.outlook("dense").shown_half > 1
    assert "Use dpcov.release_pairs with max_pairs=200" in str(plan)


@pytest.mark.parametrize(
    ("n", "p", "epsilon", "recommended"),
    [
        # Real tables, skewed and with few values: what lists more true pairs in truth.
        (20_185, 41, 1.0, "dense"),  # 382 of release, 146 of release_pairs
        (20_185, 41, 0.3, "dense"),  # 173, 113
        (5822, 83, 3.0, "dense"),  # 586, 326
        (9822, 33, 1.0, "dense"),  # 132, 81
        (15_910, 20, 0.3, "dense"),  # 36, 17
        (8059, 34, 1.0, "dense"),  # 235, 131
        (8059, 34, 0.3, "pairs"),  # 49, 80
        (5822, 83, 0.3, "pairs"),  # 1, 15
        # Simulated, Gaussian or mixed with lognormal and 0/1 columns.
        (20_000, 500, 1.0, "pairs"),  # 27, 116; mixed 19, 92
        (20_000, 1000, 1.0, "pairs"),  # 0, 201; mixed 0, 139
    ],
)
def test_the_advice_is_what_lists_more(n, p, epsilon, recommended):
    plan = dpcov.plan(n=n, p=p, epsilon=epsilon, delta=1e-6)
    assert plan.recommended == recommended


def test_where_pairs_have_the_smaller_forecast_their_assumption_is_said():
    wide, real = (dpcov.plan(n=20_000, p=p, **BUDGET) for p in (1000, 41))
    for plan in (wide, real):
        assert plan.outlook("pairs").shown_half < plan.outlook("dense").shown_half
    assert "Use dpcov.release_pairs" in wide.advice
    assert "show less in signs" in wide.advice
    assert "Use dpcov.release:" in real.advice
    assert "for about Gaussian columns" in real.advice
    assert "Gaussian" not in dpcov.plan(n=1_000_000, p=10, **BUDGET).advice


def test_few_columns_and_many_rows_ask_for_everything():
    plan = dpcov.plan(n=1_000_000, p=10, **BUDGET)
    assert plan.recommended == "dense"
    assert plan.max_pairs == 10


@pytest.mark.parametrize("n", [10**5, 10**6, 10**8, 10**10, 10**12])
def test_what_many_rows_show_keeps_two_digits(n):
    plan = dpcov.plan(n=n, p=10, **BUDGET)
    best = plan.outlook(plan.recommended)
    said = re.findall(r"(?:correlation|one) of (0\.\d+) ", plan.advice)
    assert [float(each) for each in said] == pytest.approx(
        [best.shown_half, best.shown_most], rel=0.05
    )
    assert all(len(each.lstrip("0.")) >= 2 for each in said)
    shown = [float(cell) for line in str(plan).splitlines()[2:4] for cell in line.split()[1:]]
    exact = [x for o in plan.outlooks for x in (o.noise_scale, o.shown_half, o.shown_most)]
    assert shown == pytest.approx(exact, rel=0.005)


def test_when_nothing_will_show_it_says_so():
    plan = dpcov.plan(n=100, p=50, epsilon=0.01, delta=1e-6)
    assert "would refuse it: 100 rows of 50 columns are too few" in str(plan)
    people = dpcov.plan(n=100, p=50, epsilon=0.01, neighbors="local")
    assert "No correlation, however strong" in str(people)


@pytest.mark.parametrize("mechanism", ["dense", "pairs", None])
def test_the_rows_needed_show_what_was_wanted(mechanism):
    plan = dpcov.plan(n=20_000, p=100, **BUDGET, max_pairs=50)
    needed = plan.rows_needed(0.1, mechanism=mechanism)
    enough, fewer = (dpcov.plan(n=n, p=100, **BUDGET, max_pairs=50) for n in (needed, needed - 2))
    shown = [each.outlook(mechanism or each.recommended).shown_half for each in (enough, fewer)]
    assert shown[0] <= 0.1 < shown[1]
    assert plan.rows_needed(0.1, power=0.9, mechanism=mechanism) > needed


@pytest.mark.parametrize(("center", "whole"), [("differences", 1), ("learned", 0.8)])
def test_the_best_shares_are_no_worse_than_the_default(center, whole):
    plan = dpcov.plan(n=20_000, p=1000, **BUDGET, max_pairs=200, center=center)
    shares = plan.best_shares()
    assert sum(shares.values()) == pytest.approx(whole)
    from dpcov.mechanisms.outlook import pairs_outlook

    facts = {"n_rows": 20_000, "n_columns": 1000, "max_pairs": 200, "center": center}
    best = pairs_outlook(plan.promise, **facts, shares=shares).shown_half
    assert best <= plan.outlook("pairs").shown_half + 1e-12


def test_a_public_center_shows_more_than_differences():
    by_center, by_differences = (
        dpcov.plan(n=20_000, p=1000, **BUDGET, max_pairs=200, center=center).outlook("pairs")
        for center in ("stated", "differences")
    )
    assert by_center.shown_half < by_differences.shown_half


@pytest.mark.parametrize(
    ("n", "p", "pairs", "center"),
    [
        (20_000, 1000, 200, "learned"),
        (5000, 200, 40, "learned"),
        (1500, 200, 40, "differences"),
        (20_000, 40, 20, "differences"),
    ],
)
def test_a_plan_says_what_a_release_without_a_center_does(n, p, pairs, center):
    assert dpcov.plan(n=n, p=p, **BUDGET, max_pairs=pairs).center == center
    rows = np.zeros((n, p), dtype=np.float32)
    release = dpcov.release_pairs(rows, **BUDGET, max_pairs=pairs, seed=0)
    assert release.provenance.center == center


def test_learned_centers_show_more_than_differences_where_they_are_chosen():
    for n, p in ((20_000, 1000), (5000, 200), (1200, 10), (10**6, 50)):
        shown = {
            center: dpcov.plan(n=n, p=p, **BUDGET, max_pairs=20, center=center)
            .outlook("pairs")
            .shown_half
            for center in ("stated", "learned", "differences")
        }
        assert shown["stated"] < shown["learned"] < shown["differences"]


def test_add_remove_neighbors_learn_centers():
    plan = dpcov.plan(n=100, p=200, **BUDGET, max_pairs=20, neighbors="add-remove")
    assert plan.center == "learned"


def test_more_of_anything_helps():
    def shown(**change):
        facts = {"n": 20_000, "p": 500, "epsilon": 1.0, "delta": 1e-5, "max_pairs": 100}
        return [o.shown_half for o in dpcov.plan(**(facts | change)).outlooks]

    base = shown()
    for change in ({"n": 40_000}, {"epsilon": 2.0}, {"delta": 1e-3}):
        assert all(a < b for a, b in zip(shown(**change), base, strict=True))
    assert shown(max_pairs=1000)[1] > base[1]


def test_detection_of_nothing_is_infinite():
    facts = {"n_columns": 100, "n_terms": 10, "max_pairs": 5, "selection_scale": 1e6}
    assert pairs_detectable(**facts, noise_scale=1e3) == math.inf
    assert dense_detectable(n_columns=100, n_rows=10, noise_scale=1e3) > 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 3},
        {"p": 1},
        {"epsilon": 0},
        {"delta": 0},
        {"max_pairs": 0},
        {"max_pairs": 10**6},
        {"center": "mean"},
        {"neighbors": "add-remove", "center": "differences"},
        {"neighbors": "none"},
        {"delta": None},
        {"p": None},
        {"columns": {"a": (0, 1)}},
        {"columns": {"a": (0, 1)}, "p": None},
        {"row_norm": 0.0},
        {"row_norm": 3.0, "shares": {"radius": 0.1}},
        {"shares": {"radius": 0.99}},
        {"shares": {"values": 0.5}},
        {"neighbors": "local", "row_norm": 3.0},
    ],
)
def test_impossible_plans_are_refused(wrong):
    with pytest.raises(ParameterError):
        dpcov.plan(**({"n": 1000, "p": 20, "epsilon": 1.0, "delta": 1e-5} | wrong))


@pytest.mark.parametrize(
    ("correlation", "options"),
    [(0, {}), (1, {}), (0.1, {"power": 0.7}), (0.1, {"mechanism": "local"})],
)
def test_impossible_wishes_are_refused(correlation, options):
    plan = dpcov.plan(n=1000, p=20, **BUDGET)
    with pytest.raises(ParameterError):
        plan.rows_needed(correlation, **options)


def test_the_local_model_is_planned_with_and_without_delta():
    pure = dpcov.plan(n=10**6, p=20, epsilon=2.0, neighbors="local")
    both = dpcov.plan(n=10**6, p=20, epsilon=2.0, delta=1e-6, neighbors="local")
    assert [outlook.mechanism for outlook in pure.outlooks] == ["cap"]
    assert [outlook.mechanism for outlook in both.outlooks] == ["cap", "gaussian"]
    assert both.recommended == "cap"
    assert "1000000 people × 20 columns, 2-differential privacy in the local model" in str(pure)
    with pytest.raises(ParameterError, match="no budget to split"):
        pure.best_shares()


def test_the_local_model_needs_as_many_people_as_its_own_plan_says():
    plan = dpcov.plan(n=10**6, p=20, epsilon=2.0, neighbors="local")
    reports = dpcov.local.CollectionPlan(
        columns=[f"x{i}" for i in range(20)], row_norm=typical_row_norm(20), epsilon=2.0
    )
    assert plan.rows_needed(0.2) == pytest.approx(
        reports.people_needed(0.2, variance=1.0), rel=0.001
    )


def test_a_trusted_table_shows_more_than_reports():
    table = dpcov.plan(n=10**5, p=20, epsilon=1.0, delta=1e-6)
    reports = dpcov.plan(n=10**5, p=20, epsilon=1.0, delta=1e-6, neighbors="local")
    assert table.outlook("dense").shown_half < reports.outlook("cap").shown_half / 10


# What is forecast is what the release does.


def even(n, p):
    """A table whose rows are about as long as each other."""
    return np.random.default_rng(1).standard_normal((n, p))


def skewed(n, p):
    """A table with a common factor, long tails and rare ones: a few rows are far longer."""
    generator = np.random.default_rng(1)
    rows = 0.5 * generator.standard_normal((n, 1)) + 0.87 * generator.standard_normal((n, p))
    rows[:, ::3] = np.exp(rows[:, ::3])
    rows[:, 1::3] = rows[:, 1::3] > 1
    return rows


def facts_of(kind, p):
    stated = {
        "nothing": None,
        "bounds": (-9, 9),
        "some": {"lower": -9},
        "center": {"center": 0},
        "all": {"center": 0, "scale": 1},
    }[kind]
    return None if stated is None else {f"x{place}": stated for place in range(p)}


def noise_of_a_unit(forecast, made):
    """Noise over the squared row norm: as forecast, over that of the release."""
    n, p = made.n_rows, made.n_columns
    squared = dense_outlook.learned_squared_norm(made.learned.clipping.wanted, p)
    said = dpcov.plan(n=n, **forecast).outlook("dense").noise_scale / squared
    done = made.noise_scale.off_diagonal / made.factor / made.provenance.row_norm**2
    return said / done


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("kind", ["nothing", "bounds", "some", "center", "all"])
def test_a_forecast_has_the_budget_and_the_noise_of_the_release(kind, neighbors):
    stated = BUDGET | {"columns": facts_of(kind, 6), "neighbors": neighbors}
    names = [f"x{place}" for place in range(6)]
    table = dict(zip(names, even(3000, 6).T, strict=True))
    made = dpcov.release(pytest.importorskip("pandas").DataFrame(table), **stated, seed=0)
    forecast = dpcov.plan(n=3000, p=6, **stated)
    assert forecast.shares == pytest.approx(made.shares, rel=1e-9)
    assert noise_of_a_unit(stated | {"p": 6}, made) == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("kind", ["nothing", "bounds"])
def test_a_forecast_without_the_cost_of_learning_is_found_out(kind, monkeypatch):
    stated = BUDGET | {"columns": facts_of(kind, 6)}
    table = {f"x{place}": cells for place, cells in enumerate(even(3000, 6).T)}
    made = dpcov.release(pytest.importorskip("pandas").DataFrame(table), **stated, seed=0)
    split = DenseOptions.budget

    def whole(self, stated, n_rows):
        budget = split(self, stated, n_rows)
        return replace(budget, multipliers=budget.multipliers | {"moments": whole_of(self.promise)})

    monkeypatch.setattr(DenseOptions, "budget", whole)
    assert noise_of_a_unit(stated | {"p": 6}, made) < 0.9


def whole_of(promise):
    return dpcov.privacy.gaussian_scale(epsilon=promise.epsilon, delta=promise.delta)


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize(("n", "p"), [(20_000, 5), (20_000, 20), (20_000, 60)])
def test_a_forecast_lies_between_the_releases_of_even_and_of_skewed_tables(n, p, epsilon):
    promise = {"epsilon": epsilon, "delta": 1e-6}
    outlook = dpcov.plan(n=n, p=p, **promise).outlook("dense")
    lowest, highest = (
        dpcov.release(table(n, p), **promise, seed=0)
        .estimate(threshold=3.0, psd="none")
        .smallest_detectable_correlation
        for table in (even, skewed)
    )
    assert lowest < outlook.shown_half < highest
    # What clipping leaves uncertain is counted as well.
    assert dense_detectable(n_columns=p, n_rows=n, noise_scale=outlook.noise_scale) <= (
        outlook.shown_half
    )


def test_known_row_norms_leave_out_what_learning_costs():
    learned = dpcov.plan(n=20_000, p=20, **BUDGET)
    stated = dpcov.plan(n=20_000, p=20, **BUDGET, row_norm=7.0)
    assert stated.shares == {"moments": 1.0}
    assert stated.outlook("dense").shown_half < learned.outlook("dense").shown_half
    assert (learned.row_norm, stated.row_norm) == (None, 7.0)
    # Without a scale its unit is not known, and it is taken to be well chosen.
    again = dpcov.plan(n=20_000, p=20, **BUDGET, row_norm=700.0)
    assert again.outlook("dense").noise_scale == pytest.approx(stated.outlook("dense").noise_scale)


@pytest.mark.parametrize(("kind", "variance"), [("all", 1.0), ("bounds", 1 / 8)])
def test_a_row_norm_is_in_units_of_the_stated_scales(kind, variance):
    facts = {"columns": facts_of(kind, 6), "row_norm": 4.0}
    table = {f"x{place}": cells for place, cells in enumerate(even(3000, 6).T)}
    made = dpcov.release(pytest.importorskip("pandas").DataFrame(table), **BUDGET, **facts, seed=0)
    said = dpcov.plan(n=3000, **BUDGET, **facts).outlook("dense").noise_scale
    assert said == pytest.approx(made.noise_scale.off_diagonal / variance, rel=1e-9)
    # Rows are shorter than a row norm that is too small for them, and vary less.
    tight = dpcov.plan(n=3000, **BUDGET, **(facts | {"row_norm": 0.1})).outlook("dense")
    assert tight.noise_scale > 6 * 3.73 / 3000


def test_the_columns_of_a_plan_are_those_of_a_release(tmp_path):
    by_hand = {"age": (18, 110), "income": (0, None), "sleep": {"center": 7, "scale": 1.3}}
    file = tmp_path / "columns.toml"
    file.write_text(
        "[columns.age]\nlower = 18\nupper = 110\n[columns.income]\nlower = 0\n"
        "[columns.sleep]\ncenter = 7\nscale = 1.3\n"
    )
    facts = dpcov.Columns.from_mapping(by_hand)
    plans = [
        dpcov.plan(n=9000, **BUDGET, columns=columns)
        for columns in (by_hand, facts, list(facts), file, str(file))
    ]
    assert all(each.n_columns == 3 and each.columns == facts for each in plans)
    assert len({str(each) for each in plans}) == 1
    named = dpcov.plan(n=9000, p=3, **BUDGET, columns=["age", "income", "sleep"])
    assert named.columns is None
    assert named.outlooks == dpcov.plan(n=9000, p=3, **BUDGET).outlooks
    with pytest.raises(InputError):
        dpcov.plan(n=9000, **BUDGET, columns=["age", "age"])


def test_a_plan_says_its_shares_and_what_is_stated():
    said = {
        kind: str(dpcov.plan(n=9000, p=4, **BUDGET, columns=facts_of(kind, 4))).splitlines()[4]
        for kind in ("nothing", "bounds", "all")
    }
    assert said["nothing"] == (
        "Shares of the budget of dense: observed 1 %, range 4 %, center 6 %, limit 6 %, mean 2 %, "
        "scale 4 %, beyond 0.5 %, radius 4 %, clipping 3 %, moments 69.5 %. Nothing is stated."
    )
    assert said["bounds"].endswith("Stated: facts of 4 of 4 columns; the rest is learned.")
    assert (
        "dense: observed 1 %, beyond 0.5 %, radius 4 %, clipping 3 %, moments 91.5 %."
        in said["all"]
    )
    norm = dpcov.plan(n=9000, **BUDGET, columns=facts_of("all", 4), row_norm=3.0)
    assert norm.budget == (
        "Shares of the budget of dense: moments 100 %. "
        "Stated: facts of 4 of 4 columns and row_norm; nothing is learned."
    )
    levels = {"age": (18, 99), "sex": {"levels": ["f", "m"]}, "sleep": {}}
    named = dpcov.plan(n=9000, **BUDGET, columns=levels)
    assert "Stated: facts of 2 of 3 columns" in named.budget
    own = dpcov.plan(n=9000, p=4, **BUDGET, shares={"range": 0.1})
    assert own.shares["range"] == pytest.approx(0.1)
    assert dpcov.plan(n=9000, p=4, epsilon=1.0, neighbors="local").budget == ""


@pytest.mark.parametrize("facts", [{"row_norm": 5.0}, {"columns": facts_of("all", 10)}])
def test_the_rows_needed_know_what_is_stated(facts):
    nothing = dpcov.plan(n=1000, p=10, **BUDGET).rows_needed(0.1, mechanism="dense")
    assert dpcov.plan(n=1000, p=10, **BUDGET, **facts).rows_needed(0.1, mechanism="dense") < nothing


def test_few_rows_are_said_to_teach_limits_roughly():
    few, enough = (dpcov.plan(n=n, p=12, epsilon=1.0, delta=1e-6) for n in (1_000, 10_000))
    assert "teach limits roughly" in str(few)
    assert "roughly" not in str(enough)
    answers = {f"q{place}": (1, 5) for place in range(12)}
    stated = dpcov.plan(n=1_000, epsilon=1.0, delta=1e-6, columns=answers)
    assert "roughly" not in str(stated)
    assert "limit" not in stated.shares
