import math

import numpy as np
import pytest

from dpcov.postprocess.level import EMPIRICAL_BAYES, Choice, choose
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.rules import RULES
from dpcov.postprocess.shrinkage import shrink_entries
from postprocess.simulation import band, release_of


@pytest.fixture(scope="module")
def release():
    return release_of(band(40), n_rows=20_000)


@pytest.mark.parametrize("rule", [*RULES, EMPIRICAL_BAYES])
def test_shrinking_is_exactly_symmetric_and_kills_below_the_level(release, rule):
    noise = NoiseModel.of(release)
    shrunk = shrink_entries(
        release.matrix, noise, choose(release.matrix, noise, rule=rule, level=3)
    )
    z = np.abs(release.matrix) / np.sqrt(noise.block(slice(None)))
    off = ~np.eye(40, dtype=bool)
    assert (shrunk == shrunk.T).all()
    assert not shrunk[off & (z <= 3)].any()
    assert shrunk[off & (z > 3)].any()
    assert (np.diag(shrunk) == noise.variances).all()


def test_the_paper_s_threshold_is_in_the_units_of_the_matrix(release):
    noise = NoiseModel.of(release)
    choice = Choice("hard", 1.0, RULES["hard"], threshold=0.2)
    shrunk = shrink_entries(release.matrix, noise, choice)
    off = ~np.eye(40, dtype=bool)
    assert ((shrunk != 0) == (np.abs(release.matrix) > 0.2))[off].all()


def test_an_infinite_level_leaves_the_diagonal(release):
    noise = NoiseModel.of(release)
    shrunk = shrink_entries(release.matrix, noise, Choice("hard", math.inf, RULES["hard"]))
    assert (shrunk == np.diag(noise.variances)).all()
