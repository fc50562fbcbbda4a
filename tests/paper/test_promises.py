import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov import paper
from dpcov.privacy import ApproxDP, gaussian_delta

# True δ / claimed δ for replace-one neighbors and the local model.
TABLE = {
    0.1: (0.04, 0.05, 0.08, 0.13, 0.24),
    0.5: (0.22, 0.28, 0.48, 0.80, 1.47),
    1.0: (0.57, 0.71, 1.23, 2.03, 3.74),
    2.0: (1.79, 2.24, 3.90, 6.47, 11.98),
}
DELTAS = (1 / 500, 1 / 1000, 1 / 5000, 1 / 20000, 1e-5)


@pytest.mark.parametrize("epsilon", TABLE)
def test_the_table_of_true_deltas(epsilon):
    for delta, ratio in zip(DELTAS, TABLE[epsilon], strict=True):
        actual = paper.actual_promise(ApproxDP(epsilon, delta, "replace"), 1.0)
        assert actual.replace / delta == pytest.approx(ratio, abs=0.006)
        assert actual.local == actual.replace


def test_add_remove_is_the_sensitivity_that_the_paper_assumes():
    claimed = ApproxDP(0.5, 1e-5, "replace")
    assert paper.actual_promise(claimed, 1.0).add_remove < 1e-5


def test_longer_rows_promise_less():
    claimed = ApproxDP(1.0, 1e-5, "replace")
    short, long = (paper.actual_promise(claimed, norm) for norm in (1.0, 5.0))
    assert long.replace > 0.9 > short.replace
    scale = math.sqrt(2 * math.log(1.25e5))
    assert long.add_remove == gaussian_delta(epsilon=1.0, scale=scale, sensitivity=25.0)


def test_unbounded_rows_promise_nothing():
    result = paper.perturbed_covariance(np.eye(3), epsilon=1, delta=1e-5)
    assert str(result.actual) == "none: row norms are not bounded"
    assert str(result.claimed).startswith("(1, 1e-05)")


def test_the_actual_promise_is_said_in_full():
    text = str(paper.actual_promise(ApproxDP(1.0, 1e-5, "replace"), 1.0))
    assert text.startswith("(1, 3.74e-05) for replace-one neighbors")


unit_rows = hnp.arrays(np.float64, 4, elements=st.floats(-1, 1)).map(
    lambda row: row / max(1.0, np.linalg.norm(row))
)


@given(unit_rows, unit_rows)
def test_no_two_rows_of_norm_1_are_further_apart_than_root_two(x, y):
    difference = (np.outer(x, x) - np.outer(y, y))[np.triu_indices(4)]
    assert np.linalg.norm(difference) <= math.sqrt(2) * (1 + 1e-12)
    assert np.linalg.norm(np.outer(x, x)[np.triu_indices(4)]) <= 1 + 1e-12
