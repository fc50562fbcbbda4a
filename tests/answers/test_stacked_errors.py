"""The covariance of all entries, in the order of lavaan."""

import numpy as np

import dpcov
from answers.exported import three_factor_release, with_categories
from dpcov.answers.entry_covariance import EntryCovariance
from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.pd_moments import moments_of
from dpcov.answers.exports.stacked_errors import (
    errors_of_moments,
    lower_triangle,
)
from dpcov.postprocess.column_errors import deviation_errors

TRUTH = np.array(
    [[1.0, 0.5, 0.3, 0.0], [0.5, 1.0, 0.4, 0.2], [0.3, 0.4, 1.0, 0.1], [0, 0.2, 0.1, 1]]
)
N_ROWS = 4_000


def drawn(seed):
    rows = np.random.default_rng(seed).multivariate_normal(np.zeros(4), TRUTH, size=N_ROWS)
    return dpcov.release(rows, epsilon=2, delta=1e-6, row_norm=7, seed=seed)


def gaussian(truth):
    """Return n times the covariance of the covariances of Gaussian rows, by its formula."""
    rows, columns = lower_triangle(len(truth))
    first, second = truth[np.ix_(rows, rows)], truth[np.ix_(columns, columns)]
    crossed = truth[np.ix_(rows, columns)]
    return first * second + crossed * crossed.T


def test_without_noise_it_is_that_of_gaussian_rows_and_means_come_first():
    rows = np.random.default_rng(0).multivariate_normal(np.zeros(4), TRUTH, size=N_ROWS)
    # Variances that differ are not shrunk.
    rows *= [0.5, 1.0, 1.5, 2.0]
    release = dpcov.release(rows, epsilon=1e5, delta=1e-6, row_norm=10, seed=0)
    found = N_ROWS * errors_of_moments(ask(release, None), means=True)
    written = moments_of(ask(release, None)).covariance
    np.testing.assert_allclose(found[:4, :4], written, atol=1e-3)
    np.testing.assert_allclose(found[:4, 4:], 0, atol=1e-3)
    unit = np.sqrt(np.outer(found[4:, 4:].diagonal(), found[4:, 4:].diagonal()))
    np.testing.assert_allclose(found[4:, 4:] / unit, gaussian(written) / unit, atol=5e-3)


def test_it_holds_the_numbers_of_the_entry_covariance():
    release = with_categories()
    asked = ask(release, ["income", "sex", "age"])
    errors = release.entry_covariance(asked.names)
    rows, columns = lower_triangle(4)
    expected = [(asked.names[j], asked.names[i]) for i, j in zip(rows, columns, strict=True)]
    assert list(errors.pairs) == expected
    found = errors_of_moments(asked, means=False)
    unit = np.sqrt(np.outer(found.diagonal(), found.diagonal()))
    np.testing.assert_allclose(found / unit, errors.matrix() / unit, atol=0.02)


def test_with_means_it_is_positive_definite_also_for_categories_and_gaps():
    found = errors_of_moments(ask(with_categories(), None), means=True)
    deviations = np.sqrt(found.diagonal())
    assert np.linalg.eigvalsh(found / np.outer(deviations, deviations))[0] > 1e-8


def squared_distances(stack, errors_of):
    """Return the mean squared distance from the truth over releases, for each number stacked."""
    found = []
    for seed in range(60):
        release = drawn(seed)
        off = stack(release)
        found.append(off @ np.linalg.solve(errors_of(release), off) / len(off))
    return float(np.mean(found))


def moments_off(release):
    rows, columns = lower_triangle(4)
    moments = moments_of(ask(release, None))
    return np.append(release.location, (moments.covariance - TRUTH)[rows, columns])


# The mean of 60 chi-square values of 14 or 6 degrees, each over its degrees, is 1 with an sd of
# 0.05 or 0.07; clipping is allowed for, so that it is less.


def test_errors_of_moments_are_those_that_are_seen():
    far = squared_distances(
        moments_off, lambda release: errors_of_moments(ask(release, None), means=True)
    )
    assert 0.6 < far < 1.3


def test_errors_of_moments_are_those_of_published_deviations_and_released_correlations():
    release = drawn(0)
    asked = ask(release, None)
    moments, found = moments_of(asked), errors_of_moments(asked, means=False)
    assert moments.kept.max() < 0.9  # variances are equal, so that they are shrunk
    columns, rows = np.triu_indices(4)
    own, apart = np.flatnonzero(rows == columns), np.flatnonzero(rows != columns)
    # How correlations move with entries, to first order: ds/√(ab) − r (da/2a + db/2b).
    deviations = moments.deviations
    slopes = np.zeros((len(apart), len(rows)))
    order, first, second = np.arange(len(apart)), rows[apart], columns[apart]
    slopes[order, apart] = 1 / (deviations[first] * deviations[second])
    for place in (first, second):
        moved = moments.correlation[first, second] / (2 * deviations[place] ** 2)
        slopes[order, own[place]] -= moved
    released = EntryCovariance(release, asked.places, "population", moments.covariance).matrix()
    np.testing.assert_allclose(slopes @ found @ slopes.T, slopes @ released @ slopes.T, rtol=1e-8)
    errors = np.sqrt(found.diagonal()[own]) / (2 * deviations)
    np.testing.assert_allclose(errors, deviation_errors(release.estimate()), rtol=0.01)


def test_errors_of_sampling_alone_would_be_too_small():
    sampling = gaussian(TRUTH) / N_ROWS
    far = squared_distances(lambda release: moments_off(release)[4:], lambda release: sampling)
    assert far > 2


def test_the_triangle_is_stacked_by_columns():
    square = np.arange(16).reshape(4, 4)
    rows, columns = lower_triangle(4)
    expected = [square[i, j] for j in range(4) for i in range(j, 4)]
    assert square[rows, columns].tolist() == expected


def test_errors_of_nine_columns_are_quick_and_symmetric():
    found = errors_of_moments(ask(three_factor_release(0), None), means=True)
    assert found.shape == (54, 54)
    np.testing.assert_array_equal(found, found.T)
