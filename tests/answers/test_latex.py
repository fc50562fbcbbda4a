"""The table of correlations, for LaTeX."""

import re

import numpy as np
import pytest

import dpcov
from answers.exported import odd_release, three_factor_release, with_categories
from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.correlation_table import UNTOLD, CorrelationTable
from dpcov.answers.exports.latex import escape, write_latex
from dpcov.errors import ParameterError
from publication import releases


def text_of(release, columns=None):
    return write_latex(ask(release, columns))["correlations.tex"].decode()


def lines_of(text):
    """Return the cells of the lines of a table."""
    inside = text.split("\\midrule\n")[1].split("\\bottomrule")[0]
    return [line.removesuffix(r" \\").split(" & ") for line in inside.rstrip("\n").split("\n")]


@pytest.fixture(scope="module")
def release():
    return three_factor_release(0)


def test_variables_are_numbered_and_the_lower_triangle_is_filled(release):
    lines = lines_of(text_of(release))
    assert [line[0] for line in lines] == [f"{number}. x{number}" for number in range(1, 10)]
    assert [sum(cell != "" for cell in line[3:]) for line in lines] == list(range(9))
    assert {len(line) for line in lines} == {11}


def test_a_cell_is_the_released_correlation_with_stars_by_its_q_value(release):
    cell = lines_of(text_of(release, ["x2", "x1"]))[1][3]
    pair = release.estimate()["x1", "x2"]
    assert pair.q_value < 0.001
    assert cell == f"${pair.released:.2f}$".replace("0.", ".") + "$^{***}$"


def test_a_pair_that_is_not_related_has_no_star():
    rows = np.random.default_rng(3).normal(size=(20_000, 2))
    release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4, seed=3)
    assert release.estimate()["x0", "x1"].q_value > 0.05
    assert "^{" not in lines_of(text_of(release))[1][3]


def test_what_is_too_noisy_to_tell_is_a_dash_and_the_note_says_so():
    rows = np.random.default_rng(0).normal(size=(2_000, 3)) * [1, 1, 0.01]
    release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4, seed=0)
    text = text_of(release)
    assert lines_of(text)[2][3:] == [UNTOLD, UNTOLD]
    assert "too noisy to tell" in text
    assert "too noisy to tell" not in text_of(three_factor_release(0))


def test_levels_of_one_category_have_no_correlation_between_them():
    lines = lines_of(text_of(with_categories()))
    assert [line[0] for line in lines] == ["1. age", "2. sex=m", "3. sex=x", "4. income"]
    assert lines[2][4] == ""
    assert lines[2][3] != ""


def test_columns_in_another_order_have_the_same_correlations(release):
    one = lines_of(text_of(release, ["x1", "x5", "x9"]))
    other = lines_of(text_of(release, ["x9", "x5", "x1"]))
    assert one[2][3] == other[2][3]
    assert one[1][3] == other[2][4]


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("R&D_50 %", r"R\&D\_50 \%"),
        ("a\\b", r"a\textbackslash{}b"),
        ("[1]", "{[}1{]}"),
        ("x^2 ~ {y}$#", r"x\textasciicircum{}2 \textasciitilde{} \{y\}\$\#"),
        ("two\nlines", "two lines"),
        ("年龄 Größe", "年龄 Größe"),
    ],
)
def test_names_are_printed_as_they_are(name, written):
    assert escape(name) == written


def test_no_name_breaks_the_table():
    text = text_of(odd_release())
    lines = lines_of(text)
    assert len(lines) == 14
    assert r"very long\ldots{}" in lines[9][0]
    plain = re.sub(r"\\textbackslash\{\}|\\[&%$#_{}]", "", text)
    assert plain.count("{") == plain.count("}")
    assert {len(re.split(r"(?<!\\)&", " & ".join(line))) for line in lines} == {16}


def test_pairs_are_a_list_with_intervals():
    release = releases.pairs()
    text = text_of(release)
    lines = lines_of(text)
    assert len(lines) == len(release.estimate().pairs())
    assert re.fullmatch(r"\$\[-?\.\d\d, -?(\.\d\d|1\.00)\]\$", lines[0][3])
    assert "\\toprule" in text


def test_too_many_columns_are_refused():
    rows = np.random.default_rng(0).normal(size=(5_000, 41))
    release = dpcov.release(rows, epsilon=8, delta=1e-6, row_norm=10, seed=0)
    with pytest.raises(ParameterError, match="fits on no page"):
        text_of(release)
    assert text_of(release, ["x0", "x7"])


def test_means_and_deviations_are_written_to_the_digits_that_are_known(release):
    table = CorrelationTable(ask(release, ["x1"]))
    mean, error = table.means[0][0], table.means[1][0]
    shown = float(lines_of(text_of(release, ["x1"]))[0][1].strip("$"))
    assert abs(shown - mean) < error / 10
