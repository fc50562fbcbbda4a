import numpy as np
import pytest

from dpcov.postprocess.sides import category_side, number_side


def side_of(shares, *, noise=1e-8, n_rows=10_000, scale=0.8):
    offset = np.zeros(len(shares))
    return category_side(
        np.array(shares), scale=scale, offset=offset, offset_noise=noise, n_rows=n_rows
    )


def test_the_coordinates_of_a_category_vary_by_one_and_are_not_correlated():
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    covariance = (np.diag(shares) - np.outer(shares, shares)) / 0.8**2
    whiten = side_of(shares).whiten
    np.testing.assert_allclose(whiten.T @ covariance @ whiten, np.eye(3), atol=1e-12)


def test_the_noise_of_the_coordinates_is_what_is_said():
    side = side_of([0.5, 0.3, 0.15, 0.05])
    noise = np.eye(4) - 1 / 4  # levels add up to nothing
    np.testing.assert_allclose(side.whiten.T @ noise @ side.whiten, np.diag(side.noise), atol=1e-9)


def test_a_number_has_one_coordinate():
    side = number_side(4.0, 0.4, 1.0, 0.01)
    assert side.whiten == 0.5
    assert side.noise == 0.25
    assert side.offset == 0.5
    assert side.relative == pytest.approx(0.01)


def test_rare_levels_are_read_as_one():
    side = side_of([0.5, 0.03, 0.36, 0.04, 0.07], noise=1e-4)
    assert side.pooled.tolist() == [False, True, False, True, False]
    assert sorted(side.shares.tolist()) == pytest.approx([0.07, 0.07, 0.36, 0.5])


def test_a_rare_level_alone_joins_the_rarest_of_the_others():
    assert side_of([0.7, 0.29, 0.01], noise=1e-4).pooled.tolist() == [False, True, True]


def test_a_level_that_never_occurs_is_no_level():
    side = side_of([0.6, 0.4, 0.0])
    assert side.whiten.shape == (3, 1)


def test_no_level_is_read_as_one_where_all_are_told():
    assert not side_of([0.6, 0.3, 0.1]).pooled.any()


def test_a_level_of_a_few_rows_is_rare_without_noise():
    assert side_of([0.6, 0.399, 0.001], n_rows=5000).pooled.tolist() == [False, True, True]


def test_nothing_is_told_where_noise_drowns_all_levels():
    side = side_of([0.5, 0.3, 0.2], noise=1.0)
    assert not side.is_told
    assert side.pooled.all()
