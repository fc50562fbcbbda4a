"""Which share of the cells is there, by the columns of the table."""

import numpy as np
import pytest

from postprocess.categorical import FIELDS, release_of, survey
from postprocess.simulation import band
from postprocess.simulation import release_of as release_of_numbers


@pytest.fixture(scope="module")
def rows():
    return survey(10_000)


@pytest.fixture(scope="module")
def observed(rows):
    return release_of(rows).observed


def test_shares_are_by_the_columns_of_the_table(observed):
    assert observed.columns == tuple(field.name for field in FIELDS)
    assert observed.share.shape == (5, 5)


def test_shares_are_those_of_the_table_within_their_errors(rows, observed):
    there = (~np.isnan(rows)).astype(float)
    truth = there.T @ there / len(rows)
    assert (np.abs(observed.share - truth) <= 4 * observed.standard_error).all()
    assert (observed.standard_error < 0.05).all()


def test_columns_without_gaps_may_have_some_that_were_not_seen(observed):
    assert observed.share[0, 0] == 1.0
    assert 0 < observed.standard_error[0, 0] < 0.02


def test_frames_have_the_names_of_the_columns(observed):
    assert observed.to_frame().loc["sex", "income"] == observed.share[2, 1]
    assert observed.error_frame().loc["sex", "income"] == observed.standard_error[2, 1]


def test_all_cells_are_there_where_none_may_be_missing():
    observed = release_of_numbers(band(3), n_rows=1000).observed
    assert (observed.share == 1).all()
    assert not observed.standard_error.any()
    assert repr(observed) == "Observed(3 columns, no gaps seen)"


def test_the_short_form_counts_columns_with_gaps(observed):
    assert repr(observed) == "Observed(3 of 5 columns have gaps)"


def test_shares_cannot_be_changed(observed):
    with pytest.raises(ValueError, match="read-only"):
        observed.share[0, 0] = 0.5


@pytest.mark.parametrize("seed", range(4))
def test_a_column_without_any_cell_has_a_release(seed):
    rows = survey(300, seed=seed)
    rows[:, 1] = np.nan
    release = release_of(rows, seed=seed)
    assert np.isfinite(release.location).all()
    assert 0 < release.observed.share[1, 1] <= 1
