import math
import re

import numpy as np
import pytest

import dpcov
from dpcov.detection import dense_detectable, pairs_detectable
from dpcov.errors import ParameterError
from either import release

BUDGET = {"epsilon": 1.0, "delta": 1e-5}


def detected(mechanism, n, p, correlation, max_pairs, runs, seed):
    """How often the only related pair passes a test of all pairs at 5 %."""
    hits = 0
    for run in range(runs):
        generator = np.random.default_rng(1000 * seed + run)
        rows = generator.standard_normal((n, p))
        rows[:, 1] = correlation * rows[:, 0] + math.sqrt(1 - correlation**2) * rows[:, 1]
        options = {"row_norm": math.sqrt(p + 2.33 * math.sqrt(2 * p))}
        if mechanism == "pairs":
            options = {"max_pairs": max_pairs}
        made = release(rows, **BUDGET, **options, seed=run)
        how = {"psd": "none"} if mechanism == "pairs" else {"psd": "none", "level": 3.0}
        edges = made.estimate(**how).edges(fdr=0.05)
        hits += any((edge.first, edge.second) == ("x0", "x1") for edge in edges)
    return hits / runs


@pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning")
@pytest.mark.parametrize(
    ("mechanism", "n", "p"), [("dense", 5000, 20), ("pairs", 4000, 60), ("pairs", 10_000, 150)]
)
def test_the_promised_power_is_that_of_simulations_to_fifteen_percent(mechanism, n, p):
    outlook = dpcov.plan(n=n, p=p, **BUDGET, max_pairs=20).outlook(mechanism)
    runs = 100
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
    assert "No correlation, however strong" in str(plan)


@pytest.mark.parametrize("mechanism", ["dense", "pairs", None])
def test_the_rows_needed_show_what_was_wanted(mechanism):
    plan = dpcov.plan(n=20_000, p=100, **BUDGET, max_pairs=50)
    needed = plan.rows_needed(0.1, mechanism=mechanism)
    enough, fewer = (dpcov.plan(n=n, p=100, **BUDGET, max_pairs=50) for n in (needed, needed - 2))
    shown = [
        min(o.shown_half for o in each.outlooks if mechanism in (None, o.mechanism))
        for each in (enough, fewer)
    ]
    assert shown[0] <= 0.1 < shown[1]
    assert plan.rows_needed(0.1, power=0.9, mechanism=mechanism) > needed


def test_the_best_shares_are_no_worse_than_the_default():
    plan = dpcov.plan(n=20_000, p=1000, **BUDGET, max_pairs=200)
    shares = plan.best_shares()
    assert sum(shares.values()) == pytest.approx(1)
    from dpcov.mechanisms.outlook import pairs_outlook

    facts = {"n_rows": 20_000, "n_columns": 1000, "max_pairs": 200, "differences": True}
    best = pairs_outlook(plan.promise, **facts, shares=shares).shown_half
    assert best <= plan.outlook("pairs").shown_half + 1e-12


def test_a_public_center_shows_more_than_differences():
    by_center, by_differences = (
        dpcov.plan(n=20_000, p=1000, **BUDGET, max_pairs=200, center=center).outlook("pairs")
        for center in ("public", "differences")
    )
    assert by_center.shown_half < by_differences.shown_half


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
    from dpcov.mechanisms.outlook import typical_row_norm

    plan = dpcov.plan(n=10**6, p=20, epsilon=2.0, neighbors="local")
    reports = dpcov.local.Plan(
        columns=[f"x{i}" for i in range(20)], row_norm=typical_row_norm(20), epsilon=2.0
    )
    assert plan.rows_needed(0.2) == pytest.approx(
        reports.people_needed(0.2, variance=1.0), rel=0.001
    )


def test_a_trusted_table_shows_more_than_reports():
    table = dpcov.plan(n=10**5, p=20, epsilon=1.0, delta=1e-6)
    reports = dpcov.plan(n=10**5, p=20, epsilon=1.0, delta=1e-6, neighbors="local")
    assert table.outlook("dense").shown_half < reports.outlook("cap").shown_half / 10
