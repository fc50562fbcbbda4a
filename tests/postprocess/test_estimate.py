import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_limits

import dpcov
from dpcov.errors import MissingExtraError, NothingDetectableWarning, ParameterError
from dpcov.norms import relative_error
from postprocess.simulation import band, release_of

SIZE = 30


@pytest.fixture(scope="module")
def truth():
    return band(SIZE)


@pytest.fixture(scope="module")
def release(truth):
    return release_of(truth, n_rows=50_000)


@pytest.fixture(scope="module")
def estimate(release):
    return release.estimate()


def test_it_is_near_the_truth_and_better_than_the_release(release, estimate, truth):
    error = dpcov.norms.relative_error(estimate.covariance, truth)
    assert error < 0.1
    assert error < 0.6 * dpcov.norms.relative_error(release.matrix, truth)


def test_it_is_symmetric_psd_and_zero_off_its_support(estimate):
    covariance = estimate.covariance
    assert (covariance == covariance.T).all()
    assert np.linalg.eigvalsh(covariance)[0] >= -1e-12
    assert not covariance[~estimate.support].any()
    assert np.diag(estimate.support).all()


def test_the_support_holds_the_true_pairs(estimate, truth):
    assert estimate.support[truth != 0].all()


def test_it_cannot_be_changed(estimate):
    for array in (estimate.covariance, estimate.support, estimate.correlation):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 0


def test_correlations_have_ones_on_the_diagonal(estimate):
    assert (np.diag(estimate.correlation) == 1).all()
    assert np.abs(estimate.correlation).max() <= 1 + 1e-12


def test_the_precision_is_the_inverse(estimate):
    assert (estimate.precision == estimate.precision.T).all()
    assert estimate.precision @ estimate.covariance == pytest.approx(np.eye(SIZE), abs=1e-8)


def test_a_singular_covariance_has_a_pseudo_inverse():
    size = 20
    truth = np.full((size, size), 0.99) + 0.01 * np.eye(size)
    estimate = release_of(truth, n_rows=3000).estimate(psd="clip")
    product = estimate.covariance @ estimate.precision @ estimate.covariance
    assert product == pytest.approx(estimate.covariance, abs=1e-6)


def test_synthetic_rows_have_the_covariance(estimate):
    rows = estimate.sample(200_000, seed=1).to_numpy()
    assert rows.shape == (200_000, SIZE)
    assert rows.T @ rows / len(rows) == pytest.approx(estimate.covariance, abs=0.02)
    assert (estimate.sample(5, seed=1) == estimate.sample(5, seed=1)).all(axis=None)


def test_the_frame_has_the_names(estimate):
    for of in ("covariance", "correlation", "precision"):
        frame = estimate.to_frame(of)
        assert list(frame.columns) == list(frame.index) == list(estimate.columns)
        assert (frame.to_numpy() == getattr(estimate, of)).all()
    assert estimate.to_frame().equals(estimate.to_frame("covariance"))


def test_synthetic_rows_have_names_and_stay_within_limits():
    rows = np.random.default_rng(0).choice([0.0, 1.0], size=(5_000, 3))
    bounds = {f"x{place}": (0, 1) for place in range(3)}
    release = dpcov.release(rows, epsilon=2, delta=1e-6, columns=bounds, seed=1)
    sample = release.estimate().sample(2_000, seed=1)
    assert list(sample.columns) == list(release.columns)
    lower, upper = release.limits
    assert (sample.to_numpy() >= lower).all()
    assert (sample.to_numpy() <= upper).all()
    assert (sample.to_numpy() == upper).any()


def test_edges_are_a_table_of_the_surest_pairs(estimate, truth):
    edges = estimate.edges(fdr=0.01)
    assert len(edges) >= SIZE - 1
    first = next(iter(edges))
    assert first.q_value <= 0.01
    assert abs(int(first.first[1:]) - int(first.second[1:])) == 1
    assert (np.diff(edges.q_value) >= 0).all()
    frame = edges.to_frame()
    assert list(frame.columns) == [
        *("first", "second", "value", "standard_error", "q_value", "correlation"),
        *("released", "low", "high", "told", "with_level", "limited", "gaps"),
    ]
    assert repr(edges).startswith(f"{len(edges)} edges: released correlations")
    assert "more" in repr(edges)


def test_no_edges_are_an_empty_table():
    edges = release_of(np.eye(10), n_rows=500).estimate(threshold=3).edges(fdr=1e-9)
    assert len(edges) == 0
    assert edges.to_frame().empty


def test_intervals_are_centered_on_the_release(release, estimate):
    low, high = estimate.interval(confidence=0.95)
    assert (low + high) / 2 == pytest.approx(release.matrix)
    assert (high - low) / 2 == pytest.approx(1.95996 * estimate.standard_error, rel=1e-4)


def test_intervals_about_the_table_leave_sampling_out(release, estimate):
    low, high = estimate.interval(about="table")
    assert (low + high) / 2 == pytest.approx(release.matrix)
    noise = estimate.noise.of_table.interval_variance(slice(None), estimate.covariance)
    assert (high - low) / 2 == pytest.approx(1.95996 * np.sqrt(noise), rel=1e-4)
    whole = np.subtract(*reversed(estimate.interval()))
    assert (high - low < whole).all()


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_intervals_about_the_table_cover_its_covariance(scale):
    """Whatever the law of its rows is: noise alone is in question."""
    rows = np.random.default_rng(0).exponential(size=(500, 4)) * [1, 1, 1, scale]
    norm = float(np.linalg.norm(rows, axis=1).max())
    truth = np.cov(rows.T, bias=True)
    covered = []
    for seed in range(100):
        made = dpcov.release(rows, epsilon=4.0, delta=1e-6, row_norm=norm, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingDetectableWarning)
            low, high = made.estimate(psd="none").interval(about="table")
        covered.append((low <= truth) & (truth <= high))
    assert 0.92 <= np.mean(covered) <= 0.98


def test_a_clipped_release_has_wider_intervals_about_the_table():
    plain = release_of(band(6), n_rows=5000)
    clipped = replace(plain, factor=1.2, factor_error=0.05)
    widths = [
        np.subtract(*reversed(each.estimate(threshold=3.0).interval(about="table")))
        for each in (plain, clipped)
    ]
    assert (widths[1] > widths[0]).all()


def test_the_same_release_gives_the_same_bytes(release, estimate):
    again = release.estimate()
    assert again.covariance.tobytes() == estimate.covariance.tobytes()
    assert (again.rule, again.threshold) == (estimate.rule, estimate.threshold)


def test_threads_do_not_change_the_answer():
    release = release_of(band(60, 0.45), n_rows=4000)
    answers = []
    for threads in (1, 2, 4):
        with threadpool_limits(threads):
            answers.append(release.estimate())
    for other in answers[1:]:
        assert (other.rule, other.threshold) == (answers[0].rule, answers[0].threshold)
        assert (other.support == answers[0].support).all()
        assert np.abs(other.covariance - answers[0].covariance).max() < 1e-10


def test_a_saved_release_gives_the_same_estimate(release, estimate, tmp_path):
    release.save(tmp_path / "r.npz")
    assert (
        dpcov.Release.load(tmp_path / "r.npz").estimate().covariance == estimate.covariance
    ).all()


@pytest.mark.parametrize("psd", ["sparse", "clip", "none"])
@pytest.mark.parametrize("threshold", ["thinned", "cai-liu", 2.5])
def test_every_combination_of_steps_gives_an_estimate(release, psd, threshold):
    estimate = release.estimate(psd=psd, threshold=threshold, rule="scad")
    assert estimate.rule == "scad"
    assert np.isfinite(estimate.covariance).all()


def test_the_paper_s_road_can_be_taken(release, truth):
    estimate = release.estimate(threshold="paper", gamma=0.0, rule="hard", psd="clip")
    assert dpcov.norms.relative_error(estimate.covariance, truth) < 0.2


def test_one_column_is_its_variance():
    rows = np.random.default_rng(0).normal(size=(1000, 1))
    release = dpcov.release(rows, epsilon=5, delta=1e-4, row_norm=3)
    for rule in ("auto", "empirical-bayes"):
        estimate = release.estimate(rule=rule)
        assert estimate.covariance.shape == (1, 1)
        assert estimate.support.all()
    assert len(estimate.edges()) == 0
    assert release.estimate(rule="empirical-bayes", threshold=2).rule == "hard"


def test_a_hopeless_release_says_what_it_could_have_shown():
    rows = np.random.default_rng(0).normal(size=(50, 20))
    release = dpcov.release(rows, epsilon=0.1, delta=1e-6, row_norm=6, allow={"small"})
    with pytest.warns(NothingDetectableWarning, match="Nothing is detectable.* smaller row_norm"):
        estimate = release.estimate()
    assert estimate.smallest_detectable_correlation > 1
    assert (estimate.covariance == np.diag(np.diag(estimate.covariance))).all()
    assert (np.diag(estimate.covariance) > 0).all()
    learned = dpcov.release(rows, epsilon=0.1, delta=1e-6, allow={"small"})
    with pytest.warns(NothingDetectableWarning, match="epsilon or fewer columns would help"):
        learned.estimate()


def test_a_good_release_does_not_warn(release):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert release.estimate().smallest_detectable_correlation < 0.2


def test_the_smallest_detectable_correlation_is_detected_half_of_the_time():
    size, n_rows = 12, 20_000
    found = 0
    for seed in range(60):
        release = release_of(np.eye(size), n_rows=n_rows, seed=seed)
        detectable = release.estimate(threshold=3).smallest_detectable_correlation
        release = release_of(
            band(size, 0)
            + detectable
            * (
                np.eye(size, k=1) * (np.arange(size) == 0)[:, None]
                + np.eye(size, k=-1) * (np.arange(size) == 1)[:, None]
            ),
            n_rows=n_rows,
            seed=seed + 1000,
        )
        estimate = release.estimate(threshold=3)
        z = release.matrix[0, 1] / np.sqrt(estimate.noise.block(slice(0, 1))[0, 1])
        found += z > 3.4
    assert 12 < found < 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.interval(confidence=1.0), "confidence must lie in"),
        (lambda e: e.interval(about="rows"), "about must be one of"),
        (lambda e: e.edges(fdr=0), "fdr must lie in"),
        (lambda e: e.edges(fdr="x"), "fdr must be"),
        (lambda e: e.sample(0), "n_rows must"),
        (lambda e: e.sample(1, seed=-1), "seed must"),
    ],
)
def test_impossible_questions_are_refused(estimate, call, message):
    with pytest.raises(ParameterError, match=message):
        call(estimate)


def test_sparse_is_true_or_false(release):
    with pytest.raises(ParameterError, match="sparse must be True or False"):
        release.estimate(sparse="no")


def test_edges_can_be_indexed(estimate):
    edges = estimate.edges()
    assert edges[0] == next(iter(edges))
    assert edges[-1].q_value == edges.q_value[-1]


@pytest.mark.parametrize("options", [{"psd": "ridge"}, {"rule": "x"}, {"threshold": "x"}])
def test_unknown_options_list_the_choices(release, options):
    with pytest.raises(ParameterError, match="must be one of"):
        release.estimate(**options)


def test_without_pandas_frames_say_what_to_install(estimate, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"dpcov\[frames\]"):
        estimate.to_frame()


def test_it_travels_by_pickle(estimate):
    copy = pickle.loads(pickle.dumps(estimate))
    assert (copy.covariance == estimate.covariance).all()
    assert copy.release == estimate.release


def test_its_repr_says_what_was_kept(estimate):
    assert repr(estimate).startswith("Estimate(30 columns, ")
    assert "psd='sparse'" in repr(estimate)
    assert isinstance(pd.DataFrame(estimate.edges()), pd.DataFrame)


def test_the_support_is_that_of_the_threshold_even_when_zeros_fill_in():
    place = np.arange(40)
    truth = np.maximum(1 - np.abs(place[:, None] - place) / 10, 0) + 1e-9 * np.eye(40)
    release = release_of(truth, n_rows=3000)
    clipped, plain = release.estimate(psd="clip"), release.estimate(psd="none")
    assert (clipped.support == plain.support).all()
    assert (clipped.covariance != 0).sum() > clipped.support.sum()


def test_correlations_use_the_diagonal_of_the_estimate_itself():
    truth = np.full((20, 20), 0.95) + 0.05 * np.eye(20)
    estimate = release_of(truth, n_rows=2000).estimate()
    assert np.linalg.eigvalsh(estimate.release.estimate(psd="none").covariance)[0] < 0
    assert np.linalg.eigvalsh(estimate.correlation)[0] > -1e-9
    assert np.abs(estimate.correlation).max() <= 1 + 1e-9


def test_negative_relations_are_found():
    truth = band(20, -0.4)
    estimate = release_of(truth, n_rows=50_000).estimate()
    assert relative_error(estimate.covariance, truth) < 0.1
    assert sum(edge.value < 0 for edge in estimate.edges(0.01)) >= 19


def test_samples_do_not_depend_on_threads():
    release = release_of(band(60, 0.45), n_rows=4000)
    samples = []
    for threads in (1, 4):
        with threadpool_limits(threads):
            samples.append(release.estimate().sample(20, seed=3).to_numpy())
    assert np.abs(samples[0] - samples[1]).max() < 1e-6


def test_a_copy_cannot_be_changed_either(estimate):
    copy = pickle.loads(pickle.dumps(estimate))
    for array in (copy.covariance, copy.release.matrix, estimate.noise.variances):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_few_variable_columns_are_enough_not_to_warn():
    truth = np.diag(np.repeat([1e-3, 1.0], [24, 16])) + 0.0
    for i in range(24, 39):
        truth[i, i + 1] = truth[i + 1, i] = 0.45
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate = release_of(truth, n_rows=20_000).estimate()
    assert len(estimate.edges(0.01)) >= 15
