import math

import pytest

from dpcov import paper
from dpcov.errors import ParameterError

FACTS = {"sparsity": 20, "n_columns": 100, "n_rows": 5000, "epsilon": 0.5, "delta": 1e-5}


def test_the_bound_is_the_root_of_the_printed_one():
    squared = 20**2 * math.log(100) * math.log(1e5) / (5000 * 0.5**2)
    assert paper.error_bound(**FACTS) == pytest.approx(math.sqrt(squared), rel=1e-12)


@pytest.mark.parametrize(
    ("change", "factor"),
    [
        ({"sparsity": 40}, 2),
        ({"n_columns": 100**4}, 2),
        ({"n_rows": 20_000}, 0.5),
        ({"epsilon": 1.0}, 0.5),
        ({"delta": 1e-20}, 2),
    ],
)
def test_the_bound_moves_as_printed(change, factor):
    moved = paper.error_bound(**(FACTS | change)) / paper.error_bound(**FACTS)
    assert moved == pytest.approx(factor, rel=1e-12)


@pytest.mark.parametrize(
    "wrong", [{"sparsity": -1}, {"n_columns": 1}, {"n_rows": 0}, {"epsilon": 0}, {"delta": 1}]
)
def test_impossible_facts_are_refused(wrong):
    with pytest.raises(ParameterError):
        paper.error_bound(**(FACTS | wrong))
