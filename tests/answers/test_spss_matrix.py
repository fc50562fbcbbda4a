"""Matrix data for SPSS; PSPP reads them, if it is installed and DPCOV_TEST_R=1."""

import os
import re
import shutil
import subprocess

import numpy as np
import pytest

from answers.exported import (
    ODD_NAMES,
    odd_release,
    three_factor_release,
    with_categories,
    with_tails,
)
from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.pd_moments import moments_of
from dpcov.answers.exports.spss_matrix import write_spss_matrix
from dpcov.errors import ParameterError
from publication import releases

PSPP = shutil.which("pspp")


@pytest.fixture(scope="module")
def asked():
    return ask(odd_release(), None, citation="Office (2026). " + "A long title " * 20)


@pytest.fixture(scope="module")
def text(asked):
    return write_spss_matrix(asked)["matrix.sps"].decode("utf-8-sig")


def rows_of(text):
    """Return the rows of the matrix file, as a program with free format reads them."""
    inside = text.split("BEGIN DATA\n")[1].split("\nEND DATA.")[0].split()
    found, kinds = [], []
    for word in inside:
        if word.isalpha():
            kinds.append(word)
            found.append([])
        else:
            found[-1].append(float(word))
    return kinds, found


def test_its_rows_are_those_of_the_moments(asked, text):
    kinds, rows = rows_of(text)
    moments = moments_of(asked)
    size = len(ODD_NAMES)
    assert kinds == ["N", "STDDEV", "MEAN", *["CORR"] * size]
    assert rows[0] == [20_000.0] * size
    np.testing.assert_allclose(rows[1], moments.deviations, rtol=1e-11)
    np.testing.assert_allclose(rows[2], moments.mean, rtol=1e-11)
    for place, row in enumerate(rows[3:]):
        np.testing.assert_allclose(row, moments.correlation[place, : place + 1], rtol=1e-11)


def test_every_column_has_its_name_as_a_label(asked, text):
    labels = text.split("VARIABLE LABELS\n")[1].split('".\n')[0] + '"'
    found = re.findall(r'^  /?(\w+) "((?:[^"]|"")*)"$', labels, flags=re.MULTILINE)
    assert tuple(variable for variable, _ in found) == asked.variables
    assert [label.replace('""', '"') for _, label in found] == [name.strip() for name in ODD_NAMES]


def test_lines_of_commands_are_short_and_comments_end(text):
    lines = text.split("\n")
    assert max(len(line.encode()) for line in lines if not line.startswith("  ")) <= 130
    comments = [line for line in lines if line.startswith("*")]
    assert all(line.endswith((".", ":")) for line in comments)
    assert not [line for line in comments if line.endswith("..")]


def test_it_says_that_its_errors_will_be_too_small(text):
    assert "too small" in text


def test_rows_of_each_column_and_of_pairs_are_there():
    text = write_spss_matrix(ask(with_categories(), None))["matrix.sps"].decode("utf-8-sig")
    moments = moments_of(ask(with_categories(), None))
    _, rows = rows_of(text)
    np.testing.assert_array_equal(rows[0], moments.rows.diagonal())
    assert rows[0][0] < 18_500
    said = text.split("BEGIN DATA")[0]
    (line,) = [line for line in said.split("\n") if line.startswith("* age: ")]
    np.testing.assert_array_equal([int(each) for each in line[7:-1].split()], moments.rows[0])
    assert "The divisor of variances and covariances is n, not n - 1" in said


def test_a_suppressed_mean_leaves_no_means_and_is_said():
    text = write_spss_matrix(ask(with_tails(), None))["matrix.sps"].decode("utf-8-sig")
    kinds, _ = rows_of(text)
    assert "MEAN" not in kinds
    said = " ".join(text.replace(".\n*", "").split())
    assert "No mean is given of x4" in said
    assert "There are no MEAN rows" in said


def test_it_is_said_which_matrix_models_are_tested_on(text):
    said = " ".join(text.replace(".\n*", "").split())
    assert "counts n alone rejects too often" in said


def test_pairs_are_refused():
    with pytest.raises(ParameterError, match="no whole matrix"):
        write_spss_matrix(ask(releases.pairs(), None))


needs_pspp = pytest.mark.skipif(
    os.environ.get("DPCOV_TEST_R") != "1" or PSPP is None,
    reason="needs PSPP and DPCOV_TEST_R=1",
)


def run_pspp(text, folder):
    """Run a file of commands and return what it printed, as CSV."""
    (folder / "matrix.sps").write_bytes(text.encode())
    command = [PSPP, "matrix.sps", "-o", "out.csv"]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    out = (folder / "out.csv").read_text(encoding="utf-8")
    assert done.returncode == 0, done.stdout + out
    return out


@needs_pspp
@pytest.mark.parametrize("make", [odd_release, lambda: three_factor_release(0)])
def test_pspp_reads_it(make, tmp_path):
    asked = ask(make(), None)
    shown = f"\nFORMATS {asked.variables[0]} TO {asked.variables[-1]} (F12.6).\nLIST.\n"
    out = run_pspp(write_spss_matrix(asked)["matrix.sps"].decode() + shown, tmp_path)
    lines = [line.split(",") for line in out.split("\n") if line.startswith("CORR,")]
    found = np.array([[float(number) for number in line[2:]] for line in lines])
    np.testing.assert_allclose(found, moments_of(asked).correlation, atol=1e-6)


@needs_pspp
@pytest.mark.parametrize("make", [three_factor_release, lambda _: with_tails()])
def test_pspp_runs_the_examples(make, tmp_path):
    asked = ask(make(0), None)
    text = write_spss_matrix(asked)["matrix.sps"].decode()
    examples = text.split("* For example:\n")[1].split("\n")
    commands = [line.removeprefix("* ") for line in examples]
    (regression,) = [line for line in commands if line.startswith("REGRESSION")]
    assert regression == "REGRESSION MATRIX=IN(*) /DEPENDENT=x1 /METHOD=ENTER."
    # PSPP 1.6 and 2.0 have no MATRIX in REGRESSION.
    ran = [line for line in commands if line != regression and "The same" not in line]
    ran = [line.replace("PRINT slopes", "PRINT slopes /FORMAT=F14.10") for line in ran]
    out = run_pspp(text + "\n" + "\n".join(ran) + "\n", tmp_path)
    assert "Table: Factor Matrix" in out
    found = [float(each) for each in re.findall(r"^ *(-?\d*\.\d{10})$", out, flags=re.MULTILINE)]
    covariance = moments_of(asked).covariance
    slopes = np.linalg.solve(covariance[1:, 1:], covariance[1:, 0])
    np.testing.assert_allclose(found, slopes, atol=1e-8)
