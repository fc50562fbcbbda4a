"""The rule about differences of rows: once, before a table is opened."""

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms import door
from dpcov.mechanisms.differences import check_differences, draw_pairing
from dpcov.privacy import Neighbors

ROWS = np.random.default_rng(0).normal(size=(40, 3))
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
CENTERS = {
    "alone": {"center": "differences"},
    "with variances": {"center": "differences", "row_norm": 1.0},
}
REFUSED = {
    "relation": ({"neighbors": "add-remove"}, "need neighbors='replace'"),
    "units": ({"privacy_unit": "x0", "rows_per_unit": 2}, "in several differences"),
}


@pytest.mark.claim("P19")
@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("why", REFUSED)
def test_a_promise_that_differences_do_not_keep_is_refused_before_reading(center, why, monkeypatch):
    monkeypatch.setattr(door, "open_table", lambda *a, **k: pytest.fail("opened"))
    stated, said = REFUSED[why]
    with pytest.raises(ParameterError, match=said):
        dpcov.release_pairs(ROWS, **BUDGET, max_pairs=2, **CENTERS[center], **stated)


@pytest.mark.claim("P19")
@pytest.mark.parametrize(
    ("neighbors", "rows_per_unit"), [(Neighbors.ADD_REMOVE, 1), (Neighbors.REPLACE, 2)]
)
def test_no_pairing_is_drawn_for_a_promise_that_differences_do_not_keep(neighbors, rows_per_unit):
    with pytest.raises(ParameterError, match="ifferences"):
        draw_pairing(RandomStream.from_seed(1), neighbors, rows_per_unit)


def test_what_differences_keep_is_not_refused():
    check_differences(Neighbors.REPLACE)
