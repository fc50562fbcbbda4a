"""Claim P7: products are exact, and a wrong one is caught in the first block of each shape."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import InexactArithmeticError
from dpcov.exact import products, triangle
from dpcov.exact.products import CheckedProducts
from dpcov.exact.triangle import Triangle

SIZE = 7
TYPES = [(np.float64, np.int64), (np.float32, np.int32)]


def whole_rows(size, seed=0):
    return np.random.default_rng(seed).integers(-9, 10, size=(5, size))


def add_blocks(blocks, floats=np.float64, integers=np.int64, most=10):
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(triangle, "_PANEL_ENTRIES", most)
        sums = Triangle.zeros(blocks[0].shape[1], integers)
        engine = CheckedProducts(sums, floats, pool)
        for block in blocks:
            engine.add(block.astype(floats))
    return sums


@pytest.mark.claim("P7")
@pytest.mark.parametrize(("floats", "integers"), TYPES)
@given(size=st.integers(1, 30), most=st.sampled_from([1, 7, 40, 100, 900]))
def test_the_sums_of_all_panels_are_those_of_integers(floats, integers, size, most):
    blocks = [whole_rows(size, seed) for seed in range(3)]
    sums = add_blocks(blocks, floats, integers, most)
    assert (sums.full() == sum(block.T @ block for block in blocks)).all()


@pytest.mark.claim("P7")
@pytest.mark.parametrize(("floats", "integers"), TYPES)
@pytest.mark.parametrize("most", [1, 10, 49])
def test_one_wrong_entry_is_caught_wherever_it_is_stored(monkeypatch, floats, integers, most):
    exact = products._multiply
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triangle, "_PANEL_ENTRIES", most)
        shapes = [panel.shape for _, panel in Triangle.zeros(SIZE, integers).panels()]
    assert sum(height for height, _ in shapes) == SIZE
    for shape in shapes:
        for entry in np.ndindex(shape):

            def off_by_one(columns, product, shape=shape, entry=entry):
                exact(columns, product)
                if product.shape == shape:
                    product[entry] += 1

            monkeypatch.setattr(products, "_multiply", off_by_one)
            with pytest.raises(InexactArithmeticError, match="Nothing was released"):
                add_blocks([whole_rows(SIZE)], floats, integers, most)


@pytest.mark.claim("P7")
@pytest.mark.parametrize("wrong", [5, 3])
def test_a_wrong_entry_is_caught_in_the_first_block_of_each_shape(monkeypatch, wrong):
    exact, hit = products._multiply, []

    def off_for_one_shape(columns, product):
        exact(columns, product)
        if len(columns) == wrong:
            hit.append(1)
            product[0, 0] += 1

    blocks = [whole_rows(SIZE), whole_rows(SIZE, 1), whole_rows(SIZE)[:3]]
    monkeypatch.setattr(products, "_multiply", off_for_one_shape)
    with pytest.raises(InexactArithmeticError):
        add_blocks(blocks)
    assert len(hit) == 1


@pytest.mark.claim("P7")
def test_single_precision_is_caught(monkeypatch):
    def single(columns, product):
        short = columns.astype(np.float32)
        product[:] = short[:, : len(product)].T @ short

    monkeypatch.setattr(products, "_multiply", single)
    with pytest.raises(InexactArithmeticError):
        add_blocks([np.random.default_rng(0).integers(-(2**20), 2**20, size=(50, SIZE))])


def test_a_shape_is_checked_once(monkeypatch):
    images, image = [], CheckedProducts.image
    monkeypatch.setattr(
        CheckedProducts, "image", lambda self, rows: images.append(len(rows)) or image(self, rows)
    )
    add_blocks([whole_rows(SIZE, seed) for seed in range(4)] + [whole_rows(SIZE)[:2]] * 2)
    assert images == [5, 2]


@pytest.mark.claim("P7")
@pytest.mark.parametrize("row", [0, 20, 39])
def test_a_wrong_entry_is_caught_on_any_thread(monkeypatch, row):
    exact = products._multiply

    def off_by_one(columns, product):
        exact(columns, product)
        product[row, 3] += 1

    monkeypatch.setattr(products, "_CHUNK_BYTES", 1)  # 16 rows at a time
    monkeypatch.setattr(products, "_multiply", off_by_one)
    with pytest.raises(InexactArithmeticError):
        add_blocks([whole_rows(40)], most=1600)


@pytest.mark.claim("P7")
def test_without_threads_the_sums_of_many_slices_are_those_of_integers(monkeypatch):
    monkeypatch.setattr(products, "_CHUNK_BYTES", 1)  # 16 rows at a time
    block, sums = whole_rows(40), Triangle.zeros(40, np.int64)
    alone = CheckedProducts(sums, np.float64)
    alone.add(block.astype(float))
    assert (sums.full() == block.T @ block).all()


@pytest.mark.claim("P7")
def test_errors_that_cancel_in_a_row_for_one_probe_do_not_for_another(monkeypatch):
    # A probe of ones, or one that is known, would miss an entry moved to its neighbor.
    exact = products._multiply

    def moved(columns, product):
        exact(columns, product)
        product[0, :2] += [1, -1] if product.shape[1] > 1 else 0

    monkeypatch.setattr(products, "_multiply", moved)
    with pytest.raises(InexactArithmeticError):
        add_blocks([whole_rows(SIZE)])


@pytest.mark.parametrize(("floats", "integers"), TYPES)
def test_a_block_without_rows_adds_nothing(floats, integers):
    block = whole_rows(SIZE)
    assert add_blocks([block, block[:0]], floats, integers) == add_blocks([block], floats, integers)


def test_panels_take_half_of_the_arithmetic(monkeypatch):
    exact, done = np.matmul, []

    def counted(a, b, out):
        # numpy hands AᵀA to a symmetric product, which does half of it.
        symmetric = a.shape == b.T.shape and np.shares_memory(a, b)
        done.append(out.size / 2 if symmetric else out.size)
        return exact(a, b, out=out)

    monkeypatch.setattr(np, "matmul", counted)
    for most in (100, 1000, 10_000):
        done.clear()
        add_blocks([whole_rows(100)], most=most)
        assert sum(done) == pytest.approx(100**2 / 2)
