"""Claim P10: exact sums of signs, and how far one person moves them."""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcov.errors import (
    InexactArithmeticError,
    MissingValueError,
    ParameterError,
    SensitiveDataError,
)
from dpcov.exact import products
from dpcov.exact.grid import Grid
from dpcov.privacy import Neighbors, squared_variance_sensitivity
from dpcov.sensitive.sums import signs
from dpcov.sensitive.sums.signs import CoMovement, Squares, block_rows
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.differences import DifferenceSource
from wiring.planting import plant

SEED = 3
SQUARES = Squares(Grid(row_norm=2.0, bits=10), cell_bound=300)
WEIGHTED = replace(SQUARES, weight=170)
cells = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, 1.0, -1.0])
tables = hnp.arrays(np.float64, (6, 4), elements=cells)
rows = hnp.arrays(np.float64, 4, elements=cells)


def sums(table, center=None, squares=None, missing="center", size=None):
    """Sums about a center, or of the differences of rows."""
    source = open_table(np.asarray(table), fewest_rows=1)
    if center is None:
        source = DifferenceSource(source, SEED)
    blocks = source.blocks(len(table) if size is None else size)
    return CoMovement.from_blocks(
        blocks, n_columns=len(source.columns), center=center, squares=squares, missing=missing
    )


def above_diagonal(result):
    return np.concatenate(list(result.triangle.above_diagonal()))


def paired(n_rows):
    """Return which rows a difference is made of, by places alone."""
    places = open_table(np.eye(n_rows), fewest_rows=1)
    return [
        (int(np.argmax(term)), int(np.argmin(term)))
        for block in DifferenceSource(places, SEED).blocks(n_rows)
        for term in block
    ]


def plain_signs(table, center):
    """Signs cell by cell; a missing cell has none."""
    pairs = (
        [(row, center) for row in table]
        if center is not None
        else [table[list(pair)] for pair in paired(len(table))]
    )
    return [
        [
            int(a > b) - int(a < b) if math.isfinite(a) and math.isfinite(b) else 0
            for a, b in zip(first, second, strict=True)
        ]
        for first, second in pairs
    ]


@given(tables, st.booleans())
def test_the_sums_are_those_of_plain_python(table, centered):
    center = np.array([0.0, 1.0, -0.5, 0.0]) if centered else None
    terms = plain_signs(table, center)
    expected = [sum(s[i] * s[j] for s in terms) for i in range(4) for j in range(i + 1, 4)]
    result = sums(table, center)
    assert above_diagonal(result).tolist() == expected
    assert result.n_terms == len(terms)


@given(tables, st.sampled_from([2, 4]))
def test_any_split_gives_the_same_sums(table, size):
    whole, parts = (sums(table, np.zeros(4), squares=SQUARES, size=s) for s in (None, size))
    assert (above_diagonal(whole) == above_diagonal(parts)).all()
    assert (whole.squares == parts.squares).all()
    assert (whole.cells == parts.cells).all()


def as_one_block_and_two_by_two(monkeypatch, center):
    """Return the sums of a long block, in slices, and of its rows in blocks of two."""
    generator = np.random.default_rng(0)
    table = generator.normal(size=(3000, 20)) * np.exp2(generator.uniform(-3, 12, (3000, 1)))
    table[::7, 3], table[::9, 15] = np.nan, -np.inf
    two_by_two = sums(table, center, SQUARES, size=2)
    with monkeypatch.context() as patch:
        patch.setattr(products, "_CHUNK_BYTES", 1)
        whole = sums(table, center, SQUARES)
    return [
        (above_diagonal(each).tolist(), each.squares.tolist(), each.cells.tolist())
        for each in (whole, two_by_two)
    ]


@pytest.mark.claim("P10")
@pytest.mark.parametrize("center", [np.zeros(20), np.linspace(-1, 1, 20)], ids=["zero", "center"])
def test_a_long_block_in_slices_is_the_sum_of_its_rows_two_by_two(monkeypatch, center):
    whole, two_by_two = as_one_block_and_two_by_two(monkeypatch, center)
    assert whole == two_by_two


@pytest.mark.parametrize(
    ("where", "right", "wrong"),
    [
        (
            "_write_signs",
            "out *= usable",
            "out *= usable.all(axis=1, keepdims=True) if part.start >= 512 else usable",
        ),
        (
            "_sum_powers",
            "    np.clip(whole, -squares.cell_bound, squares.cell_bound, out=whole)",
            "    np.clip(whole[:512], -squares.cell_bound, squares.cell_bound, out=whole[:512])",
        ),
        (
            "_sum_powers",
            "    quantize_rows(apart, squares.grid",
            "    apart[512:] *= 2\n    quantize_rows(apart, squares.grid",
        ),
    ],
)
def test_other_rows_late_in_a_long_block_are_noticed(monkeypatch, where, right, wrong):
    plant(monkeypatch, f"sensitive.sums.signs:{where}", right, wrong)
    whole, two_by_two = as_one_block_and_two_by_two(monkeypatch, np.zeros(20))
    assert whole != two_by_two


@pytest.mark.claim("P10")
@given(tables, rows, st.integers(0, 5), st.booleans())
def test_replacing_a_row_moves_each_sum_by_at_most_two(table, row, place, centered):
    center = np.zeros(4) if centered else None
    other = table.copy()
    other[place] = row
    moved = np.abs(above_diagonal(sums(table, center)) - above_diagonal(sums(other, center)))
    assert moved.max() <= 2


@pytest.mark.claim("P10")
@given(tables, st.integers(0, 5))
def test_a_row_that_adds_nothing_moves_each_sum_by_at_most_one(table, place):
    center = np.array([0.0, 1.0, -0.5, 0.0])
    other = table.copy()
    other[place] = center
    moved = np.abs(above_diagonal(sums(table, center)) - above_diagonal(sums(other, center)))
    assert moved.max() <= 1


@pytest.mark.claim("P10")
def test_two_is_attained_in_all_of_many_pairs_at_once():
    table = np.ones((2, 8))
    other = table.copy()
    other[0, 0::2] = -1  # one sign of every disjoint pair flips
    before, after = (sums(each, np.zeros(8)).triangle.full() for each in (table, other))
    assert all(abs(before[i, i + 1] - after[i, i + 1]) == 2 for i in range(0, 8, 2))


@pytest.mark.claim("P10")
@given(tables, rows, st.integers(0, 5), st.booleans())
def test_replacing_a_row_moves_the_squares_no_further_than_claimed(table, row, place, centered):
    center = np.zeros(4) if centered else None
    other = table.copy()
    other[place] = row
    before, after = (sums(each, center, SQUARES).squares for each in (table, other))
    moved = sum(int(d) ** 2 for d in before.astype(object) - after.astype(object))
    assert moved <= 2 * SQUARES.cell_bound**2 * SQUARES.grid.squared_norm


def moved_together(one, other, center):
    """Return how far squares and weighted cells of two tables are apart, squared."""
    before, after = (sums(each, center, WEIGHTED) for each in (one, other))
    apart = [before.squares - after.squares, WEIGHTED.weight * (before.cells - after.cells)]
    return sum(int(cell) ** 2 for cell in np.concatenate(apart))


def claimed_together(relation):
    return squared_variance_sensitivity(
        Neighbors(relation),
        squared_norm=WEIGHTED.grid.squared_norm,
        cell_bound=WEIGHTED.cell_bound,
        weight=WEIGHTED.weight,
    )


@pytest.mark.claim("P10")
@given(tables, rows, st.integers(0, 5))
def test_replacing_a_row_moves_squares_and_cells_no_further_than_claimed(table, row, place):
    center = np.array([0.0, 1.0, -0.5, 0.0])
    other, nothing = table.copy(), table.copy()
    other[place], nothing[place] = row, center
    assert moved_together(table, other, center) <= claimed_together("replace")
    assert moved_together(table, nothing, center) <= claimed_together("add-remove")


@pytest.mark.claim("P10")
def test_the_claimed_distance_of_squares_and_cells_is_nearly_attained():
    # The other row has a little on the other side of zero, and its own cells elsewhere.
    bound = WEIGHTED.cell_bound * WEIGHTED.grid.step
    count = int((WEIGHTED.grid.row_norm / bound) ** 2)
    share = (WEIGHTED.weight / WEIGHTED.cell_bound) ** 2 / 3
    row = np.concatenate([np.full(count, bound), np.full(count, -bound * share)])[None, :]
    other = np.roll(row, count, axis=1)
    center = np.zeros(2 * count)
    assert 0.95 < moved_together(row, other, center) / claimed_together("replace") <= 1
    assert 0.94 < moved_together(row, 0 * row, center) / claimed_together("add-remove") <= 1


@pytest.mark.claim("P10")
def test_the_claimed_distance_of_squares_is_nearly_attained():
    # Rows that spend their norm on as many cells at the bound as it allows, on other columns.
    bound = SQUARES.cell_bound * SQUARES.grid.step
    count = int((SQUARES.grid.row_norm / bound) ** 2)
    table = np.zeros((1, 2 * count))
    table[0, :count] = bound
    other = np.roll(table, count, axis=1)
    before, after = (sums(each, np.zeros(2 * count), SQUARES).squares for each in (table, other))
    moved = math.sqrt(sum(int(d) ** 2 for d in before - after))
    claimed = math.sqrt(2) * SQUARES.cell_bound * 2**SQUARES.grid.bits
    assert 0.95 * claimed < moved <= claimed


def test_without_clipping_the_squares_would_move_further(monkeypatch):
    def quantize(rows, grid, missing, out):
        out[:] = np.trunc(rows / grid.step)

    monkeypatch.setattr(signs, "quantize_rows", quantize)
    monkeypatch.setattr(np, "clip", lambda values, *_, out: values)
    moved = sums(np.full((1, 4), 9.0), np.zeros(4), SQUARES).squares
    assert np.linalg.norm(moved.astype(float)) > SQUARES.cell_bound * 2**SQUARES.grid.bits


def test_differences_have_the_variance_of_rows():
    table = np.random.default_rng(0).normal(scale=0.3, size=(20_000, 2)) + 5
    grid = Grid(row_norm=4.0, bits=20)
    result = sums(table, squares=Squares(grid, 1 << 20))
    assert result.squares * grid.step**2 / result.n_terms == pytest.approx([0.09] * 2, rel=0.05)


def test_ties_and_constant_columns_have_no_sign():
    table = np.random.default_rng(0).normal(size=(100, 3))
    table[:, 1] = 7.0
    assert sums(table).triangle.full()[1].tolist() == [0, 0, 0]


def test_shifting_a_column_changes_nothing_about_differences():
    table = np.random.default_rng(0).integers(0, 100, size=(50, 3)).astype(float)
    shifted = table + np.array([1e6, -3, 0])
    assert (above_diagonal(sums(table)) == above_diagonal(sums(shifted))).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("center", [None, np.zeros(2)])
def test_missing_cells_are_refused_without_saying_where(bad, center):
    table = np.ones((4, 2))
    table[1, 1] = bad
    with pytest.raises(MissingValueError, match="missing or infinite cells"):
        sums(table, center, missing="refuse")


def test_integers_and_booleans_are_compared_as_they_are():
    table = np.array([[2**62 + 1, 1], [2**62, 0]])
    assert above_diagonal(sums(table)).tolist() == [1]
    assert above_diagonal(sums(table > 1, np.full(2, 0.5))).tolist() == [-2]


@pytest.mark.claim("P10")
def test_a_blas_that_is_not_exact_is_caught(monkeypatch):
    exact = np.matmul

    def off_by_one(a, b, out):
        exact(a, b, out=out)
        out[0, 1] += 1

    monkeypatch.setattr(np, "matmul", off_by_one)
    with pytest.raises(InexactArithmeticError, match="not exact on integers below 2\\^24"):
        sums(np.eye(4, 3), np.zeros(3))


@given(st.integers(1, 10**6))
def test_blocks_are_exact_in_float32(size):
    assert 1 <= block_rows(size) <= 2**24


@pytest.mark.parametrize(
    ("n_columns", "expected"), [(1, 8192), (1024, 8192), (2048, 4096), (3000, 2796), (10**6, 128)]
)
def test_the_length_of_blocks_follows_from_the_number_of_columns(n_columns, expected):
    """It says which rows are paired: with another one, a table would give other numbers."""
    assert block_rows(n_columns) == expected
    assert type(block_rows(n_columns)) is int


def test_the_sums_cannot_be_stored_printed_or_changed():
    result = sums(np.random.default_rng(0).normal(size=(4, 3)))
    assert repr(result) == "CoMovement(2 terms × 3 columns)"
    for leak in (pickle.dumps, np.asarray):
        with pytest.raises(SensitiveDataError, match="CoMovement has no noise"):
            leak(result)
    with pytest.raises(AttributeError):
        result.n_terms = 3
    with pytest.raises(ValueError, match="read-only"):
        result.triangle.row(0)[0] = 1
    assert copy.deepcopy(result) is result


def test_more_terms_than_the_sums_hold_are_refused(monkeypatch):
    monkeypatch.setattr(signs, "_MOST_TERMS", 3)
    with pytest.raises(ParameterError, match="do not fit the sums"):
        sums(np.zeros((8, 2)))


@pytest.mark.claim("P10")
def test_sums_merge_until_they_hold_no_more_terms(monkeypatch):
    one, other = (sums(np.ones((n_rows, 2)), np.zeros(2)) for n_rows in (3, 4))
    monkeypatch.setattr(signs, "_MOST_TERMS", 7)
    assert (one + other).n_terms == 7
    assert above_diagonal(one + other).tolist() == [7]
    assert (one + other).totals.tolist() == [7, 7]
    assert (one + other).squares is (one + other).cells is None
    monkeypatch.setattr(signs, "_MOST_TERMS", 6)
    with pytest.raises(ParameterError, match="do not fit the sums"):
        one + other


@pytest.mark.claim("P10")
def test_no_more_terms_are_allowed_than_32_bits_hold():
    assert np.iinfo(np.int32).max == signs._MOST_TERMS
    assert sums(np.ones((2, 2))).triangle.full().dtype == np.int32


@pytest.mark.claim("P10")
def test_sums_of_other_columns_terms_or_rules_do_not_merge():
    table, center = np.ones((4, 3)), np.zeros(3)
    one = sums(table, center, SQUARES)
    assert (one + one).squares.tolist() == (2 * one.squares).tolist()
    assert (one + one).cells.tolist() == (2 * one.cells).tolist()
    for other in (
        sums(table[:, :2], center[:2], SQUARES),
        sums(table, None, SQUARES),
        sums(table, center),
        sums(table, center, WEIGHTED),
        sums(table, center, replace(SQUARES, cell_bound=299)),
    ):
        with pytest.raises(ParameterError, match="same columns and rule"):
            one + other
    with pytest.raises(TypeError):
        one + 1


def test_sums_of_cells_have_no_weight_unless_one_is_stated():
    assert Squares(SQUARES.grid, cell_bound=300).weight == 0


def test_sums_take_the_threads_that_they_are_given(monkeypatch):
    given_threads, real = [], signs.blas_threads

    def watched(threads):
        given_threads.append(threads)
        return real(threads)

    monkeypatch.setattr(signs, "blas_threads", watched)
    monkeypatch.setattr(signs, "allowed_threads", lambda: 3)
    for threads in (1, 2, None):
        CoMovement.from_blocks([np.ones((2, 2))], n_columns=2, center=None, threads=threads)
    assert given_threads == [1, 2, 3]


@pytest.mark.claim("P10")
@given(tables, rows, st.integers(0, 5), st.integers(0, 100))
def test_a_row_sits_in_one_term_however_rows_are_paired(table, row, place, seed):
    def shuffled(each):
        blocks = DifferenceSource(open_table(each), seed).blocks(2)
        result = CoMovement.from_blocks(blocks, n_columns=4, center=None, missing="center")
        return above_diagonal(result)

    other = table.copy()
    other[place] = row
    assert np.abs(shuffled(table) - shuffled(other)).max() <= 2
