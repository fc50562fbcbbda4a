"""An audit of the whole mechanism: a lower bound on ε from its outputs alone.

Two neighboring tables of 4 columns are released many times. The best test between them
thresholds the likelihood ratio, which is monotone in one linear function of the output.
How often it is right bounds ε from below (`lower_bounds`); a planted bug must push the bound
above the promised ε. Releases are seeded, so that a verdict never changes.
"""

from functools import cache

import numpy as np
import pytest

import dpcov
from dpcov.mechanisms import second_moment
from dpcov.mechanisms.learning import budget
from dpcov.privacy import gaussian_scale
from statistical.lower_bounds import epsilon_lower_bound

EPSILON, DELTA = 2.0, 0.3
RUNS, MANY = 1500, 5000  # many, where a bug to be found is small: a distance of √2
# So few rows earn warnings, which are not the matter here.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

OTHER = np.array([0.3, -0.2, 0.5, 0.1])
# The pairs at which the claimed sensitivities are attained.
PAIRS = {
    "replace": (np.eye(4)[0], np.eye(4)[1]),
    "add-remove": (np.eye(4)[0], np.zeros(4)),
}
CONSTANT = 0.25  # the constant of a row of norm 1, through which the mean is released


def table_with(row, rows_per_unit):
    """Return a table in which one person has `row` as often as allowed."""
    rows = np.array([row] * rows_per_unit + [OTHER])
    return rows if rows_per_unit == 1 else np.column_stack([[0] * rows_per_unit + [1], rows])


def run(row, neighbors, rows_per_unit, seeds):
    """Release a table that holds `row` once with each seed."""
    table = table_with(row, rows_per_unit)
    keywords = {"epsilon": EPSILON, "delta": DELTA, "row_norm": 1.0, "neighbors": neighbors}
    keywords |= {"allow": {"small"}}
    if rows_per_unit > 1:
        keywords |= {"privacy_unit": "x0", "rows_per_unit": rows_per_unit}
    return np.array([moments(dpcov.release(table, **keywords, seed=seed)) for seed in seeds])


def moments(release):
    """Return what was released, the products with the constant included."""
    mean, size = release.mean, release.n_columns
    whole = np.zeros((size + 1, size + 1))
    whole[:-1, :-1] = release.matrix + np.outer(mean, mean)
    whole[:-1, -1] = whole[-1, :-1] = CONSTANT * mean
    return whole


def audit(neighbors, scale=1.0, rows_per_unit=1, runs=RUNS):
    x, y = far_apart(neighbors)
    seeds = range(runs), range(runs, 2 * runs)
    outputs = [
        run(scale * row, neighbors, rows_per_unit, some)
        for row, some in zip((x, y), seeds, strict=True)
    ]
    x, y = (np.concatenate([row, [CONSTANT]]) for row in (x, y))
    direction = np.outer(x, x) - np.outer(y, y)
    hits, misses = (np.einsum("kij,ij->k", runs, direction) for runs in outputs)
    return epsilon_lower_bound(hits, misses, delta=DELTA)


def far_apart(neighbors):
    """Return the rows that are farthest apart when each has a constant, too."""
    x, y = PAIRS[neighbors]
    if neighbors == "replace":
        y = -(CONSTANT**2) * x + (1 - CONSTANT**4) ** 0.5 * y
    return x, y


def halve_the_noise(monkeypatch):
    @cache  # as the true one is
    def half(**keywords):
        return gaussian_scale(**keywords) / 2

    monkeypatch.setattr(budget, "gaussian_scale", half)


def sensitivity_of(**wrong):
    """Return a bug: some facts about the sensitivity are forgotten."""

    def plant(monkeypatch):
        monkeypatch.setattr(
            second_moment,
            "squared_moment_sensitivity",
            lambda neighbors, **facts: dpcov.privacy.squared_moment_sensitivity(
                **{"neighbors": neighbors} | facts | wrong
            ),
        )

    return plant


forget_root_two = sensitivity_of(neighbors="add-remove")
pay_for_one_row = sensitivity_of(rows=1)


def do_not_clip(monkeypatch):
    def quantize(rows, grid, missing, out):
        out[:] = np.trunc(rows / grid.step)

    monkeypatch.setattr("dpcov.sensitive.sums.gram.quantize_rows", quantize)


@pytest.mark.claim("P5")
@pytest.mark.claim("P17")
@pytest.mark.parametrize(("neighbors", "runs"), [("replace", MANY), ("add-remove", RUNS)])
def test_the_mechanism_keeps_its_promise(neighbors, runs):
    assert audit(neighbors, runs=runs) < EPSILON


@pytest.mark.claim("P5")
def test_the_mechanism_keeps_its_promise_for_rows_that_must_be_clipped():
    assert audit("replace", scale=2.0) < EPSILON


@pytest.mark.claim("P20")
def test_a_person_with_several_rows_is_promised_the_same():
    assert audit("replace", rows_per_unit=3) < EPSILON


@pytest.mark.claim("P5")
@pytest.mark.claim("P17")
@pytest.mark.claim("P20")
@pytest.mark.parametrize(
    ("plant", "options"),
    [
        (halve_the_noise, {"neighbors": "replace"}),
        (halve_the_noise, {"neighbors": "add-remove"}),
        (forget_root_two, {"neighbors": "replace", "runs": MANY}),
        (do_not_clip, {"neighbors": "replace", "scale": 2.0}),
        (pay_for_one_row, {"neighbors": "replace", "rows_per_unit": 3}),
    ],
)
def test_a_planted_bug_is_found(monkeypatch, plant, options):
    plant(monkeypatch)
    assert audit(**options) > EPSILON
