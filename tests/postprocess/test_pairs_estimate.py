import math

import numpy as np
import pytest
from scipy import sparse, stats

import dpcov
from dpcov.errors import NothingDetectableWarning, ParameterError
from dpcov.postprocess.diagonal import shrink_diagonal

BUDGET = {"epsilon": 1.0, "delta": 1e-5}


def rows_of(truth, n, seed, kind="normal"):
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, len(truth))) @ np.linalg.cholesky(truth).T
    if kind == "t5":
        rows /= np.sqrt(generator.chisquare(5, size=(n, 1)) / 5)
    return rows


def paired(p=40, edges=8, r=0.6):
    truth = np.eye(p)
    for i in range(0, 2 * edges, 2):
        truth[i, i + 1] = truth[i + 1, i] = r
    return truth


@pytest.fixture(scope="module")
def estimate():
    rows = rows_of(paired(), 8000, 0)
    return dpcov.release_pairs(
        rows, **BUDGET, max_pairs=20, center="differences", seed=0
    ).estimate()


def test_the_true_pairs_are_kept_and_no_others(estimate):
    assert (estimate.support == (paired() != 0)).all()


def test_correlations_come_from_the_sine_of_the_co_movement(estimate):
    moved = estimate.release.co_movement
    expected = np.sin(math.pi / 2 * np.clip(moved, -1, 1))
    assert estimate.pair_correlation == pytest.approx(expected)
    assert estimate.pair_correlation[estimate.kept] == pytest.approx(0.6, abs=0.15)


@pytest.mark.parametrize("kind", ["normal", "t5"])
@pytest.mark.parametrize("center", ["learned", "differences", 0.0])
def test_the_estimate_is_unbiased_for_elliptical_rows(kind, center):
    truth = paired(4, 2, 0.5)
    options = {"epsilon": 5.0, "delta": 1e-4, "max_pairs": 6}
    values = [
        dpcov.release_pairs(rows_of(truth, 4000, s, kind), **options, center=center, seed=s)
        .estimate(fdr=0.9)
        .pair_correlation[0]
        for s in range(30)
    ]
    assert np.mean(values) == pytest.approx(0.5, abs=0.02)


def test_standard_errors_are_those_of_repeated_releases():
    truth = paired(4, 1, 0.5)
    options = {"epsilon": 2.0, "delta": 1e-4, "max_pairs": 6}
    estimates = [
        dpcov.release_pairs(rows_of(truth, 3000, s), **options, seed=s).estimate()
        for s in range(300)
    ]
    observed = np.std([e.pair_correlation for e in estimates], axis=0)
    stated = np.mean([e.pair_standard_error for e in estimates], axis=0)
    assert observed == pytest.approx(stated, rel=0.2)


def test_intervals_cover_as_often_as_they_say():
    truth = paired(6, 2, 0.5)
    options = {"epsilon": 2.0, "delta": 1e-4, "max_pairs": 15}
    covered = []
    for seed in range(120):
        found = dpcov.release_pairs(rows_of(truth, 2000, seed), **options, seed=seed).estimate(
            fdr=0.9
        )
        low, high = found.interval(0.9)
        first, second = found.release.pairs.T
        covered.append((low <= truth[first, second]) & (truth[first, second] <= high))
    assert np.mean(covered) == pytest.approx(0.9, abs=0.03)


def test_false_edges_are_as_rare_as_asked():
    truth = paired(100, 10, 0.5)
    shares = []
    for seed in range(12):
        release = dpcov.release_pairs(
            rows_of(truth, 6000, seed), **BUDGET, max_pairs=100, seed=seed
        )
        edges = list(release.estimate().edges(fdr=0.1))
        false = sum(truth[int(e.first[1:]), int(e.second[1:])] == 0 for e in edges)
        shares.append(false / max(1, len(edges)))
    assert np.mean(shares) < 0.1


def test_edges_are_sorted_and_say_how_sure_they_are(estimate):
    edges = estimate.edges(fdr=0.05)
    q_values = [edge.q_value for edge in edges]
    assert q_values == sorted(q_values)
    assert len(edges) == 8
    assert len(estimate.edges(fdr=1e-85)) < 8


def test_the_covariance_is_positive_semi_definite_and_sparse():
    # A ring of strong correlations that noise makes indefinite.
    rng = np.random.default_rng(0)
    common = rng.normal(size=(3000, 1))
    rows = common + 0.45 * rng.normal(size=(3000, 12))
    release = dpcov.release_pairs(rows, epsilon=0.7, delta=1e-5, max_pairs=40, seed=3)
    raw, found = release.estimate(psd="none"), release.estimate()
    assert np.linalg.eigvalsh(raw.covariance)[0] < -1e-3
    assert np.linalg.eigvalsh(found.covariance)[0] > -1e-9
    assert ((found.covariance != 0) <= found.support).all()
    assert np.diag(found.covariance) == pytest.approx(np.ones(12))


def test_dense_and_sparse_forms_agree(estimate):
    assert sparse.issparse(estimate.covariance_sparse)
    assert (estimate.covariance_sparse.toarray() == estimate.covariance).all()
    assert not estimate.covariance.flags.writeable
    assert estimate.to_frame().shape == (40, 40)
    assert estimate.sample(5, seed=0).shape == (5, 40)
    assert estimate.precision @ estimate.covariance == pytest.approx(np.eye(40), abs=1e-8)


def test_public_scales_return_the_units():
    scales = np.linspace(1, 5, 40)
    rows = rows_of(paired(), 8000, 0) * scales
    release = dpcov.release_pairs(rows, **BUDGET, max_pairs=20, scales=scales, seed=0)
    found = release.estimate()
    assert np.diag(found.covariance) == pytest.approx(scales**2)
    assert found.correlation[0, 1] == pytest.approx(0.6, abs=0.15)
    edge = found.edges(fdr=0.01)[0]
    assert edge.value == pytest.approx(
        found.covariance[int(edge.first[1:]), int(edge.second[1:])], rel=1e-6
    )


def test_paid_for_variances_are_shrunk_and_positive():
    rows = rows_of(paired(), 8000, 0)
    release = dpcov.release_pairs(
        rows, **BUDGET, max_pairs=20, row_norm=8.0, cell_bound=3.5, seed=0
    )
    diagonal = np.diag(release.estimate().covariance)
    assert (diagonal > 0).all()
    assert diagonal == pytest.approx(np.ones(40), abs=0.5)
    released, free = (
        e.edges(fdr=0.1)[0].standard_error / abs(e.edges(fdr=0.1)[0].value)
        for e in (
            release.estimate(),
            dpcov.release_pairs(rows, **BUDGET, max_pairs=20, seed=0).estimate(),
        )
    )
    assert released > free  # the scales are uncertain too


def test_a_budget_too_small_comes_back_empty_handed():
    rows = rows_of(paired(), 200, 0)
    release = dpcov.release_pairs(
        rows, epsilon=0.01, delta=1e-5, max_pairs=20, seed=0, allow={"small"}
    )
    with pytest.warns(NothingDetectableWarning, match="no correlation, however strong"):
        found = release.estimate()
    assert not found.kept.any()
    assert (found.covariance == np.eye(40)).all()
    assert len(found.edges(fdr=0.1)) == 0
    assert found.smallest_detectable_correlation == math.inf


def test_twenty_thousand_columns_are_cheap():
    columns = 20_000
    pairs = np.stack([np.arange(0, 2000, 2), np.arange(1, 2000, 2)], axis=1).astype(np.int32)
    rows = rows_of(paired(), 8000, 0)
    small = dpcov.release_pairs(rows, **BUDGET, max_pairs=20, center="differences", seed=0)
    wide = dpcov.PairsRelease(
        pairs=pairs,
        co_movement=np.full(1000, 0.5),
        noise_scale=small.noise_scale,
        n_terms=small.n_terms,
        variances=None,
        n_rows=small.n_rows,
        columns=tuple(f"x{i}" for i in range(columns)),
        provenance=small.provenance,
        simulated=True,
        units=dpcov.Units.plain(columns),
    )
    found = wide.estimate()
    assert found.covariance_sparse.shape == (columns, columns)
    assert found.covariance_sparse.nnz == columns + 2000


@pytest.mark.parametrize(
    ("options", "message"), [({"fdr": 0}, "fdr must"), ({"fdr": 1}, "fdr"), ({"psd": "x"}, "psd")]
)
def test_impossible_options_are_refused(estimate, options, message):
    with pytest.raises(ParameterError, match=message):
        estimate.release.estimate(**options)


def small_release(co_movement, noise_scale=0.05, variances=None, n_terms=400):
    """A release of given values: six columns, of whose fifteen pairs some were selected."""
    made = dpcov.release_pairs(
        np.zeros((2 * n_terms, 6)),
        **BUDGET,
        max_pairs=len(co_movement),
        center="differences",
        seed=0,
    ).provenance
    pairs = np.stack(np.triu_indices(6, k=1), axis=1)[: len(co_movement)].astype(np.int32)
    return dpcov.PairsRelease(
        pairs=pairs,
        co_movement=np.array(co_movement),
        noise_scale=noise_scale,
        n_terms=n_terms,
        variances=variances,
        n_rows=2 * n_terms,
        columns=tuple("abcdef"),
        provenance=made,
        simulated=True,
        units=dpcov.Units.plain(6),
    )


VALUES = [0.9, -0.3, 0.21, 0.19, -0.01]


def test_q_values_count_all_pairs_as_tested_on_both_sides():
    sd = math.sqrt(1 / 400 + 0.05**2)
    p_values = [2 * stats.norm.sf(abs(value) / sd) for value in VALUES] + [1.0] * 10
    expected = stats.false_discovery_control(p_values)[:5]
    edges = small_release(VALUES).estimate().edges(fdr=0.999)
    order = np.argsort([-abs(value) for value in VALUES])
    assert [edge.q_value for edge in edges] == pytest.approx(
        [expected[place] for place in order if expected[place] <= 0.999]
    )


@pytest.mark.parametrize("fdr", [1e-6, 0.01, 0.1, 0.5])
def test_what_is_kept_is_what_is_listed(fdr):
    found = small_release(VALUES).estimate(fdr=fdr)
    assert int(found.kept.sum()) == len(found.edges(fdr=fdr))


def test_intervals_are_those_of_the_co_movement():
    low, high = small_release(VALUES).estimate().interval(0.95)
    for value, a, b in zip(VALUES, low, high, strict=True):
        margin = 1.959964 * math.sqrt((1 - value**2) / 400 + 0.05**2)
        ends = [math.sin(math.pi / 2 * max(-1, min(1, value + side * margin))) for side in (-1, 1)]
        assert [a, b] == pytest.approx(ends, rel=1e-6)


def test_uncertain_scales_widen_the_errors_of_covariances():
    values, noise = np.array([1.0, 4.0, 2.0, 3.0, 2.5, 1.5]), 0.02
    release = small_release(VALUES, variances=dpcov.releases.Variances(values, noise))
    shrunk = shrink_diagonal(values, noise=noise**2, sampling=1 / 400)
    edge = release.estimate().edges(fdr=0.1)[0]
    r = math.sin(math.pi / 2 * 0.9)
    error = math.pi / 2 * math.sqrt(1 - r**2) * math.sqrt((1 - 0.81) / 400 + 0.05**2)
    relative = [(noise**2 + 2 * v**2 / 400) / (4 * v**2) for v in shrunk[:2]]
    scale = math.sqrt(shrunk[0] * shrunk[1])
    assert edge.value == pytest.approx(r * scale)
    assert edge.standard_error == pytest.approx(scale * math.sqrt(error**2 + r**2 * sum(relative)))
    assert np.diag(release.estimate(psd="none").covariance) == pytest.approx(shrunk)


@pytest.mark.parametrize("value", [0.99, 1.0, 1.3, -1.1])
def test_no_correlation_is_certain(value):
    error = small_release([value]).estimate().pair_standard_error[0]
    # Half a standard deviation of the co-movement, 0.05, matters even at the flat end.
    assert 1e-3 < error < 0.1


def test_negative_noisy_variances_come_back_positive():
    values = np.array([-0.5, 1.0, 1.0, 1.0, 1.0, 1.0])
    release = small_release(VALUES, variances=dpcov.releases.Variances(values, 0.3))
    assert np.diag(release.estimate().covariance).min() >= 0.03
