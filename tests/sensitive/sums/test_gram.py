"""Claim P7: the Gram matrix is exact, whatever the order and the split."""

import copy
import io
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.errors import (
    InexactArithmeticError,
    InputError,
    ParameterError,
    SensitiveDataError,
)
from dpcov.exact import triangle
from dpcov.exact.grid import Grid
from dpcov.exact.threads import blas_threads
from dpcov.exact.triangle import Triangle
from dpcov.sensitive.sums import gram as module
from dpcov.sensitive.sums.gram import Gram, GramKernel, max_block_rows
from dpcov.sensitive.sums.rows import quantize_rows
from wiring.planting import plant

GRID = Grid(row_norm=1.0, bits=20)

tables = hnp.arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 5)),
    elements=st.floats(-3, 3),
)


def python_gram(rows, grid=GRID):
    whole = np.empty(rows.shape)
    quantize_rows(rows, grid, "refuse", whole)
    integers = [[int(cell) for cell in row] for row in whole]
    size = rows.shape[1]
    return [[sum(row[i] * row[j] for row in integers) for j in range(size)] for i in range(size)]


def build_in_a_process(rows):
    return Gram.from_rows(rows, grid=GRID, threads=1)


@pytest.mark.claim("P7")
@given(tables)
def test_it_equals_the_sum_in_python_integers(rows):
    assert Gram.from_rows(rows, grid=GRID).sums.tolist() == python_gram(rows)


@pytest.mark.claim("P7")
@given(tables, st.data())
def test_any_order_and_any_split_give_the_same_bytes(rows, data):
    whole = Gram.from_rows(rows, grid=GRID)
    shuffled = rows[data.draw(st.permutations(range(len(rows))))]
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=4).map(sorted))
    parts = [Gram.from_rows(part, grid=GRID) for part in np.split(shuffled, cuts)]
    merged = parts[0]
    for part in data.draw(st.permutations(parts[1:])):
        merged = part + merged
    assert merged.sums.tobytes() == whole.sums.tobytes()
    assert merged == whole


@pytest.mark.claim("P7")
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_many_rows_on_any_number_of_threads_are_exact(threads):
    rows = np.random.default_rng(0).normal(size=(20_000, 30))
    gram = Gram.from_rows(rows, grid=GRID, threads=threads)
    whole = np.empty(rows.shape)
    quantize_rows(rows, GRID, "refuse", whole)
    integers = whole.astype(np.int64)
    assert (gram.sums == integers.T @ integers).all()


def sliced_and_one_by_one(monkeypatch, grid, threads=1, missing="refuse"):
    """Return the sums of one block in many slices, and of the same rows one by one.

    In every slice there are rows that are too long, and short ones; none so long that its
    products would not be exact.
    """
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(100, 40))
    lengths = np.exp2(generator.uniform(-1, 3, size=100))
    rows *= (lengths / np.sqrt((rows**2).sum(axis=1)))[:, None]
    if missing == "center":
        rows[::7, 3], rows[::9, 30] = np.nan, -np.inf
    rule = {"grid": grid, "missing": missing, "threads": threads}
    alone = Gram.from_rows(rows[:1], **rule)
    for place in range(1, len(rows)):
        alone = alone + Gram.from_rows(rows[place : place + 1], **rule)
    lengths_of_slices = []

    def quantize(block, *rest):
        lengths_of_slices.append(len(block))
        return quantize_rows(block, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(module, "_TILE_CELLS", 1)
        patch.setattr(module, "quantize_rows", quantize)
        sliced = Gram.from_rows(rows, **rule)
    assert sum(lengths_of_slices) == 100
    assert len(lengths_of_slices) > 5
    return sliced, alone


@pytest.mark.claim("P7")
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("missing", ["refuse", "center"])
@pytest.mark.parametrize("kind", [{}, {"constant": 300_000}], ids=["plain", "constant"])
def test_a_block_in_slices_is_the_sum_of_its_rows_one_by_one(monkeypatch, kind, missing, threads):
    grid = Grid(row_norm=1.0, bits=20, **kind)
    sliced, alone = sliced_and_one_by_one(monkeypatch, grid, threads, missing)
    assert sliced == alone


@pytest.mark.claim("P7")
@pytest.mark.parametrize(
    "planted",
    [
        "np.trunc((block[part] / self._rule.grid.step).clip(-(2.0**24), 2.0**24), out=cells)",
        "np.trunc(1.001 * cells, out=cells)",
        "cells[-1] = cells[0]",
    ],
)
def test_other_rows_in_a_later_slice_are_noticed(monkeypatch, planted):
    right = "quantize_rows(block[part], self._rule.grid, self._rule.missing, cells)\n"
    wrong = f"{right}        if part.start:\n            {planted}\n"
    plant(monkeypatch, "sensitive.sums.gram:_Lane._quantize", right, wrong)
    sliced, alone = sliced_and_one_by_one(monkeypatch, GRID)
    assert sliced != alone


@pytest.mark.claim("P7")
@pytest.mark.parametrize("heard", [0.0, 1.0])
def test_a_block_that_is_multiplied_in_parts_has_the_same_sums(monkeypatch, heard):
    rows = np.random.default_rng(1).normal(size=(100, 4))
    rows[:, 3] = 0.0
    rows[70, 3] = heard
    rule = {"n_columns": 4, "grid": GRID, "quiet": slice(3, 4), "threads": 1}
    whole = Gram.from_blocks([rows], **rule)
    monkeypatch.setattr(module, "_PANEL_BYTES", 8 * 4 * 7)
    monkeypatch.setattr(module, "_ROWS_A_COLUMN", 1)
    assert Gram.from_blocks([rows], **rule) == whole


@pytest.mark.claim("P7")
@pytest.mark.parametrize("columns", [0, 1500])
def test_lanes_and_one_product_on_all_threads_are_the_same(monkeypatch, columns):
    rows = np.random.default_rng(1).normal(size=(3000, 6))
    blocks = np.array_split(rows, 20)
    expected = Gram.from_rows(rows, grid=GRID, threads=1)
    monkeypatch.setattr(module, "_MOST_COLUMNS_IN_LANES", columns)
    for threads in (1, 2, 4):
        assert Gram.from_blocks(blocks, n_columns=6, grid=GRID, threads=threads) == expected


@pytest.mark.claim("P7")
@pytest.mark.parametrize("entries", [1, 20, 150])
def test_sums_in_several_panels_are_exact_and_travel(monkeypatch, entries):
    rows = np.random.default_rng(0).normal(size=(50, 15))
    expected = python_gram(rows)
    monkeypatch.setattr(triangle, "_PANEL_ENTRIES", entries)
    whole = Gram.from_rows(rows, grid=GRID)
    parts = Gram.from_rows(rows[:20], grid=GRID) + Gram.from_rows(rows[20:], grid=GRID)
    assert len(list(whole.triangle.panels())) > 1
    assert whole.sums.tolist() == expected
    assert whole == parts
    assert pickle.loads(ForkingPickler.dumps(whole)) == whole


def test_a_block_is_never_too_long_for_exact_sums():
    for bits in range(1, 25):
        grid = Grid(row_norm=1.0, bits=bits)
        for n_columns in (1, 1000, 100_000):
            assert max_block_rows(n_columns, grid) * grid.squared_norm <= 2**53


@pytest.mark.claim("P7")
def test_a_matrix_product_that_is_not_exact_is_caught(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(100, 8))
    exact = np.matmul

    def off_by_one(a, b, out):
        exact(a, b, out=out)
        out[5, 3] += 1.0

    monkeypatch.setattr(np, "matmul", off_by_one)
    with pytest.raises(InexactArithmeticError, match="Nothing was released"):
        Gram.from_rows(rows, grid=GRID)


@pytest.mark.claim("P7")
def test_a_matrix_product_in_single_precision_is_caught(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(100, 8))

    def single(a, b, out):
        out[:] = a.astype(np.float32) @ b.astype(np.float32)

    monkeypatch.setattr(np, "matmul", single)
    with pytest.raises(InexactArithmeticError):
        Gram.from_rows(rows, grid=GRID)


def test_more_rows_than_fit_are_refused_before_they_overflow():
    grid = Grid(row_norm=1.0, bits=24)
    full = Gram(Triangle.zeros(1, np.int64), n_rows=2**14, grid=grid)
    one = Gram(Triangle.zeros(1, np.int64), n_rows=1, grid=grid)
    with pytest.raises(ParameterError, match="do not fit the grid"):
        full + one


def test_blocks_are_not_read_beyond_the_rows_that_fit():
    grid, read = Grid(row_norm=1.0, bits=24), []

    def blocks():
        for number in range(600):
            read.append(number)
            yield np.zeros((32, 1))

    with pytest.raises(ParameterError, match="do not fit the grid"):
        Gram.from_blocks(blocks(), n_columns=1, grid=grid, threads=1)
    assert len(read) == 2**14 // 32 + 1


def test_lanes_that_have_all_threads_ask_for_no_others(monkeypatch):
    """A lane that waits for threads of the pool that it runs on may wait for ever."""
    asked = []

    class Watching(module._Lane):
        def __init__(self, rule, pool):
            asked.append(pool is not None)
            super().__init__(rule, pool)

    monkeypatch.setattr(module, "_Lane", Watching)
    monkeypatch.setattr(module, "_MOST_COLUMNS_IN_LANES", 3)
    for n_columns, threads, expected in (
        (3, 1, [False]),
        (3, 2, [False, False]),
        (4, 1, [False]),
        (4, 2, [True]),
        (4, 3, [True]),
    ):
        asked.clear()
        Gram.from_rows(np.ones((2, n_columns)), grid=GRID, threads=threads)
        assert asked == expected


def test_different_grids_or_columns_do_not_merge():
    a = Gram.from_rows(np.ones((2, 2)), grid=GRID)
    for other in (
        Gram.from_rows(np.ones((2, 3)), grid=GRID),
        Gram.from_rows(np.ones((2, 2)), grid=Grid(row_norm=2.0, bits=20)),
    ):
        with pytest.raises(ParameterError, match="same grid and columns"):
            a + other
    with pytest.raises(TypeError):
        a + 1


def test_its_repr_shows_the_shape_only():
    assert repr(Gram.from_rows(np.full((3, 2), 0.25), grid=GRID)) == "Gram(3 rows × 2 columns)"


def test_it_is_a_value():
    gram = Gram.from_rows(np.ones((3, 2)), grid=GRID)
    with pytest.raises(AttributeError, match="cannot be changed"):
        gram.n_rows = 4
    with pytest.raises(ValueError, match="read-only"):
        gram.sums[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        gram.triangle.row(0)[0] = 1
    assert copy.copy(gram) is gram
    assert copy.deepcopy(gram) is gram
    assert gram != 1
    with pytest.raises(TypeError):
        hash(gram)


@pytest.mark.parametrize(
    "store",
    [
        pickle.dumps,
        lambda gram: pickle.dump([gram], io.BytesIO()),
        lambda gram: np.save(io.BytesIO(), gram),
        lambda gram: np.savez(io.BytesIO(), gram=gram),
        np.asarray,
    ],
)
def test_it_refuses_to_be_stored(store):
    with pytest.raises(SensitiveDataError, match="must not be stored"):
        store(Gram.from_rows(np.ones((3, 2)), grid=GRID))


def test_it_travels_between_processes():
    rows = np.random.default_rng(0).normal(size=(50, 3))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        far = pool.submit(build_in_a_process, rows).result()
    assert far == build_in_a_process(rows)


@pytest.mark.parametrize("rows", [np.ones(3), np.ones((2, 0)), np.ones((1, 2, 3))])
def test_a_block_of_another_shape_is_refused(rows):
    with pytest.raises(InputError, match="2-dimensional"):
        Gram.from_rows(rows, grid=GRID)


@pytest.mark.parametrize(
    "block",
    [
        np.full((5, 1), 0.2),
        np.full((5, 2), 0.2),
        np.full((3,), 0.2),
        np.full((5, 3), "secret", dtype=object),
        np.full((5, 3), 1j),
        np.zeros((10_000, 3)),
    ],
)
def test_a_stream_of_unlike_blocks_is_refused(block):
    with pytest.raises(InputError, match="A block") as caught:
        Gram.from_blocks([np.full((10, 3), 0.1), block], n_columns=3, grid=GRID)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("threads", [0, -1, "2", 1.5])
def test_an_impossible_number_of_threads_is_refused(threads):
    with pytest.raises(ParameterError, match="threads must"):
        Gram.from_rows(np.ones((3, 2)), grid=GRID, threads=threads)


def test_no_rows_give_zero():
    gram = Gram.from_rows(np.ones((0, 2)), grid=GRID)
    assert gram.n_rows == 0
    assert not gram.sums.any()


def test_blas_threads_are_limited_and_restored():
    from threadpoolctl import threadpool_info

    def counts():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = counts()
    with blas_threads(1):
        assert set(counts()) == {1}
    assert counts() == before


@pytest.mark.claim("P7")
def test_a_constant_cell_takes_room_in_blocks_and_sums():
    plain, full = Grid(row_norm=1.0, bits=20), Grid(row_norm=1.0, bits=20, constant=1 << 20)
    assert max_block_rows(100, plain) == 2 * max_block_rows(100, full)
    assert max_block_rows(100, full) * full.largest_product <= 2**53
    most = 2**62 // full.largest_product
    sums = Gram.from_rows(np.zeros((1, 2)), grid=full).triangle
    Gram(sums, n_rows=most, grid=full)
    with pytest.raises(ParameterError, match="do not fit"):
        Gram(sums, n_rows=most + 1, grid=full)


@pytest.mark.claim("P17")
def test_a_constant_is_no_larger_than_a_row():
    Grid(row_norm=1.0, bits=8, constant=256)
    with pytest.raises(ParameterError, match="constant"):
        Grid(row_norm=1.0, bits=8, constant=257)


@pytest.mark.claim("P17")
@pytest.mark.parametrize("constant", [1, 2, 300])
def test_the_products_with_the_constant_are_sums_of_cells(constant):
    grid = Grid(row_norm=1.0, bits=10, constant=constant)
    rows = np.random.default_rng(0).uniform(-0.5, 0.5, size=(700, 3))
    gram = Gram.from_rows(rows, grid=grid)
    whole = np.rint(rows * 1024).astype(np.int64)
    assert gram.n_columns == 3
    assert np.array_equal(gram.sums[:3, 3], constant * whole.sum(axis=0))
    assert gram.sums[3, 3] == 700 * constant**2
    assert np.array_equal(gram.sums[:3, :3], whole.T @ whole)


@pytest.mark.claim("P7")
@pytest.mark.parametrize("constant", [0, 1, 1 << 10])
@pytest.mark.parametrize("heard", [(0, 3), (1, 3), (1,), (), (0, 1, 2, 3)])
def test_blocks_that_come_without_quiet_columns_add_what_zeros_do(heard, constant):
    rows = np.random.default_rng(3).normal(size=(4, 25, 6))
    rows[..., 4:] = 0.0
    rows[list(heard), 7, 4] = 0.25  # one of both; the other is never heard
    grid = Grid(row_norm=2.0, bits=16, constant=constant)
    short = [block if place in heard else block[:, :4] for place, block in enumerate(rows)]
    options = {"n_columns": 6, "grid": grid, "quiet": slice(4, 6)}
    assert Gram.from_blocks(short, **options) == Gram.from_blocks(rows, **options)
    whole = Gram.from_rows(rows.reshape(100, 6), grid=grid)
    assert Gram.from_blocks(short, **options) == whole


@pytest.mark.claim("P7")
@pytest.mark.parametrize("constant", [0, 300])
def test_blocks_with_and_without_quiet_columns_in_turn_add_what_zeros_do(constant):
    rows = np.random.default_rng(5).normal(size=(6, 25, 6))
    rows[..., 4:] = 0.0
    grid = Grid(row_norm=2.0, bits=16, constant=constant)
    blocks = [rows[0], rows[1][:, :4], rows[2][:20], rows[3][:, :4], rows[4], rows[5][:9, :4]]
    whole = np.concatenate([rows[0], rows[1], rows[2][:20], rows[3], rows[4], rows[5][:9]])
    options = {"n_columns": 6, "grid": grid, "quiet": slice(4, 6)}
    for threads in (1, 2):
        found = Gram.from_blocks(blocks, threads=threads, **options)
        assert found == Gram.from_rows(whole, grid=grid)


@pytest.mark.claim("P7")
@pytest.mark.parametrize("constant", [0, 300])
def test_blocks_with_as_many_rows_as_columns_add_what_zeros_do(constant):
    size = 6 + (constant > 0)
    rows = np.random.default_rng(6).normal(size=(4, size, 6))
    rows[[0, 2], :, 4:] = 0.0
    grid = Grid(row_norm=2.0, bits=16, constant=constant)
    blocks = [rows[0][:, :4], rows[1], rows[2][:, :4], rows[3]]
    found = Gram.from_blocks(blocks, n_columns=6, grid=grid, quiet=slice(4, 6), threads=1)
    assert found == Gram.from_rows(rows.reshape(-1, 6), grid=grid)


def test_a_block_without_columns_that_are_not_quiet_is_refused():
    grid, block = Grid(row_norm=2.0, bits=16), np.ones((3, 4))
    for quiet in (slice(0, 2), slice(5, 6), None):
        with pytest.raises(InputError, match="in 6 columns"):
            Gram.from_blocks([block], n_columns=6, grid=grid, quiet=quiet)


def test_no_column_is_quiet_unless_it_is_stated():
    """One that is the only one, and quiet, could not be added up at all."""
    kernel, rows = GramKernel(1, GRID, "refuse"), np.full((3, 1), 0.5)
    assert kernel.quiet == slice(0, 0)
    assert kernel.sum_over([rows]) == Gram.from_rows(rows, grid=GRID)
