"""A sparse graph: which edges it finds, its penalty, and what it needs."""

import sys

import numpy as np
import pytest

import dpcov
from dpcov.answers import sparse_graph
from dpcov.errors import MissingExtraError, ParameterError

P = 15


@pytest.fixture(scope="module")
def release():
    precision = np.eye(P) + 0.35 * (np.eye(P, k=1) + np.eye(P, k=-1))
    root = np.linalg.cholesky(np.linalg.inv(precision))
    rows = np.random.default_rng(0).normal(size=(20_000, P)) @ root.T
    return dpcov.release(rows, epsilon=1, delta=1e-6, seed=0)


@pytest.fixture(scope="module")
def graph(release):
    return release.graph()


CHAIN = {(f"x{place}", f"x{place + 1}") for place in range(P - 1)}


def test_it_finds_the_edges_of_a_chain_and_hardly_any_other(graph):
    found = {(edge.first, edge.second) for edge in graph.edges}
    assert found >= CHAIN
    assert len(found - CHAIN) <= 1


def test_edges_that_shrinking_alone_makes_are_taken_out(monkeypatch):
    related = 0.6 ** np.abs(np.subtract.outer(range(P), range(P)))
    rows = np.random.default_rng(0).normal(size=(20_000, P)) @ np.linalg.cholesky(related).T
    strong = dpcov.release(rows, epsilon=3, delta=1e-6, seed=0)
    assert {(edge.first, edge.second) for edge in strong.graph().edges} == CHAIN
    monkeypatch.setattr(sparse_graph, "_pruned", lambda precision, *rest: precision)
    assert len(strong.graph().edges) > len(CHAIN) + 3


def test_related_columns_alone_would_be_many_more(release, graph):
    assert len(release.estimate().edges()) > 2 * len(graph.edges)


def test_a_larger_penalty_leaves_fewer_edges(release, graph):
    assert len(release.graph(penalty=60).edges) < len(graph.edges)
    assert len(release.graph(penalty=1).edges) > len(graph.edges)


def test_no_penalty_joins_all(release):
    assert len(release.graph(penalty=1e-6).edges) == P * (P - 1) // 2


def test_the_penalty_follows_from_the_noise(release, graph):
    from dpcov.answers.moments import moments_of

    errors = np.sqrt(moments_of(release, np.arange(P), "population").of_unrelated)
    off = ~np.eye(P, dtype=bool)
    expected = 2 * np.sqrt(np.log(P)) * errors[off]
    np.testing.assert_allclose(graph.penalties[off], expected, rtol=0.1)
    assert "standard errors" in graph.in_words


def test_a_penalty_that_is_a_product_is_met_exactly():
    scales = np.array([0.1, 0.2, 0.4, 0.3])
    np.testing.assert_allclose(sparse_graph._scales(np.outer(scales, scales)), scales)


def test_parts_that_are_solved_alone_are_those_of_the_whole(release):
    from sklearn.covariance import graphical_lasso

    from dpcov.answers.moments import moments_of

    moments = moments_of(release, np.arange(P), "population")
    lifted = moments.lifted.covariance
    deviations = np.sqrt(lifted.diagonal())
    scaled = lifted / np.outer(deviations, deviations)
    _, whole = graphical_lasso(scaled, alpha=0.25, max_iter=500)
    parts = sparse_graph._solve(graphical_lasso, scaled, np.full(P, 0.5), 1.0)
    np.testing.assert_allclose(parts, whole, atol=2e-3)


def test_the_matrix_has_ones_and_zeros(graph):
    assert (graph.matrix.diagonal() == 1).all()
    assert (graph.matrix == 0).sum() > P
    assert graph.to_frame().shape == (P, P)


def test_texts_say_how_the_penalty_was_chosen(release, graph):
    assert "2√(log p) for p = 15 columns" in graph.summary()
    assert "as stated" in release.graph(penalty=3).summary()
    assert "SparseGraph" in graph._repr_html_()


@pytest.mark.parametrize("penalty", [0, -1, float("nan"), "much"])
def test_a_penalty_that_is_none_is_refused(release, penalty):
    with pytest.raises(ParameterError, match="penalty"):
        release.graph(penalty=penalty)


def test_two_columns_are_refused(release):
    with pytest.raises(ParameterError, match="at least 3"):
        release.graph(["x0", "x1"])


def test_without_scikit_learn_it_says_what_to_install(release, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.covariance", None)
    with pytest.raises(MissingExtraError, match=r"dpcov\[sklearn\]"):
        release.graph()
