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
    shown = "".join(line.split("  1,234")[0] for line in table("age", name).split("\n"))
    assert name.replace(" ", "") in shown.replace(" ", "")


def test_a_name_without_spaces_goes_on_after_an_underscore():
    shown = table("earliest_credit_line_of_the_household").split("\n")
    assert shown[-2].endswith("_")
    assert shown[-1].startswith("  ")


def test_no_table_is_wider_than_a_terminal_if_its_words_are_not():
    long = "how satisfied are you with your life as a whole these days – your income this month"
    for names in (("age",), ("age", long), ("x" * 80,)):
        assert max(map(len, table(*names).split("\n"))) <= 80


def test_numbers_that_are_too_many_stand_in_tables_below_each_other():
    shown = table("age", number="1,234,567,890,123,456")
    assert [part.split("\n")[0].split() for part in shown.split("\n\n")] == [
        ["coefficient", "std.", "error", "from"],
        ["to", "standardized"],
    ]
    assert max(map(len, shown.split("\n"))) <= 80


def test_an_error_stands_in_the_table_of_its_number():
    shown = align(("", *("C", "±") * 9), [["age", *["0.123"] * 18]])
    assert all(part.split()[:2] == ["C", "±"] for part in shown.split("\n\n"))
    assert len(shown.split("\n\n")) == 2


def test_headings_take_two_lines_where_room_is_short():
    assert "std. error" in table("age")
    narrow = table("a name of quite some length, and more", number="1.25")
    assert "std. error" not in narrow
    assert "std." in narrow


def test_a_table_without_lines_is_its_heading():
    assert align(("", "value"), []) == "  value\n  -----"
