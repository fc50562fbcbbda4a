import numpy as np
import pytest
from scipy import stats

from dpcov import paper
from dpcov.errors import ParameterError


def generator(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("ratio", [0.1, 0.2, 0.5, 1.0])
def test_the_model_has_the_stated_share_of_entries(ratio):
    u = paper.sparse_covariance(200, ratio, generator())
    off = ~np.eye(200, dtype=bool)
    assert (u[off] != 0).mean() == pytest.approx(ratio, abs=0.02)
    assert np.linalg.eigvalsh(u)[0] > 0


@pytest.mark.parametrize("size", [50, 100, 200, 500])
def test_as_printed_a_row_has_squared_norm_p_over_4(size):
    u = paper.sparse_covariance(size, 0.2, generator())
    rows = paper.sample_rows(u, 2000, generator(1))
    squared = (rows**2).sum(axis=1)
    assert squared.mean() == pytest.approx(size / 4, rel=0.05)
    assert squared.min() > 1


def test_the_scaled_model_has_short_rows():
    u = paper.scaled_to_norm(paper.sparse_covariance(100, 0.2, generator()))
    rows = paper.sample_rows(u, 20_000, generator(1))
    long = np.linalg.norm(rows, axis=1) > 1
    assert 0.002 < long.mean() < 0.03


@pytest.mark.parametrize("ratio", [0.0, -0.1, 1.1, "x"])
def test_an_impossible_ratio_is_refused(ratio):
    with pytest.raises(ParameterError, match="sr must"):
        paper.sparse_covariance(10, ratio, generator())


@pytest.mark.parametrize("size", [1, 0, 2.5])
def test_an_impossible_size_is_refused(size):
    with pytest.raises(ParameterError, match="p must"):
        paper.sparse_covariance(size, 0.2, generator())


def test_normal_entries_have_both_signs():
    u = paper.sparse_covariance(200, 0.2, generator(), entries="normal") * 200
    entries = u[np.triu_indices(200, k=1)]
    entries = entries[entries != 0]
    assert (entries < 0).mean() == pytest.approx(0.5, abs=0.05)
    assert entries.std() == pytest.approx(1, abs=0.05)


def test_unknown_entries_are_refused():
    with pytest.raises(ParameterError, match="entries must be one of 'uniform', 'normal'"):
        paper.sparse_covariance(10, 0.2, generator(), entries="cauchy")


def test_a_model_that_is_not_positive_definite_is_refused():
    u = paper.sparse_covariance(2000, 1.0, generator(), entries="normal")
    with pytest.raises(ParameterError, match="λ = 50 is too small"):
        paper.sample_rows(u, 10, generator())


def moments_from_rows(u, n, seed):
    rows = paper.sample_rows(u, n, generator(seed))
    return rows.T @ rows / n


def test_second_moments_have_the_law_of_those_of_rows():
    u = np.array([[1.0, 0.6, 0.0], [0.6, 2.0, -0.5], [0.0, -0.5, 0.5]])
    above = np.triu_indices(3)
    drawn, from_rows, too_few = (
        np.array([draw(seed)[above] for seed in range(3000)])
        for draw in (
            lambda seed: paper.sample_second_moment(u, 7, generator(seed)),
            lambda seed: moments_from_rows(u, 7, 10_000 + seed),
            lambda seed: paper.sample_second_moment(u, 6, generator(20_000 + seed)),
        )
    )
    pvalues = [
        [stats.ks_2samp(a[:, k], b[:, k]).pvalue for k in range(6)]
        for a, b in ((drawn, from_rows), (too_few, from_rows))
    ]
    assert min(pvalues[0]) > 1e-4
    # The control: one row fewer is noticed.
    assert min(pvalues[1]) < 0.01


def test_fewer_rows_than_columns_have_a_singular_second_moment():
    moment = paper.sample_second_moment(np.eye(5), 3, generator())
    assert np.linalg.matrix_rank(moment) == 3
