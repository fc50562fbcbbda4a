"""A row norm that is paid for."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms import radius
from dpcov.mechanisms.radius import candidates, check_rows, choose_radius
from dpcov.sensitive.sums.norm_counts import NormKernel

RADII = np.exp2(np.arange(10) / 16)


def counts(norms, radii=RADII):
    rows = np.asarray(norms, dtype=float)[:, None]
    return NormKernel(radii, 1, "refuse").sum_over([rows])


def law(norms, width, rows_per_unit=1):
    """Return the probabilities of the candidates, straight from the definition."""
    wanted = math.floor(len(norms) / 2)
    scores = []
    for place, longest in enumerate(RADII):
        within = sum(norm <= longest for norm in norms)
        before = 0 if place == 0 else sum(norm <= RADII[place - 1] for norm in norms)
        scores.append(-max(0, wanted - within, before - wanted))
    weights = np.exp(np.array(scores) * width / (2 * rows_per_unit))
    return weights / weights.sum()


NORMS = [1.0, 1.05, 1.1, 1.2, 1.21, 1.3, 1.42, 3.0]


@pytest.fixture
def median(monkeypatch):
    """Let half of the rows be clipped, so that a few rows tell one radius from another."""
    monkeypatch.setattr(radius, "_quantile", lambda *facts: 0.5)


@pytest.mark.claim("P18")
@pytest.mark.parametrize("rows_per_unit", [1, 2])
def test_radii_are_chosen_with_the_stated_probabilities(rows_per_unit, median):
    stream, found = RandomStream.from_seed(5), counts(NORMS)
    drawn = np.zeros(len(RADII))
    for _ in range(4000):
        chosen = choose_radius(
            found, selection_range=1.5, stream=stream, rows_per_unit=rows_per_unit
        )
        drawn[RADII.tolist().index(chosen)] += 1
    assert chisquare(drawn, 4000 * law(NORMS, 1.5, rows_per_unit)).pvalue > 1e-6
    wrong = 4000 * law(NORMS, 2.5, rows_per_unit)  # a control: another range
    assert chisquare(drawn, wrong).pvalue < 1e-6


@pytest.mark.claim("P18")
def test_the_range_of_the_privacy_loss_is_as_stated():
    generator = np.random.default_rng(0)
    largest = 0.0
    for _ in range(300):
        norms = generator.uniform(0.9, 1.6, size=6)
        changed = norms.copy()
        changed[0] = generator.uniform(0.9, 1.6)
        loss = np.log(law(norms, 0.8) / law(changed, 0.8))
        largest = max(largest, np.ptp(loss))
    assert 0.7 < largest <= 0.8 + 1e-12


@pytest.mark.parametrize("norm", [1e-7, 1.0, 12345.0])
def test_rows_of_one_length_get_a_radius_just_above_it(norm):
    found = counts(np.full(20_000, norm), candidates())
    stream = RandomStream.from_seed(1)
    for _ in range(20):
        chosen = choose_radius(found, selection_range=0.1, stream=stream)
        assert norm <= chosen < 1.05 * norm


def test_the_quantile_is_found():
    norms = np.random.default_rng(0).exponential(size=50_000)
    chosen = choose_radius(
        counts(norms, candidates()), selection_range=0.1, stream=RandomStream.from_seed(2)
    )
    assert 0.975 < (norms <= chosen).mean() < 0.995


def test_more_rows_let_fewer_be_clipped():
    aims = [radius._quantile(n, 0.1, 1) for n in (1000, 10_000, 20_000, 10**6)]
    assert aims == [0.9, 0.95, 0.975, 0.99]


def test_too_few_rows_are_refused():
    with pytest.raises(ParameterError, match="1000 rows are too few"):
        check_rows(1000, 0.1)
    check_rows(2400, 0.1)
    with pytest.raises(ParameterError, match="2400 rows are too few"):
        check_rows(2400, 0.1, rows_per_unit=2)
