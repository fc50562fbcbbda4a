"""Stated bounds that are not far are limits: what lies between them is not cut."""

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.columns import Column
from dpcov.errors import ParameterError

ONE = {"epsilon": 1.0, "delta": 1e-6}
N = 20_000


def limits(cells, seed=0, **facts):
    """Return the limits of a column beside a usual one, by what is stated of it."""
    other = np.random.default_rng(7).normal(size=len(cells))
    table = pd.DataFrame({"x": cells, "other": other})
    made = dpcov.release(table, columns={"x": facts, "other": {}}, seed=seed, **ONE)
    return made.learned.lower[0], made.learned.upper[0]


@pytest.mark.parametrize("seed", range(5))
def test_answers_are_not_cut_within_their_bounds(seed):
    """As of marriages: most are happy, and one in seventy is not."""
    answers = np.random.default_rng(seed).choice(5, N, p=[0.015, 0.055, 0.15, 0.35, 0.43]) + 1.0
    assert limits(answers, seed, lower=1, upper=5) == (1.0, 5.0)


def test_bounds_of_a_few_scales_are_limits():
    cells = np.random.default_rng(1).normal(size=N)
    assert limits(cells, lower=-7.0, upper=5.0) == (-7.0, 5.0)


def test_within_far_bounds_limits_are_learned():
    lower, upper = limits(np.random.default_rng(1).normal(size=N), lower=-1000.0, upper=1000.0)
    assert -6 < lower < -2
    assert 2 < upper < 6


def test_far_bounds_are_limits_where_that_is_stated():
    pay = np.exp(np.random.default_rng(2).normal(9, 1.5, size=N)).clip(0, 2e6)
    assert limits(pay, lower=0.0, upper=2e6)[1] < 5e5
    assert limits(pay, lower=0.0, upper=2e6, limit="bounds") == (0.0, 2e6)


def test_a_row_is_not_shortened_for_one_cell_within_bounds_that_are_limits():
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(N, 5)), columns=list("abcde"))
    table["pay"] = np.exp(rng.normal(size=N)).clip(0, 20)
    facts = {name: {} for name in "abcde"} | {"pay": {"lower": 0.0, "upper": 20.0}}
    learned = dpcov.release(table, columns=facts, seed=1, **ONE)
    facts["pay"]["limit"] = "bounds"
    kept = dpcov.release(table, columns=facts, seed=1, **ONE)
    pay = list(kept.columns).index("pay")
    far = (20.0 - kept.units.center[pay]) / kept.units.scale[pay]
    assert kept.provenance.row_norm > max(0.9 * min(far, 4 * 6**0.5), learned.provenance.row_norm)
    deviation = np.sqrt(kept.estimate().covariance[pay, pay])
    assert abs(deviation - table.pay.std()) < 0.1 * table.pay.std()


@pytest.mark.parametrize("facts", [{"limit": "all"}, {"limit": "bounds", "lower": 0.0}])
def test_limits_at_bounds_need_both(facts):
    with pytest.raises(ParameterError):
        Column("x", **facts)


def test_wide_bounds_are_no_worse_than_none():
    rows = np.random.default_rng(3).normal(size=(5000, 10))
    errors = []
    for columns in ({f"x{place}": (-1000, 1000) for place in range(10)}, None):
        estimate = dpcov.release(rows, columns=columns, seed=1, **ONE).estimate()
        errors.append(np.abs(estimate.covariance - np.eye(10)).max())
    assert errors[0] < 1.5 * errors[1]
