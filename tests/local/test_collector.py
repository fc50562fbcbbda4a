"""Claim P16: exact sums in any order and grouping, and a bound on what one report can do."""

import functools
import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcov
from dpcov import local
from dpcov.errors import (
    CorruptFileError,
    DuplicateReportError,
    ForeignReportError,
    InexactArithmeticError,
    ParameterError,
    ReportError,
)
from dpcov.local import collector as server
from dpcov.local import expansion, sums
from dpcov.privacy import Cap, NoPromise, PureDP

SIZE = 5
NAMES = [f"x{i}" for i in range(SIZE)]
CAP = local.CollectionPlan(columns=NAMES, row_norm=2.0, epsilon=2.0)
GAUSSIAN = local.CollectionPlan(
    columns=NAMES, row_norm=2.0, epsilon=2.0, delta=1e-6, mechanism="gaussian"
)
PLANS = pytest.mark.parametrize("plan", [CAP, GAUSSIAN], ids=["cap", "gaussian"])


@functools.lru_cache
def reports(plan, n=120):
    rows = np.random.default_rng(0).normal(scale=0.5, size=(n, SIZE))
    return [local.randomize(row, plan) for row in rows]


def collect(plan, items, **keywords):
    collector = local.Collector(plan, **keywords)
    collector.add_many(items)
    return collector


def bytes_of(collector):
    return pickle.dumps(collector.state_dict())


@PLANS
@pytest.mark.claim("P16")
@given(st.permutations(range(120)), st.lists(st.integers(0, 120), max_size=4), st.booleans())
def test_any_tree_of_collectors_gives_the_same_bytes(plan, order, cuts, backwards):
    items = [reports(plan)[place] for place in order]
    ends = [0, *sorted(cuts), len(items)]
    parts = [collect(plan, items[a:b], idempotent=True) for a, b in itertools.pairwise(ends)]
    total = functools.reduce(
        (lambda a, b: b.merge(a)) if backwards else (lambda a, b: a.merge(b)), parts
    )
    assert bytes_of(total) == bytes_of(collect(plan, reports(plan), idempotent=True))


@PLANS
@pytest.mark.claim("P16")
def test_one_by_one_is_the_same_as_all_at_once(plan, monkeypatch):
    monkeypatch.setattr(server, "_WAITING", 7)
    single = local.Collector(plan)
    for report in reports(plan):
        assert single.add(report) is True
    assert single == collect(plan, reports(plan))
    table = np.array([list(report) for report in reports(plan)], dtype=np.uint8)
    assert single == collect(plan, table)


@pytest.mark.claim("P16")
def test_the_sums_are_those_of_python_integers():
    table = np.frombuffer(b"".join(reports(CAP)), np.uint8).reshape(120, -1)
    whole = expansion.expand_integers(table[:, 34:], SIZE).astype(int).astype(object)
    expected = sum(np.outer(row, row) for row in whole)
    assert (collect(CAP, reports(CAP)).state_dict()["sums"] == expected).all()


@pytest.mark.claim("P16")
def test_small_blocks_give_the_same_sums(monkeypatch):
    whole = collect(CAP, reports(CAP))
    monkeypatch.setattr(sums, "_BLOCK_ENTRIES", 7 * SIZE)
    assert collect(CAP, reports(CAP)) == whole


@pytest.mark.claim("P16")
@pytest.mark.parametrize("at_a_time", [1, 3, 7, 40, 1000])
def test_short_parts_of_a_block_give_the_same_sums(at_a_time, monkeypatch):
    whole = collect(CAP, reports(CAP))
    monkeypatch.setattr(sums, "_BLOCK_ENTRIES", 50 * SIZE)
    monkeypatch.setattr(sums, "_MAX_BLOCK_ENTRIES", 50 * SIZE)
    monkeypatch.setattr(sums, "_PART_ENTRIES", at_a_time * SIZE)
    assert collect(CAP, reports(CAP)) == whole


@pytest.mark.claim("P16")
def test_a_wide_plan_is_summed_in_parts_as_well(monkeypatch):
    seeds = np.random.default_rng(0).integers(0, 256, (9, 16), dtype=np.uint8)
    plan = local.CollectionPlan(columns=[f"x{i}" for i in range(301)], row_norm=1.0, epsilon=1.0)
    whole = expansion.expand_integers(seeds, 301).astype(int)
    monkeypatch.setattr(sums, "_PART_ENTRIES", 1)  # less than a vector: one at a time
    assert np.array_equal(sums.add_up(seeds, plan), whole.T @ whole)


@pytest.mark.claim("P16")
@pytest.mark.parametrize("size", [1, 2, 7, 8])
def test_seeds_expand_to_the_same_integers_alone_and_together(size):
    seeds = np.random.default_rng(0).integers(0, 256, (40, 50), dtype=np.uint8)[:, 34:]
    alone = [expansion.expand_integers(seed[None], size)[0] for seed in seeds]
    assert np.array_equal(expansion.expand_integers(seeds, size), alone)


@pytest.mark.claim("P16")
@PLANS
@given(st.binary(min_size=64, max_size=64))
def test_one_report_moves_an_entry_by_a_bounded_amount(plan, noise):
    report = (reports(plan)[0][:34] + noise * 2)[: plan.report_bytes]
    before = collect(plan, reports(plan))
    try:
        after = collect(plan, [*reports(plan), report])
    except ReportError:
        return  # an entry that no device can send
    moved = after.state_dict()["sums"] - before.state_dict()["sums"]
    largest = 20074**2 if plan.mechanism == "cap" else plan.noise.largest
    assert np.abs(moved).max() <= largest


def test_a_report_that_comes_twice_counts_once_when_asked():
    collector = local.Collector(CAP, idempotent=True)
    first = reports(CAP)[0]
    assert (collector.add(first), collector.add(first)) == (True, False)
    assert collector.add_many(reports(CAP)) == 119
    assert collector.add_many(reports(CAP)) == 0
    assert collector.n_reports == 120
    assert collector == collect(CAP, reports(CAP), idempotent=True)


def test_a_collector_that_is_not_asked_counts_every_upload():
    assert collect(CAP, reports(CAP)[:1] * 3).n_reports == 3


def test_collectors_that_counted_the_same_report_do_not_merge():
    first = collect(CAP, reports(CAP)[:10], idempotent=True)
    before = bytes_of(first)
    with pytest.raises(DuplicateReportError, match="same report"):
        first.merge(collect(CAP, reports(CAP)[9:20], idempotent=True))
    assert bytes_of(first) == before


def test_collectors_of_different_kinds_do_not_merge():
    first = collect(CAP, reports(CAP)[:10])
    for other, error in [
        (local.Collector(GAUSSIAN), ForeignReportError),
        (local.Collector(CAP, simulated=True), ForeignReportError),
        (local.Collector(CAP, idempotent=True), ParameterError),
        (first, DuplicateReportError),
        (5, ParameterError),
    ]:
        with pytest.raises(error):
            first.merge(other)


def test_a_bad_report_among_many_leaves_the_collector_as_it_was():
    collector = collect(CAP, reports(CAP)[:10], idempotent=True)
    before = bytes_of(collector)
    with pytest.raises(ReportError):
        collector.add_many([*reports(CAP)[10:20], b"bad"])
    assert bytes_of(collector) == before


@PLANS
@pytest.mark.parametrize("idempotent", [True, False])
def test_a_checkpoint_is_the_collector(plan, idempotent):
    collector = collect(plan, reports(plan)[:50], idempotent=idempotent)
    again = local.Collector.from_state(pickle.loads(bytes_of(collector)))
    assert again == collector
    for one in (again, collector):
        one.add_many(reports(plan)[50:])
    assert bytes_of(again) == bytes_of(collector)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"more": 1},
        {"plan": "{}"},
        {"n_reports": -1},
        {"n_reports": 1.5},
        {"n_reports": 10**40},
        {"sums": np.zeros((2, 2), np.int64)},
        {"sums": np.zeros((SIZE, SIZE))},
        {"sums": np.triu(np.ones((SIZE, SIZE), np.int64))},
        {"sums": np.full((SIZE, SIZE), 2**60)},
        {"ids": b"abc"},
        {"ids": bytes(16 * 120)},
        {"ids": "x"},
        {"simulated": 0},
    ],
)
def test_a_state_that_makes_no_sense_is_refused(change):
    state = collect(CAP, reports(CAP), idempotent=True).state_dict() | change
    with pytest.raises(ValueError, match=r".") as caught:
        local.Collector.from_state(state)
    assert isinstance(caught.value, dpcov.errors.DpcovError)


def test_the_state_is_a_copy():
    collector = collect(CAP, reports(CAP))
    collector.state_dict()["sums"][:] = 0
    assert collector == collect(CAP, reports(CAP))


def test_a_full_collector_takes_no_more():
    state = collect(CAP, reports(CAP)).state_dict()
    full = local.Collector.from_state(state | {"n_reports": 2**62 // 20074**2})
    with pytest.raises(ParameterError, match="no room"):
        full.add(reports(CAP)[0])
    with pytest.raises(ParameterError, match="no room"):
        full.merge(collect(CAP, reports(CAP)))


@pytest.mark.claim("P16")
def test_a_matrix_product_that_is_not_exact_is_noticed(monkeypatch):
    exact = np.matmul

    def single(a, b, out):
        out[:] = exact(a, b).astype(np.float32)

    monkeypatch.setattr(np, "matmul", single)
    with pytest.raises(InexactArithmeticError):
        collect(CAP, reports(CAP))


@PLANS
def test_the_release_says_how_it_was_made(plan):
    release = collect(plan, reports(plan)).release()
    assert (release.n_rows, release.columns) == (120, tuple(NAMES))
    assert release.promise == plan.promise
    assert release.provenance.mechanism == plan.release_mechanism
    assert release.provenance.row_norm == 2.0
    assert release.noise_scale == plan.noise_scale(120)


@PLANS
def test_the_release_can_be_saved(plan, tmp_path):
    release = collect(plan, reports(plan)).release()
    release.save(tmp_path / "local.npz")
    assert dpcov.Release.load(tmp_path / "local.npz") == release


@PLANS
@pytest.mark.parametrize("part", ["off_diagonal", "diagonal", "signal"])
def test_a_file_with_less_noise_than_its_promise_is_refused(plan, part, tmp_path):
    release = collect(plan, reports(plan)).release()
    noise = {
        name: getattr(release.noise_scale, name) for name in ("off_diagonal", "diagonal", "signal")
    }
    if noise[part] == 0:
        return
    noise[part] *= 0.99
    facts = {name: getattr(release, name) for name in release.__dataclass_fields__}
    weaker = dpcov.Release(**(facts | {"noise_scale": dpcov.NoiseScale(**noise)}))
    weaker.save(tmp_path / "weaker.npz")
    with pytest.raises(CorruptFileError, match="not that of its events"):
        dpcov.Release.load(tmp_path / "weaker.npz")


@PLANS
def test_a_file_that_mixes_origin_and_promise_is_refused(plan, tmp_path):
    release = collect(plan, reports(plan)).release()
    made = release.provenance
    for mechanism, promise in [
        ("second moment, rounded Gaussian", made.calibrated_for),
        (made.mechanism, PureDP(2.0, "replace")),
    ]:
        provenance = dpcov.Provenance(made.version, mechanism, 2.0, made.bits, promise)
        facts = {name: getattr(release, name) for name in release.__dataclass_fields__}
        mixed = dpcov.Release(**(facts | {"provenance": provenance}))
        mixed.save(tmp_path / "mixed.npz")
        with pytest.raises(CorruptFileError, match="origin"):
            dpcov.Release.load(tmp_path / "mixed.npz")


def test_simulated_reports_promise_nothing():
    collector = local.Collector(CAP, simulated=True)
    collector.add_many(local.simulate_reports(np.zeros((10, SIZE)), CAP, seed=1))
    assert collector.release().promise == NoPromise("simulated with a seed")


def test_an_empty_collector_has_nothing_to_release():
    assert local.Collector(CAP).add_many([]) == 0
    with pytest.raises(ParameterError, match="nothing to release"):
        local.Collector(CAP).release()


def test_a_table_is_not_in_the_local_model():
    with pytest.raises(ParameterError, match=r"dpcov\.local"):
        dpcov.release(np.eye(3), epsilon=1, delta=1e-6, row_norm=1, neighbors="local")


def test_a_report_that_comes_twice_in_one_batch_counts_once_when_asked():
    first, second = reports(CAP)[:2]
    collector = local.Collector(CAP, idempotent=True)
    assert collector.add_many([first, second, first]) == 2
    assert collector == collect(CAP, [first, second], idempotent=True)


def test_a_release_is_the_documented_function_of_the_sums():
    collector = collect(CAP, reports(CAP))
    mean_square = 17592166279188 / 2**44
    expected = collector.state_dict()["sums"] / (120 * 4096**2) - mean_square * np.eye(SIZE)
    # κ from its formula, with e^ε in the place of the rounded coin.
    q = math.erfc(CAP.cap.threshold / math.sqrt(2))
    density = math.exp(-(CAP.cap.threshold**2) / 2) / math.sqrt(2 * math.pi)
    gain = 2 * CAP.cap.threshold * density * math.expm1(2.0) / (1 + math.expm1(2.0) * q)
    assert collector.release().matrix == pytest.approx(4.0 / gain * expected, rel=1e-6)


def fail_at(call, error, monkeypatch):
    """Make the given call of the block sums fail, and the others work."""
    working, calls = sums.expand_integers, itertools.count(1)

    def failing(*arguments):
        if next(calls) == call:
            raise error
        return working(*arguments)

    monkeypatch.setattr(sums, "expand_integers", failing)


@pytest.mark.claim("P16")
@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_many_reports_count_all_or_none_when_a_block_fails(error, monkeypatch):
    collector = collect(CAP, reports(CAP)[:10], idempotent=True)
    collector.add(reports(CAP)[10])
    before = collect(CAP, reports(CAP)[:11], idempotent=True)
    with monkeypatch.context() as patch:
        patch.setattr(sums, "_BLOCK_ENTRIES", 20 * SIZE)
        fail_at(2, error, patch)
        with pytest.raises(error):
            collector.add_many(reports(CAP))
    assert collector.n_reports == 11
    assert collector == before
    assert collector.add_many(reports(CAP)) == 109
    assert collector == collect(CAP, reports(CAP), idempotent=True)


@pytest.mark.claim("P16")
def test_the_ids_of_reports_that_were_not_counted_are_forgotten(monkeypatch):
    collector = collect(CAP, reports(CAP)[:10], idempotent=True)

    def failing(*arguments):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(server, "_Counted", failing)
        with pytest.raises(MemoryError):
            collector.add_many(reports(CAP))
    assert collector == collect(CAP, reports(CAP)[:10], idempotent=True)
    assert collector.add_many(reports(CAP)) == 110


@pytest.mark.claim("P16")
@pytest.mark.parametrize("idempotent", [True, False])
def test_a_report_whose_addition_fails_is_not_counted(idempotent, monkeypatch):
    monkeypatch.setattr(server, "_WAITING", 5)
    collector = local.Collector(CAP, idempotent=idempotent)
    for report in reports(CAP)[:5]:
        collector.add(report)
    with monkeypatch.context() as patch:
        fail_at(1, KeyboardInterrupt, patch)
        with pytest.raises(KeyboardInterrupt):
            collector.add(reports(CAP)[5])
    assert collector.n_reports == 5
    assert collector.add(reports(CAP)[5]) is True
    assert collector == collect(CAP, reports(CAP)[:6], idempotent=idempotent)


@pytest.mark.claim("P16")
def test_a_merge_that_fails_changes_neither_collector(monkeypatch):
    first, second = (local.Collector(CAP, idempotent=True) for _ in range(2))
    first.add(reports(CAP)[0])
    second.add(reports(CAP)[1])
    with monkeypatch.context() as patch:
        fail_at(2, MemoryError, patch)
        with pytest.raises(MemoryError):
            first.merge(second)
    assert first == collect(CAP, reports(CAP)[:1], idempotent=True)
    assert first.merge(second) == collect(CAP, reports(CAP)[:2], idempotent=True)
    assert second == collect(CAP, reports(CAP)[1:2], idempotent=True)


def test_a_release_with_other_constants_than_the_best_can_be_saved(tmp_path):
    best = CAP.cap
    for constants in (Cap(best.threshold + 0.01, best.coin), Cap(best.threshold, best.coin - 9)):
        if dpcov.privacy.cap_epsilon(constants, n_columns=SIZE) > 2.0:
            constants = Cap(constants.threshold, int(constants.coin * 0.9))
        plan = local.CollectionPlan(columns=NAMES, row_norm=2.0, epsilon=2.0, constants=constants)
        release = collect(plan, reports(plan)).release()
        release.save(tmp_path / "local.npz")
        again = dpcov.Release.load(tmp_path / "local.npz")
        assert again == release
        assert again.provenance.cap == constants


def test_a_file_whose_constants_do_not_pay_for_its_promise_is_refused(tmp_path):
    release = collect(CAP, reports(CAP)).release()
    facts = {name: getattr(release, name) for name in release.__dataclass_fields__}
    made = release.provenance
    for cap in (Cap(CAP.cap.threshold, CAP.cap.coin + 2**12), None):
        provenance = dpcov.Provenance(
            made.version, made.mechanism, made.row_norm, made.bits, made.calibrated_for, cap
        )
        dpcov.Release(**(facts | {"provenance": provenance})).save(tmp_path / "weak.npz")
        with pytest.raises(CorruptFileError, match=r"constants do not pay|origin"):
            dpcov.Release.load(tmp_path / "weak.npz")


@pytest.mark.parametrize("state", [None, 5, "state", [], {}])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(ParameterError):
        local.Collector.from_state(state)


def test_ragged_sums_are_refused():
    state = collect(CAP, reports(CAP)).state_dict()
    with pytest.raises(ParameterError, match="damaged"):
        local.Collector.from_state(state | {"sums": [[1, 2], [3]]})


@pytest.mark.parametrize("items", [5, None, object()])
def test_what_is_no_collection_of_reports_is_refused(items):
    with pytest.raises(ReportError):
        local.Collector(CAP).add_many(items)


@pytest.mark.parametrize("plan", ["x", None, CAP.to_json()])
def test_a_collector_needs_a_plan(plan):
    with pytest.raises(ParameterError, match="Plan"):
        local.Collector(plan)


def table_of(items):
    return np.array([list(item) for item in items], dtype=np.uint8)


@PLANS
@pytest.mark.parametrize("bit", [0x80, 0x01], ids=["simulated", "foreign"])
def test_one_wrong_row_of_an_array_is_named_and_nothing_counts(plan, bit):
    table = table_of(reports(plan)[:5])
    table[3, 1 if bit == 0x80 else 17] ^= bit
    collector = local.Collector(plan, idempotent=True)
    with pytest.raises(ForeignReportError, match=r"Report 3: .* None of them was counted"):
        collector.add_many(table)
    assert collector == local.Collector(plan, idempotent=True)


@pytest.mark.parametrize("place", [0, 15])
def test_ids_that_differ_in_one_byte_both_count(place):
    twin = bytearray(reports(CAP)[0])
    twin[18 + place] ^= 1
    collector = local.Collector(CAP, idempotent=True)
    assert collector.add_many([reports(CAP)[0], bytes(twin)]) == 2
    assert collector.add(bytes(twin)) is False


@PLANS
def test_reports_that_wait_in_the_other_collector_are_merged(plan):
    first, second = local.Collector(plan), local.Collector(plan)
    first.add(reports(plan)[0])
    second.add(reports(plan)[1])
    assert first.merge(second) == collect(plan, reports(plan)[:2])
    assert second == collect(plan, reports(plan)[1:2])


@PLANS
def test_the_release_states_the_bits_of_the_plan(plan):
    provenance = collect(plan, reports(plan)).release().provenance
    assert provenance.bits == plan.bits == {"cap": 24, "gaussian": 12}[plan.mechanism]


MEAN_SQUARE = 17592166279188 / 2**44


def test_sums_of_cap_are_averaged_in_the_units_of_the_plan():
    given_sums = np.array([[3, -2], [-2, 7]], dtype=np.int64) * 4096**2
    plan = local.CollectionPlan(columns=["a", "b"], row_norm=2.0, epsilon=2.0)
    average = sums.to_average(given_sums, plan, 5)
    expected = (
        4.0 / plan.cap.gain * (np.array([[0.6, -0.4], [-0.4, 1.4]]) - MEAN_SQUARE * np.eye(2))
    )
    assert average == pytest.approx(expected, rel=1e-14)


def test_sums_of_gaussian_reports_are_averaged_in_the_units_of_the_plan():
    given_sums = np.array([[3, -2], [-2, 7]], dtype=np.int64) * 16**6  # 4^12, of norm row_norm
    plan = local.CollectionPlan(
        columns=["a", "b"], row_norm=2.0, epsilon=2.0, delta=1e-6, mechanism="gaussian"
    )
    expected = 4.0 * np.array([[0.6, -0.4], [-0.4, 1.4]])
    assert sums.to_average(given_sums, plan, 5) == pytest.approx(expected, rel=1e-14)


def test_sums_of_zero_are_less_than_nothing_to_see():
    average = sums.to_average(np.zeros((SIZE, SIZE), np.int64), CAP, 9)
    expected = -MEAN_SQUARE * 4.0 / CAP.cap.gain * np.eye(SIZE)
    assert average == pytest.approx(expected, rel=1e-14)


@pytest.mark.claim("P16")
@pytest.mark.parametrize("size", [1, 2, 100, 512, 2896, 4096, 65_536])
def test_every_block_is_exact_in_double_precision(size):
    assert sums.seeds_at_a_time(size) * size * 20074**2 < 2**53


@pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning")
def test_the_release_has_the_units_and_the_rule_of_the_plan():
    plan = local.CollectionPlan(
        columns=NAMES, row_norm=2.0, epsilon=2.0, center=[9.0] * SIZE, scale=[1e3] * SIZE
    )
    release = collect(plan, reports(plan)).release()
    assert release.units.center.tolist() == [9.0] * SIZE
    assert release.provenance.missing == "center"
    estimate = release.estimate(rule="hard", threshold=0, psd="none")
    off_diagonal = ~np.eye(SIZE, dtype=bool)
    assert estimate.covariance[off_diagonal] == pytest.approx(1e6 * release.matrix[off_diagonal])
