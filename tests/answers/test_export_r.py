"""The files for R: matrices, models that fit their columns, and what they say."""

import re

import numpy as np
import pytest

import dpcov
from answers.exported import (
    ODD_NAMES,
    odd_release,
    of_devices,
    read_csv,
    three_factor_release,
    with_categories,
)
from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.lavaan import write_lavaan
from dpcov.answers.exports.r_reader import write_r_reader
from dpcov.errors import ParameterError
from publication import releases


@pytest.fixture(scope="module")
def release():
    return three_factor_release(0)


@pytest.fixture(scope="module")
def lavaan(release):
    return write_lavaan(ask(release, None, citation="Office (2026). Survey\nsystem('rm')"))


def wide(n_columns):
    rows = np.random.default_rng(0).normal(size=(20_000, n_columns))
    return dpcov.release(rows, epsilon=8, delta=1e-6, row_norm=10, seed=0)


def test_nacov_has_the_names_that_lavaan_gives_it(lavaan):
    names, _ = read_csv(lavaan["nacov.csv"])
    assert names[:10] == [f"x{number}~1" for number in range(1, 10)] + ["x1~~x1"]
    assert names[10:19] == [*(f"x1~~x{number}" for number in range(2, 10)), "x2~~x2"]


def test_nacov_is_n_times_the_errors(release, lavaan):
    _, found = read_csv(lavaan["nacov.csv"])
    expected = 20_000 * release.entry_covariance().matrix()
    np.testing.assert_allclose(found[9:, 9:], expected, rtol=1e-9, atol=1e-12)


def test_numbers_are_read_back_to_the_bit(release, lavaan):
    _, covariance = read_csv(lavaan["covariance.csv"])
    scale = release.units.scale
    np.testing.assert_array_equal(covariance, release.matrix * np.outer(scale, scale))


def test_the_file_says_what_it_is(lavaan):
    text = lavaan["model.R"].decode()
    assert "Nothing is promised to anybody" in text
    assert "The matrix is the released one" in text
    assert "#   factor1 =~ x1 + x2 + x3" in text
    assert not re.findall(r"@[A-Z]+@", text)


def test_a_citation_stays_a_comment(lavaan):
    (line,) = [line for line in lavaan["model.R"].decode().split("\n") if "rm" in line]
    assert line.startswith("# Cite as: Office (2026). Survey system('rm')")


def test_names_of_columns_are_in_the_file_of_names_alone():
    files = write_lavaan(ask(odd_release(), None))
    assert "%s @MODEL@" in files["names.csv"].decode()
    for name, data in files.items():
        if name != "names.csv":
            assert not [odd for odd in ODD_NAMES if len(odd) > 5 and odd.encode() in data]
            assert data.isascii()


def test_too_many_columns_have_no_nacov_and_a_sentence():
    files = write_lavaan(ask(wide(41), None))
    assert "nacov.csv" not in files
    assert "do not count privacy noise, and are too small" in files["model.R"].decode()
    assert "nacov.csv" in write_lavaan(ask(wide(41), [f"x{number}" for number in range(6)]))


def test_a_release_of_devices_has_no_mean():
    without = of_devices()
    assert not without.has_mean
    files = write_lavaan(ask(without, None))
    assert "mean.csv" not in files
    names, _ = read_csv(files["nacov.csv"])
    assert not [name for name in names if name.endswith("~1")]


def test_a_category_is_compared_with_its_first_level():
    names, _ = read_csv(write_lavaan(ask(with_categories(), None))["covariance.csv"])
    assert names == ["age", "sex_m", "sex_x", "income"]


def test_pairs_are_refused_with_what_to_do():
    with pytest.raises(ParameterError, match=r"no whole matrix.*'r'"):
        write_lavaan(ask(releases.pairs(), None))


def test_the_reader_is_the_same_for_every_release(release):
    assert write_r_reader(ask(release, None)) == write_r_reader(ask(releases.pairs(), None))
