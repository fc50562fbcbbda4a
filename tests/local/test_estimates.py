"""Averages of reports are unbiased, and as noisy as the plan says."""

import numpy as np
import pytest
from scipy import stats

import dpcov
from dpcov import local
from dpcov.local import expansion
from dpcov.local.report import parse_reports


def plan_for(size, epsilon, mechanism="cap", **keywords):
    names = [f"x{i}" for i in range(size)]
    delta = 1e-5 if mechanism == "gaussian" else None
    return local.CollectionPlan(
        columns=names, row_norm=1.0, epsilon=epsilon, mechanism=mechanism, delta=delta, **keywords
    )


def release_of(rows, plan, seed):
    collector = local.Collector(plan, simulated=True)
    collector.add_many(local.simulate_reports(rows, plan, seed=seed))
    return collector.release()


ROWS = {
    "flat, norm 1": np.full(6, 6**-0.5),
    "flat, norm 0.3": np.full(6, 0.3 * 6**-0.5),
    "zero": np.zeros(6),
    "spike": np.eye(6)[0],
    "too long": np.array([3.0, -4.0, 0, 0, 0, 0]),
}


def standardized_errors(release, truth):
    """Errors of the entries on and above the diagonal, in standard errors."""
    noise, variances = release.noise_scale, np.diag(truth)
    variance = noise.off_diagonal**2 + noise.signal * np.add.outer(variances, variances)
    np.fill_diagonal(variance, noise.diagonal**2 + 4 * noise.signal * variances)
    errors = (release.matrix - truth) / np.sqrt(variance)
    return errors[np.triu_indices(len(truth))]


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("name", ROWS)
def test_the_mean_of_many_reports_of_one_row_is_its_outer_product(name, epsilon):
    row = ROWS[name]
    plan = plan_for(6, epsilon)
    clipped = row / max(1.0, np.linalg.norm(row))
    truth = np.outer(clipped, clipped)
    release = release_of(np.tile(row, (60_000, 1)), plan, seed=11)
    # 21 entries beyond 5.5 sd: probability 1e-6 at the truth.
    assert np.abs(standardized_errors(release, truth)).max() < 5.5


@pytest.mark.parametrize("name", ["flat, norm 1", "spike"])
def test_a_gain_that_is_off_by_a_tenth_would_be_noticed(name):
    row = ROWS[name]
    truth = np.outer(row, row)
    release = release_of(np.tile(row, (60_000, 1)), plan_for(6, 4.0), seed=11)
    assert np.abs(standardized_errors(release, 1.1 * truth)).max() > 5.5


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize(("size", "people"), [(10, 30_000), (100, 4_000)])
@pytest.mark.parametrize("row", ["zero", "flat"])
def test_the_variance_of_a_report_is_that_of_the_plan(size, people, epsilon, row):
    plan = plan_for(size, epsilon)
    x = np.zeros(size) if row == "zero" else np.full(size, size**-0.5)
    reports = local.simulate_reports(np.tile(x, (people, 1)), plan, seed=3)
    seeds = parse_reports(reports, plan, simulated=True).payloads
    normals = expansion.expand_integers(seeds, size) / 4096
    squares = normals**2
    # The sum of a_i² a_j² over pairs, without their table.
    pairs = (squares.sum(axis=1) ** 2 - (squares**2).sum(axis=1)) / (size * (size - 1))
    off_diagonal = pairs.mean() / plan.cap.gain**2 - x[0] ** 4
    diagonal = squares.var(axis=0).mean() / plan.cap.gain**2
    noise = plan.noise_scale(1)
    # To first order in the signal; the rest is κ (t² − 3)/κ² and −1 times x⁴.
    rest = ((plan.cap.threshold**2 - 3) / plan.cap.gain - 1) * x[0] ** 4
    expected = noise.off_diagonal**2 + 2 * noise.signal * x[0] ** 2 + rest
    assert off_diagonal == pytest.approx(expected, rel=0.05)
    expected = noise.diagonal**2 + 4 * noise.signal * x[0] ** 2 + rest
    assert diagonal == pytest.approx(expected, rel=0.05)
    assert noise.off_diagonal**2 == pytest.approx(plan.cap.variance)


@pytest.mark.parametrize(("epsilon", "variance"), [(0.5, 49.4), (1.0, 13.9), (2.0, 3.98)])
def test_gaussian_reports_have_the_known_variance(epsilon, variance):
    plan = plan_for(3, epsilon, "gaussian")
    noise = plan.noise_scale(1)
    assert noise.off_diagonal**2 == pytest.approx(variance, rel=3e-3)
    release = release_of(np.tile([0.6, 0.0, -0.8], (4000, 1)), plan, seed=2)
    truth = np.outer([0.6, 0.0, -0.8], [0.6, 0.0, -0.8])
    assert np.abs(standardized_errors(release, truth)).max() < 5.5


def coverage(mechanism, epsilon, *, people, repeats, change=lambda release: release):
    size = 10
    plan, generator = plan_for(size, epsilon, mechanism), np.random.default_rng(4)
    truth = np.eye(size) / 20
    truth[0, 1] = truth[1, 0] = 0.03
    hits = []
    for repeat in range(repeats):
        rows = generator.multivariate_normal(np.zeros(size), truth, size=people)
        release = change(release_of(rows, plan, seed=repeat))
        clipped = rows / np.maximum(1.0, np.linalg.norm(rows, axis=1))[:, None]
        target = truth * np.trace(clipped.T @ clipped) / np.trace(rows.T @ rows)
        low, high = release.estimate(rule="hard", threshold=3.0).interval(0.95)
        hits.append(((low <= target) & (target <= high))[np.triu_indices(size)])
    return float(np.mean(hits))


@pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning")
@pytest.mark.parametrize(("epsilon", "people", "repeats"), [(1.0, 4000, 60), (4.0, 4000, 30)])
def test_intervals_cover_with_cap(epsilon, people, repeats):
    assert 0.935 < coverage("cap", epsilon, people=people, repeats=repeats) < 0.97


@pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning")
def test_intervals_cover_with_gaussian_noise():
    assert 0.92 < coverage("gaussian", 2.0, people=1500, repeats=12) < 0.975


@pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning")
def test_intervals_without_the_signal_part_would_not_cover():
    def forget_signal(release):
        noise = dpcov.NoiseScale(release.noise_scale.off_diagonal, release.noise_scale.diagonal)
        facts = {name: getattr(release, name) for name in release.__dataclass_fields__}
        return dpcov.Release(**(facts | {"noise_scale": noise}))

    assert coverage("cap", 4.0, people=4000, repeats=30, change=forget_signal) < 0.935


def test_a_relation_is_found_by_the_ordinary_estimate():
    size, generator = 8, np.random.default_rng(0)
    rows = generator.normal(scale=0.3, size=(100_000, size))
    rows[:, 1] = 0.8 * rows[:, 0] + 0.6 * rows[:, 1]
    estimate = release_of(rows, plan_for(size, 2.0), seed=1).estimate()
    assert [(edge.first, edge.second) for edge in estimate.edges(fdr=1e-4)] == [("x0", "x1")]
    assert np.linalg.eigvalsh(estimate.covariance).min() > -1e-9


def test_the_integers_of_the_table_are_standard_normal_but_for_a_hundred_thousandth():
    table = expansion._table().astype(float) / 4096
    assert int((expansion._table().astype(np.int64) ** 2).sum()) == expansion.SQUARED_SUM
    assert abs(table).max() * 4096 == expansion.MAX_INTEGER
    assert table.mean() == 0
    assert (table**2).mean() == pytest.approx(1, abs=2e-6)
    assert (table**4).mean() == pytest.approx(3, abs=3e-4)


@pytest.mark.parametrize("bits", [slice(0, 8), slice(24, 32), slice(120, 128)])
def test_the_words_of_a_generator_look_independent_of_their_seeds(bits):
    # One bit of the seed flips: every word must look new.
    generator = np.random.default_rng(3)
    seeds = generator.integers(0, 256, (20_000, 16), dtype=np.uint8)
    flipped = np.packbits(
        np.unpackbits(seeds, axis=1)
        ^ np.isin(np.arange(128), np.arange(128)[bits][:1]).astype(np.uint8),
        axis=1,
    )
    first, second = (expansion.expand_normals(part, 20) for part in (seeds, flipped))
    z = (first * second).mean(axis=0) * np.sqrt(len(seeds))
    assert np.abs(z).max() < 5.5
    assert stats.kstest(first.ravel(), "norm").pvalue > 1e-6
