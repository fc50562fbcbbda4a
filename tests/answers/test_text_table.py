import pytest

from dpcov.answers.text_table import align

NUMBERS = ("coefficient", "std. error", "from", "to", "standardized")


def table(*names, number="1,234.56"):
    return align(("", *NUMBERS), [[name, *[number] * len(NUMBERS)] for name in names])


@pytest.mark.parametrize(
    "name",
    ["age", "how satisfied are you with your life as a whole these days", "x" * 70, "x" * 200],
)
def test_no_name_is_cut(name):
    shown = table("age", name).split("\n")
    assert name in " ".join(line.split("  1,234")[0].strip() for line in shown)


def test_no_table_is_wider_than_a_terminal_if_its_words_are_not():
    long = "how satisfied are you with your life as a whole these days – your income this month"
    for names in (("age",), ("age", long), ("x" * 80,)):
        assert max(map(len, table(*names).split("\n"))) <= 80


def test_numbers_that_are_too_many_take_a_line_each():
    shown = table("age", number="1,234,567,890,123,456")
    assert shown.split("\n")[0] == "age"
    assert "  std. error    1,234,567,890,123,456" in shown


def test_headings_take_two_lines_where_room_is_short():
    assert "std. error" in table("age")
    narrow = table("a name of quite some length, and more", number="1.25")
    assert "std. error" not in narrow
    assert "std." in narrow


def test_a_table_without_lines_is_its_heading():
    assert align(("", "value"), []) == "  value\n  -----"
