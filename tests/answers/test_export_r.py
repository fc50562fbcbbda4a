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
    with_tails,
)
from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.lavaan import write_lavaan
from dpcov.answers.exports.pd_moments import moments_of
from dpcov.answers.exports.r_reader import write_r_reader
from dpcov.answers.exports.stacked_errors import errors_of_moments
from dpcov.errors import ParameterError
from dpcov.postprocess.column_errors import deviation_errors
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
    expected = 20_000 * errors_of_moments(ask(release, None), means=True)
    np.testing.assert_array_equal(found, expected)


def noisy():
    """Return a release of three columns whose variances are shrunk before they are published."""
    rows = np.random.default_rng(0).normal(size=(2_000, 8)) * [2, 1, 1, 1, 1, 1, 1, 1]
    return dpcov.release(rows, epsilon=2, delta=1e-6, row_norm=6, seed=0)


def test_matrix_and_nacov_have_the_published_deviations_and_their_errors():
    release = noisy()
    files, estimate = write_lavaan(ask(release, None)), release.estimate()
    _, covariance = read_csv(files["covariance.csv"])
    published = estimate.released_deviations
    np.testing.assert_allclose(np.sqrt(covariance.diagonal()), published, rtol=1e-12)
    names, nacov = read_csv(files["nacov.csv"])
    own = [names.index(f"x{number}~~x{number}") for number in range(8)]
    errors = np.sqrt(nacov.diagonal()[own] / release.n_rows) / (2 * published)
    # To the first digits: rounding of noise to a grid is in one of them.
    np.testing.assert_allclose(errors, deviation_errors(estimate), rtol=0.01)


def test_numbers_are_read_back_to_the_bit(release, lavaan):
    _, covariance = read_csv(lavaan["covariance.csv"])
    np.testing.assert_array_equal(covariance, moments_of(ask(release, None)).covariance)


def test_models_are_fitted_by_maximum_likelihood_with_errors_from_nacov(lavaan):
    text = lavaan["model.R"].decode()
    code = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    assert not [line for line in code if "WLS" in line]
    assert 'estimator = "ML"' in text
    assert 'NACOV = nacov, se = "robust.sem", test = "satorra.bentler"' in text


def test_a_suppressed_mean_is_an_empty_cell_and_said():
    files = write_lavaan(ask(with_tails(), None))
    cells = dict(line.split(",") for line in files["mean.csv"].decode().splitlines())
    assert [name for name, cell in cells.items() if not cell] == ["x4"]
    assert "No mean is given of x4" in files["model.R"].decode()


def test_gaps_are_said_and_the_rows_of_pairs_are_there():
    files = write_lavaan(ask(with_categories(), None))
    names, rows = read_csv(files["rows.csv"])
    assert names == ["age", "sex_m", "sex_x", "income"]
    np.testing.assert_allclose(rows[0], 18_000, atol=400)
    np.testing.assert_allclose(rows[1:, 1:], 20_000, atol=400)
    text = files["model.R"].decode()
    assert "Cells are missing in age (" in text
    assert "n is 20,000 rows" in text
    assert "Each level of a category is a column, without one of them" in text


def test_without_gaps_there_is_no_file_of_rows(lavaan):
    assert "rows.csv" not in lavaan
    assert "rows.csv       " not in lavaan["model.R"].decode()


def test_the_file_says_what_it_is(lavaan):
    text = lavaan["model.R"].decode()
    assert "Nothing is promised to anybody" in text
    assert "nothing was set to zero or shrunk" in text
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
