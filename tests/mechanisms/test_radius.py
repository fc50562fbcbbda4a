"""A radius that is paid for."""

import math

import numpy as np
import pytest
from scipy.stats import chisquare

from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.radius import PrivateRadius, choose_radius
from dpcov.sensitive.sums.norm_counts import NormKernel

OPTION = PrivateRadius(quantile=0.5, low=1.0, high=1.5)


def counts(norms, option=OPTION):
    rows = np.asarray(norms, dtype=float)[:, None]
    return NormKernel(option.candidates(), 1, "refuse").sum_over([rows])


def law(norms, option, width, rows_per_unit=1):
    """Return the probabilities of the candidates, straight from the definition."""
    radii, wanted = option.candidates(), math.floor(option.quantile * len(norms))
    scores = []
    for place, radius in enumerate(radii):
        within = sum(norm <= radius for norm in norms)
        before = 0 if place == 0 else sum(norm <= radii[place - 1] for norm in norms)
        scores.append(-max(0, wanted - within, before - wanted))
    weights = np.exp(np.array(scores) * width / (2 * rows_per_unit))
    return weights / weights.sum()


NORMS = [1.0, 1.05, 1.1, 1.2, 1.21, 1.3, 1.42, 3.0]


@pytest.mark.claim("P18")
@pytest.mark.parametrize("rows_per_unit", [1, 2])
def test_radii_are_chosen_with_the_stated_probabilities(rows_per_unit):
    stream, found = RandomStream.from_seed(5), counts(NORMS)
    radii = OPTION.candidates().tolist()
    drawn = np.zeros(len(radii))
    for _ in range(4000):
        radius = choose_radius(
            found, OPTION, selection_range=1.5, stream=stream, rows_per_unit=rows_per_unit
        )
        drawn[radii.index(radius)] += 1
    expected = 4000 * law(NORMS, OPTION, 1.5, rows_per_unit)
    assert chisquare(drawn, expected).pvalue > 1e-6
    wrong = 4000 * law(NORMS, OPTION, 2.5, rows_per_unit)  # a control: another range
    assert chisquare(drawn, wrong).pvalue < 1e-6


@pytest.mark.claim("P18")
def test_the_range_of_the_privacy_loss_is_as_stated():
    generator = np.random.default_rng(0)
    largest = 0.0
    for _ in range(300):
        norms = generator.uniform(0.9, 1.6, size=6)
        changed = norms.copy()
        changed[0] = generator.uniform(0.9, 1.6)
        loss = np.log(law(norms, OPTION, 0.8) / law(changed, OPTION, 0.8))
        largest = max(largest, np.ptp(loss))
    assert 0.7 < largest <= 0.8 + 1e-12


@pytest.mark.parametrize("norm", [1e-7, 1.0, 12345.0])
def test_rows_of_one_length_get_a_radius_just_above_it(norm):
    option = PrivateRadius()
    found = counts(np.full(20_000, norm), option)
    stream = RandomStream.from_seed(1)
    for _ in range(20):
        radius = choose_radius(found, option, selection_range=0.1, stream=stream)
        assert norm <= radius < 1.05 * norm


def test_the_quantile_is_found():
    option = PrivateRadius(quantile=0.9)
    norms = np.random.default_rng(0).exponential(size=50_000)
    radius = choose_radius(
        counts(norms, option), option, selection_range=0.1, stream=RandomStream.from_seed(2)
    )
    assert 0.88 < (norms <= radius).mean() < 0.93


def test_more_rows_let_fewer_be_clipped():
    option = PrivateRadius()
    aims = [option.aim(n, 0.1) for n in (1000, 10_000, 20_000, 10**6)]
    assert aims == [0.9, 0.95, 0.975, 0.99]


def test_too_few_rows_are_refused_with_a_share_that_suffices():
    option = PrivateRadius()
    with pytest.raises(ParameterError, match="1000 rows are too few") as refusal:
        option.check_rows(1000, 0.1)
    factor = float(str(refusal.value).split(" times as")[0].rsplit(" ", 1)[1])
    option.check_rows(1000, 0.1 * factor * 1.01)
    PrivateRadius(low=1.0, high=2.0).check_rows(1000, 0.2)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"share": 0}, "share"),
        ({"share": 1}, "share"),
        ({"quantile": 1}, "quantile"),
        ({"low": 0}, "low"),
        ({"low": 2, "high": 1}, "low must be below high"),
        ({"low": 1.001, "high": 1.002}, "no radius lies between"),
    ],
)
def test_impossible_wishes_are_refused(bad, message):
    with pytest.raises(ParameterError, match=message):
        PrivateRadius(**bad).candidates()
