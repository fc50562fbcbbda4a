import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.covariance import EmpiricalCovariance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import dpcov
from dpcov import PairsCovariance, SparseCovariance
from dpcov.errors import InputError, MissingValueError, ParameterError, UncoveredStepWarning

ROWS = np.random.default_rng(0).normal(size=(5000, 4)) @ np.diag([1.0, 0.5, 2.0, 1.0])
BUDGET = {"epsilon": 2.0, "delta": 1e-6, "row_norm": 6.0}


@pytest.fixture(scope="module")
def fitted():
    return SparseCovariance(**BUDGET).fit(ROWS)


@pytest.mark.parametrize(
    "model",
    [
        SparseCovariance(epsilon=1.0, delta=1e-6, row_norm=1.0, allow=("small",)),
        PairsCovariance(epsilon=1.0, delta=1e-6, max_pairs=1, scales="none", allow=("small",)),
    ],
    ids=["sparse", "pairs"],
)
def test_every_check_of_scikit_learn_passes(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tiny tables: nothing is detectable
        results = check_estimator(model, on_skip=None, on_fail="raise")
    assert {result["status"] for result in results} <= {"passed", "skipped"}
    skipped = [result["check_name"] for result in results if result["status"] == "skipped"]
    assert skipped in ([], ["check_array_api_input"])


def test_learned_attributes_are_those_of_the_estimate(fitted):
    assert (fitted.covariance_ == fitted.estimate_.covariance).all()
    assert (fitted.precision_ == fitted.get_precision()).all()
    assert (fitted.support_ == fitted.estimate_.support).all()
    assert (np.diag(fitted.correlation_) == 1).all()
    assert (fitted.location_ == fitted.release_.location).all()
    assert fitted.n_features_in_ == 4
    assert fitted.release_.promise == dpcov.privacy.ApproxDP(2.0, 1e-6, "replace", complete=True)


def test_methods_mean_what_they_mean_in_scikit_learn(fitted):
    plain = EmpiricalCovariance(assume_centered=True).fit(ROWS)
    assert fitted.score(ROWS) == pytest.approx(plain.score(ROWS), rel=0.02)
    assert fitted.error_norm(plain.covariance_) < 0.2
    assert fitted.mahalanobis(ROWS[:5]) == pytest.approx(plain.mahalanobis(ROWS[:5]), rel=0.2)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names(make):
    frame = make({name: ROWS[:, i] for i, name in enumerate("abcd")})
    model = SparseCovariance(**BUDGET, seed=1).fit(frame)
    assert list(model.feature_names_in_) == ["a", "b", "c", "d"]
    assert model.release_.columns == ("a", "b", "c", "d")
    assert (model.covariance_ == SparseCovariance(**BUDGET, seed=1).fit(ROWS).covariance_).all()


def test_it_works_in_a_pipeline():
    pipeline = make_pipeline(FunctionTransformer(lambda X: X / 2), SparseCovariance(**BUDGET))
    covariance = pipeline.fit(ROWS)[-1].covariance_
    assert np.diag(covariance) == pytest.approx([0.25, 0.0625, 1.0, 0.25], abs=0.1)


def test_a_clone_has_the_parameters_and_not_the_fit(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "covariance_")


def test_fit_never_writes_a_parameter():
    model = SparseCovariance(**BUDGET, rule="soft", threshold=2)
    before = model.get_params()
    model.fit(ROWS)
    assert model.get_params() == before


def test_a_pickle_holds_the_fit(fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    assert (copy.covariance_ == fitted.covariance_).all()
    assert copy.release_ == fitted.release_


@pytest.mark.claim("P8")
def test_the_fitted_state_holds_no_raw_data():
    marker = 0.4242424242
    rows = ROWS.copy()
    rows[7] = marker
    model = SparseCovariance(**BUDGET).fit(pd.DataFrame(rows, columns=list("abcd")))
    assert np.float64(marker).tobytes() not in pickle.dumps(model)
    arrays = [array for array in walk(model) if isinstance(array, np.ndarray)]
    assert arrays
    assert all(len(rows) not in array.shape for array in arrays)


def walk(value, seen=None):
    """Yield everything that can be reached from a value."""
    seen = set() if seen is None else seen
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    children = []
    if isinstance(value, dict):
        children = list(value.values())
    elif isinstance(value, (list, tuple)):
        children = list(value)
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        children = list(vars(value).values())
    for child in children:
        yield from walk(child, seen)


def test_impossible_options_are_refused_before_anything_is_released(monkeypatch):
    monkeypatch.setattr("dpcov.estimator.sparse.release", None)
    for options in ({"rule": "x"}, {"psd": "x"}, {"threshold": "x"}, {"threshold": "paper"}):
        with pytest.raises(dpcov.errors.ParameterError):
            SparseCovariance(**BUDGET, **options).fit(ROWS)


@pytest.mark.parametrize("kind", [SparseCovariance, PairsCovariance])
def test_a_table_too_small_to_show_anything_is_fitted_if_that_is_allowed(kind):
    own = {"row_norm": 6.0} if kind is SparseCovariance else {"max_pairs": 2, "scales": "none"}
    facts = {"epsilon": 0.1, "delta": 1e-6, **own}
    with pytest.raises(InputError, match=r"allow=\{'small'\}"):
        kind(**facts).fit(ROWS[:50])
    with pytest.warns(dpcov.errors.NothingDetectableWarning):
        model = clone(kind(**facts, allow={"small"})).fit(ROWS[:50])
    assert model.release_.n_rows == 50


def test_failing_to_fit_learns_nothing():
    model = SparseCovariance(epsilon=-1, delta=1e-6, row_norm=1)
    with pytest.raises(dpcov.errors.ParameterError):
        model.fit(ROWS)
    assert not hasattr(model, "covariance_")
    with pytest.raises(MissingValueError):
        SparseCovariance(**BUDGET).fit(np.full((500, 2), np.nan))


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    "cell", ["987654 kg", {"weight": 987654}, [987654, 1]], ids=["text", "dict", "list"]
)
def test_no_error_quotes_a_cell(cell):
    rows = np.ones((5, 2), dtype=object)
    rows[3, 1] = cell
    with pytest.raises((InputError, TypeError)) as caught:
        SparseCovariance(**BUDGET).fit(rows)
    assert "987654" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.claim("P8")
@pytest.mark.parametrize("method", ["score", "mahalanobis"])
@pytest.mark.parametrize(
    "rows",
    [
        pd.DataFrame({name: [1.0, 2.0] for name in "abc"} | {"d": ["987654 kg", "2"]}),
        np.array([["987654 kg"] * 4] * 2),
        np.array([["987654 kg"] * 4] * 2, dtype=object),
    ],
    ids=["frame", "text", "objects"],
)
def test_no_error_of_a_fitted_model_quotes_a_cell(fitted, method, rows):
    with pytest.raises(InputError) as caught:
        getattr(fitted, method)(rows)
    assert "987654" not in str(caught.value)
    assert caught.value.__context__ is None


def test_labels_of_mixed_types_are_refused_before_anything_is_released(monkeypatch):
    monkeypatch.setattr("dpcov.estimator.sparse.release", None)
    with pytest.raises(InputError, match="all be strings"):
        SparseCovariance(**BUDGET).fit(pd.DataFrame(ROWS, columns=["a", "b", 2, 3]))


def test_one_row_has_a_distance(fitted):
    assert fitted.mahalanobis(ROWS[:1]).shape == (1,)


def test_an_array_of_python_numbers_is_read():
    model = SparseCovariance(**BUDGET, seed=1).fit(ROWS.astype(object))
    assert (model.covariance_ == SparseCovariance(**BUDGET, seed=1).fit(ROWS).covariance_).all()


@pytest.mark.parametrize(
    ("options", "attribute"),
    [
        ({"threshold": "paper", "gamma": 3.0}, lambda m: m.estimate_.choice.paper_threshold > 0.05),
        ({"sparse": False}, lambda m: m.estimate_.risk_curve.thresholds[0] == 0),
        ({"neighbors": "add-remove"}, lambda m: "add-remove" in str(m.release_.promise)),
        ({"psd": "none"}, lambda m: m.estimate_.psd == "none"),
        ({"rule": "soft", "threshold": 2.0}, lambda m: m.estimate_.rule == "soft"),
        ({"seed": 3}, lambda m: m.release_.simulated),
    ],
)
def test_every_parameter_reaches_its_room(options, attribute):
    assert attribute(SparseCovariance(**BUDGET, **options).fit(ROWS))


def test_missing_reaches_its_room():
    rows = ROWS.copy()
    rows[0, 0] = np.nan
    model = SparseCovariance(**BUDGET, missing="center").fit(rows)
    assert np.isfinite(model.covariance_).all()


def test_a_failed_refit_leaves_the_old_fit_whole(fitted):
    model = pickle.loads(pickle.dumps(fitted))
    model.set_params(rule=lambda size, threshold: size * np.nan)
    with pytest.raises(dpcov.errors.ParameterError):
        model.fit(ROWS[:, :3])
    assert model.n_features_in_ == 4
    assert model.covariance_.shape == (4, 4)


@pytest.mark.parametrize(
    "table",
    ["survey.csv", pl.LazyFrame({"a": [1.0, 2.0]}), scipy.sparse.eye_array(5, format="csr")],
)
@pytest.mark.parametrize("method", ["fit", "score", "mahalanobis"])
def test_what_is_not_in_memory_is_refused_before_anything_is_spent(table, method, monkeypatch):
    monkeypatch.setattr("dpcov.estimator.sparse.release", None)
    model = SparseCovariance(epsilon=1.0, delta=1e-6, row_norm=1.0)
    with pytest.raises(InputError, match=r"dpcov\.release"):
        getattr(model, method)(table)


PAIRS = {"epsilon": 1.0, "delta": 1e-6, "max_pairs": 3}


def test_pairs_without_variances_must_be_asked_for():
    rows = np.random.default_rng(0).normal(size=(2000, 6))
    with pytest.raises(ParameterError, match="covariance_ needs variances"):
        PairsCovariance(**PAIRS).fit(rows)
    assert PairsCovariance(**PAIRS, scales="none").fit(rows).covariance_[0, 0] == 1
    assert PairsCovariance(**PAIRS, scales=2.0).fit(rows).covariance_[0, 0] == 4


def test_pairs_are_a_covariance_of_their_own_kind():
    model = PairsCovariance(**PAIRS, row_norm=6.0, cell_bound=5.0, fdr=0.2, psd="none").fit(ROWS)
    assert isinstance(model.release_, dpcov.PairsRelease)
    assert (model.estimate_.fdr, model.estimate_.psd) == (0.2, "none")
    assert model.n_features_in_ == 4
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize("bad", [{"fdr": 2}, {"psd": "x"}, {}])
def test_impossible_options_of_pairs_spend_nothing(bad, monkeypatch):
    monkeypatch.setattr("dpcov.estimator.pairs.release_pairs", None)
    with pytest.raises(ParameterError, match=r"Nothing was spent\.$"):
        PairsCovariance(**PAIRS, **bad).fit(ROWS)


MODELS = {
    SparseCovariance: {"epsilon": 2.0, "delta": 1e-6, "row_norm": 6.0},
    PairsCovariance: {**PAIRS, "max_pairs": 1, "scales": "none", "center": "stated"},
}


@pytest.mark.parametrize("kind", MODELS)
def test_facts_units_and_engine_reach_the_release(kind):
    frame = pd.DataFrame(ROWS, columns=list("abcd")).assign(who=np.arange(len(ROWS)) // 2)
    facts = {"d": {"center": 0.0, "scale": 1.0}, "b": {"center": 0.0, "scale": 0.5}}
    people = {"privacy_unit": "who", "rows_per_unit": 1}
    model = kind(**MODELS[kind], columns=facts, **people, engine="dask").fit(frame)
    assert model.release_.columns == ("d", "b")
    assert model.release_.n_rows == len(ROWS) // 2
    assert "for all rows of one 'who'" in str(model.release_.promise)
    assert model.release_.units.scale.tolist() == [1.0, 0.5]
    assert list(model.feature_names_in_) == ["d", "b"]
    assert model.n_features_in_ == len(model.covariance_) == 2
    assert model.mahalanobis(frame[:5]).shape == (5,)
    assert np.isfinite(model.score(frame))


@pytest.mark.parametrize("make", [pl.from_pandas, lambda frame: frame.to_numpy()])
def test_rows_are_scored_in_the_columns_that_were_released(make):
    frame = pd.DataFrame(ROWS, columns=list("abcd")).assign(who=np.arange(float(len(ROWS))))
    table = make(frame)
    unit = "x4" if isinstance(table, np.ndarray) else "who"
    stated = {**BUDGET, "privacy_unit": unit, "rows_per_unit": 1, "seed": 1}
    model = SparseCovariance(**stated).fit(table)
    plain = SparseCovariance(**BUDGET, seed=1).fit(ROWS)
    assert (model.covariance_ == plain.covariance_).all()
    assert (model.mahalanobis(table[:5]) == plain.mahalanobis(ROWS[:5])).all()
    with pytest.raises(InputError, match="does not have the columns"):
        model.mahalanobis(table[:, :2])


MODEL = SparseCovariance(epsilon=3.0, delta=1e-4, row_norm=4.0, seed=1)


def uncovered(fit):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit()
    return [str(each.message) for each in caught if each.category is UncoveredStepWarning]


def test_a_scaler_before_it_in_a_pipeline_is_said_not_to_be_covered():
    (said,) = uncovered(lambda: make_pipeline(StandardScaler(), clone(MODEL)).fit(ROWS))
    assert "comes after StandardScaler" in said


def test_steps_that_learn_nothing_are_not_warned_of():
    steps = FunctionTransformer(np.tanh), Normalizer(), "passthrough"
    assert uncovered(lambda: make_pipeline(*steps, clone(MODEL)).fit(ROWS)) == []
    assert uncovered(lambda: clone(MODEL).fit(ROWS)) == []


def test_a_search_is_said_to_be_many_releases():
    search = GridSearchCV(clone(MODEL), {"threshold": [2.0, 3.0]}, cv=2)
    said = uncovered(lambda: search.fit(ROWS))
    assert "fitted by a search or a cross-validation" in said[0]


def test_a_cross_validation_of_a_pipeline_is_both():
    pipeline = make_pipeline(StandardScaler(), clone(MODEL))
    said = " ".join(uncovered(lambda: cross_val_score(pipeline, ROWS, cv=2)))
    assert "cross-validation" in said
    assert "StandardScaler" in said
