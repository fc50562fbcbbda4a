"""Claim P10: counted bits give the sums that BLAS gives."""

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import InexactArithmeticError
from dpcov.exact import population, sign_products, triangle
from dpcov.exact.sign_products import SignProducts, pack_rows
from dpcov.exact.triangle import Triangle
from wiring.planting import plant

ROWS = st.lists(st.sampled_from([0, 1, 7, 8, 9, 63, 64, 65, 130, 200]), max_size=4)


def random_signs(seed, n_rows, n_columns, zeros):
    generator = np.random.default_rng(seed)
    signs = generator.choice(np.array([-1, 1], dtype=np.int8), size=(n_rows, n_columns))
    signs[generator.random(signs.shape) < zeros] = 0
    return signs


def add_up(blocks, n_columns, worth=0, threads=2):
    """Return the sums, by bits once there was so much work; endless work is left to BLAS."""
    sums = Triangle.zeros(n_columns, np.int32)
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(threads) as pool:
        patch.setattr(sign_products, "_WORTH_COMPILING", worth)
        signs = SignProducts(sums, pool)
        for block in blocks:
            signs.add(block)
        signs.finish()
    return sums


@pytest.fixture
def in_small_pieces(monkeypatch):
    """Many panels, slices and batches, with few columns and rows."""
    monkeypatch.setattr(triangle, "_PANEL_ENTRIES", 60)
    monkeypatch.setattr(sign_products, "_SLICE_COLUMNS", 3)
    monkeypatch.setattr(sign_products, "_BATCH_BYTES", 16)


@pytest.mark.claim("P10")
@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize("zeros", [0.0, 0.2, 1.0])
@given(
    ROWS, st.sampled_from([1, 2, 5, 16, 17, 33, 40]), st.integers(0, 99), st.sampled_from([1, 2])
)
@settings(max_examples=40)
def test_bits_and_blas_give_the_same_sums(zeros, lengths, n_columns, seed, threads):
    blocks = [random_signs((seed, n), n, n_columns, zeros) for n in lengths]
    by_bits = add_up(blocks, n_columns, threads=threads)
    assert by_bits == add_up(blocks, n_columns, worth=np.inf, threads=threads)


@pytest.mark.usefixtures("in_small_pieces")
def test_columns_with_zeros_may_stand_among_others():
    signs = random_signs(0, 300, 40, 0.0)
    signs[::70, 3], signs[7, 20] = 0, 0
    assert add_up([signs], 40) == add_up([signs], 40, worth=np.inf)


@pytest.mark.claim("P10")
@pytest.mark.parametrize("zeros", [0.0, 0.1])
@pytest.mark.parametrize(("n_rows", "n_columns"), [(10_001, 70), (8192, 130), (333, 2100)])
def test_so_they_do_in_pieces_of_the_usual_size(zeros, n_rows, n_columns):
    signs = random_signs(0, n_rows, n_columns, zeros)
    assert add_up([signs], n_columns) == add_up([signs], n_columns, worth=np.inf)


@pytest.mark.claim("P10")
@pytest.mark.parametrize("n_bytes", [255, 256, 257, 511, 513, 1023, 1024, 1025])
def test_the_last_rows_count_wherever_a_word_or_a_batch_ends(n_bytes):
    signs = np.ones((8 * n_bytes, 2), dtype=np.int8)
    signs[-8:, 0] = -1
    sums = add_up([signs], 2)
    assert sums.row(0).tolist() == [8 * n_bytes, 8 * n_bytes - 16]
    assert sums.row(1).tolist() == [8 * n_bytes]


def test_rows_without_zeros_may_follow_rows_with_some():
    blocks = [random_signs(n, n, 20, zeros) for n, zeros in ((30, 0.0), (70, 0.3), (9000, 0.0))]
    for order in (blocks, blocks[::-1]):
        assert add_up(order, 20) == add_up(blocks, 20, worth=np.inf)


def test_bits_may_take_over_from_blas_between_blocks():
    blocks = [random_signs(n, n, 9, 0.1) for n in (40, 50, 60)]
    assert add_up(blocks, 9, worth=60 * 81) == add_up(blocks, 9, worth=np.inf)


@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize(
    ("where", "right", "wrong"),
    [
        ("population:_compile_pairs", "opposite += ones(both & (", "opposite += ones(both | ("),
        ("population:_compile_pairs", "total += ones(both)", "total += ones(there[word])"),
        ("population:_compile_pairs", "total += ones(minus", "total += ones(~minus"),
        ("population:_compile", "max(i, left)", "max(i + 1, left)"),
        ("population:_compile", "minus[i, :words]", "minus[i, : words - 1]"),
        ("sign_products:_Bits.as_words", "= 0", "|= 0"),
        ("sign_products:SignProducts._count", "== bits.n_rows", ">= bits.n_rows - 1"),
        ("population:_compile", "whole[i] and whole[j]", "whole[i] or whole[j]"),
        ("sign_products:pack_rows", "range(8)", "range(7)"),
        ("sign_products:SignProducts.add", "not self._waiting.has_room(len(part))", "False"),
        ("sign_products:_mirror", "k=-1", "k=-2"),
    ],
)
def test_planted_bugs_are_noticed(monkeypatch, where, right, wrong):
    lengths = {99: 0.2, 30: 0.1, 33: 0.0, 120: 0.0}
    blocks = [random_signs(n, n, 33, zeros) for n, zeros in lengths.items()]
    blocks[-1][5, 9] = 0
    expected = add_up(blocks, 33, worth=np.inf)
    assert add_up(blocks, 33) == expected
    plant(monkeypatch, f"exact.{where}", right, wrong)
    if where.startswith("population"):
        monkeypatch.setattr(sign_products, "counting", cache(lambda: population._compile(numba)))
    # By the check of the first batch in the library itself, or because an array has no room.
    with suppress(InexactArithmeticError, ValueError):
        assert add_up(blocks, 33) != expected


@pytest.mark.claim("P10")
def test_a_single_wrong_count_is_caught(monkeypatch):
    exact = population.counting()

    def off_by_two(*facts):
        exact(*facts)
        facts[-1][3, 7] += 2

    monkeypatch.setattr(sign_products, "counting", lambda: off_by_two)
    with pytest.raises(InexactArithmeticError, match="do not agree with the check"):
        add_up([random_signs(0, 50, 20, 0.1)], 20)


def test_small_tables_do_not_ask_for_the_kernel(monkeypatch):
    monkeypatch.setattr(sign_products, "counting", lambda: pytest.fail("it was asked for"))
    add_up([random_signs(0, 100, 20, 0.1)], 20, worth=sign_products._WORTH_COMPILING)


def test_without_numba_there_is_no_kernel(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    assert population.counting.__wrapped__() is None


def test_a_numba_that_may_not_compile_is_left_alone(monkeypatch):
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert population.counting.__wrapped__() is None


def test_a_numba_that_fails_is_left_alone(monkeypatch):
    def fail(*_, **__):
        raise numba.errors.NumbaError("no")

    monkeypatch.setattr(numba, "njit", fail)
    assert population.counting.__wrapped__() is None


@given(st.integers(0, 20), st.integers(1, 5))
def test_packed_rows_are_those_of_numpy(n_rows, n_columns):
    bits = random_signs(n_rows, n_rows, n_columns, 0.0) > 0
    assert np.array_equal(pack_rows(bits), np.packbits(bits, axis=0, bitorder="little"))
