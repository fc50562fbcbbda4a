"""Claim P12: the steps of the pairs mechanism cost no more than the promise."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import dpcov
from dpcov.columns import Column, Units
from dpcov.errors import (
    InputError,
    LargeEpsilonWarning,
    MissingValueError,
    ParameterError,
    WeakPromiseWarning,
)
from dpcov.exact import population, sign_products, triangle
from dpcov.exact.grid import Grid
from dpcov.exact.randomness import RandomStream
from dpcov.exact.triangle import Triangle
from dpcov.mechanisms import pairs as pairs_steps
from dpcov.mechanisms import pairs_calibration
from dpcov.mechanisms.door import Request
from dpcov.mechanisms.options import public_vector
from dpcov.mechanisms.pairs import _pairs_at, release_co_movement
from dpcov.mechanisms.pairs_calibration import calibrate_pairs
from dpcov.privacy import ApproxDP
from dpcov.privacy.accounting import events_rho
from dpcov.privacy.zcdp import zcdp_budget, zcdp_cost
from dpcov.sensitive.sums.signs import CoMovement, Squares

BUDGET = {"epsilon": 1.0, "delta": 1e-5}
FACTS = {"n_rows": 1000, "n_columns": 50, "max_pairs": 20}
PROMISE = ApproxDP(1.0, 1e-5, "replace")


def correlated(n=4000, p=20, r=0.8, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, p))
    rows[:, 1] = r * rows[:, 0] + math.sqrt(1 - r * r) * rows[:, 1]
    return rows


@pytest.mark.claim("P12")
@given(
    st.floats(0.01, 20),
    st.floats(1e-30, 0.4),
    st.integers(1, 1225),
    st.none() | st.floats(0.1, 100),
    st.sampled_from(["stated", "differences", "learned"]),
)
def test_the_steps_cost_no_more_than_the_promise(epsilon, delta, pairs, row_norm, center):
    relation = "replace" if center == "differences" else "add-remove"
    calibration = calibrate_pairs(
        promise=ApproxDP(epsilon, delta, relation),
        n_rows=1000,
        n_columns=50,
        max_pairs=pairs,
        center=center,
        row_norm=row_norm,
    )
    rho = zcdp_budget(epsilon=epsilon, delta=delta)
    spent = events_rho(calibration.events)
    assert 0.999 * rho < spent <= rho


@pytest.mark.claim("P12")
@pytest.mark.parametrize(("relation", "per_person"), [("replace", 2), ("add-remove", 1)])
def test_the_noise_is_that_of_the_claimed_sensitivities(relation, per_person):
    calibration = calibrate_pairs(
        promise=ApproxDP(1.0, 1e-5, relation),
        **FACTS,
        center="stated",
        row_norm=3.0,
        cell_bound=1.5,
        shares={"selection": 2, "values": 1, "variances": 1},
    )
    rho = zcdp_budget(**BUDGET)
    assert calibration.selection_scale == pytest.approx(
        2 * per_person * math.sqrt(20 / (8 * rho / 2)), rel=1e-6
    )
    assert calibration.noise_scale * 1000 == pytest.approx(
        per_person * math.sqrt(20) / math.sqrt(2 * rho / 4), rel=1e-6
    )
    # The weight for means of 0.4 times what a column has of the row norm.
    squared = 2 * 0.4 * 3.0 / math.sqrt(FACTS["n_columns"]) * 1.5
    share = squared / 1.5**2
    most = 2 * (1 + share + share**2 / 3) if relation == "replace" else 1 + share
    noise = 1.5 * 3.0 * math.sqrt(most) / math.sqrt(2 * rho / 4)
    assert calibration.square_noise * 1000 == pytest.approx(noise, rel=1e-5)
    assert calibration.mean_noise * 1000 == pytest.approx(noise / math.sqrt(squared), rel=1e-5)


@pytest.mark.parametrize("mean", [0.0, 0.4, 0.8])
def test_no_other_weight_has_much_less_noise_for_typical_means(mean):
    """At the typical mean hardly any is better, and at others none by much."""
    bound, norm = 4.0, math.sqrt(50)

    def noise(share):
        squares = 1 + share + share**2 / 3
        return squares * (1 + 4 * mean**2 / (share * bound**2))

    taken = calibrate_pairs(
        promise=PROMISE,
        **FACTS | {"n_columns": 50, "max_pairs": 5},
        center="stated",
        row_norm=norm,
        cell_bound=bound,
    ).squares
    share = (taken.weight / taken.cell_bound) ** 2
    best = min(noise(each) for each in np.geomspace(1e-9, 4, 200))
    assert noise(share) < best * (1.005 if mean == 0.4 else 1.25)


def test_the_share_of_a_step_that_is_not_taken_goes_to_the_others():
    all_pairs = calibrate_pairs(
        promise=PROMISE, n_rows=1000, n_columns=5, max_pairs=10, center="differences"
    )
    assert [event.name for event in all_pairs.events] == ["values"]
    assert all_pairs.selection_scale == 0


@pytest.mark.parametrize("share", [0.7, 1.3])
def test_values_have_the_planned_noise_and_no_other(share):
    table = np.zeros((100, 30))  # no signs at all: the values are noise
    calibration = calibrate_pairs(
        promise=PROMISE, n_rows=100, n_columns=30, max_pairs=400, center="stated"
    )
    sums = CoMovement.from_blocks([table], n_columns=30, center=np.zeros(30))
    columns = tuple(f"x{i}" for i in range(30))
    drawn = np.concatenate(
        [
            release_co_movement(
                sums, calibration, columns=columns, stream=RandomStream.from_seed(s)
            ).co_movement
            for s in range(8)
        ]
    )
    assert stats.kstest(drawn / calibration.noise_scale, "norm").pvalue > 1e-4
    assert stats.kstest(drawn / (share * calibration.noise_scale), "norm").pvalue < 1e-6


def released_variances(center):
    """Release the variances of 2000 columns of zeros: noise alone."""
    calibration = calibrate_pairs(
        promise=PROMISE, n_rows=100, n_columns=2000, max_pairs=1, center=center, row_norm=1.0
    )
    sums = CoMovement.from_blocks(
        [np.zeros((calibration.n_terms, 2000))],
        n_columns=2000,
        center=None if center == "differences" else np.zeros(2000),
        squares=calibration.squares,
    )
    columns = tuple(f"x{i}" for i in range(2000))
    stream = RandomStream.from_seed(0)
    made = release_co_movement(sums, calibration, columns=columns, stream=stream)
    return calibration, made.variances


def test_variances_of_differences_have_the_planned_noise():
    calibration, drawn = released_variances("differences")
    assert drawn.means is None
    assert stats.kstest(drawn.values / drawn.noise_scale, "norm").pvalue > 1e-4
    assert drawn.noise_scale == calibration.square_noise
    assert (drawn.noise_sd == drawn.noise_scale).all()


@pytest.mark.parametrize("share", [0.7, 1.3])
def test_mean_squares_and_means_have_the_planned_noise(share):
    calibration, drawn = released_variances("stated")
    squares = drawn.values + drawn.means**2 - drawn.mean_noise**2
    for noise, scale in ((squares, drawn.noise_scale), (drawn.means, drawn.mean_noise)):
        assert stats.kstest(noise / scale, "norm").pvalue > 1e-4
        assert stats.kstest(noise / (share * scale), "norm").pvalue < 1e-6
    assert abs(np.corrcoef(squares, drawn.means)[0, 1]) < 5 / math.sqrt(2000)
    stated = (calibration.square_noise, calibration.mean_noise)
    assert (drawn.noise_scale, drawn.mean_noise) == stated


@pytest.mark.parametrize("size", [2, 3, 7, 50])
def test_places_in_the_triangle_are_pairs(size):
    places = np.arange(size * (size - 1) // 2)
    assert (np.triu_indices(size, k=1) == _pairs_at(places, size).T).all()


@pytest.mark.parametrize("entries", [1, 30, 150])
@pytest.mark.parametrize("pairs", [1, 50, 189, 190])
def test_the_same_seed_gives_the_same_release_whatever_the_panels(monkeypatch, entries, pairs):
    def release():
        return dpcov.release_pairs(
            correlated(n=2000), **BUDGET, max_pairs=pairs, row_norm=9.0, seed=1
        )

    in_one = release()
    monkeypatch.setattr(triangle, "_PANEL_ENTRIES", entries)
    assert len(list(Triangle.zeros(20, np.int32).panels())) > 1
    assert release() == in_one


def test_values_belong_to_their_pairs_in_every_panel(monkeypatch):
    monkeypatch.setattr(triangle, "_PANEL_ENTRIES", 30)
    table = correlated(n=3001, p=9, seed=3)
    table[:, 8] -= table[:, 5]
    # So much budget that the noise of a value is far below 1 of 3001.
    release = dpcov.release_pairs(table, epsilon=1e6, delta=1e-5, max_pairs=30, center=0.0)
    signs = np.sign(table)
    for (i, j), value in zip(release.pairs, release.co_movement, strict=True):
        assert value == pytest.approx((signs[:, i] * signs[:, j]).mean(), abs=1e-4)
    assert {(0, 1), (5, 8)} <= set(map(tuple, release.pairs.tolist()))


def test_sums_of_another_plan_are_refused():
    calibration = calibrate_pairs(promise=PROMISE, **FACTS, center="differences")
    sums = CoMovement.from_blocks([np.zeros((499, 50))], n_columns=50, center=None)
    with pytest.raises(ParameterError, match="not made for this calibration"):
        release_co_movement(
            sums,
            calibration,
            columns=tuple(f"x{i}" for i in range(50)),
            stream=RandomStream.from_seed(0),
        )


def test_the_strongest_pair_is_found():
    release = dpcov.release_pairs(correlated(), **BUDGET, max_pairs=3)
    assert [0, 1] in release.pairs.tolist()
    assert str(release.promise).startswith("(1, 1e-05)")
    value = release.co_movement[release.pairs.tolist().index([0, 1])]
    assert value == pytest.approx(2 / math.pi * math.asin(0.8), abs=0.1)


def test_a_seed_makes_a_simulation_that_repeats_itself():
    first, second = (
        dpcov.release_pairs(correlated(), **BUDGET, max_pairs=3, seed=1) for _ in range(2)
    )
    assert first == second
    assert str(first.promise) == "no promise: simulated with a seed"


def test_without_a_seed_no_two_releases_are_alike():
    first, second = (dpcov.release_pairs(correlated(), **BUDGET, max_pairs=3) for _ in range(2))
    assert first != second


def test_public_scales_cost_nothing():
    release = dpcov.release_pairs(correlated(), **BUDGET, max_pairs=3, scales=np.arange(1, 21))
    assert (release.variances.values == np.arange(1, 21) ** 2).all()
    assert release.variances.noise_scale == 0
    assert [event.name for event in release.events] == ["selection", "values"]


def test_a_row_norm_pays_for_variances_unless_they_are_not_wanted():
    options = {"max_pairs": 3, "row_norm": 8.0, "cell_bound": 4.0}
    release = dpcov.release_pairs(correlated(20_000), **BUDGET, **options)
    assert release.variances.values == pytest.approx(
        np.ones(20), abs=6 * release.variances.noise_scale + 0.1
    )
    del options["cell_bound"]
    assert dpcov.release_pairs(correlated(), **BUDGET, **options, scales="none").variances is None


def test_an_odd_number_of_rows_leaves_one_out():
    release = dpcov.release_pairs(correlated(4001), **BUDGET, max_pairs=3)
    assert (release.n_rows, release.n_terms) == (4001, 2000)


@pytest.mark.parametrize("p", [2, 3])
def test_few_columns_are_enough(p):
    release = dpcov.release_pairs(correlated()[:, :p], **BUDGET, max_pairs=1)
    assert release.pairs.tolist() == [[0, 1]]


def test_constant_and_zero_columns_do_no_harm():
    rows = correlated()
    rows[:, 2], rows[:, 3] = 7.0, 0.0
    for center in (None, 0.0):
        release = dpcov.release_pairs(rows, **BUDGET, max_pairs=3, center=center)
        assert [0, 1] in release.pairs.tolist()


@pytest.mark.parametrize("max_pairs", [0, -1, 191, 2.5, True, "many"])
def test_impossible_numbers_of_pairs_are_refused(max_pairs):
    with pytest.raises(ParameterError, match=r"max_pairs must be .* (of at least 1|from 1 to 190)"):
        dpcov.release_pairs(correlated(), **BUDGET, max_pairs=max_pairs)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"max_pairs": 3, "neighbors": "add-remove", "center": "differences"},
            "Differences of rows need",
        ),
        ({"max_pairs": 3, "center": [0.0, 1.0]}, "center must be a finite number, or one for each"),
        ({"max_pairs": 3, "center": math.nan}, "center must be a finite number"),
        ({"max_pairs": 3, "center": [0.0] * 19 + [math.nan]}, "center must be a finite number"),
        ({"max_pairs": 3, "center": "mean"}, "center must be one of"),
        ({"max_pairs": 3, "scales": 0.0}, "scales must be positive"),
        ({"max_pairs": 3, "scales": [1.0] * 19 + [0.0]}, "scales must be positive"),
        ({"max_pairs": 3, "scales": "private"}, "public standard deviations"),
        ({"max_pairs": 3, "cell_bound": 1.0}, "cell_bound needs row_norm"),
        ({"max_pairs": 3, "row_norm": 1.0, "cell_bound": 2.0}, "cell_bound must lie in"),
        ({"max_pairs": 3, "row_norm": 1e-18, "cell_bound": 1e-22}, "cell_bound must lie in"),
        ({"max_pairs": 3, "row_norm": -1.0}, "row_norm must"),
        ({"max_pairs": 3, "shares": {"selection": -1.0}}, "share of selection must"),
        ({"max_pairs": 3, "shares": {"selection": 1e-300, "values": 1}}, "share of selection must"),
        ({"max_pairs": 3, "shares": 5}, "shares must be a mapping"),
        ({"max_pairs": 3, "center": True}, "center must be a finite number"),
        ({"max_pairs": 3, "center": "3"}, "center must be one of"),
        ({"max_pairs": 3, "scales": 1e200}, "scales must be"),
        ({"max_pairs": 3, "scales": 1.0, "cell_bound": 1.0}, "with scales there are none"),
        (
            {"max_pairs": 3, "shares": {"choice": 1.0}},
            "shares must be a mapping whose keys are among",
        ),
        ({"max_pairs": 3, "missing": "drop"}, "missing must be one of"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        dpcov.release_pairs(correlated(), **BUDGET | options)


def test_centers_and_scales_may_be_as_large_and_as_small_as_facts_of_columns():
    columns = Column("a", center=-1e100, scale=1e-100), Column("b", center=1e100, scale=1e100)
    centers, scales = ([getattr(each, fact) for each in columns] for fact in ("center", "scale"))
    assert public_vector("center", centers, 2).tolist() == centers
    assert public_vector("scales", scales, 2, positive=True).tolist() == scales


def test_one_column_has_no_pairs():
    with pytest.raises(ParameterError, match=r"1 columns have 0 pairs|two columns or more"):
        dpcov.release_pairs(correlated()[:, :1], **BUDGET, max_pairs=1)


def test_missing_cells_are_refused_or_count_for_nothing():
    rows = correlated()
    rows[::7, 0] = np.nan
    with pytest.raises(MissingValueError):
        dpcov.release_pairs(rows, **BUDGET, max_pairs=3)
    release = dpcov.release_pairs(rows, **BUDGET, max_pairs=3, missing="center")
    assert [0, 1] in release.pairs.tolist()


def test_text_is_refused_before_anything_is_spent():
    with pytest.raises(InputError):
        dpcov.release_pairs([["a", "b"]] * 4, **BUDGET, max_pairs=1)


@given(st.floats(1e-3, 1e3), st.floats(1e-5, 1.0))
def test_cells_are_bounded_by_no_more_than_was_stated(row_norm, share):
    calibration = calibrate_pairs(
        promise=PROMISE,
        **FACTS,
        center="differences",
        row_norm=row_norm,
        cell_bound=share * row_norm,
    )
    bound = calibration.squares.cell_bound * calibration.squares.grid.step
    assert bound <= share * row_norm * (1 + 1e-12)
    assert bound > share * row_norm - calibration.squares.grid.step


def test_a_release_says_which_bound_its_cells_had():
    release = dpcov.release_pairs(correlated(), **BUDGET, max_pairs=3, row_norm=8.0, cell_bound=2.0)
    assert release.provenance.cell_bound == pytest.approx(2.0, rel=1e-5)
    assert release.provenance.row_norm == 8.0


def test_a_negative_relation_is_found_too():
    release = dpcov.release_pairs(correlated(r=-0.8), **BUDGET, max_pairs=3)
    assert [0, 1] in release.pairs.tolist()


def test_pairs_with_add_remove_take_what_keeps_the_promise():
    options = {"neighbors": "add-remove", "max_pairs": 3}
    release = dpcov.release_pairs(correlated(), **BUDGET, **options, missing="center")
    assert release.provenance.center == "learned"
    # About learned centers every cell has a sign, so that no complete row adds nothing.
    with pytest.raises(ParameterError, match=r"only with missing='center'.*Nothing was spent"):
        dpcov.release_pairs(correlated(), **BUDGET, **options)


@pytest.mark.parametrize("n_rows", [10, 2**22, 2**23 + 1, 2**31 - 1])
def test_sums_of_squares_fit_sixty_four_bits(n_rows):
    calibration = calibrate_pairs(
        promise=PROMISE, n_rows=n_rows, n_columns=5, max_pairs=3, center="stated", row_norm=1.0
    )
    assert calibration.n_terms * calibration.squares.cell_bound**2 <= 2**62
    assert calibration.squares.grid.bits == (
        20 if n_rows <= 2**22 else 19 if n_rows < 2**24 else 15
    )


@pytest.mark.parametrize(
    "made",
    [
        {"table": np.zeros((500, 49))},
        {"center": np.zeros(50), "table": np.zeros((500, 50))},
        {"squares": Squares(Grid(row_norm=1.0, bits=20), 1 << 20)},
        {"squares": None},
    ],
)
def test_sums_that_were_made_otherwise_are_refused(made):
    calibration = calibrate_pairs(
        promise=PROMISE, **FACTS, center="differences", row_norm=1.0, cell_bound=0.01
    )
    options = {"table": np.zeros((500, 50)), "center": None, "squares": calibration.squares} | made
    table = options.pop("table")
    sums = CoMovement.from_blocks([table], n_columns=table.shape[1], **options)
    with pytest.raises(ParameterError, match="not made for this calibration"):
        release_co_movement(
            sums,
            calibration,
            columns=tuple(f"x{i}" for i in range(50)),
            stream=RandomStream.from_seed(0),
        )


def test_a_split_of_more_than_the_budget_is_never_planned(monkeypatch):
    split = pairs_calibration._split
    monkeypatch.setattr(
        pairs_calibration,
        "_split",
        lambda rho, *more: {k: 2 * v for k, v in split(rho, *more).items()},
    )
    with pytest.raises(AssertionError, match="less than the budget"):
        calibrate_pairs(promise=PROMISE, **FACTS, center="differences")


def test_a_sorted_table_shows_the_same_pairs():
    rows = correlated(n=6000, r=0.9)
    rows = rows[np.argsort(rows[:, 0])]
    release = dpcov.release_pairs(rows, **BUDGET, max_pairs=3, seed=0)
    estimate = release.estimate()
    assert [0, 1] in release.pairs[estimate.kept].tolist()
    assert estimate.correlation[0, 1] == pytest.approx(0.9, abs=0.05)


def test_facts_of_columns_bring_variances_back_in_own_units():
    rows = np.random.default_rng(0).normal(size=(20_000, 3))
    rows[:, 1] = 0.8 * rows[:, 0] + 0.6 * rows[:, 1]
    scale, mean = np.array([100.0, 1.0, 0.01]), np.array([500.0, 3.0, 0.0])
    facts = {f"x{i}": {"center": mean[i] + 0.1 * scale[i], "scale": 2 * scale[i]} for i in range(3)}
    release = dpcov.release_pairs(
        mean + scale * rows,
        epsilon=50.0,
        delta=1e-6,
        max_pairs=2,
        row_norm=2.0,
        columns=facts,
    )
    estimate = release.estimate()
    assert np.diag(estimate.covariance) == pytest.approx(scale**2, rel=0.1)
    (edge,) = estimate.edges(fdr=1e-6)
    assert edge.value == pytest.approx(0.8 * 100.0, rel=0.1)


def test_a_stated_center_of_columns_is_used_for_signs():
    rows = np.random.default_rng(0).normal(size=(20_000, 3)) + 7.0
    facts = {f"x{i}": {"center": 7.0, "scale": 1.0} for i in range(3)}
    options = {"epsilon": 5.0, "delta": 1e-6, "max_pairs": 3}
    about = dpcov.release_pairs(rows, **options, columns=facts, center="stated")
    assert about.n_terms == 20_000
    assert np.abs(about.co_movement).max() < 0.1
    assert about.location.tolist() == [7.0, 7.0, 7.0]
    numbers = dpcov.release_pairs(rows, **options, center=7.0)
    assert numbers.location.tolist() == [7.0, 7.0, 7.0]
    assert np.abs(numbers.co_movement).max() < 0.1


@pytest.mark.claim("P20")
@pytest.mark.parametrize("most", [2, 5])
def test_several_rows_of_a_person_are_paid_for_in_every_step(most):
    facts = {"promise": ApproxDP(1.0, 1e-6, "replace"), "n_rows": 1000, "n_columns": 20}
    facts |= {"max_pairs": 10, "center": "stated", "row_norm": 3.0}
    one, several = calibrate_pairs(**facts), calibrate_pairs(**facts, rows_per_unit=most)
    assert several.selection_scale == pytest.approx(most * one.selection_scale)
    assert several.value_scale == pytest.approx(most * one.value_scale, rel=1e-6)
    assert several.square_scale == pytest.approx(most * one.square_scale, rel=1e-6)
    events = zip(one.events, several.events, strict=True)
    assert all(zcdp_cost(a) == pytest.approx(zcdp_cost(b), rel=1e-6) for a, b in events)


def test_a_release_of_units_survives_a_file(tmp_path):
    rows = np.column_stack([np.arange(600) // 3, np.random.default_rng(0).normal(size=(600, 4))])
    release = dpcov.release_pairs(
        rows,
        epsilon=1.0,
        delta=1e-6,
        max_pairs=2,
        center=0.0,
        row_norm=3.0,
        privacy_unit="x0",
        rows_per_unit=2,
    )
    assert release.n_rows == 400
    release.save(tmp_path / "r.npz")
    assert dpcov.Release.load(tmp_path / "r.npz") == release


@pytest.mark.parametrize("center", ["differences", "learned", "stated"])
def test_counted_bits_and_blas_release_the_same_bytes(center, monkeypatch, tmp_path):
    rows = correlated().round(1)
    rows[::5, 3] = np.nan
    exact, counted = population.counting(), []

    def saved(name):
        release = dpcov.release_pairs(
            rows, **BUDGET, max_pairs=9, center=center, missing="center", row_norm=5.0, seed=1
        )
        release.save(tmp_path / name)
        return (tmp_path / name).read_bytes()

    by_blas = saved("blas.npz")
    monkeypatch.setattr(sign_products, "_WORTH_COMPILING", 0)
    monkeypatch.setattr(
        sign_products, "counting", lambda: lambda *facts: counted.append(exact(*facts))
    )
    assert saved("bits.npz") == by_blas
    assert counted


ABOUT = np.array([0.2, -0.1, 0.3])


@pytest.fixture
def no_noise(monkeypatch):
    """Let noise be paid for, and not be added."""
    monkeypatch.setattr(pairs_steps, "add_noise", lambda sums, scale, stream: sums.astype(np.int64))


def released_exactly(rows, center):
    """Release all pairs of three columns, and their variances."""
    calibration = calibrate_pairs(
        promise=PROMISE,
        n_rows=len(rows) * (2 if center == "differences" else 1),
        n_columns=3,
        max_pairs=3,
        center=center,
        row_norm=8.0,
    )
    about = None if center == "differences" else ABOUT
    sums = CoMovement.from_blocks([rows], n_columns=3, center=about, squares=calibration.squares)
    made = release_co_movement(
        sums, calibration, columns=("a", "b", "c"), stream=RandomStream.from_seed(0)
    )
    return made, calibration


@pytest.mark.parametrize("center", ["stated", "learned", "differences"])
def test_without_noise_co_movements_and_variances_are_those_of_the_rows(center, no_noise):
    rows = np.random.default_rng(5).normal(size=(500, 3)) + np.array([0.0, 0.0, 1.5])
    made, calibration = released_exactly(rows, center)
    apart = rows if center == "differences" else rows - ABOUT
    signs, (first, second) = np.sign(apart), made.pairs.T
    expected = (signs[:, first] * signs[:, second]).mean(axis=0)
    if center == "learned":
        means = signs.mean(axis=0)
        assert made.mean_signs.values == pytest.approx(means, abs=2**-11)
        assert made.mean_signs.noise_scale == calibration.mean_sign_noise
        # A large mean is subtracted, and what is believed of small ones is taken out.
        off, left = made.mean_signs.subtracted, made.mean_signs.expected[0]
        assert np.flatnonzero(off).tolist() == [2]
        expected = ((signs - off)[:, first] * (signs - off)[:, second]).mean(axis=0)
        expected -= left[first] * left[second]
    else:
        assert made.mean_signs is None
    assert made.pairs.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert made.co_movement == pytest.approx(expected, abs=2e-3 if center == "learned" else 1e-9)
    squares = (apart**2).mean(axis=0)
    if center == "differences":
        assert made.variances.means is None
        assert made.variances.values == pytest.approx(squares, abs=1e-4)
    else:
        assert made.variances.means == pytest.approx(apart.mean(axis=0), abs=1e-4)
        taken = squares - apart.mean(axis=0) ** 2 + calibration.mean_noise**2
        assert made.variances.values == pytest.approx(taken, abs=1e-4)


def test_public_variances_are_published_in_the_units_of_the_columns(no_noise):
    rows = np.zeros((500, 3))
    calibration = calibrate_pairs(
        promise=PROMISE, n_rows=500, n_columns=3, max_pairs=3, center="stated"
    )
    sums = CoMovement.from_blocks([rows], n_columns=3, center=np.zeros(3))
    made = release_co_movement(
        sums,
        calibration,
        columns=("a", "b", "c"),
        stream=RandomStream.from_seed(0),
        public_variances=np.array([1.0, 4.0, 9.0]),
        units=Units(np.zeros(3), np.array([1.0, 2.0, 6.0])),
    )
    assert made.variances.values.tolist() == [1.0, 1.0, 0.25]
    assert made.variances.noise_scale == 0


def test_public_variances_of_columns_without_units_are_published_as_they_are_stated(no_noise):
    calibration = calibrate_pairs(
        promise=PROMISE, n_rows=50, n_columns=3, max_pairs=3, center="stated"
    )
    made = release_co_movement(
        CoMovement.from_blocks([np.zeros((50, 3))], n_columns=3, center=np.zeros(3)),
        calibration,
        columns=("a", "b", "c"),
        stream=RandomStream.from_seed(0),
        public_variances=np.array([1.0, 4.0, 9.0]),
    )
    assert made.variances.values.tolist() == [1.0, 4.0, 9.0]


@pytest.mark.claim("P31")
@pytest.mark.parametrize("sign", [1, -1])
def test_noisy_mean_signs_are_no_larger_than_signs(sign, monkeypatch):
    """Products about larger ones would move farther than their factor says."""
    monkeypatch.setattr(
        pairs_steps,
        "add_noise",
        lambda sums, scale, stream: sums.astype(np.int64) + sign * 9 * scale,
    )
    calibration = calibrate_pairs(promise=PROMISE, **FACTS, center="learned")
    signs = np.full((1000, 50), sign)
    sums = CoMovement.from_blocks([signs], n_columns=50, center=np.zeros(50))
    means = pairs_steps._release_signs(sums, calibration, RandomStream.from_seed(0))
    assert means.values.tolist() == [sign] * 50


SMALL = {"table": np.zeros((10, 3)), "max_pairs": 1, "center": 0.0, "allow": {"small"}} | BUDGET


@pytest.mark.claim("P41")
def test_the_pairs_that_are_returned_are_recorded_once(monkeypatch):
    recorded = []
    monkeypatch.setattr(Request, "record", lambda self, made, _: recorded.append(made) or made)
    made = dpcov.release_pairs(**SMALL)
    assert len(recorded) == 1
    assert recorded[0] is made


@pytest.mark.parametrize(
    ("options", "warning"),
    [({"delta": 0.2}, WeakPromiseWarning), ({"epsilon": 4.0}, LargeEpsilonWarning)],
)
def test_pairs_of_a_weak_promise_are_warned_of(options, warning):
    with pytest.warns(warning):
        dpcov.release_pairs(**SMALL | options)


def test_signs_about_a_stated_center_keep_every_promise():
    made = dpcov.release_pairs(**SMALL | {"center": "stated", "neighbors": "add-remove"})
    assert (made.provenance.center, made.n_terms) == ("stated", 10)
