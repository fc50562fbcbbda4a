"""Reports that hold the mean: a constant cell in every row."""

import json
from dataclasses import replace

import numpy as np
import pytest

import dpcov
from dpcov import local
from dpcov.errors import CorruptFileError, ParameterError
from dpcov.local import shuffled
from dpcov.local.cap import lift_rows
from dpcov.local.sums import take_out_mean
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.privacy import Pure, calibrate_cap, cap_epsilon, cap_variation

NAMES = ["a", "b", "c"]
PLAN = local.CollectionPlan(columns=NAMES, row_norm=np.sqrt(3), epsilon=4.0, mean=True)
PEOPLE = 40_000


def rows(seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal([0.5, -0.4, 0.0], 0.25, (PEOPLE, 3))
    x[:, 1] += 0.6 * (x[:, 0] - 0.5)
    return np.clip(x, -1, 1)


def released(x, plan=PLAN, seed=1):
    collector = local.Collector(plan, simulated=True)
    collector.add_many(local.simulate_reports(x, plan, seed=seed))
    return collector.release()


def test_the_key_stands_in_the_plan_only_if_it_is_asked_for():
    plain = replace(PLAN, constants=None, mean=False)
    assert "mean" not in json.loads(plain.to_json())
    assert json.loads(PLAN.to_json())["mean"] is True
    assert plain.id != PLAN.id
    assert local.CollectionPlan.from_json(PLAN.to_json()) == PLAN


@pytest.mark.parametrize("value", [1, "true", None, 0.0])
def test_a_mean_that_is_no_truth_value_is_refused(value):
    with pytest.raises(ParameterError, match="mean must be True or False"):
        replace(PLAN, mean=value)


def test_gaussian_reports_hold_no_mean():
    with pytest.raises(ParameterError, match="cap"):
        local.CollectionPlan(
            columns=NAMES, row_norm=1.0, epsilon=1.0, delta=1e-6, mechanism="gaussian", mean=True
        )


@pytest.mark.claim("P14")
def test_rows_with_a_constant_cell_have_norm_one():
    whole = np.array([[0.0, 0, 0], [2.0**24, 0, 0], [3e6, -4e6, 12], [1, 1, 1]])
    units = lift_rows(whole, 24, mean=True)
    assert units.shape == (4, 5)
    assert np.abs(np.linalg.norm(units, axis=1) - 1).max() < 2**-51
    assert np.ptp(units[:, 3]) == 0  # the same for all rows: it tells nothing


@pytest.mark.claim("P14")
def test_the_constant_cell_is_paid_for_like_a_column():
    assert PLAN.n_cells == 4
    assert cap_epsilon(PLAN.cap, n_columns=4) <= 4.0


def test_moments_are_about_the_mean_and_the_mean_is_released():
    x = rows()
    release = released(x)
    truth = np.cov(x.T, bias=True)
    noise = release.noise_scale
    assert np.abs(release.mean - x.mean(axis=0)).max() < 4 * noise.mean
    spread = np.sqrt(noise.diagonal**2 + 4 * noise.signal)
    assert np.abs(release.matrix - truth).max() < 5 * spread
    about_center = released(x, replace(PLAN, constants=None, mean=False))
    assert np.abs(about_center.matrix - truth).max() > 20 * spread  # what the mean is for


def test_the_square_of_a_noisy_mean_is_not_taken_for_variance():
    plan = local.CollectionPlan(columns=NAMES, row_norm=1.0, epsilon=1.0, mean=True)
    noise = plan.noise_scale(1000)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(4000):
        average = np.zeros((4, 4))
        average[:3, 3] = average[3, :3] = noise.mean * 0.25 * rng.standard_normal(3)
        found.append(np.diag(take_out_mean(average, plan, noise)[0]))
    error = np.std(found) / np.sqrt(np.size(found))
    assert abs(np.mean(found)) < 5 * error
    assert noise.mean**2 > 20 * error  # a version that forgets it is found


def test_errors_of_moments_and_means_are_what_they_say():
    moments, means = [], []
    for seed in range(40):
        x = rows(seed)[:5000]
        release = released(x, seed=seed)
        truth = np.cov(x.T, bias=True)
        noise = NoiseModel.of(release).of_table
        error = np.sqrt(noise.interval_variance(slice(0, 3), truth))
        moments.append(((release.matrix - truth) / error)[np.triu_indices(3)])
        means.append((release.mean - x.mean(axis=0)) / release.noise_scale.mean)
    assert 0.75 < np.std(moments) < 1.15
    assert 0.6 < np.std(means) < 1.1  # the bound on what the noise grows with is seldom reached


def test_a_release_with_a_mean_survives_its_file(tmp_path):
    release = released(rows()[:1000])
    release.save(tmp_path / "release.npz")
    again = dpcov.Release.load(tmp_path / "release.npz")
    assert np.array_equal(again.matrix, release.matrix)
    assert np.array_equal(again.mean, release.mean)
    assert again.provenance == release.provenance


@pytest.mark.claim("P14")
@pytest.mark.parametrize(
    "change",
    [
        lambda release: {"noise_scale": replace(release.noise_scale, mean=0.0)},
        lambda release: {"noise_scale": replace(release.noise_scale, mean=0.1)},
        lambda release: {"provenance": replace(release.provenance, constant=1)},
        lambda release: {"provenance": replace(release.provenance, center="public", constant=0)},
    ],
)
def test_a_file_that_states_another_mean_is_refused(tmp_path, change):
    release = released(rows()[:100])
    assert release.noise_scale.mean > 0.1
    replace(release, **change(release)).save(tmp_path / "forged.npz")
    with pytest.raises((CorruptFileError, ParameterError)):
        dpcov.Release.load(tmp_path / "forged.npz")


def test_collectors_with_a_mean_merge_and_are_stored():
    x = rows()[:2000]
    reports = local.simulate_reports(x, PLAN, seed=3)
    whole, first, second = (local.Collector(PLAN, simulated=True) for _ in range(3))
    whole.add_many(reports)
    first.add_many(reports[:700])
    second.add_many(reports[700:])
    assert local.Collector.from_state(second.merge(first).state_dict()) == whole


def test_a_column_that_fills_the_rows_has_the_errors_that_it_says():
    names = [f"x{place}" for place in range(6)]
    plan = local.CollectionPlan(columns=names, row_norm=1.0, epsilon=4.0, mean=True)
    means, variances = [], []
    for seed in range(80):
        x = np.random.default_rng(seed).normal([0.95, 0, 0, 0, 0, 0], 0.01, (600, 6))
        release = released(x, plan, seed=seed)
        noise = NoiseModel.of(release).of_table
        means.append((release.mean - x.mean(axis=0)) / np.sqrt(noise.mean_variance()))
        truth = np.cov(x.T, bias=True)
        errors = np.sqrt(noise.interval_variance(slice(0, 6), truth))
        variances.append(np.diag((release.matrix - truth) / errors))
    assert np.std(means, axis=0)[0] < 1.25  # 1.6 where all columns count as average ones
    assert np.std(variances, axis=0)[0] < 1.25
    assert 0.8 < np.std(np.array(means)[:, 1:]) < 1.15


@pytest.mark.claim("P50")
def test_the_constant_cell_counts_among_many_people_too(monkeypatch):
    asked = []

    def variation(cap, *, n_columns):
        asked.append(n_columns)
        return cap_variation(cap, n_columns=n_columns)

    monkeypatch.setattr(shuffled, "cap_variation", variation)
    assert PLAN.shuffled(10_000).epsilon < PLAN.epsilon
    assert asked == [PLAN.n_columns + 1]  # what it changes is below the digits that are stated


@pytest.mark.claim("P14")
def test_constants_that_pay_for_the_columns_alone_are_refused():
    cap = calibrate_cap(epsilon=2.0, n_columns=2)
    names, epsilon = ["a", "b"], cap_epsilon(cap, n_columns=2)
    assert epsilon < cap_epsilon(cap, n_columns=3)
    local.CollectionPlan(columns=names, row_norm=1.0, epsilon=epsilon, constants=cap)
    with pytest.raises(ParameterError, match="do not pay"):
        local.CollectionPlan(columns=names, row_norm=1.0, epsilon=epsilon, constants=cap, mean=True)


@pytest.mark.claim("P14")
def test_a_file_whose_constants_pay_for_the_columns_alone_is_refused(tmp_path):
    release = released(rows()[:100])
    epsilon = cap_epsilon(PLAN.cap, n_columns=3)
    assert epsilon < cap_epsilon(PLAN.cap, n_columns=4)
    promise = replace(release.provenance.calibrated_for, epsilon=epsilon)
    made = replace(release.provenance, calibrated_for=promise, events=(Pure("report", epsilon),))
    replace(release, provenance=made).save(tmp_path / "forged.npz")
    with pytest.raises(CorruptFileError, match="do not pay"):
        dpcov.Release.load(tmp_path / "forged.npz")


def test_means_are_neither_too_short_nor_noisier_than_they_say():
    plan = local.CollectionPlan(columns=["a"], row_norm=1.0, epsilon=4.0, mean=True)
    found = []
    for seed in range(100):
        x = np.random.default_rng(seed).normal(0.9, 0.02, (500, 1))
        release = released(x, plan, seed=seed)
        found.append(float(release.mean[0] - x.mean()) / release.noise_scale.mean)
    assert abs(np.mean(found)) < 0.4
    assert 0.8 < np.std(found) < 1.25  # 2.1 if noise did not grow with what is measured


def test_means_have_the_length_of_the_rows():
    plan = local.CollectionPlan(columns=["a", "b"], row_norm=2.0, epsilon=20.0, mean=True)
    x = np.random.default_rng(1).normal([1.2, -0.9], 0.1, (20_000, 2))
    release = released(x, plan)
    error = release.mean - x.mean(axis=0)
    assert release.noise_scale.mean < 0.02  # a row that is 6 % too short would be seen
    assert np.abs(error).max() < 4 * release.noise_scale.mean
