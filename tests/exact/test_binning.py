"""Cells to bins: the same bins either way."""

from types import SimpleNamespace

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.exact import binning
from dpcov.exact.binning import Binning
from dpcov.exact.compiled import Loop
from dpcov.exact.ruler import Ruler
from exact.loops import all_compiled, none_compiled
from wiring.planting import plant

RULER = Ruler(np.array([0.0, 10.0, -3.0]), np.array([40, 40, 7]), 6)
LOWER, UPPER = np.array([-np.inf, 10.0, -100.0]), np.array([np.inf, np.inf, 100.0])
EDGES = [0.0, -0.0, 5e-324, -5e-324, 2.0**-40, 2.0**40, -(2.0**40), 1.0, np.nextafter(1.0, 0)]
OUTSIDE = [np.nan, np.inf, -np.inf, 1.8e308, -1e308, 10.0, -3.0, 125.0, 300.0]
CELLS = st.one_of(st.floats(), st.sampled_from([*EDGES, *OUTSIDE]))
ROWS = hnp.arrays(float, st.tuples(st.integers(0, 8), st.just(3)), elements=CELLS)
# More rows than are turned at a time.
MANY = np.random.default_rng(0).choice([*EDGES, *OUTSIDE, 0.3, -70.0], size=(600, 3))


def found(rows, way):
    out = np.full((3, len(rows)), -1, dtype=np.int32)
    with way():
        finite = Binning(RULER, lower=LOWER, upper=UPPER).find(rows, np.empty(rows.size), out)
    return finite, out


def one_by_one(rows):
    """Return the bins of cells by the ruler's public way to them."""
    bins = np.full((3, len(rows)), RULER.n_bins, dtype=np.int32)
    for row, cells in enumerate(rows):
        for column in np.flatnonzero(np.isfinite(cells)):
            cell = np.clip(cells[column], LOWER[column], UPPER[column])
            bins[column, row] = RULER.index(np.array([cell]), np.array([column]))[0]
    return bins


@pytest.mark.claim("P22")
@pytest.mark.parametrize("way", [none_compiled, all_compiled])
@pytest.mark.parametrize("layout", ["C", "F"])
@given(ROWS)
def test_each_cell_is_in_its_own_bin(way, layout, rows):
    finite, bins = found(np.asarray(rows, order=layout), way)
    assert np.array_equal(bins, one_by_one(rows))
    assert finite == np.isfinite(rows).all()


@pytest.mark.parametrize("way", [none_compiled, all_compiled])
@pytest.mark.parametrize("layout", ["C", "F"])
def test_so_it_is_in_many_rows_that_nobody_may_write(way, layout):
    rows = np.asarray(MANY, order=layout)
    rows.flags.writeable = False
    assert np.array_equal(found(rows, way)[1], one_by_one(MANY))


def test_other_layouts_and_types_take_the_other_way():
    rows = np.random.default_rng(0).integers(-9, 99, (40, 3)).astype(float)
    expected = one_by_one(rows)
    for other in (rows.astype(np.int16), np.repeat(rows, 2, axis=1)[:, ::2], rows.astype(">f8")):
        assert np.array_equal(found(other, all_compiled)[1], expected)


WAYS = pytest.mark.parametrize("way", [none_compiled, all_compiled])
OPEN = {"lower": np.full(3, -np.inf), "upper": np.full(3, np.inf)}


@WAYS
@pytest.mark.parametrize("some", [np.s_[:1], np.s_[:, :1], np.s_[:0]])
def test_one_row_or_column_of_another_layout_is_read(way, some):
    rows = np.asfortranarray(np.random.default_rng(0).normal(size=(9, 3)))[some]
    size = rows.shape[1]
    ruler = Ruler(np.zeros(size), np.full(size, 40), 6)
    facts = {name: fact[:size] for name, fact in OPEN.items()}
    out = np.empty((size, len(rows)), dtype=np.int32)
    with way():
        Binning(ruler, **facts).find(rows, np.empty(rows.size), out)
    assert out.T.tolist() == [ruler.index(row).tolist() for row in rows]


@WAYS
def test_one_upper_bound_alone_is_kept(way):
    out, facts = np.empty((3, 1), dtype=np.int32), OPEN | {"upper": np.array([np.inf, 12, np.inf])}
    with way():
        Binning(RULER, **facts).find(np.full((1, 3), 50.0), np.empty(3), out)
    assert out[:, 0].tolist() == RULER.index(np.array([50.0, 12.0, 50.0])).tolist()


@WAYS
def test_one_lower_bound_alone_is_kept(way):
    facts = OPEN | {"lower": np.array([-np.inf, -12, -np.inf])}
    out = np.empty((3, 1), dtype=np.int32)
    with way():
        Binning(RULER, **facts).find(np.full((1, 3), -50.0), np.empty(3), out)
    assert out[:, 0].tolist() == RULER.index(np.array([-50.0, -12.0, -50.0])).tolist()


def in_python(rows, out):
    """Find bins by the loop as it is written: Python refuses places that are not there."""
    plain = SimpleNamespace(types=numba.types, njit=lambda *_, **__: lambda function: function)
    facts = LOWER, UPPER, RULER.origin, RULER.first_keys, RULER.bits, RULER.half
    return binning._write(plain)(rows, *facts, out)


@pytest.mark.parametrize("n_rows", [1, 2, 9])
def test_the_loop_has_room_for_any_number_of_rows_and_columns(n_rows):
    rows = np.random.default_rng(0).normal(size=(n_rows, 3))
    out = np.full((3, n_rows), -1, dtype=np.int32)
    assert in_python(rows, out)
    assert np.array_equal(out, one_by_one(rows))


def test_without_rows_the_loop_touches_no_memory():
    assert in_python(np.empty((0, 3)), np.empty((3, 0), dtype=np.int32))


@pytest.mark.claim("P8")
@WAYS
def test_a_distance_that_leaves_the_floats_is_no_warning(way):
    ruler = Ruler(np.full(3, -1e308), np.full(3, 40), 6)
    out = np.empty((3, 1), dtype=np.int32)
    with way():
        assert Binning(ruler, **OPEN).find(np.full((1, 3), 1.7e308), np.empty(3), out)
    assert (out == ruler.n_bins - 1).all()


@WAYS
def test_facts_may_lie_apart_and_be_of_any_type(way):
    ruler = Ruler(np.repeat([0, 1, 2], 2)[::2], np.full(3, 40, dtype=np.int32), 6)
    facts = {"lower": np.repeat([-9, -9, -9], 2)[::2], "upper": np.array([9, 9, 9])}
    out = np.empty((3, 1), dtype=np.int32)
    with way():
        Binning(ruler, **facts).find(np.full((1, 3), 50.0), np.empty(3), out)
    assert out[:, 0].tolist() == ruler.index(np.full(3, 9.0)).tolist()


BUGS = [
    ("_write_bin", "cell >= lower", "cell > -lower"),
    ("_write_bin", "inside <= upper", "inside <= 2 * upper"),
    ("_write_bin", "inside - origin", "inside"),
    ("_write_bin", "sign = leading >> 63", "sign = np.int64(0)"),
    ("_write_bin", "(key - 1)", "key"),
    ("_write_bin", "max(size, 0)", "size"),
    ("_write_bin", ", half)", ", half + 1)"),
    ("_write_bin", "if np.isfinite(cell)", "if not np.isnan(cell)"),
    ("_write", "finite &=", "finite |="),
    ("_write", "out[column, top + row]", "out[column, row]"),
    ("_write", "rows.shape[0] - top", "rows.shape[0] - top - 1"),
]


@pytest.mark.parametrize(("where", "right", "wrong"), BUGS)
def test_planted_bugs_are_noticed(monkeypatch, where, right, wrong):
    plant(monkeypatch, f"exact.binning:{where}", right, wrong)
    broken = Loop(binning._write, 1)
    monkeypatch.setattr(binning, "_loop", lambda: broken)
    out = np.full((3, len(MANY)), -1, dtype=np.int32)
    finite = Binning(RULER, lower=LOWER, upper=UPPER).find(MANY, np.empty(MANY.size), out)
    assert finite or not np.array_equal(out, one_by_one(MANY))
