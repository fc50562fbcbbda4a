from dataclasses import replace

import numpy as np
import pytest

from dpcov import NoiseScale, Release
from dpcov.postprocess.clipped import Clipped
from dpcov.postprocess.correlations import relative_variances
from dpcov.postprocess.diagonal import shrink_diagonal
from dpcov.postprocess.noise_model import NoiseModel, row_blocks
from dpcov.releases.learned import Clipping, Learned
from postprocess.simulation import release_of

MODEL = NoiseModel(np.array([1.0, 2.0, 0.3]), n_rows=50, off_diagonal=0.1, diagonal=0.2)


def test_the_variance_of_an_entry_is_sampling_plus_noise():
    expected = np.outer(MODEL.variances, MODEL.variances) / 50 + 0.01
    assert MODEL.block(slice(None)) == pytest.approx(expected)


def test_blocks_are_parts_of_the_whole_and_exactly_symmetric():
    whole = MODEL.block(slice(None))
    assert (MODEL.block(slice(1, 3), slice(0, 2)) == whole[1:3, 0:2]).all()
    assert (whole == whole.T).all()


def test_interval_variances_count_the_covariance_and_the_diagonal():
    covariance = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 0.3]])
    variance = MODEL.interval_variance(slice(1, 3), covariance[1:3])
    assert variance[0, 0] == pytest.approx(2.0 / 50 + 0.01 + 0.25 / 50)
    assert variance[0, 1] == pytest.approx(0.04 + 2 * 4.0 / 50)
    assert variance[1, 2] == pytest.approx(0.04 + 2 * 0.09 / 50)


@pytest.mark.parametrize("size", [1, 7, 600, 5000])
def test_row_blocks_cover_every_row_once(size):
    rows = [row for block in row_blocks(size) for row in range(size)[block]]
    assert rows == list(range(size))


def test_the_model_of_a_release_uses_the_noise_of_the_diagonal():
    truth = np.diag(np.linspace(0.5, 1.5, 30))
    release = release_of(truth, n_rows=500, allow={"small"})
    expected = shrink_diagonal(
        np.diag(release.matrix), noise=release.noise_scale.diagonal**2, sampling=1 / 500
    )
    model = NoiseModel.of(release)
    assert (model.variances == expected).all()
    assert (model.off_diagonal, model.diagonal) == (
        release.noise_scale.off_diagonal,
        release.noise_scale.diagonal,
    )


GROWING = NoiseModel(np.array([1.0, 2.0, 0.3]), 50, 0.1, 0.2, signal_noise=0.01)


def test_noise_that_grows_with_the_variances_is_added_to_pairs():
    more = GROWING.block(slice(None)) - MODEL.block(slice(None))
    assert more == pytest.approx(0.01 * np.add.outer(MODEL.variances, MODEL.variances))


def test_noise_that_grows_with_the_variances_is_added_to_the_diagonal():
    more = GROWING.diagonal_variance() - MODEL.diagonal_variance()
    assert more == pytest.approx(0.04 * MODEL.variances)


def test_a_pair_of_equal_columns_has_the_variance_of_its_block():
    model = NoiseModel(np.array([2.0, 2.0]), 50, 0.1, 0.2, signal_noise=0.01)
    assert model.pair_variance(2.0) == pytest.approx(model.block(slice(None))[0, 1])


def test_the_variance_of_a_pair_is_sampling_plus_noise_plus_growth():
    assert GROWING.pair_variance(3.0) == pytest.approx(9.0 / 50 + 0.01 + 2 * 0.01 * 3.0)


def test_the_variance_of_the_diagonal_is_sampling_plus_noise_plus_four_times_the_growth():
    expected = [2 * v**2 / 50 + 0.04 + 4 * 0.01 * v for v in (1.0, 2.0, 0.3)]
    assert GROWING.diagonal_variance() == pytest.approx(expected)


def test_the_model_of_a_release_takes_over_how_the_noise_grows():
    release = release_of(np.diag(np.linspace(0.5, 1.5, 30)), n_rows=1000)
    facts = {name: getattr(release, name) for name in release.__dataclass_fields__}
    noise = NoiseScale(0.1, 0.2, 0.01)
    facts |= {"noise_scale": noise, "mean": np.zeros(30)}  # the noise of others grows with means
    model = NoiseModel.of(Release(**facts))
    assert model.signal_noise == 0.01
    facts = {"noise": 0.2**2, "sampling": 1 / 1000, "signal_noise": 0.01}
    expected = shrink_diagonal(np.diag(release.matrix), **facts)
    assert (model.variances == expected).all()


def test_the_noise_of_a_mean_counts_in_every_variance():
    facts = {"n_rows": 1000, "off_diagonal": 0.1, "diagonal": 0.14}
    plain = NoiseModel(np.ones(3), **facts)
    mean = NoiseModel(np.ones(3), **facts, mean_noise=np.array([0.1, 0.2, 0.3]))
    rows = slice(0, 1)
    assert mean.block(rows) - plain.block(rows) == pytest.approx(np.array([[0.2, 0.3, 0.4]]))
    assert mean.diagonal_variance() - plain.diagonal_variance() == pytest.approx([0.4, 0.8, 1.2])
    assert mean.pair_variance(1.0) - plain.pair_variance(1.0) == pytest.approx(0.4)
    first, second = np.array([0]), np.array([2])
    errors = [model.pair_error(first, second, np.zeros(1))[0] ** 2 for model in (mean, plain)]
    assert errors[0] - errors[1] == pytest.approx(0.4)


CLIPPING = Clipped(covariance=0.04, variance=0.09, factor=0.01)
CLIPPED = NoiseModel(np.array([1.0, 2.0, 0.3]), 50, 0.1, 0.2, clipping=CLIPPING)


def test_clipping_adds_a_share_of_the_product_of_variances_to_pairs():
    more = CLIPPED.block(slice(None)) - MODEL.block(slice(None))
    product = np.outer(MODEL.variances, MODEL.variances)
    assert more == pytest.approx(0.04 * product)
    assert CLIPPED.pair_variance(2.0) - MODEL.pair_variance(2.0) == pytest.approx(0.04 * 4.0)
    weight = np.array([1.0, 0.0, 2.0])
    assert CLIPPED.row_sums(weight) == pytest.approx(CLIPPED.block(slice(None)) @ weight)


def test_clipping_adds_a_share_of_the_square_to_variances():
    more = CLIPPED.diagonal_variance() - MODEL.diagonal_variance()
    assert more == pytest.approx(0.09 * MODEL.variances**2)


def test_the_error_of_the_factor_is_a_share_of_the_covariance():
    first, second, covariance = np.array([0]), np.array([1]), np.array([0.5])
    errors = [model.pair_error(first, second, covariance)[0] ** 2 for model in (CLIPPED, MODEL)]
    assert errors[0] - errors[1] == pytest.approx(0.04 * 2.0 + 0.01 * 0.25)
    whole = np.array([[1.0, 0.5, 0.0], [0.5, 2.0, 0.0], [0.0, 0.0, 0.3]])
    variance = CLIPPED.interval_variance(slice(None), whole)
    assert variance[0, 1] == pytest.approx(errors[0])
    assert variance.diagonal() == pytest.approx(CLIPPED.diagonal_variance())


def test_errors_about_the_table_are_those_without_sampling():
    table = CLIPPED.of_table
    product = np.outer(MODEL.variances, MODEL.variances)
    assert table.block(slice(None)) == pytest.approx(0.01 + 0.04 * product)
    assert table.diagonal_variance() == pytest.approx(0.04 + 0.09 * MODEL.variances**2)
    assert (table.variances == CLIPPED.variances).all()


def test_what_clipping_leaves_uncertain_follows_from_the_factor_and_its_error():
    release = release_of(np.eye(16), n_rows=500)
    assert Clipped.of(release) == Clipped()
    found = Clipped.of(replace(release, factor=1.25, factor_error=0.05))
    uncertain = 0.2**2 + 0.04**2
    assert found.covariance == pytest.approx(0.35**2 * uncertain)
    assert found.variance == pytest.approx(0.7**2 * uncertain + 0.04**2)
    assert found.factor == pytest.approx(0.04**2)


def test_pairs_of_more_columns_are_off_by_less():
    few, many = (
        Clipped.of(replace(release_of(np.eye(size), n_rows=5000), factor=1.25)) for size in (4, 64)
    )
    assert few.covariance / many.covariance == pytest.approx(4.0)
    assert few.variance == many.variance


def test_the_model_of_a_release_takes_over_its_clipping_and_lengthens_the_noise_of_means():
    plain = release_of(np.diag(np.linspace(0.5, 1.5, 30)), n_rows=1000)
    facts = {"mean": np.ones(30), "noise_scale": replace(plain.noise_scale, mean=0.1)}
    release = replace(plain, **facts, factor=1.25, factor_error=0.05)
    model = NoiseModel.of(release)
    assert model.clipping == Clipped.of(release)
    assert model.mean_noise == pytest.approx(np.full(30, 0.125**2))


TAILED = replace(CLIPPED, clipping=replace(CLIPPING, tails=np.array([0.0, 0.0, 0.08])))


def test_far_cells_leave_a_deviation_and_all_that_goes_with_it_uncertain():
    more = TAILED.diagonal_variance() - CLIPPED.diagonal_variance()
    assert more == pytest.approx([0, 0, 0.08 * 0.3**2])
    whole = np.array([[1.0, 0.5, 0.2], [0.5, 2.0, 0.0], [0.2, 0.0, 0.3]])
    more = TAILED.interval_variance(slice(None), whole) - CLIPPED.interval_variance(
        slice(None), whole
    )
    assert more[0, 2] == more[2, 0] == pytest.approx(0.02 * 0.2**2)
    assert more[0, 1] == more[1, 2] == 0
    first, second = np.array([0]), np.array([2])
    errors = [each.pair_error(first, second, whole[0, 2])[0] ** 2 for each in (TAILED, CLIPPED)]
    assert errors[0] - errors[1] == pytest.approx(0.02 * 0.2**2)


def test_far_cells_leave_correlations_as_certain_as_they_were():
    assert relative_variances(TAILED) == pytest.approx(relative_variances(CLIPPED))
    assert TAILED.without_tails.diagonal_variance() == pytest.approx(CLIPPED.diagonal_variance())


def learned_release(reach):
    """Return a release of working units whose cells may lie so far out, in each column."""
    plain = release_of(np.eye(16), n_rows=500)
    reach = np.full(16, reach)
    learned = Learned(
        lower=-reach,
        upper=reach,
        beyond=np.zeros(16),
        beyond_error=0.01,
        known_range=np.ones(16, dtype=np.int8),
        known_center=np.ones(16, dtype=np.int8),
        known_scale=np.ones(16, dtype=np.int8),
        clipping=Clipping(wanted=0.1, share=0.1, share_error=0.01, excess=0.1, excess_error=0.01),
    )
    return replace(plain, learned=learned, factor=1.02, factor_error=0.0)


def test_only_columns_whose_cells_lie_far_out_may_have_lost_more_than_others():
    release, variances = learned_release(10 / 3), np.geomspace(0.01, 2, 16)
    tails = Clipped.of(release).with_tails(release, variances).tails
    assert (np.diff(tails) <= 0).all()
    assert (tails[variances > 0.9] == 0).all()
    assert tails[0] > 0
    # Nor more than a tenth of their variance, in sd.
    assert tails.max() + Clipped.of(release).variance <= 0.1**2 * (1 + 1e-9)


def test_what_a_column_may_have_lost_grows_with_what_all_lost():
    small, large = (replace(learned_release(10 / 3), factor=factor) for factor in (1.001, 1.01))
    lost = [Clipped.of(one).with_tails(one, np.full(16, 0.5)).tails[0] for one in (small, large)]
    assert 0 < lost[0] < lost[1]
    assert np.isscalar(Clipped().with_tails(release_of(np.eye(3), n_rows=900), np.ones(3)).tails)
