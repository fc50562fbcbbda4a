import pytest

from dpcov.postprocess.level_shares import LevelShare
from dpcov.postprocess.listing import Listing, number


def shares(count):
    lines = tuple(LevelShare("sex", f"l{i}", 0.5, 0.1, 0.3, 0.7) for i in range(count))
    return Listing(lines, LevelShare._fields)


def test_a_listing_is_walked_through_line_by_line():
    listing = shares(3)
    assert len(listing) == 3
    assert listing[1].level == "l1"
    assert [line.level for line in listing] == ["l0", "l1", "l2"]


def test_a_listing_shows_ten_lines_and_counts_the_rest():
    shown = repr(shares(12)).split("\n")
    assert shown[0] == "12 lines"
    assert shown[-1] == "  … and 2 more"
    assert len(shown) == 12


def test_a_listing_becomes_a_frame_with_the_names_of_its_fields():
    assert list(shares(2).to_frame().columns) == list(LevelShare._fields)
    assert len(shares(0).to_frame()) == 0


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0"), (0.12345, "0.123"), (-12.34, "−12.3"), (54321.9, "54,322"), (2e-6, "2.0e-06")],
)
def test_numbers_are_shown_with_three_digits(value, shown):
    assert number(value) == shown
