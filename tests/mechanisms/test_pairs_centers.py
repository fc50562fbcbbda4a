"""Claims P30 and P31: centers that are learned, and products of signs about noisy means."""

import math
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcov
from dpcov.columns.missing import Missing
from dpcov.exact import triangle
from dpcov.exact.randomness import RandomStream
from dpcov.exact.ruler import Ruler
from dpcov.mechanisms import pairs_centering, pairs_centers
from dpcov.mechanisms.outlook import choose_center
from dpcov.mechanisms.pairs_calibration import FINER_BITS, calibrate_pairs
from dpcov.mechanisms.pairs_centering import CenteredSums, PlainSums
from dpcov.mechanisms.pairs_centers import learn_centers, passes
from dpcov.privacy import ApproxDP, Neighbors
from dpcov.releases.pairs import MeanSigns, centered_sign_factor
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.sums.signs import CoMovement
from dpcov.sensitive.tables import open_table, spool

BUDGET = {"epsilon": 1.0, "delta": 1e-6, "center": "learned"}
SIGNS = (-1, 0, 1)


def centers_of(rows, sd=1e-3, seed=0, missing=Missing.REFUSE):
    """Centers learned with answers of a noise sd, in rows."""
    return learn_centers(
        open_table(rows, None),
        math.ceil(sd * 2**FINER_BITS),
        missing=missing,
        engine=SerialEngine(),
        stream=RandomStream.from_seed(seed),
    )


def mean_signs(rows, **options):
    return np.sign(rows - centers_of(rows, **options)).mean(axis=0)


def columns_of_all_kinds(n=4000):
    g = np.random.default_rng(0)
    return {
        "about zero": g.normal(size=n),
        "offset": 2000 + 6 * g.normal(size=n),
        "negative": -1000 + 3 * g.normal(size=n),
        "tiny": 1e-9 * g.normal(size=n),
        "huge": 1e9 + 1e8 * g.normal(size=n),
        "long tail": np.exp(3 * g.normal(size=n)),
        "of one sign": np.abs(g.normal(size=n)),
    }


@pytest.mark.parametrize("bits", [10, 5])
def test_without_noise_the_center_of_any_column_is_its_median(monkeypatch, bits):
    monkeypatch.setattr(pairs_centers, "ruler_bits", lambda n_columns: bits)
    kinds = columns_of_all_kinds()
    found = mean_signs(np.column_stack(list(kinds.values())))
    assert dict(zip(kinds, np.abs(found) < 0.05, strict=True)) == dict.fromkeys(kinds, True)


@pytest.mark.parametrize("bits", [10, 5])
def test_a_column_of_few_values_is_cut_between_two_of_them(monkeypatch, bits):
    monkeypatch.setattr(pairs_centers, "ruler_bits", lambda n_columns: bits)
    g = np.random.default_rng(1)
    few = np.column_stack(
        [
            g.random(5000) < 0.3,
            g.choice([1, 2, 3, 4, 5], p=[0.1, 0.2, 0.35, 0.25, 0.1], size=5000),
            -g.choice([1, 2, 3], p=[0.3, 0.4, 0.3], size=5000),
        ]
    ).astype(float)
    center = centers_of(few)
    assert not (few == center).any()
    assert np.abs(np.sign(few - center).mean(axis=0)) == pytest.approx([0.4, 0.35, 0.4], abs=0.1)


@pytest.mark.parametrize(
    "cells", [np.zeros((50, 3)), np.full((50, 3), 7.0), np.full((50, 3), 1e300)]
)
def test_constant_columns_have_a_finite_center(cells):
    for sd in (1e-3, 100.0):
        assert np.isfinite(centers_of(cells, sd=sd)).all()


@pytest.mark.parametrize("cell", [1e13, -1e13, 1e300, -1e300])
@pytest.mark.parametrize("bits", [10, 5])
def test_the_center_of_cells_beyond_the_ruler_is_finite_and_near_its_end(monkeypatch, bits, cell):
    monkeypatch.setattr(pairs_centers, "ruler_bits", lambda n_columns: bits)
    center = centers_of(np.full((50, 2), cell)) * np.sign(cell)
    assert ((center > 2.0**39) & (center < 2.0**41)).all()


def test_missing_cells_count_neither_above_nor_below():
    rows = np.random.default_rng(0).normal(size=(6000, 2)) + 5
    rows[::2, 0] = np.nan
    rows[1::4, 1] = np.inf
    center = centers_of(rows, missing=Missing.CENTER)
    assert center == pytest.approx([5, 5], abs=0.1)


def test_noise_moves_a_center_by_about_what_the_plan_says():
    rows = np.random.default_rng(0).normal(size=(20_000, 300)) * 3 + 7
    calibration = calibrate_pairs(
        promise=ApproxDP(1.0, 1e-6, "replace"),
        n_rows=20_000,
        n_columns=300,
        max_pairs=50,
        center="learned",
    )
    found = mean_signs(rows, sd=calibration.center_scale / 2**FINER_BITS)
    size = math.sqrt((found**2).mean())
    assert size == pytest.approx(calibration.typical_mean_sign, rel=0.5)


def test_many_columns_are_counted_twice_and_few_once():
    assert (passes(100), passes(1000)) == (1, 2)


@pytest.mark.parametrize(("bits", "times"), [(10, 1), (5, 2)])
def test_cells_are_counted_as_often_as_was_said(monkeypatch, bits, times):
    run, counted = SerialEngine.run, []
    monkeypatch.setattr(pairs_centers, "ruler_bits", lambda n_columns: bits)
    monkeypatch.setattr(
        SerialEngine, "run", lambda self, *facts: counted.append(facts[0]) or run(self, *facts)
    )
    centers_of(np.zeros((10, 3)))
    assert len(counted) == passes(3) == times


def test_no_cell_is_clipped_while_centers_are_sought(monkeypatch):
    run, kernels = SerialEngine.run, []
    monkeypatch.setattr(
        SerialEngine, "run", lambda self, *facts: kernels.append(facts[-1]) or run(self, *facts)
    )
    centers_of(np.zeros((10, 3)))
    cells = np.array([-1.7e308, 0.0, 1.7e308])
    for kernel in kernels:
        assert ((kernel.lower < cells) & (cells < kernel.upper)).all()


def test_centers_are_not_sought_in_rows_that_can_be_read_once():
    stream = SimpleNamespace(n_rows=None, columns=("x",))
    with pytest.raises(AssertionError, match="read several times is spooled"):
        learn_centers(stream, 1, missing=Missing.REFUSE, engine=None, stream=None)


@pytest.mark.parametrize("bits", [10, 5], ids=["one pass", "two passes"])
@pytest.mark.parametrize(
    "options",
    [{}, {"center": None, "neighbors": "add-remove", "missing": "center"}],
    ids=["stated", "by the rule"],
)
def test_a_stream_that_can_be_read_once_is_spooled(monkeypatch, bits, options):
    pa = pytest.importorskip("pyarrow")
    monkeypatch.setattr(pairs_centers, "ruler_bits", lambda size: bits)
    rows = moved_rows(n=3000, p=5)
    table = pa.table({f"x{place}": column for place, column in enumerate(rows.T)})
    options = BUDGET | options | {"max_pairs": 2, "seed": 1}
    made = dpcov.release_pairs(table.to_reader(500), **options)
    assert made == dpcov.release_pairs(rows, **options)
    assert made.provenance.center == "learned"


def test_a_stream_without_a_center_is_read_once_where_that_is_enough(monkeypatch):
    pa = pytest.importorskip("pyarrow")
    monkeypatch.setattr(spool.tempfile, "TemporaryFile", lambda **_: pytest.fail("spooled"))
    table = pa.table({f"x{place}": column for place, column in enumerate(moved_rows(3000, 5).T)})
    options = BUDGET | {"center": None, "max_pairs": 2, "seed": 1}
    made = dpcov.release_pairs(table.to_reader(50), **options)
    assert made.provenance.center == "differences"


# P30


@pytest.mark.claim("P30")
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize(("relation", "apart"), [("replace", 2), ("add-remove", 1)])
def test_centers_and_signs_are_paid_for_in_all_columns(relation, apart, most):
    calibration = calibrate_pairs(
        promise=ApproxDP(1.0, 1e-5, relation),
        n_rows=3000,
        n_columns=50,
        max_pairs=20,
        center="learned",
        rows_per_unit=most,
    )
    centers, signs = calibration.events[:2]
    assert (centers.name, signs.name) == ("centers", "signs")
    one = most * math.sqrt(50) * 2**FINER_BITS
    assert calibration.center_scale == pytest.approx(
        centers.multiplier * 2 * one * math.sqrt(20), rel=1e-6
    )
    assert calibration.sign_scale == pytest.approx(signs.multiplier * apart * one, rel=1e-6)


@pytest.mark.claim("P30")
def test_as_many_answers_are_asked_for_as_are_paid_for(monkeypatch):
    asked = []

    def counted(sums, scale, stream):
        asked.append((len(sums), scale))
        return sums

    monkeypatch.setattr(pairs_centers, "add_noise", counted)
    for bits in (10, 5):
        monkeypatch.setattr(pairs_centers, "ruler_bits", lambda n_columns, bits=bits: bits)
        for rows in (np.zeros((10, 3)), np.random.default_rng(0).normal(size=(10, 3))):
            asked.clear()
            centers_of(rows, sd=5.0)
            assert asked == [(3, 5 * 2**FINER_BITS)] * 20


@pytest.mark.claim("P30")
@given(st.lists(st.floats(-1e9, 1e9), min_size=4, max_size=4), st.integers(0, 2**30))
def test_one_row_moves_every_answer_by_at_most_two_in_each_column(cells, seed):
    """Given the same answers before, as the claim says."""
    others = np.random.default_rng(0).normal(size=(9, 4))
    tables = [np.vstack([others, row]) for row in (np.zeros(4), np.array(cells))]
    exact = [[], []]
    answers = iter(np.random.default_rng(seed).normal(size=(20, 4)) * 9 * 2**FINER_BITS)
    given_before = [row.astype(np.int64) for row in answers]
    with pytest.MonkeyPatch.context() as patch:
        for table, seen in zip(tables, exact, strict=True):
            patch.setattr(
                pairs_centers,
                "add_noise",
                lambda sums, scale, stream, seen=seen: (
                    seen.append(sums) or given_before[len(seen) - 1]
                ),
            )
            centers_of(table, sd=1.0)
    assert np.abs(np.array(exact[0]) - np.array(exact[1])).max() <= 2 * 2**FINER_BITS


# P31


def exact_range(first, second, neighbors):
    """How far (s − a)(t − b) moves, over all signs, in fractions."""
    values = [(s - first) * (t - second) for s, t in product(SIGNS, SIGNS)]
    if neighbors is Neighbors.ADD_REMOVE:
        return max(abs(value - first * second) for value in values)
    return max(values) - min(values)


@pytest.mark.claim("P31")
@pytest.mark.parametrize("neighbors", [Neighbors.REPLACE, Neighbors.ADD_REMOVE])
@given(st.integers(-1024, 1024), st.integers(-1024, 1024))
def test_the_factor_is_how_much_farther_a_centered_product_moves(neighbors, a, b):
    apart = 2 if neighbors is Neighbors.REPLACE else 1
    sizes = np.abs([[a], [b]])
    (factor,) = centered_sign_factor(neighbors, *sizes, one=1024)
    assert exact_range(Fraction(a, 1024), Fraction(b, 1024), neighbors) == apart * Fraction(
        int(factor), 1024
    )


signs_of = st.lists(
    st.lists(st.sampled_from(SIGNS), min_size=3, max_size=3), min_size=2, max_size=6
)
steps_of = st.lists(st.integers(-1024, 1024), min_size=3, max_size=3)


def centered(rows, subtracted, expected, neighbors=Neighbors.REPLACE):
    sums = CoMovement.from_blocks([np.array(rows, dtype=float)], n_columns=3, center=np.zeros(3))
    return CenteredSums(sums, np.array(subtracted), np.array(expected), neighbors)


PAIRS = np.array([[0, 1], [0, 2], [1, 2]], dtype=np.int32)


@pytest.mark.claim("P31")
@given(signs_of, steps_of, steps_of)
def test_sums_are_those_of_centered_products_rounded_down(rows, subtracted, expected):
    sums = centered(rows, subtracted, expected)
    a, r = ([Fraction(step, 1024) for step in steps] for steps in (subtracted, expected))
    for place, (i, j) in enumerate(PAIRS.tolist()):
        exact = sum((row[i] - a[i]) * (row[j] - a[j]) for row in rows) - len(rows) * r[i] * r[j]
        factor = 1 + max(abs(a[i]), abs(a[j]))
        assert sums.values(PAIRS)[place] == math.floor(exact / factor * 2**20)
        assert np.concatenate(list(sums.scores()))[place] == math.floor(abs(exact) / factor)
        assert sums.factors(PAIRS)[place] == factor


@pytest.mark.claim("P31")
def test_what_noise_is_added_to_is_a_whole_number_where_its_factor_divides_no_sum():
    rows, subtracted = [[1, -1, 1], [1, 1, -1], [-1, 1, 1], [1, 1, 1]], [100, -37, 511]
    found = centered(rows, subtracted, [0, 0, 0]).values(PAIRS)
    a = [Fraction(step, 1024) for step in subtracted]
    exact = [
        sum((row[i] - a[i]) * (row[j] - a[j]) for row in rows)
        / (1 + max(abs(a[i]), abs(a[j])))
        * 2**20
        for i, j in PAIRS.tolist()
    ]
    assert all(each.denominator > 1 for each in exact)
    assert found.dtype == np.int64
    assert found.tolist() == [math.floor(each) for each in exact]


@pytest.mark.claim("P31")
@pytest.mark.parametrize("neighbors", [Neighbors.REPLACE, Neighbors.ADD_REMOVE])
@given(signs_of, st.lists(st.sampled_from(SIGNS), min_size=3, max_size=3), steps_of, steps_of)
def test_one_row_moves_scores_and_values_no_further_than_plain_ones(
    neighbors, rows, other, subtracted, expected
):
    apart = 2
    if neighbors is Neighbors.ADD_REMOVE:
        apart, other = 1, [0, 0, 0]
    one, two = (
        centered([*rows[:-1], row], subtracted, expected, neighbors) for row in (rows[-1], other)
    )
    assert np.abs(one.values(PAIRS) - two.values(PAIRS)).max() <= apart * 2**20
    scores = [np.concatenate(list(each.scores())) for each in (one, two)]
    assert np.abs(scores[0] - scores[1]).max() <= apart


@pytest.mark.parametrize("entries", [1, 30])
def test_scores_are_the_same_in_any_panels(monkeypatch, entries):
    rows = np.random.default_rng(0).normal(size=(99, 9)) + 0.5
    steps = np.random.default_rng(1).integers(-1024, 1025, size=(2, 9))

    def scores():
        sums = CoMovement.from_blocks([rows], n_columns=9, center=np.zeros(9))
        return np.concatenate(list(CenteredSums(sums, *steps, Neighbors.REPLACE).scores()))

    whole = scores()
    monkeypatch.setattr(triangle, "_PANEL_ENTRIES", entries)
    assert np.array_equal(scores(), whole)


def test_the_largest_sums_fit_sixty_four_bits():
    most = 2**31 - 1
    sums = CoMovement.from_blocks([np.ones((2, 3))], n_columns=3, center=np.zeros(3))
    for _, panel in sums.triangle.panels():
        panel.setflags(write=True)
        panel[:] = most
    totals = np.full(3, -most)
    large = CoMovement(sums.triangle, totals, None, n_terms=most, differences=False, rule=None)
    steps, nothing = np.array([1024, 1024, 1024]), np.zeros(3, dtype=np.int64)
    found = CenteredSums(large, steps, nothing, Neighbors.REPLACE).values(PAIRS)
    assert found.tolist() == [most * 4 * 2**20 // 2] * 3


@pytest.mark.claim("P31")
@pytest.mark.parametrize("n_terms", [2**30, 2**30 + 1, 2**31 - 1])
def test_the_scores_of_the_largest_tables_are_exact(n_terms):
    generator = np.random.default_rng(n_terms)
    sums = CoMovement.from_blocks([np.ones((2, 40))], n_columns=40, center=np.zeros(40))
    for _, panel in sums.triangle.panels():
        panel.setflags(write=True)
        panel[:] = generator.integers(-n_terms, n_terms, size=panel.shape, endpoint=True)
    totals = generator.integers(-n_terms, n_terms, size=40, endpoint=True)
    large = CoMovement(sums.triangle, totals, None, n_terms=n_terms, differences=False, rule=None)
    steps, expected = generator.integers(-1024, 1025, size=(2, 40))
    found = CenteredSums(large, steps, expected, Neighbors.REPLACE).scores()
    plain = (
        abs(
            (int(large.triangle.row(i)[j - i]) << 20)
            - ((int(steps[i]) * int(totals[j]) + int(steps[j]) * int(totals[i])) << 10)
            + n_terms * int(steps[i] * steps[j] - expected[i] * expected[j])
        )
        // ((1024 + max(abs(int(steps[i])), abs(int(steps[j])))) << 10)
        for i in range(40)
        for j in range(i + 1, 40)
    )
    assert np.concatenate(list(found)).tolist() == list(plain)


@pytest.mark.claim("P31")
def test_a_score_is_rounded_down_where_floats_would_round_its_sum_up():
    """All terms are of size 5, or nearly, and one step more of 2^-20 would be a whole score."""
    n_terms = 2**31 - 2**21 + -pow(1023**2, -1, 2**21) % 2**21
    exact = n_terms * (4 * 2**20 + 1023**2)
    assert 2**53 < exact < 2**63
    assert (exact + 1) % 2**21 == 0 == (int(float(exact)) - 1) - exact
    sums = CoMovement.from_blocks([np.ones((2, 2))], n_columns=2, center=np.zeros(2))
    for _, panel in sums.triangle.panels():
        panel.setflags(write=True)
        panel[:] = n_terms
    totals = np.full(2, n_terms)
    large = CoMovement(sums.triangle, totals, None, n_terms=n_terms, differences=False, rule=None)
    steps, expected = np.array([-1024, -1024]), np.array([1023, -1023])
    (found,) = CenteredSums(large, steps, expected, Neighbors.REPLACE).scores()
    assert found.tolist() == [exact // 2**21]


def test_floats_and_integers_give_the_same_scores(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(5000, 60)) + 0.3
    steps = np.random.default_rng(1).integers(-1024, 1025, size=(2, 60))
    sums = CoMovement.from_blocks([rows], n_columns=60, center=np.zeros(60))
    by_floats = list(CenteredSums(sums, *steps, Neighbors.REPLACE).scores())
    monkeypatch.setattr(pairs_centering, "_IN_FLOATS", 0)
    by_integers = list(CenteredSums(sums, *steps, Neighbors.REPLACE).scores())
    assert np.array_equal(by_floats, by_integers)


def test_zero_means_leave_sums_as_they_are():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    sums = CoMovement.from_blocks([rows], n_columns=3, center=np.zeros(3))
    nothing = np.zeros(3, dtype=np.int64)
    one, other = PlainSums(sums), CenteredSums(sums, nothing, nothing, Neighbors.REPLACE)
    assert np.array_equal(one.values(PAIRS), other.values(PAIRS))
    assert np.array_equal(*(np.concatenate(list(each.scores())) for each in (one, other)))


# The mechanism


@pytest.mark.parametrize(
    ("options", "center"),
    [
        ({"n_rows": 20_000, "n_columns": 1000, "max_pairs": 200}, "learned"),
        ({"n_rows": 20_000, "n_columns": 40}, "differences"),  # these show 0.1
        ({"n_rows": 5000, "n_columns": 200}, "learned"),
        ({"n_rows": 2000, "n_columns": 200}, "differences"),
        ({"n_rows": None, "n_columns": 5}, "differences"),
        ({"n_rows": 100, "n_columns": 200, "rows_per_unit": 2}, "learned"),
    ],
)
def test_the_center_is_chosen_from_public_facts(options, center):
    options = {"max_pairs": 40 if options["n_columns"] > 9 else 4} | options
    assert choose_center(ApproxDP(1.0, 1e-6, "replace"), **options) == center


def test_differences_are_never_chosen_where_they_keep_no_promise():
    promise = ApproxDP(1.0, 1e-6, "add-remove")
    assert choose_center(promise, n_rows=100, n_columns=200, max_pairs=9) == "learned"


def moved_rows(n=20_000, p=60, r=0.6, seed=0):
    g = np.random.default_rng(seed)
    rows = g.normal(size=(n, p))
    rows[:, 1] = r * rows[:, 0] + math.sqrt(1 - r * r) * rows[:, 1]
    return rows * np.exp(2 * g.normal(size=p)) + 9 * g.normal(size=p)


@pytest.mark.parametrize("relation", [{}, {"neighbors": "add-remove", "missing": "center"}])
def test_the_related_pair_is_found_wherever_the_columns_are(relation):
    release = dpcov.release_pairs(moved_rows(), **BUDGET, max_pairs=3, seed=1, **relation)
    assert release.provenance.center == "learned"
    estimate = release.estimate()
    assert release.pairs[estimate.kept].tolist() == [[0, 1]]
    assert estimate.correlation[0, 1] == pytest.approx(0.6, abs=0.05)
    assert release.location == pytest.approx(np.median(moved_rows(), axis=0), rel=0.3, abs=2.0)


def test_a_binary_column_is_related_to_another():
    g = np.random.default_rng(0)
    latent = g.normal(size=(20_000, 6))
    latent[:, 1] = 0.8 * latent[:, 0] + 0.6 * latent[:, 1]
    rows = (latent > 1.0).astype(float)  # one in six
    release = dpcov.release_pairs(rows, **BUDGET, max_pairs=3, seed=2)
    estimate = release.estimate()
    assert release.pairs[estimate.kept].tolist() == [[0, 1]]
    assert np.abs(release.mean_signs.values) == pytest.approx(np.full(6, 0.68), abs=0.05)
    low, high = estimate.interval()
    phi = np.corrcoef(rows[:, 0], rows[:, 1])[0, 1]
    found = release.pairs.tolist().index([0, 1])
    assert low[found] < phi < high[found]


def test_the_release_says_what_was_done():
    release = dpcov.release_pairs(moved_rows(), **BUDGET, max_pairs=3, seed=1)
    names = [event.name for event in release.events]
    assert names == ["centers", "signs", "selection", "values"]
    assert [fact.of for fact in release.noise_facts] == [
        "selection",
        "mean sign",
        "mean co-movement",
    ]


def test_mean_signs_are_on_a_grid_and_split_by_size():
    signs = MeanSigns(np.array([0.75, 0.125, -0.25, -1.0]), 0.01)
    assert signs.subtracted.tolist() == [0.75, 0.0, 0.0, -1.0]
    expected, sd = signs.expected
    assert expected[[0, 3]].tolist() == [0.0, 0.0]
    assert expected[[1, 2]] == pytest.approx([0.125, -0.25], rel=0.02)
    assert sd == pytest.approx(np.full(4, 0.01), rel=0.01)


def test_means_that_are_noise_are_not_believed():
    signs = MeanSigns(np.array([0.125, -0.125]), 0.2)
    assert signs.expected[0].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("place", [0, 1, 5, 1000, 20_000, 81_922, 163_842])
def test_where_answers_are_clear_no_place_is_asked_about_twice(place):
    """Whatever the answers are near zero or one, each moves an end by a bin or more."""
    ruler = Ruler(np.zeros(1), np.array([40]), 10)
    search, asked = pairs_centers._Search(ruler), []
    for _ in range(60):
        (bins,), cut = search.cut(ruler, search.place)
        if search._high[0] - search._low[0] < 2:
            break
        asked.append(float(search.place[0]))
        answer = 1e-3 if len(asked) % 2 else 1.0
        search.take(np.array([answer if bins > place else -answer]), 1e-9, cut)
    assert len(set(asked)) == len(asked) < 60
    assert search._low[0] <= place + 1
    assert place <= search._high[0]


def one_column(bits=10):
    ruler = Ruler(np.zeros(1), np.array([40]), bits)
    return ruler, pairs_centers._Search(ruler)


def tell(search, ruler, answer, sd=1e-9):
    """Let a search take an answer at its place, and return the number there."""
    _, cut = search.cut(ruler, search.place)
    search.take(np.array([answer]), sd, cut)
    return float(cut[0])


def test_a_search_begins_at_zero_where_nothing_is_known():
    ruler, search = one_column()
    assert abs(search.place[0] - ruler.half) <= 1


def test_every_cell_lies_on_the_side_of_a_cut_where_it_was_counted():
    """A bin holds one of its ends: a number of few digits, such as cells often are."""
    ruler, search = one_column()
    half = ruler.half
    for place in (2, 5000, half - 1, half, half + 1, 2 * half - 5000, 2 * half - 2):
        (bins,), (cut,) = search.cut(ruler, np.array([float(place)]))
        below, above = (ruler.nearest(np.array([each]))[0] for each in (bins - 1, bins))
        assert bins == place
        assert below < cut < above


def test_an_end_moves_when_all_answers_at_a_place_are_clear_together():
    ruler, search = one_column()
    asked = [float(search.place[0])]
    for _ in range(3):
        tell(search, ruler, 0.006, sd=0.01)
        asked.append(float(search.place[0]))
    # 0.6 √2 < 1 < 0.6 √3 noise sd.
    assert asked[0] == asked[1] == asked[2] > asked[3]
    assert search._high[0] == asked[0]


@pytest.mark.parametrize("answer", [1.5, -1.5])
def test_an_answer_larger_than_all_rows_makes_no_infinite_center(answer):
    """Noise may do that, and nothing is known of the end that it is compared with."""
    ruler, search = one_column()
    tell(search, ruler, answer)
    assert np.isfinite(search.center(ruler)).all()


@pytest.mark.parametrize("answer", [1e-6, -1e-6])
def test_a_place_is_no_nearer_to_an_end_than_a_tenth_of_what_is_between(answer):
    ruler, search = one_column()
    tell(search, ruler, answer)
    low, high = search._low[0], search._high[0]
    share = (search.place[0] - low) / (high - low)
    assert min(share, 1 - share) == pytest.approx(0.1, abs=1e-3)


def test_an_end_is_the_center_unless_there_is_mass_between_and_it_is_much_off():
    for above, best in ((0.5, "between"), (0.9, "end")):
        ruler, search = one_column()
        end = tell(search, ruler, -0.2)
        tell(search, ruler, above)
        between = float(search.cut(ruler, search.place)[1][0])
        assert search.center(ruler)[0] == {"between": between, "end": end}[best] != 0


def test_a_finer_ruler_is_about_the_middle_of_an_octave_and_else_about_zero():
    ruler = Ruler(np.zeros(2), np.array([40, 40]), 5)
    search = pairs_centers._Search(ruler)
    search._low = ruler.index(np.array([8.0, 8.0])).astype(float)
    search._high = ruler.index(np.array([16.0, 32.0])).astype(float)
    finer = search.finer_ruler()
    assert finer.origin == pytest.approx([12.0, 0.0])
    assert 4.0 <= 2.0 ** finer.top[0] <= 8.0
    assert finer.top[1] == 40
