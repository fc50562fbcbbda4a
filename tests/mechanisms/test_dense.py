"""The dense mechanism: what is learned before the moments, and in which units it comes back."""

import re
import warnings
from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov import Column, Columns
from dpcov.columns.missing import Missing
from dpcov.errors import InputError, ParameterError, SaturationWarning
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms import dense, strongest_pairs
from dpcov.mechanisms.budget import split
from dpcov.mechanisms.dense import DenseOptions
from dpcov.mechanisms.door import NOTHING_SPENT
from dpcov.mechanisms.learning import learn as learning
from dpcov.privacy import ApproxDP, events_delta
from dpcov.releases.learned import Known, tails_are_blurred
from dpcov.sensitive.engines import threaded
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.keys import as_keys
from dpcov.sensitive.tables.privacy_units import rows_of_units
from exact.loops import all_compiled, none_compiled

LOUD = {"epsilon": 200.0, "delta": 1e-6}
N_ROWS = 20_000
generator = np.random.default_rng(3)
WORK = generator.standard_normal((N_ROWS, 3))
WORK[:, 1] = 0.6 * WORK[:, 0] + 0.8 * WORK[:, 1]
SCALE, MEAN = np.array([15.0, 900.0, 0.5]), np.array([41.0, 2500.0, 3.0])
ROWS = MEAN + SCALE * WORK
TRUTH = np.cov(ROWS.T)
FACTS = Columns(
    [
        Column("age", center=40, scale=20),
        Column("income", center=2000, scale=1000),
        Column("score", lower=0, upper=7),
    ]
)


def table():
    return pd.DataFrame(ROWS, columns=["age", "income", "score"])


def close(covariance, rel=0.05):
    """Whether all entries are right, measured by the deviations of their columns."""
    unit = np.sqrt(np.outer(np.diag(TRUTH), np.diag(TRUTH)))
    return np.abs((covariance - TRUTH) / unit).max() < rel


def test_the_mean_is_released_and_taken_out():
    release = dpcov.release(table(), **LOUD, columns=FACTS, row_norm=6.0)
    assert release.location == pytest.approx(MEAN, rel=0.02)
    assert close(release.estimate(sparse=False).covariance)
    assert release.provenance.center == "private"


def test_a_center_that_is_off_does_no_harm_but_by_clipping():
    facts = {
        "age": {"center": 30, "scale": 20},
        "income": {"center": 900, "scale": 1000},
        "score": {"scale": 1},
    }
    release = dpcov.release(table(), **LOUD, columns=facts, row_norm=9.0)
    assert close(release.estimate(sparse=False).covariance)


LENGTHS = ["beyond", "radius", "clipping", "moments"]
STEPS = ["observed", "range", "center", "limit", "mean", "scale", *LENGTHS]


@pytest.mark.claim("P18")
@pytest.mark.parametrize(
    ("facts", "steps"),
    [
        (None, STEPS),
        ({"age": (0, 100), "income": (0, 1e6), "score": (0, 7)}, STEPS),
        ({"age": (0, 120), "income": (0, None), "score": {"center": 3}}, STEPS),
        (
            {
                "age": {"center": 40, "scale": 20},
                "income": {"center": 2000, "scale": 1000},
                "score": {"lower": -5, "upper": 100, "center": 3, "scale": 1},
            },
            ["observed", *LENGTHS],
        ),
    ],
    ids=["nothing", "bounds", "some", "all"],
)
def test_whatever_is_not_stated_is_learned_and_the_covariance_is_right(facts, steps):
    release = dpcov.release(table(), **LOUD, columns=facts)
    assert [event.name for event in release.events] == steps
    assert release.location == pytest.approx(MEAN, rel=0.05)
    assert close(release.estimate(sparse=False).covariance)
    assert np.array_equal(release.limits[0], release.learned.lower)
    assert np.array_equal(release.limits[1], release.learned.upper)


def test_with_a_row_norm_nothing_is_learned():
    release = dpcov.release(table(), **LOUD, columns=FACTS, row_norm=6.0)
    assert release.learned is release.limits is None
    assert (release.factor, release.factor_error) == (1.0, 0.0)
    assert [event.name for event in release.events] == ["moments"]


@pytest.mark.claim("P18")
@pytest.mark.parametrize("rule", ["refuse", "pairwise"])
def test_what_clipping_takes_away_is_made_up_for_by_one_factor(monkeypatch, rule):
    made = []
    real = dense.release_gram

    def record(*args, **keywords):
        made.append(real(*args, **keywords))
        return made[-1]

    monkeypatch.setattr(dense, "release_gram", record)
    release = dpcov.release(WORK, epsilon=1, delta=1e-6, missing=rule, seed=4)
    (clipped,) = made
    (matrix, mean), (before, mean_before) = release.raw, clipped.raw
    assert 1 < release.factor < 1.2
    assert np.array_equal(matrix, before * release.factor)
    ratio = release.noise_scale.off_diagonal / clipped.noise_scale.off_diagonal
    assert ratio == pytest.approx(release.factor)
    assert np.array_equal(mean, mean_before)
    excess, error = release.learned.clipping.likely_excess(release.provenance.row_norm)
    whole = np.trace(before) + mean @ mean
    assert release.factor == pytest.approx(1 + excess / whole)
    assert release.factor_error == pytest.approx(error / whole)


@pytest.mark.claim("P8")
@pytest.mark.parametrize("row_norm", [None, 3.0])
def test_a_missing_cell_is_refused_before_anything_is_spent(row_norm):
    rows = WORK.copy()
    rows[7, 1] = np.nan
    with pytest.raises(InputError, match="Nothing was spent"):
        dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=row_norm, missing="refuse")


@pytest.mark.parametrize(("row_norm", "rule"), [(None, "pairwise"), (3.0, "refuse")])
def test_gaps_are_counted_by_default_where_the_row_norm_is_learned(row_norm, rule):
    release = dpcov.release(WORK, epsilon=1, delta=1e-6, row_norm=row_norm)
    assert release.provenance.missing == rule


def test_intervals_edges_and_rows_come_in_own_units():
    release = dpcov.release(table(), **LOUD, columns=FACTS, row_norm=6.0)
    estimate = release.estimate()
    low, high = estimate.interval(0.9999)
    assert ((low < TRUTH) & (high > TRUTH)).all()
    (edge,) = estimate.edges(fdr=1e-6)
    assert (edge.first, edge.second) == ("age", "income")
    assert edge.value == pytest.approx(TRUTH[0, 1], rel=0.05)
    assert edge.standard_error == pytest.approx(estimate.standard_error[0, 1], rel=1e-6)
    rows = estimate.sample(20_000, seed=1).to_numpy()
    assert rows.mean(axis=0) == pytest.approx(MEAN, rel=0.05)
    assert np.cov(rows.T)[1, 1] == pytest.approx(TRUTH[1, 1], rel=0.1)


def test_intervals_of_a_private_mean_cover():
    """The noise of the mean is in the standard errors: at a far center they would be too short."""
    rows = np.random.default_rng(1).normal(size=(2000, 2)) * 0.3 + np.array([2.0, -2.0])
    hits, runs = 0, 300
    for seed in range(runs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4.5, seed=seed).estimate(
                threshold=0.0
            )
        low, high = estimate.interval(0.9)
        hits += int(low[0, 1] <= np.cov(rows.T)[0, 1] <= high[0, 1])
    assert 0.84 < hits / runs < 0.95
    assert estimate.noise.mean_noise[0] > 0.3 * estimate.noise.off_diagonal**2


@pytest.mark.claim("P13")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"row_norm": 3.0},
        {"neighbors": "add-remove"},
        {"shares": {"center": 0.2}},
        {"columns": {f"x{i}": (-9, 9) for i in range(3)}},
        {"columns": {f"x{i}": {"center": 0, "scale": 1} for i in range(3)}},
    ],
)
def test_all_steps_together_cost_what_was_promised(options):
    release = dpcov.release(WORK, epsilon=1.0, delta=1e-5, **options)
    assert (1 - 1e-9) * 1e-5 < events_delta(release.events, epsilon=1.0) <= 1e-5


@pytest.mark.parametrize("shares", [{"noise": 1}, {"moments": 0}, {"moments": "half"}, 3])
def test_impossible_shares_are_refused(shares):
    with pytest.raises(ParameterError, match="share"):
        split(["moments"], {"moments": 1.0}, shares)


@pytest.mark.claim("P20")
def test_units_use_some_of_their_rows_and_pay_for_all_of_them():
    people = np.repeat(np.arange(N_ROWS // 4), 4)
    frame = table().assign(person=people)
    options = {"epsilon": 1.0, "delta": 1e-6, "columns": FACTS, "row_norm": 6.0, "seed": 1}
    release = dpcov.release(frame, **options, privacy_unit="person", rows_per_unit=2)
    secret = RandomStream.from_seed(1).spare_key()
    kept = rows_of_units([as_keys(people, "person")], 2, secret)
    plain = dpcov.release(table()[kept], **options)
    assert release.n_rows == N_ROWS // 2
    assert release.columns == ("age", "income", "score")
    ratio = release.noise_scale.off_diagonal / plain.noise_scale.off_diagonal
    assert ratio == pytest.approx(2, rel=1e-6)
    loud = dpcov.release(frame, **options | LOUD, privacy_unit="person", rows_per_unit=2)
    assert np.allclose(
        loud.matrix, dpcov.release(table()[kept], **options | LOUD).matrix, atol=0.05
    )


@pytest.mark.claim("P20")
def test_a_panel_that_is_sorted_by_time_has_the_mean_of_all_of_its_years():
    people, years = 4000, 10
    rng = np.random.default_rng(0)
    age = (rng.normal(30, 2, people)[:, None] + np.arange(years)).ravel()
    panel = pd.DataFrame({"person": np.repeat(np.arange(people), years), "age": age})
    panel["score"] = rng.normal(size=len(panel))
    found = [
        dpcov.release(
            panel,
            epsilon=1,
            delta=1e-6,
            columns={"age": (0, 100), "score": {}},
            privacy_unit="person",
            rows_per_unit=2,
            seed=seed,
        ).location[0]
        for seed in range(3)
    ]
    # The first two years are 4 below all ten, and the standard error is .05.
    assert np.abs(np.array(found) - age.mean()).max() < 0.4


def test_the_promise_says_what_the_unit_is():
    frame = table().assign(pupil=np.arange(N_ROWS) // 2)
    release = dpcov.release(
        frame,
        epsilon=1,
        delta=1e-6,
        row_norm=5000.0,
        privacy_unit="pupil",
        rows_per_unit=2,
    )
    assert str(release.promise).endswith("for all rows of one 'pupil'")
    assert "which rows belong together is public" in release.promise.in_words
    assert release.provenance.rows_per_unit == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"row_norm": "private"}, "row_norm must be a number"),
        ({"privacy_unit": "x0"}, "needs rows_per_unit"),
        ({"rows_per_unit": 2}, "needs privacy_unit"),
        ({"privacy_unit": "x0", "rows_per_unit": 0}, "rows_per_unit"),
        ({"privacy_unit": "x9", "rows_per_unit": 2}, "x9"),
        ({"shares": {"center": 0.1}}, "nothing is"),
        ({"row_norm": None, "shares": {"values": 1}}, "shares must be"),
        ({"row_norm": None, "shares": {"center": 0.9}}, "must leave"),
        ({"columns": {"x0": {"lower": 1, "upper": 0}}}, "lower must be below"),
        ({"columns": {"nobody": {"lower": 0, "upper": 1}}}, "nobody"),
        ({"columns": "no-such-file.toml"}, "There is no file"),
        ({"engine": "ray"}, "engine must be"),
        ({"progress": "yes"}, "progress must be"),
    ],
)
def test_what_does_not_belong_together_is_refused_before_anything_is_spent(
    options, message, monkeypatch
):
    monkeypatch.setattr("dpcov.mechanisms.dense.release_gram", None)
    monkeypatch.setattr("dpcov.mechanisms.dense.learn", None)
    with pytest.raises((ParameterError, InputError), match=message):
        dpcov.release(ROWS, **{"epsilon": 1, "delta": 1e-6, "row_norm": 3.0} | options)


def test_a_unit_column_with_nulls_is_refused():
    frame = table().assign(person=[None, *range(N_ROWS - 1)])
    with pytest.raises(InputError, match="missing"):
        dpcov.release(
            frame,
            epsilon=1,
            delta=1e-6,
            columns=FACTS,
            row_norm=3.0,
            privacy_unit="person",
            rows_per_unit=1,
        )


def test_steps_and_passes_are_counted():
    promise = ApproxDP(1.0, 1e-5, "replace")
    passes = [
        DenseOptions(promise, None, norm, None, 1, Missing.REFUSE).passes for norm in (1.0, None)
    ]
    assert passes == [1, 3]


def test_rows_that_are_nearly_all_clipped_are_noticed_from_the_release():
    with pytest.warns(SaturationWarning, match="larger row_norm"):
        dpcov.release(WORK, epsilon=1, delta=1e-6, row_norm=0.01)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dpcov.release(WORK, epsilon=1, delta=1e-6, row_norm=3.0)


def test_progress_is_told_as_rows_are_read():
    told = []
    dpcov.release(WORK, epsilon=1, delta=1e-6, progress=lambda *a: told.append(a))
    assert told[-1] == ("moments", N_ROWS, N_ROWS)
    finished = [name for name, done, whole in told if done == whole == N_ROWS]
    assert list(dict.fromkeys(finished)) == ["columns", "lengths", "moments"]


def test_everything_survives_a_file(tmp_path):
    for options in (
        {},
        {"row_norm": 6.0, "neighbors": "add-remove"},
        {"row_norm": 6.0},
    ):
        release = dpcov.release(table(), epsilon=1, delta=1e-6, columns=FACTS, **options)
        release.save(tmp_path / "r.npz")
        assert dpcov.Release.load(tmp_path / "r.npz") == release


def spy(monkeypatch, name):
    """Record the keywords with which a step of the dense mechanism is called."""
    calls, real = [], getattr(dense, name)

    def record(*args, **keywords):
        calls.append(keywords)
        return real(*args, **keywords)

    monkeypatch.setattr(dense, name, record)
    return calls


@pytest.mark.claim("P20")
def test_every_step_pays_for_all_rows_of_a_person(monkeypatch):
    payments = []
    real = learning.LearningBudget.payment
    monkeypatch.setattr(
        learning.LearningBudget,
        "payment",
        lambda self, step: payments.append(real(self, step)) or payments[-1],
    )
    calls = spy(monkeypatch, "calibrate_moments")
    people = np.column_stack([np.arange(N_ROWS) // 3, WORK])
    dpcov.release(people, epsilon=5, delta=1e-6, privacy_unit="x0", rows_per_unit=3)
    # Moments are calibrated for any table, for its outlook, and then for this one.
    assert len(calls) >= 2
    assert all(call["rows_per_unit"] == 3 for call in calls)
    assert payments
    assert all(payment.rows_per_unit == 3 for payment in payments)


@pytest.mark.parametrize("rule", ["refuse", "center", "pairwise"])
def test_every_pass_has_the_same_rule_for_missing_cells(monkeypatch, rule):
    rules = []
    real = threaded.ThreadedEngine.run

    def run(self, name, source, kernel):
        rules.append(kernel.missing)
        return real(self, name, source, kernel)

    monkeypatch.setattr(threaded.ThreadedEngine, "run", run)
    dpcov.release(WORK, epsilon=5, delta=1e-6, missing=rule)
    assert rules == [rule] * 3


@pytest.mark.claim("P17")
def test_a_private_mean_has_noise_and_the_moments_are_not_biased_by_it():
    """Two rows of zeros: everything that is released is noise."""
    stated = {"epsilon": 1.0, "delta": 1e-3, "row_norm": 1.0, "allow": {"small"}}
    release = dpcov.release(np.zeros((2, 300)), **stated, seed=1)
    noise = release.noise_scale
    assert release.mean.std() == pytest.approx(noise.mean, rel=0.2)
    assert noise.mean == pytest.approx(4 * noise.off_diagonal, rel=1e-3)
    # The square of the noise of the mean is far larger than the noise of a variance here.
    assert noise.mean**2 > 5 * noise.diagonal
    assert abs(np.diag(release.matrix).mean()) < 0.5 * noise.mean**2
    above = release.matrix[np.triu_indices(300, k=1)]
    assert abs(above.mean()) < 0.1 * noise.mean**2


@pytest.mark.claim("P19")
def test_every_release_pairs_its_rows_anew(monkeypatch):
    seeds = []
    real = strongest_pairs.DifferenceSource

    def record(source, seed):
        seeds.append(seed)
        return real(source, seed)

    monkeypatch.setattr(strongest_pairs, "DifferenceSource", record)
    for _ in range(2):
        dpcov.release_pairs(WORK, epsilon=1, delta=1e-6, max_pairs=2)
    assert len(set(seeds)) == 2


def test_a_stream_of_unknown_length_can_be_paired():
    import pyarrow as pa

    stream = pa.Table.from_pandas(table()).to_reader()
    release = dpcov.release_pairs(stream, epsilon=1, delta=1e-6, max_pairs=2, row_norm=5000.0)
    assert (release.n_rows, release.n_terms) == (N_ROWS, N_ROWS // 2)


def test_the_largest_epsilon_survives_a_file(tmp_path):
    release = dpcov.release(WORK, epsilon=1e6, delta=1e-6)
    release.save(tmp_path / "r.npz")
    assert dpcov.Release.load(tmp_path / "r.npz") == release


def test_what_is_stated_is_used_and_said():
    facts = {"age": (0, 120), "income": (0, None), "score": {"center": 3}}
    release = dpcov.release(table(), **LOUD, columns=facts)
    learned = release.learned
    assert learned.known_range.tolist() == [Known.STATED, Known.LEARNED, Known.LEARNED]
    assert learned.known_center.tolist() == [Known.LEARNED, Known.LEARNED, Known.STATED]
    assert learned.known_scale.tolist() == [Known.LEARNED] * 3
    assert release.units.center[2] == 3.0
    assert (learned.lower >= [0, 0, -np.inf]).all()
    assert learned.upper[0] <= 120


@pytest.mark.parametrize("n_rows", [2, 20, 200, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 1.0])
def test_too_few_rows_are_released_if_that_is_allowed(n_rows, epsilon):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = dpcov.release(table()[:n_rows], epsilon=epsilon, delta=1e-6, allow={"small"})
    assert release.n_rows == n_rows
    assert np.isfinite(release.matrix).all()


@pytest.mark.parametrize("row_norm", [None, 6.0])
def test_rows_in_which_nothing_could_be_seen_are_refused_before_anything_is_spent(row_norm):
    facts = None if row_norm is None else FACTS
    options = {"epsilon": 0.1, "delta": 1e-6, "columns": facts, "row_norm": row_norm}
    with pytest.raises(InputError, match="to be seen half of the time") as refusal:
        dpcov.release(table()[:200], **options)
    assert str(refusal.value).endswith(NOTHING_SPENT)
    assert "with allow={'small'}." in str(refusal.value)
    enough = int(re.search(r"at least ([\d,]+) rows", str(refusal.value))[1].replace(",", ""))
    dpcov.release(table()[:enough], **options)
    with pytest.raises(InputError, match="are too few"):
        dpcov.release(table()[: enough - 1], **options)


def test_rows_too_few_to_learn_ranges_from_are_refused_before_anything_is_spent():
    options = {"epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(InputError, match="to learn between which bounds") as refusal:
        dpcov.release(table()[:400], **options)
    assert str(refusal.value).endswith(NOTHING_SPENT)
    assert "State both bounds of age, income, score" in str(refusal.value)
    enough = int(re.search(r"at least ([\d,]+) rows", str(refusal.value))[1].replace(",", ""))
    assert 400 < enough < 2000
    dpcov.release(table()[:enough], **options)
    bounds = {"age": (-100, 200), "income": (-5e3, 1e4), "score": (-5, 10)}
    dpcov.release(table()[:400], **options, columns=bounds)


def test_a_stream_that_turns_out_to_be_too_short_is_refused_before_anything_is_spent():
    pa = pytest.importorskip("pyarrow")
    short = pa.Table.from_pandas(table()[:200]).to_reader(50)
    with pytest.raises(InputError, match="to be seen half of the time") as refusal:
        dpcov.release(short, epsilon=0.1, delta=1e-6, columns=FACTS, row_norm=6.0)
    assert str(refusal.value).endswith(NOTHING_SPENT)


def test_an_open_end_does_not_clip_and_the_other_does():
    rows = np.column_stack([np.repeat([-50.0, 1.0, 1e3], 5000), np.ones(15_000)])
    facts = {"x0": (0, None), "x1": {}}
    release = dpcov.release(rows, **LOUD, columns=facts, row_norm=2e3)
    assert release.location[0] == pytest.approx(np.maximum(rows[:, 0], 0).mean(), rel=0.02)


def test_a_list_of_columns_is_columns():
    release = dpcov.release(table(), epsilon=1, delta=1e-6, columns=list(FACTS), row_norm=3.0)
    assert release.columns == ("age", "income", "score")


@pytest.mark.claim("P7")
@pytest.mark.parametrize("order", ["C", "F"])
def test_compiled_loops_leave_no_trace_in_a_release(order, tmp_path):
    rows = np.array(ROWS, order=order)
    rows[::11, 1] = np.nan
    written = []
    for way in (none_compiled, all_compiled):
        with way():
            dpcov.release(rows, epsilon=1.0, delta=1e-6, seed=1).save(tmp_path / "one.npz")
        written.append((tmp_path / "one.npz").read_bytes())
    assert written[0] == written[1]


@pytest.mark.claim("P28")
@pytest.mark.parametrize("missing", ["pairwise", "center"])
@pytest.mark.parametrize("known", [None, True, False])
@pytest.mark.parametrize("weight_bound", [None, 2.0])
@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_moments_pay_for_any_row_where_one_without_cells_leaves_traces(
    relation, weight_bound, known, missing
):
    options = DenseOptions(
        promise=ApproxDP(1.0, 1e-6, relation),
        facts=None,
        row_norm=None,
        shares=None,
        rows_per_unit=3,
        missing=Missing(missing),
        weight_bound=weight_bound,
    )
    made = options.calibrate(n_rows=100, row_norm=1.0, multiplier=5.0, has_gaps=known)
    squared = 4**made.grid.bits
    # Weighted rows have their constant among their cells.
    constant = squared // 16 if weight_bound is None else 0
    gaps = missing == "pairwise" if known is None else known
    moved = squared**2 + 2 * squared * constant
    if relation == "replace" or gaps or weight_bound is not None:
        moved = 2 * (squared + constant) ** 2
    needed = 25 * 3**2 * moved
    assert needed <= made.diagonal**2 <= needed * (1 + 1e-6)
    assert made.grid.constant**2 == constant


@pytest.mark.claim("P41")
@pytest.mark.parametrize("row_norm", [None, 3.0])
def test_all_that_will_be_drawn_is_reserved_before_a_row_is_read(row_norm):
    told = []

    class Watched(SerialEngine):
        def run(self, name, source, kernel):
            told.append(name)
            return super().run(name, source, kernel)

    promise = ApproxDP(1.0, 1e-6, "replace")
    made = dense.release_dense(
        open_table(WORK[:300]),
        DenseOptions(promise, None, row_norm, None, 1, Missing.REFUSE),
        engine=Watched(),
        stream=RandomStream.from_seed(1),
        reserve=told.append,
    )
    passes = ["moments"] if row_norm else ["columns", "lengths", "moments"]
    assert told == [made.events, *passes]


@pytest.mark.claim("P28")
@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_moments_pay_for_any_row_where_even_one_column_may_have_gaps(n_columns):
    """Someone's row leaves a trace in one indicator as in many."""

    def noise(complete):
        facts = [Column(f"x{place}", complete=complete) for place in range(n_columns)]
        options = {"epsilon": 1, "delta": 1e-6, "row_norm": 3.0, "neighbors": "add-remove"}
        rows = WORK[:300, :n_columns]
        # Nothing is counted first, so that both have the whole budget.
        options["allow"] = {"mismatch"}
        return dpcov.release(rows, **options, columns=facts, missing="pairwise").noise_scale

    constant = 1 / 16  # of the squared norm of a row
    any_row, own_row = 2 * (1 + constant) ** 2, 1 + 2 * constant
    ratio = noise(complete=False).off_diagonal / noise(complete=True).off_diagonal
    assert ratio == pytest.approx((any_row / own_row) ** 0.5, rel=1e-4)


@pytest.mark.parametrize("n_columns", [1, 2, 12])
def test_narrow_bounds_are_trusted_where_so_many_columns_blur_their_tails(n_columns):
    promise = ApproxDP(1.0, 1e-6, "replace")
    options = DenseOptions(promise, None, None, None, 1, Missing.REFUSE)
    fields = options.fields(n_columns)
    for n_rows in range(500, 8000, 100):
        trusts = options.stated(fields, n_rows).trusts_narrow
        assert trusts == tails_are_blurred(promise, n_rows=n_rows, n_columns=n_columns)


def test_options_that_were_checked_together_stay_together():
    options = DenseOptions(ApproxDP(1.0, 1e-6, "replace"), None, None, None, 1, Missing.REFUSE, 2.0)
    with pytest.raises(FrozenInstanceError):
        options.row_norm = 1.0
