"""The triangle holds a symmetric matrix, whatever its panels."""

import pickle
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import SensitiveDataError
from dpcov.exact import triangle
from dpcov.exact.triangle import Triangle

sizes, entries = st.integers(1, 30), st.sampled_from([1, 7, 40, 100, 900])


def matrix(size, seed=0):
    """A symmetric matrix with different entries in its upper triangle."""
    places = np.random.default_rng(seed).permutation(size * size).reshape(size, size)
    return np.triu(places) + np.triu(places, 1).T


def filled(full, most=40):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(triangle, "_PANEL_ENTRIES", most)
        result = Triangle.zeros(len(full), np.int64)
    for start, panel in result.panels():
        panel += full[start : start + len(panel), start:]
    return result


@given(sizes, entries)
def test_panels_cover_every_row_once(size, most):
    covered = [
        row
        for start, panel in filled(matrix(size), most).panels()
        for row in range(start, start + len(panel))
    ]
    assert covered == list(range(size))


@given(sizes, entries)
def test_a_panel_fits_the_buffer_or_is_one_row(size, most):
    for _, panel in filled(matrix(size), most).panels():
        assert panel.size <= most or len(panel) == 1


def test_two_thousand_columns_make_one_panel_and_thousands_take_half_the_memory():
    assert len(list(Triangle.zeros(2048, np.int32).panels())) == 1
    wide = Triangle.zeros(20_000, np.int32)  # zeros that nobody writes take no memory
    assert sum(panel.size for _, panel in wide.panels()) < 0.52 * 20_000**2
    assert max(panel.size for _, panel in wide.panels()) <= 2048**2


@given(sizes, entries)
def test_rows_diagonal_and_all_are_those_of_the_matrix(size, most):
    full = matrix(size)
    result = filled(full, most)
    assert (result.full() == full).all()
    assert (result.diagonal() == np.diag(full)).all()
    for row in range(size):
        assert (result.row(row) == full[row, row:]).all()


@given(sizes, entries)
def test_what_is_above_the_diagonal_comes_row_by_row(size, most):
    full = matrix(size)
    parts = list(filled(full, most).above_diagonal())
    assert np.concatenate(parts).tolist() == full[np.triu_indices(size, 1)].tolist()


@given(sizes, entries)
def test_entries_are_found_in_their_panels(size, most):
    full = matrix(size)
    rows, columns = (places[::-1] for places in np.triu_indices(size))
    assert (filled(full, most).at(rows, columns) == full[rows, columns]).all()


@given(sizes, entries)
def test_triangles_are_added_and_compared(size, most):
    first, second = matrix(size), matrix(size, seed=1)
    total = filled(first, most) + filled(second, most)
    assert total == filled(first + second, most)
    second[size // 2, size - 1] += 1
    assert total != filled(first + second, most)
    assert total != 1
    with pytest.raises(TypeError):
        total + 1


@given(st.integers(2, 12), st.sampled_from([1, 7, 40, 900]), st.integers(0, 2**12 - 1))
def test_a_smaller_triangle_is_added_where_its_rows_belong(size, most, chosen):
    places = np.array([place for place in range(size) if chosen >> place & 1] or [size - 1])
    whole, part = matrix(size), matrix(len(places), seed=1)
    result = filled(whole, most)
    result.add_at(filled(part, most), places)
    whole[np.ix_(places, places)] += part
    assert result == filled(whole, most)


@pytest.mark.parametrize("most", [10, 100])
def test_the_whole_matrix_cannot_be_written_to(most):
    result = filled(matrix(5), most)
    with pytest.raises(ValueError, match="read-only"):
        result.full()[0, 0] = 1


def test_it_refuses_to_be_stored_printed_or_changed():
    result = filled(matrix(5))
    result.freeze()
    assert repr(result) == "Triangle(5 columns)"
    for leak in (pickle.dumps, np.asarray):
        with pytest.raises(SensitiveDataError, match="Triangle has no noise"):
            leak(result)
    with pytest.raises(AttributeError, match="cannot be changed"):
        result.size = 3
    for entry in (result.row(0), result.full()[0]):
        with pytest.raises(ValueError, match="read-only"):
            entry[0] = 1
    with pytest.raises(TypeError):
        hash(result)


def test_it_travels_between_processes_and_arrives_as_frozen_as_it_was():
    sent = filled(matrix(9))
    sent.freeze()
    arrived = pickle.loads(ForkingPickler.dumps(sent))
    assert arrived == sent
    for _, panel in arrived.panels():
        with pytest.raises(ValueError, match="read-only"):
            panel[0, 0] = 1
    with pytest.raises(SensitiveDataError, match="Triangle has no noise"):
        pickle.dumps(arrived)
