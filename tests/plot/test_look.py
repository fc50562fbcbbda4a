import pytest

from dpcov.plot.look import DIVERGING, shown_name


def test_a_long_name_keeps_both_ends():
    shown = shown_name("a" * 50 + "1", 11)
    assert shown == "aaaaa…aaaa1"
    assert len(shown) == 11


def test_a_name_that_fits_is_shown_as_it_is():
    assert shown_name("<b>$x$</b> & co", 15) == "<b>$x$</b> & co"


@pytest.mark.parametrize(
    "name", ["two\nlines", "two\r\n\tlines", "two\x00lines", "two\u202elines", "two\ud800lines"]
)
def test_what_cannot_be_printed_becomes_a_space(name):
    assert shown_name(name) == "two lines"


@pytest.mark.parametrize("name", ["", "  ", "\n"])
def test_a_name_with_nothing_to_see_says_so(name):
    assert shown_name(name) == "(blank)"


def test_the_middle_of_the_colors_is_white():
    assert DIVERGING(0.5) == pytest.approx((1, 1, 1, 1), abs=1e-9)
