"""Cells limited, centered and scaled: the same floats either way."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.exact import scaling
from dpcov.exact.compiled import Loop
from dpcov.exact.scaling import Scaling
from exact.loops import all_compiled, none_compiled
from wiring.planting import plant

FACTS = {
    "lower": np.array([-np.inf, -1.0, 0.0]),
    "upper": np.array([np.inf, 1.0, 1e300]),
    "center": np.array([0.0, 0.25, -1e300]),
    "scale": np.array([1.0, 3.0, 1e-10]),
}
EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308, -1e308, 1.0, -1.0, 0.1]
ROWS = hnp.arrays(
    float,
    st.tuples(st.integers(0, 9), st.just(3)),
    elements=st.one_of(st.floats(), st.sampled_from(EDGES)),
)


def scaled(rows, way):
    out = np.full(rows.shape, 7.0)
    with way(), np.errstate(all="ignore"):
        finite = Scaling(**FACTS).write(rows, out)
    return finite, out


def one_by_one(rows):
    out = np.empty(rows.shape)
    with np.errstate(all="ignore"):
        for column in range(3):
            lower, upper, center, scale = (fact[column] for fact in FACTS.values())
            out[:, column] = (np.clip(rows[:, column], lower, upper) - center) / scale
    return out


@pytest.mark.claim("P28")
@given(ROWS)
def test_both_ways_write_what_each_cell_alone_becomes(rows):
    expected = one_by_one(rows)
    for way in (none_compiled, all_compiled):
        assert np.array_equal(scaled(rows, way)[1], expected, equal_nan=True)


@pytest.mark.parametrize("way", [none_compiled, all_compiled])
@given(ROWS)
def test_who_says_that_all_cells_are_finite_is_right(way, rows):
    finite, _ = scaled(rows, way)
    assert np.isfinite(rows).all() or not finite


@given(ROWS)
def test_a_compiled_loop_knows_whether_they_are(rows):
    assert scaled(rows, all_compiled)[0] == np.isfinite(rows).all()


@pytest.mark.parametrize("way", [none_compiled, all_compiled])
def test_other_layouts_types_and_borrowed_rows_are_read_alike(way):
    rows = np.random.default_rng(0).integers(-3, 3, (50, 3)).astype(float)
    expected = scaled(rows, way)[1]
    borrowed = rows.copy()
    borrowed.flags.writeable = False
    others = [np.asfortranarray(rows), rows.astype(np.int8), np.repeat(rows, 2, 1)[:, ::2]]
    for other in (borrowed, *others):
        assert np.array_equal(scaled(other, way)[1], expected)


@pytest.mark.parametrize("n_columns", [1, 399, 401, 799, 800, 801, 2000])
def test_rows_of_any_width_are_scaled_alike(n_columns):
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(5, n_columns))
    facts = {"lower": -generator.random(n_columns), "upper": generator.random(n_columns)}
    facts |= {"center": generator.normal(size=n_columns), "scale": 1 + generator.random(n_columns)}
    out = np.empty(rows.shape)
    with none_compiled():
        assert Scaling(**facts).write(rows, out)
    limited = np.clip(rows, facts["lower"], facts["upper"])
    assert (out == (limited - facts["center"]) / facts["scale"]).all()


@pytest.mark.parametrize("way", [none_compiled, all_compiled])
def test_facts_may_lie_apart_and_be_of_any_type(way):
    numbers = {"lower": -1, "upper": 1, "center": 0, "scale": 2}
    facts = {name: np.full(6, number)[::2] for name, number in numbers.items()}
    out = np.empty((2, 3))
    with way():
        Scaling(**facts).write(np.full((2, 3), 7.0), out)
    assert (out == 0.5).all()


@pytest.mark.claim("P8")
@pytest.mark.parametrize("way", [none_compiled, all_compiled])
def test_a_cell_that_leaves_the_floats_is_no_warning(way):
    out = np.empty((1, 3))
    with way():
        Scaling(**FACTS).write(np.full((1, 3), 1e308), out)
    assert np.isinf(out[0, 2])


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("if cell < lower[column]", "if cell < -lower[column]"),
        ("if cell > upper[column]", "if cell > 1e400"),
        ("cell - center[column]", "cell + center[column]"),
        ("/ scale[column]", "* (1 / scale[column])"),
        ("finite &= np.isfinite(cell)", "finite &= not np.isnan(cell)"),
    ],
)
def test_planted_bugs_are_noticed(monkeypatch, right, wrong):
    cells = np.array([*EDGES, *np.random.default_rng(0).normal(size=40)])
    rows = np.stack([cells] * 3, axis=1)
    rows[:, 2] = np.nan_to_num(rows[:, 2], posinf=3, neginf=4)
    plant(monkeypatch, "exact.scaling:_write", right, wrong)
    broken = Loop(scaling._write, 1)
    monkeypatch.setattr(scaling, "_loop", lambda: broken)
    out, scaling_of_all = np.empty(rows.shape), Scaling(**FACTS)
    with np.errstate(all="ignore"):
        finite = [scaling_of_all.write(rows[[k]], out[[k]]) for k in range(len(rows))]
        scaling_of_all.write(rows, out)
    same = np.array_equal(out, one_by_one(rows), equal_nan=True)
    assert not (same and finite == np.isfinite(rows).all(axis=1).tolist())
