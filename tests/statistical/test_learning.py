"""Columns of every kind are learned well enough: center, scale and limits."""

import numpy as np
import pytest

from dpcov.columns.missing import Missing
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.budget import plan_learning
from dpcov.mechanisms.learning.learn import learn
from dpcov.mechanisms.learning.stated import Stated
from dpcov.privacy import ApproxDP
from dpcov.releases.learned import Known
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.tables import open_table

N_ROWS, SEEDS = 20_000, range(5)
GENERATOR = np.random.default_rng(11)
# Each kind of column, and bounds that a person could state.
KINDS = {
    "binary": (GENERATOR.random(N_ROWS) < 0.4, (0, 1)),
    "rare": (GENERATOR.random(N_ROWS) < 0.01, (0, 1)),
    "likert": (GENERATOR.integers(1, 6, N_ROWS), (1, 5)),
    "many zeros": (
        np.where(GENERATOR.random(N_ROWS) < 0.7, 0, GENERATOR.poisson(4, N_ROWS)),
        (0, 100),
    ),
    "money": (GENERATOR.lognormal(10, 0.8, N_ROWS), (0, 10_000_000)),
    "years": (2000 + GENERATOR.integers(-6, 7, N_ROWS), (1000, 3000)),
    "negative": (-GENERATOR.gamma(2, 50, N_ROWS), (-10_000, 0)),
    "constant": (np.full(N_ROWS, 7.0), (0, 100)),
    "billions": (GENERATOR.normal(3e9, 1e9, N_ROWS), (-1e11, 1e11)),
    "billionths": (GENERATOR.normal(2e-9, 1e-9, N_ROWS), (0, 1e-7)),
    "both signs": (GENERATOR.normal(-3, 10, N_ROWS), (-200, 200)),
}
TABLE = np.column_stack([cells for cells, _ in KINDS.values()]).astype(float)


def facts(is_stated):
    plain = Stated.nothing(len(KINDS))
    if not is_stated:
        return plain
    lower, upper = np.array([bounds for _, bounds in KINDS.values()], dtype=float).T
    return Stated(lower=lower, upper=upper, center=plain.center, scale=plain.scale)


def learned(is_stated, seed, rows=TABLE):
    stated = facts(is_stated)
    _, found, _ = learn(
        open_table(rows),
        stated,
        plan_learning(ApproxDP(1.0, 1e-6, "replace"), stated),
        missing=Missing.REFUSE,
        engine=SerialEngine(),
        stream=RandomStream.from_seed(seed),
    )
    return found


@pytest.fixture(scope="module", params=[True, False], ids=["bounds", "nothing"])
def found(request):
    return [learned(request.param, seed) for seed in SEEDS]


@pytest.mark.parametrize("place", range(len(KINDS)), ids=list(KINDS))
def test_a_column_of_every_kind_is_learned(found, place):
    cells, name = TABLE[:, place], list(KINDS)[place]
    for each in found:
        within = (cells >= each.lower[place]) & (cells <= each.upper[place])
        assert within.mean() >= 0.97
        assert each.beyond[place] == pytest.approx(1 - within.mean(), abs=6 * each.beyond_error)
        if name == "constant":
            assert each.known_scale[place] == Known.NOT_SEEN
            continue
        deviation = cells.std()
        assert abs(each.center[place] - cells.mean()) < deviation
        most = 4 if name == "rare" else 2
        assert 1 / most < each.scale[place] / deviation < most
        if name != "rare":  # its variance is less than three noise sd
            assert each.known_scale[place] == Known.LEARNED


def test_a_column_that_cannot_be_learned_does_not_harm_the_others(found):
    for each in found:
        working = (np.clip(TABLE, each.lower, each.upper) - each.center) / each.scale
        squared = (working**2).sum(axis=1)
        assert np.quantile(squared, 0.9) < 2 * TABLE.shape[1]
        radius = each.norms.radius(0.85)
        assert 0.75 < (squared <= radius**2).mean() < 0.95
        assert each.norms.share_beyond(radius) == pytest.approx(
            (squared > radius**2).mean(), abs=0.06
        )


@pytest.mark.parametrize("is_stated", [True, False])
def test_a_thousand_rows_are_not_refused(is_stated):
    for seed in SEEDS:
        each = learned(is_stated, seed, TABLE[:1000])
        assert np.isfinite(each.scale).all()
        assert each.norms.radius(0.85) > 0
