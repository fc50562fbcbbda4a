import numpy as np
import pytest

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
