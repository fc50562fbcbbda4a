"""Selections and Gaussian noise together."""

import math

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.privacy import gaussian_delta, gaussian_scale
from dpcov.privacy.adaptive import _selection_losses, adaptive_delta, adaptive_scale

pytestmark = pytest.mark.claim("P13")


def divergence(first, second, epsilon):
    """Return the hockey-stick divergence of two discrete distributions."""
    return np.maximum(first - math.exp(epsilon) * second, 0).sum()


@settings(max_examples=300)
@given(
    st.lists(st.floats(0, 1), min_size=2, max_size=12),
    st.floats(0.01, 3),
    st.integers(0, 2**32 - 1),
    st.floats(-1, 1),
)
def test_no_exponential_mechanism_exceeds_the_bound(scores, width, seed, place):
    """Scores in [0, 1] that move by at most 1 either way, chosen with weights exp(η s / 2)."""
    scores = np.array(scores)
    moved = scores + np.random.default_rng(seed).uniform(-1, 1, size=len(scores))
    first, second = (np.exp(width * s / 2) for s in (scores, moved))
    first, second = first / first.sum(), second / second.sum()
    epsilon = place * width
    bound = sum(
        p * max(0.0, -math.expm1(epsilon - loss)) for loss, p in _selection_losses(1, width)
    )
    assert divergence(first, second, epsilon) <= bound * (1 + 1e-12) + 1e-15


@pytest.mark.parametrize("epsilon", [-0.5, -0.1, 0.0, 0.2, 0.7])
def test_the_bound_is_tight_for_a_selection_alone(epsilon):
    """Two candidates, one of which is as far above the other as the interval allows."""
    width = 0.8
    best = 0.0
    for shift in np.linspace(0, width, 4001)[1:-1]:
        # Losses shift and shift − η: the probability of the first follows from both sums.
        p = math.expm1(width - shift) / (math.exp(width - shift) - math.exp(-shift))
        first = np.array([p, 1 - p])
        second = first * np.exp([-shift, width - shift])
        best = max(best, divergence(first, second, epsilon))
    bound = sum(
        p * max(0.0, -math.expm1(epsilon - loss)) for loss, p in _selection_losses(1, width)
    )
    assert best <= bound <= best + 2e-4  # what 64 cells cost


def test_both_distributions_of_the_bounding_pair_are_distributions():
    for count in (1, 2, 3):
        losses, masses = np.array(_selection_losses(count, 0.37)).T
        assert masses.sum() == pytest.approx(1, abs=1e-12)
        assert (masses * np.exp(-losses)).sum() == pytest.approx(1, abs=1e-11)
        assert (masses >= 0).all()


def test_without_selections_it_is_the_gaussian():
    assert adaptive_scale(epsilon=0.7, delta=1e-6, selections=0, selection_range=0.1) == (
        gaussian_scale(epsilon=0.7, delta=1e-6)
    )
    found = adaptive_delta(epsilon=0.7, multiplier=3.0, selections=0, selection_range=0.1)
    assert found == pytest.approx(gaussian_delta(epsilon=0.7, scale=3.0), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("selections", [1, 2])
def test_an_independent_accountant_agrees(epsilon, selections):
    """A pure promise of half the range bounds a selection from below, one of η from above."""
    width, delta = 0.1 * epsilon / selections, 1e-5
    scale = adaptive_scale(
        epsilon=epsilon, delta=delta, selections=selections, selection_range=width
    )
    gauss = pld.from_gaussian_mechanism(scale, value_discretization_interval=1e-4)

    def composed(pure):
        one = pld.from_randomized_response(
            2 / (1 + math.exp(pure)), 2, value_discretization_interval=1e-4
        )
        return gauss.compose(one.self_compose(selections)).get_delta_for_epsilon(epsilon)

    assert composed(width / 2) <= delta * (1 + 1e-3)
    assert composed(width) >= delta * (1 - 1e-3)


@given(st.floats(0.05, 5), st.floats(-12, -2), st.integers(1, 3), st.floats(0.02, 0.5))
@settings(max_examples=25, deadline=None)
def test_the_scale_pays_and_a_smaller_one_does_not(epsilon, log_delta, selections, share):
    delta, width = 10**log_delta, share * epsilon / selections
    scale = adaptive_scale(
        epsilon=epsilon, delta=delta, selections=selections, selection_range=width
    )

    def paid(multiplier):
        return adaptive_delta(
            epsilon=epsilon, multiplier=multiplier, selections=selections, selection_range=width
        )

    assert paid(scale) <= delta
    assert paid(scale * (1 - 1e-6)) > delta


def test_selections_that_cost_more_than_the_promise_are_refused():
    with pytest.raises(ParameterError, match="smaller share"):
        adaptive_scale(epsilon=0.1, delta=1e-6, selections=1, selection_range=2.0)


@pytest.mark.parametrize("bad", [{"selections": -1}, {"selections": 9}, {"selection_range": 0.0}])
def test_impossible_parameters_are_refused(bad):
    facts = {"epsilon": 1.0, "multiplier": 3.0, "selections": 1, "selection_range": 0.1} | bad
    with pytest.raises(ParameterError):
        adaptive_delta(**facts)
