"""Arrow arrays of numbers: what numpy gets is what pyarrow itself would give."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpcov.columns.written import FORMS, MARKS, parse_number
from dpcov.sensitive.tables.arrow_numbers import numbers_in_texts, numbers_of

SIGNED = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
UNSIGNED = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
FLOATS = [pa.float16(), pa.float32(), pa.float64()]
CELLS = [1, None, 3, 0, 127, None, 7, 8, None, 10, 11, 12, 13, None, 15, 16, 17, 18, 19]


def column(kind, cells):
    wide = {pa.float16(): np.float16, pa.float32(): np.float32}.get(kind, int)
    return pa.array([None if cell is None else wide(cell) for cell in cells], kind)


@pytest.mark.parametrize("kind", [*SIGNED, *UNSIGNED, *FLOATS], ids=str)
@pytest.mark.parametrize("cells", [CELLS, [1, 2, 3], [None, None], []], ids=str)
def test_every_kind_of_number_is_what_pyarrow_gives(kind, cells):
    array = column(kind, cells)
    np.testing.assert_array_equal(
        numbers_of(array), array.to_numpy(zero_copy_only=False), strict=True
    )


@pytest.mark.parametrize("start", range(0, len(CELLS) + 1))
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 19])
def test_a_part_of_an_array_keeps_its_own_gaps(start, length):
    array = column(pa.float64(), CELLS).slice(start, length)
    np.testing.assert_array_equal(
        numbers_of(array), array.to_numpy(zero_copy_only=False), strict=True
    )


def test_the_largest_whole_numbers_are_rounded_alike_with_gaps_and_without():
    cells = [2**63 - 1, 2**53 + 1, -(2**63)]
    whole = numbers_of(pa.array(cells)).astype(np.float64)
    np.testing.assert_array_equal(numbers_of(pa.array([*cells, None]))[:3], whole, strict=True)


def test_not_a_number_is_no_null_and_stays():
    assert np.isnan(numbers_of(pa.array([np.nan, 1.0]))[0])


def test_numbers_without_gaps_are_not_copied():
    array = pa.array([1.0, 2.0])
    assert np.shares_memory(numbers_of(array), array.to_numpy())


# Digits of other scripts and wide ones, blanks of all kinds, and what other languages write.
LETTERS = "019.,eE+-_ \t\n\r\v\x00\xa0\u0665\uff15\u2212\ufeffxnaifINpd()'\""
TEXTS = st.lists(
    st.sampled_from(["inf", "-inf", "+nan", "nan(1)", "1e400", "0x10", "9" * 400, *MARKS])
    | st.text(LETTERS, max_size=7),
    max_size=5,
)


def said(text, form):
    number = None if text in MARKS else parse_number(text, form)
    return np.nan if number is None or np.isinf(number) else number


@pytest.mark.claim("P8")
@pytest.mark.parametrize("form", ["1234.5", "1234,5"])
@given(TEXTS, st.sampled_from([None, "no number", "inf", "+1"]))
@example(["+5", " +5 ", "\t+5", "+ 5", "-.5", "5.", ".", "1.e5", "1d5"], None)
@example(["0.10", "0x10", "1,5", "1.5", "1,5,6", "1,234.5"], None)
def test_a_text_is_the_same_number_alone_and_beside_any_other(form, texts, beside):
    decimal = FORMS[form][0]
    more = [] if beside is None else [beside]
    cells = [text.encode() for text in (*texts, *more)]
    together = numbers_in_texts(pa.array(cells, pa.binary()), decimal)
    alone = [numbers_in_texts(pa.array([cell], pa.binary()), decimal)[0] for cell in cells]
    expected = [said(text, form) for text in (*texts, *more)]
    # To the bit: -0 is not 0.
    assert together.tobytes() == np.array(alone).tobytes()
    np.testing.assert_array_equal(together, expected)
