"""The dense mechanism: what is learned before the moments, and in which units it comes back."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov import Column, Columns
from dpcov.errors import InputError, ParameterError, SaturationWarning
from dpcov.mechanisms import budget, dense, strongest_pairs
from dpcov.mechanisms.budget import split, split_budget
from dpcov.mechanisms.dense import DenseOptions
from dpcov.privacy import ApproxDP, events_delta
from dpcov.sensitive.engines import serial

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


def test_bounds_of_all_columns_make_a_row_norm_needless():
    facts = {
        "age": {"lower": 0, "upper": 100},
        "income": {"lower": 0, "upper": 6000},
        "score": {"lower": 0, "upper": 7},
    }
    release = dpcov.release(table(), **LOUD, columns=facts)
    assert release.provenance.row_norm == pytest.approx(3**0.5)
    assert close(release.estimate(sparse=False).covariance)


def test_intervals_edges_and_rows_come_in_own_units():
    release = dpcov.release(table(), **LOUD, columns=FACTS, row_norm=6.0)
    estimate = release.estimate()
    low, high = estimate.interval(0.9999)
    assert ((low < TRUTH) & (high > TRUTH)).all()
    (edge,) = estimate.edges(fdr=1e-6)
    assert (edge.first, edge.second) == ("age", "income")
    assert edge.value == pytest.approx(TRUTH[0, 1], rel=0.05)
    assert edge.standard_error == pytest.approx(estimate.standard_error[0, 1], rel=1e-6)
    rows = estimate.sample(20_000, seed=1)
    assert rows.mean(axis=0) == pytest.approx(MEAN, rel=0.05)
    assert np.cov(rows.T)[1, 1] == pytest.approx(TRUTH[1, 1], rel=0.1)


def test_intervals_of_a_private_mean_cover():
    """The noise of the mean is in the standard errors: at a far center they would be too short."""
    rows = np.random.default_rng(1).normal(size=(2000, 2)) * 0.3 + np.array([2.0, -2.0])
    hits, runs = 0, 60
    for seed in range(runs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimate = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=3.2, seed=seed).estimate(
                level=0.0
            )
        low, high = estimate.interval(0.9)
        hits += int(low[0, 1] <= np.cov(rows.T)[0, 1] <= high[0, 1])
    assert hits / runs > 0.75
    assert estimate.noise.mean_noise[0] > 0.3 * estimate.noise.off_diagonal**2


@pytest.mark.claim("P13")
@pytest.mark.parametrize(
    "options",
    [{}, {"row_norm": 3.0}, {"neighbors": "add-remove"}, {"shares": {"moments": 7}}],
)
def test_all_steps_together_cost_what_was_promised(options):
    release = dpcov.release(WORK, epsilon=1.0, delta=1e-5, **options)
    assert (1 - 1e-9) * 1e-5 < events_delta(release.events, epsilon=1.0) <= 1e-5


@pytest.mark.claim("P13")
def test_a_split_among_gaussians_is_one_gaussian(monkeypatch):
    promise = ApproxDP(1.0, 1e-5, "replace")
    alone = split_budget(promise, selections=0, selection_share=0, gaussians=["moments"])
    monkeypatch.setattr(budget, "GAUSSIAN_SHARES", {"moments": 3.0, "scales": 1.0})
    both = split_budget(promise, selections=0, selection_share=0, gaussians=["scales", "moments"])
    assert sum(m**-2 for m in both.multipliers.values()) == pytest.approx(
        alone.multipliers["moments"] ** -2
    )
    assert both.multipliers["scales"] == pytest.approx(2 * alone.multipliers["moments"])


@pytest.mark.parametrize("shares", [{"noise": 1}, {"moments": 0}, {"moments": "half"}, 3])
def test_impossible_shares_are_refused(shares):
    with pytest.raises(ParameterError, match="share"):
        split(["moments"], {"moments": 1.0}, shares)


@pytest.mark.claim("P20")
def test_units_use_their_first_rows_and_pay_for_all_of_them():
    people = np.repeat(np.arange(N_ROWS // 4), 4)
    frame = table().assign(person=people)
    options = {"epsilon": 1.0, "delta": 1e-6, "columns": FACTS, "row_norm": 6.0, "seed": 1}
    release = dpcov.release(frame, **options, privacy_unit="person", rows_per_unit=2)
    first = np.tile([True, True, False, False], N_ROWS // 4)
    plain = dpcov.release(table()[first], **options)
    assert release.n_rows == N_ROWS // 2
    assert release.columns == ("age", "income", "score")
    ratio = release.noise_scale.off_diagonal / plain.noise_scale.off_diagonal
    assert ratio == pytest.approx(2, rel=1e-6)
    loud = dpcov.release(frame, **options | LOUD, privacy_unit="person", rows_per_unit=2)
    assert np.allclose(
        loud.matrix, dpcov.release(table()[first], **options | LOUD).matrix, atol=0.05
    )


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
        ({"shares": {"values": 1}}, "shares must be"),
        ({"columns": {"x0": {"lower": 1, "upper": 0}}}, "lower must be below"),
        ({"columns": {"nobody": {"lower": 0, "upper": 1}}}, "nobody"),
        ({"columns": "no-such-file.toml"}, "There is no file"),
        ({"engine": "spark"}, "engine must be"),
        ({"progress": "yes"}, "progress must be"),
        ({"row_norm": None, "epsilon": 0.01}, "too few"),
    ],
)
def test_what_does_not_belong_together_is_refused_before_anything_is_spent(
    options, message, monkeypatch
):
    monkeypatch.setattr("dpcov.mechanisms.dense.release_gram", None)
    monkeypatch.setattr("dpcov.mechanisms.dense.choose_radius", None)
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
    assert [DenseOptions(promise, norm, None, 1, "refuse").passes for norm in (1.0, None)] == [1, 2]


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
    assert ("radius", N_ROWS, N_ROWS) in told


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
    steps = ("choose_radius", "calibrate_moments")
    calls = {name: spy(monkeypatch, name) for name in steps}
    people = np.column_stack([np.arange(N_ROWS) // 3, WORK])
    dpcov.release(people, epsilon=5, delta=1e-6, privacy_unit="x0", rows_per_unit=3)
    # Moments are calibrated for any table, and then for this one.
    assert [len(made) for made in calls.values()] == [1, 2]
    assert all(call["rows_per_unit"] == 3 for made in calls.values() for call in made)


@pytest.mark.parametrize("rule", ["refuse", "center"])
def test_every_pass_has_the_same_rule_for_missing_cells(monkeypatch, rule):
    rules = []
    real = serial.SerialEngine.run

    def run(self, name, source, kernel):
        rules.append(kernel.missing)
        return real(self, name, source, kernel)

    monkeypatch.setattr(serial.SerialEngine, "run", run)
    dpcov.release(WORK, epsilon=5, delta=1e-6, missing=rule)
    assert rules == [rule] * 2


@pytest.mark.claim("P13")
def test_the_range_is_split_among_the_selections():
    promise = ApproxDP(2.0, 1e-5, "replace")
    one, two = (
        split_budget(promise, selections=k, selection_share=0.1, gaussians=["moments"])
        for k in (1, 2)
    )
    assert one.selection_range == pytest.approx(0.2)
    assert two.selection_range == pytest.approx(0.1)


@pytest.mark.claim("P17")
def test_a_private_mean_has_noise_and_the_moments_are_not_biased_by_it():
    """Two rows of zeros: everything that is released is noise."""
    release = dpcov.release(np.zeros((2, 300)), epsilon=1, delta=1e-3, row_norm=1.0, seed=1)
    noise = release.noise_scale
    assert release.mean.std() == pytest.approx(noise.mean, rel=0.2)
    assert noise.mean == pytest.approx(noise.off_diagonal / 0.1**0.5, rel=1e-3)
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


def test_where_bounds_are_far_beyond_the_stated_scales_the_row_norm_is_learned():
    facts = {f"x{i}": {"lower": 0, "upper": 100, "center": 5, "scale": 2} for i in range(3)}
    release = dpcov.release(WORK, epsilon=1, delta=1e-6, columns=facts)
    assert [event.name for event in release.events] == ["radius", "moments"]
    assert release.provenance.row_norm < 10


def test_where_a_column_has_an_open_end_the_row_norm_is_learned():
    facts = {"age": (0, 120), "income": (0, None), "score": {"center": 3}}
    release = dpcov.release(table(), **LOUD, columns=facts)
    assert [event.name for event in release.events] == ["radius", "moments"]
    assert release.units.center.tolist() == [60.0, 0.0, 3.0]
    assert release.units.scale.tolist() == [60.0, 1.0, 1.0]


def test_an_open_end_does_not_clip_and_the_other_does():
    rows = np.column_stack([np.repeat([-50.0, 1.0, 1e3], 5000), np.ones(15_000)])
    facts = {"x0": (0, None), "x1": {}}
    release = dpcov.release(rows, **LOUD, columns=facts, row_norm=2e3)
    assert release.location[0] == pytest.approx(np.maximum(rows[:, 0], 0).mean(), rel=0.02)


def test_a_list_of_columns_is_columns():
    release = dpcov.release(table(), epsilon=1, delta=1e-6, columns=list(FACTS), row_norm=3.0)
    assert release.columns == ("age", "income", "score")
