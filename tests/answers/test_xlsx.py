"""The workbook: sheets, numbers that are numbers, and names that are text."""

import io
import sys

import numpy as np
import pytest

from answers.exported import ODD_NAMES, odd_release, three_factor_release
from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.xlsx import write_xlsx
from dpcov.errors import MissingExtraError, ParameterError
from publication import releases


def book_of(release, columns=None, **options):
    openpyxl = pytest.importorskip("openpyxl")
    data = write_xlsx(ask(release, columns, **options))["correlations.xlsx"]
    return openpyxl.load_workbook(io.BytesIO(data))


@pytest.fixture(scope="module")
def release():
    return three_factor_release(0)


@pytest.fixture(scope="module")
def book(release):
    return book_of(release, citation="Office (2026). Survey")


def test_it_has_five_sheets(book):
    assert book.sheetnames == ["correlations", "covariances", "columns", "pairs", "about"]


def test_a_correlation_is_a_number_that_is_shown_with_its_stars(release, book):
    cell = book["correlations"].cell(3, 4)
    assert cell.value == pytest.approx(release.estimate()["x1", "x2"].released, rel=1e-12)
    assert cell.number_format == '.00"***"'


def test_the_covariances_are_the_estimate(release, book):
    rows = list(book["covariances"].iter_rows(min_row=2, min_col=2, values_only=True))
    np.testing.assert_allclose(np.array(rows, float), release.estimate().covariance, rtol=1e-12)


def test_all_pairs_are_listed_with_errors(release, book):
    heading, *lines = book["pairs"].iter_rows(values_only=True)
    assert heading[:4] == ("First", "Second", "r released", "error")
    assert len(lines) == 36
    assert all(line[8] == "yes" for line in lines)


def test_it_says_promise_and_citation(book):
    said = [cell.value for cell in book["about"]["A"]]
    assert "Cite as: Office (2026). Survey" in said
    assert any("Nothing is promised" in line for line in said)
    assert any("covariances: the estimate" in line for line in said)


def test_no_name_is_a_formula():
    book = book_of(odd_release())
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
    assert not [cell for cell in cells if cell.data_type == "f"]
    written = {cell.value for cell in cells if isinstance(cell.value, str)}
    assert {name.strip() for name in ODD_NAMES} <= written
    (formula,) = [cell for cell in book["columns"]["A"] if str(cell.value).startswith("=")]
    assert formula.quotePrefix


def test_a_formula_would_be_seen():
    openpyxl = pytest.importorskip("openpyxl")
    sheet = openpyxl.Workbook().active
    sheet["A1"] = ODD_NAMES[5]
    assert sheet["A1"].data_type == "f"


def test_pairs_have_no_matrices():
    release = releases.pairs()
    book = book_of(release)
    assert book.sheetnames == ["columns", "pairs", "about"]
    assert book["pairs"].max_row == 1 + len(release.estimate().pairs())


def test_without_openpyxl_a_sentence_says_what_to_install(release, monkeypatch):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'dpcov\[xlsx\]'"):
        write_xlsx(ask(release, None))


def test_a_sheet_that_nobody_can_read_is_refused(monkeypatch, release):
    monkeypatch.setattr("dpcov.answers.exports.xlsx._MOST_COLUMNS", 5)
    with pytest.raises(ParameterError, match="too wide"):
        write_xlsx(ask(release, None))
