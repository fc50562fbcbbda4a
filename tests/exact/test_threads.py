"""How many threads the products use."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from dpcov.exact import threads
from dpcov.exact.threads import allowed_threads, usable_cores
from dpcov.sensitive.sums.gram import Gram
from dpcov.sensitive.sums.rows import Grid
from dpcov.sensitive.sums.signs import CoMovement

ROWS = np.random.default_rng(0).uniform(-0.5, 0.5, size=(40, 3))


@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (2, 2), (3, 3), (8, 3)])
def test_products_use_all_cores_that_blas_was_allowed(limit, expected, monkeypatch):
    monkeypatch.setattr(threads, "usable_cores", lambda: 3)
    with threadpool_limits(limit):
        assert allowed_threads() == expected


def test_without_a_blas_that_can_be_asked_there_is_no_limit(monkeypatch):
    monkeypatch.setattr(threads, "_blas_pools", list)
    assert allowed_threads() == usable_cores()


@pytest.mark.parametrize(
    "add_up",
    [
        lambda: Gram.from_rows(ROWS, grid=Grid(row_norm=1.0, bits=20)),
        lambda: CoMovement.from_blocks([ROWS], n_columns=3, center=np.zeros(3)),
    ],
    ids=["gram", "signs"],
)
def test_a_limit_from_outside_holds_inside(add_up, monkeypatch):
    asked = []
    original = threads._controller().limit
    monkeypatch.setattr(
        threads._controller(),
        "limit",
        lambda **how: asked.append(how["limits"]) or original(**how),
    )
    with threadpool_limits(1):
        add_up()
    assert set(asked) - {None} == {1}
