import inspect
import traceback
import warnings
from dataclasses import FrozenInstanceError
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import dpcov
from dpcov import Column, Columns
from dpcov.columns.fields import Field
from dpcov.errors import (
    DpcovError,
    InputError,
    LargeEpsilonWarning,
    LedgerError,
    MissingValueError,
    ParameterError,
    SaturationWarning,
    WeakPromiseWarning,
)
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms import dense, door
from dpcov.mechanisms.pairs_calibration import calibrate_pairs
from dpcov.mechanisms.second_moment import calibrate_moments
from dpcov.privacy import ApproxDP, Gaussian, NoPromise, gaussian_scale
from dpcov.sensitive.tables import MAX_STREAM_ROWS
from either import release
from ledger.ledgers import kinds, new

ROWS = np.random.default_rng(0).normal(scale=0.3, size=(200, 3))
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 1.0}


@pytest.fixture
def spent(monkeypatch):
    """Count the releases that draw noise."""
    calls = []
    real = dense.release_gram
    monkeypatch.setattr(dense, "release_gram", lambda *a, **k: calls.append(1) or real(*a, **k))
    return calls


def test_the_average_is_in_the_units_of_the_data():
    rows = np.random.default_rng(0).normal(size=(50_000, 3)) * [1.0, 100.0, 0.01]
    release = dpcov.release(rows, epsilon=50, delta=1e-6, row_norm=1000.0)
    error = release.matrix - np.cov(rows.T, bias=True)
    assert np.abs(error).max() < 6 * release.noise_scale.diagonal


def test_noise_has_the_stated_scale():
    rows = np.zeros((20_000, 300))  # so many that the square of the mean's noise is nothing
    release = dpcov.release(rows, **BUDGET, seed=1)
    off = release.matrix[np.triu_indices(300, k=1)] / release.noise_scale.off_diagonal
    on = np.diag(release.matrix) / release.noise_scale.diagonal
    assert off.std() == pytest.approx(1, abs=0.02)
    assert on.std() == pytest.approx(1, abs=0.25)


def test_long_rows_are_clipped():
    rows = np.full((1000, 2), 30.0)
    with pytest.warns(SaturationWarning, match="larger row_norm"):
        release = dpcov.release(rows, epsilon=50, delta=1e-6, row_norm=1.0)
    assert release.matrix == pytest.approx(np.zeros((2, 2)), abs=0.01)
    assert release.mean == pytest.approx(np.full(2, 0.5**0.5), abs=0.01)


@pytest.mark.parametrize("make", [dpcov.release, dpcov.release_pairs])
def test_there_are_no_defaults_for_what_the_caller_must_state(make):
    parameters = inspect.signature(make).parameters
    for name in ("epsilon", "delta"):
        assert parameters[name].default is inspect.Parameter.empty
    assert next(iter(parameters)) == "table"
    assert all(each.kind is each.KEYWORD_ONLY for each in [*parameters.values()][1:])


def test_a_release_without_a_seed_carries_the_promise():
    release = dpcov.release(ROWS, **BUDGET)
    assert release.promise == ApproxDP(1.0, 1e-6, "replace", complete=True)
    assert not release.simulated


def test_a_seed_makes_a_simulation_that_promises_nothing():
    release = dpcov.release(ROWS, **BUDGET, seed=1)
    assert release.simulated
    assert isinstance(release.promise, NoPromise)
    assert "no promise: simulated with a seed" in repr(release)


def test_the_same_seed_gives_the_same_bytes_from_every_kind_of_table():
    names = ["a", "b", "c"]
    tables = [
        pd.DataFrame(ROWS, columns=names),
        pl.DataFrame(dict(zip(names, ROWS.T, strict=True))),
        pa.table(dict(zip(names, ROWS.T, strict=True))),
        np.asfortranarray(ROWS),
        ROWS.tolist(),
    ]
    expected = dpcov.release(ROWS, **BUDGET, seed=5).matrix.tobytes()
    for table in tables:
        release = dpcov.release(table, **BUDGET, columns=names, seed=5)
        assert release.matrix.tobytes() == expected
        assert release.columns == ("a", "b", "c")


def same_numbers(folder):
    """Return the same rows in every kind of table."""
    names = ["a", "b", "c"]
    frame = pd.DataFrame(ROWS, columns=names)
    table = pa.table(dict(zip(names, ROWS.T, strict=True)))
    frame.to_csv(folder / "x.csv", index=False)
    pq.write_table(table, folder / "x.parquet", row_group_size=33)
    np.save(folder / "x.npy", ROWS)
    (folder / "parts").mkdir()
    pq.write_table(table.slice(0, 71), folder / "parts" / "0.parquet")
    pq.write_table(table.slice(71), folder / "parts" / "1.parquet")
    return {
        "pandas": frame,
        "polars": pl.from_arrow(table),
        "lazy polars": pl.from_arrow(table).lazy(),
        "pyarrow": table,
        "sparse": scipy.sparse.csc_array(ROWS),
        "csv": folder / "x.csv",
        "parquet": folder / "x.parquet",
        "folder": folder / "parts",
        "npy": str(folder / "x.npy"),
        "reader": table.to_reader(max_chunksize=7),
        "data set": pyarrow.dataset.dataset(folder / "parts"),
    }


@pytest.mark.claim("P7")
@pytest.mark.parametrize(
    "options",
    [
        BUDGET,
        BUDGET | {"max_pairs": 2},
        BUDGET | {"max_pairs": 2, "center": 0.1},
    ],
    ids=["dense", "pairs", "pairs about a center"],
)
def test_the_same_seed_gives_the_same_file_from_every_source(options, tmp_path):
    def saved(table):
        release(table, **options, columns=["a", "b", "c"], seed=5).save(tmp_path / "r.npz")
        return (tmp_path / "r.npz").read_bytes()

    expected = saved(ROWS)
    for kind, table in same_numbers(tmp_path).items():
        assert saved(table) == expected, kind


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 50.0])
def test_a_stream_of_any_length_has_the_plan_of_its_true_length(neighbors, epsilon):
    promise = ApproxDP(epsilon, 1e-9, neighbors)
    before = calibrate_moments(
        promise=promise, n_rows=MAX_STREAM_ROWS, row_norm=1.0, with_mean=True
    )
    for n_rows in (2, 1000, MAX_STREAM_ROWS):
        after = calibrate_moments(promise=promise, n_rows=n_rows, row_norm=1.0, with_mean=True)
        assert before.for_rows(n_rows) == after


@pytest.mark.parametrize("center", ["differences", "stated"])
def test_a_stream_has_the_pairs_plan_of_its_true_length(center):
    facts = {
        "promise": ApproxDP(1.0, 1e-9, "replace"),
        "n_columns": 9,
        "max_pairs": 4,
        "center": center,
        "row_norm": 1.0,
    }
    before = calibrate_pairs(n_rows=MAX_STREAM_ROWS, **facts)
    assert before.for_rows(77) == calibrate_pairs(n_rows=77, **facts)


def test_a_delta_above_one_over_n_is_warned_of():
    with pytest.warns(WeakPromiseWarning, match="above 1 / n_rows"):
        dpcov.release(ROWS, epsilon=1, delta=0.01, row_norm=1)


@pytest.mark.parametrize("make", [dpcov.release, partial(dpcov.release_pairs, max_pairs=1)])
def test_an_epsilon_above_three_is_warned_of(make):
    with pytest.warns(LargeEpsilonWarning, match="chance of 1 % may have one of 54.6 %"):
        make(ROWS, epsilon=4, delta=1e-9, allow={"small"})
    with warnings.catch_warnings():
        warnings.simplefilter("error", LargeEpsilonWarning)
        make(ROWS, epsilon=3, delta=1e-9, allow={"small"})
        # A simulation promises nothing anyway.
        make(ROWS, epsilon=4, delta=1e-9, allow={"small"}, seed=1)


@pytest.mark.parametrize(
    ("epsilon", "percent"), [(3.01, "20.3"), (4.5, "90.1"), (4.7, "100"), (50.0, "100")]
)
def test_a_warning_of_epsilon_says_what_a_chance_of_one_percent_may_become(epsilon, percent):
    with pytest.warns(LargeEpsilonWarning, match=f"may have one of {percent} % after"):
        dpcov.release(ROWS, epsilon=epsilon, delta=1e-9, row_norm=1.0)


def test_any_seed_of_any_size_works():
    assert dpcov.release(ROWS, **BUDGET, seed=10**5000).simulated


def test_the_table_is_not_modified():
    rows = ROWS.copy()
    rows.setflags(write=False)
    dpcov.release(rows, **BUDGET, missing="center")
    assert (rows == ROWS).all()


@pytest.mark.parametrize(
    "dtype", [bool, np.int8, np.uint8, np.int64, np.uint64, np.float16, np.float32]
)
def test_every_real_type_gives_the_same_release(dtype):
    rows = (ROWS > 0).astype(dtype)
    expected = dpcov.release(rows.astype(float), **BUDGET, seed=1)
    assert dpcov.release(rows, **BUDGET, seed=1) == expected


def test_huge_and_denormal_rows_are_released():
    rows = np.array([[1e308, -1e308], [5e-324, 0.0], [0.5, 0.5]])
    assert np.isfinite(dpcov.release(rows, **BUDGET, allow={"small"}).matrix).all()


@pytest.mark.parametrize("value", [-1, 0, np.nan, "1", None, [1.0], np.array([1.0, 2.0]), True])
@pytest.mark.parametrize("name", ["epsilon", "delta", "row_norm"])
def test_impossible_parameters_spend_nothing(name, value, spent):
    if name == "row_norm" and value is None:
        return  # it is learned
    with pytest.raises(ParameterError, match=f"{name} must"):
        dpcov.release(ROWS, **(BUDGET | {name: value}))
    assert not spent


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"delta": 1.0}, "delta must lie in"),
        ({"neighbors": "swap"}, "neighbors must be one of 'replace', 'add-remove'"),
        ({"missing": "drop"}, "missing must be one of 'pairwise', 'complete', 'refuse'"),
        ({"seed": -1}, "seed must"),
        ({"seed": -(10**5000)}, "seed must"),
        ({"epsilon": 10**400}, "epsilon must"),
        ({"seed": "x"}, "seed must"),
    ],
)
def test_unknown_choices_spend_nothing(change, message, spent):
    with pytest.raises(ParameterError, match=message):
        dpcov.release(ROWS, **(BUDGET | change))
    assert not spent


@pytest.mark.parametrize(
    "table",
    [ROWS[0], ROWS[:0], ROWS[:1], ROWS[:, :0], ROWS.astype(str), ROWS.astype(object), ROWS + 0j],
)
def test_unusable_tables_spend_nothing(table, spent):
    with pytest.raises(InputError):
        dpcov.release(table, **BUDGET)
    assert not spent


@pytest.mark.parametrize("hole", [np.nan, np.inf])
def test_missing_cells_are_refused_where_the_norm_is_stated_and_spend_nothing(hole, spent):
    rows = ROWS.copy()
    rows[17, 1] = hole
    with pytest.raises(MissingValueError, match="missing='center'"):
        dpcov.release(rows, **BUDGET)
    assert not spent


def test_missing_cells_read_as_zero_give_the_release_of_zeros():
    rows = ROWS.copy()
    rows[17, 1] = 0.0
    holes = rows.copy()
    holes[17, 1] = np.nan
    expected = dpcov.release(rows, **BUDGET, missing="center", seed=2)
    assert dpcov.release(holes, **BUDGET, missing="center", seed=2) == expected


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    "table",
    [
        [[987654.25, np.nan], [1.0, 2.0]],
        [[987654.25], [1.0, 2.0]],
        [["987654.25", "x"], ["1", "2"]],
        pd.DataFrame({"a": [987654.25, 1.0], "b": ["987654.25", "2"]}),
        pd.DataFrame({"a": ["987654.25", 1.0]}, dtype=object),
        pa.table({"a": pa.array([987654.25, None])}),
        np.array([[987654.25, np.inf], [1, 2]]),
    ],
)
def test_no_error_quotes_a_cell(table):
    with pytest.raises(DpcovError) as caught:
        dpcov.release(table, **BUDGET, allow={"small"})
    assert "too few" not in str(caught.value)
    printed = "".join(traceback.format_exception(caught.value))
    error = caught.value
    while error is not None:
        assert "987654" not in str(error)
        error = error.__cause__ or error.__context__
    assert "987654" not in printed.replace("987654.25, np", "")


@pytest.mark.claim("P20")
@pytest.mark.parametrize(("stated", "message"), [(0, "from 1 to 1000000"), (10**6 + 1, "from 1")])
def test_a_person_has_one_row_or_more_up_to_a_million(stated, message):
    assert [door._rows_per_unit("who", rows) for rows in (1, 2, 10**6)] == [1, 2, 10**6]
    assert door._rows_per_unit(None, None) == 1
    with pytest.raises(ParameterError, match=message):
        door._rows_per_unit("who", stated)


@pytest.fixture
def ledger(tmp_path):
    return new(tmp_path / "budget.db")


def asked(**options):
    """Return a request with nothing special about it but what is stated here."""
    nothing = (
        "columns", "privacy_unit", "rows_per_unit", "header", "missing_codes", "csv", "engine",
        "progress", "seed",
    )  # fmt: skip
    plain = {"epsilon": 1.0, "delta": 1e-6, "neighbors": "replace", "missing": "refuse"}
    return door.Request.of(**dict.fromkeys(nothing) | plain | options)


@pytest.mark.claim("P41")
def test_what_is_released_is_told_to_the_ledger_at_once(ledger):
    made = dpcov.release(ROWS, **BUDGET, ledger=ledger, request_id="spring")
    assert kinds(ledger)[2:] == ["reservation", "drawing", "release"]
    assert asked(ledger=ledger).find_finished(dpcov.Release) is None
    assert dpcov.release(ROWS, **BUDGET, ledger=ledger, request_id="spring") == made


@pytest.mark.claim("P41")
def test_a_failure_gives_its_reservation_back_unless_noise_was_drawn(ledger):
    event = Gaussian("moments", gaussian_scale(epsilon=1.0, delta=1e-6))

    def fail(*, draws):
        request = asked(ledger=ledger)
        with request.spending.settled():
            request.spending.reserve([event])
            if draws:
                request.stream.begin("moments")
                request.stream.words(1)
            raise InputError("The table changed.")

    for draws in (False, True):
        with pytest.raises(InputError):
            fail(draws=draws)
    assert kinds(ledger)[2:] == ["reservation", "return", "reservation", "drawing"]


@pytest.mark.claim("P41")
def test_a_request_id_stands_for_all_that_is_stated(ledger):
    unit = {"privacy_unit": "who"}
    requests = [
        {},
        {"columns": ["a", "b"]},
        {"columns": ["a", "c"]},
        {"columns": {"a": (0, 1), "b": {}}},
        {"columns": {"a": (0, 2), "b": {}}},
        {"missing": "center"},
        {"missing_codes": [-9]},
        {"weight": "w"},
        {"rows_per_unit": 2, **unit},
        {"rows_per_unit": 3, **unit},
        {"stated": {"row_norm": 1.0}},
        {"stated": {"row_norm": 2.0}},
    ]
    stand_for = [asked(ledger=ledger, **each).charge.fingerprint for each in requests]
    assert len(set(stand_for)) == len(requests)
    assert asked(ledger=ledger).charge.fingerprint == stand_for[0]


@pytest.mark.claim("P8")
def test_a_charge_is_for_complete_tables_only_where_others_are_refused(ledger):
    rules = {"refuse": True, "center": False, "pairwise": False}
    found = {rule: asked(ledger=ledger, missing=rule).charge.complete for rule in rules}
    assert found == rules


def test_a_finished_release_of_another_kind_is_not_returned(ledger, monkeypatch):
    pairs = dpcov.release_pairs(ROWS, epsilon=1.0, delta=1e-6, max_pairs=1, seed=1)
    request = asked(ledger=ledger)
    monkeypatch.setattr(request.charge, "find_finished", lambda: door._to_bytes(pairs))
    assert request.find_finished(type(pairs)) == pairs
    with pytest.raises(LedgerError, match="another kind"):
        request.find_finished(dpcov.Release)


@pytest.mark.claim("P20")
def test_a_stream_is_read_for_its_units_and_then_for_its_rows():
    table = pa.table({"who": np.arange(200) // 2, "a": ROWS[:, 0], "b": ROWS[:, 1]})
    options = BUDGET | {"privacy_unit": "who", "rows_per_unit": 1, "seed": 1}
    expected = dpcov.release(table, **options)
    assert expected.n_rows == 100
    assert dpcov.release(table.to_reader(), **options) == expected


PANEL = {"who": np.repeat(np.arange(40), 5), "a": ROWS[:, 0], "b": ROWS[:, 1]}


def used(passes=1, **options):
    """Return the cells of one column that each pass over the rows of a request meets."""
    request = asked(privacy_unit="who", rows_per_unit=2, **options)
    with request.reading(pa.table(PANEL), passes=passes) as (source, _):
        found = [np.concatenate(list(source.blocks(64)))[:, 0].tolist() for _ in range(passes)]
    assert request.spending.in_words == "nothing"
    return found


@pytest.mark.claim("P20")
def test_all_passes_of_a_release_use_the_same_rows_and_another_release_uses_others():
    one, two, three = used(passes=3)
    assert one == two == three
    assert len(one) == 80
    assert used() != [one]


@pytest.mark.claim("P20")
def test_a_simulation_uses_the_rows_of_its_seed():
    assert used(seed=1) == used(seed=1) != used(seed=2)


@pytest.mark.claim("P20")
def test_a_secret_that_all_releases_share_is_found(monkeypatch):
    hit = []
    monkeypatch.setattr(RandomStream, "spare_key", lambda self: hit.append(1) or bytes(32))
    assert used() == used()
    assert len(hit) == 2


@pytest.mark.claim("P20")
@pytest.mark.parametrize("passes", [1, 2, 3])
def test_a_stream_with_units_can_be_read_as_often_as_is_stated(passes):
    stream = pa.table({"who": np.arange(200) // 2, "a": ROWS[:, 0]}).to_reader()
    request = asked(privacy_unit="who", rows_per_unit=1)
    with request.reading(stream, passes=passes) as (source, _):
        for _ in range(passes):
            assert sum(map(len, source.blocks(64))) == 100


def test_what_is_stated_is_known_of_each_column_of_a_table_in_its_order():
    facts = Column("b", lower=0, upper=1)
    source = SimpleNamespace(fields=(Field("c"), Field("b", facts=facts)))
    knowing = asked(columns={"b": (0, 1), "c": {}}).knowing(source)
    assert knowing.facts == Columns([Column("c"), facts])


def test_where_nothing_is_stated_nothing_is_known_by_the_type_of_a_column():
    source = SimpleNamespace(fields=(Field("a", facts=Column("a", lower=0, upper=255)),))
    assert asked().knowing(source).facts is None


def test_a_warning_points_to_the_line_that_asked_for_the_release():
    with pytest.warns() as caught:
        dpcov.release(ROWS, epsilon=4, delta=0.01, row_norm=1.0)
    assert [each.category for each in caught] == [LargeEpsilonWarning, WeakPromiseWarning]
    assert [each.filename for each in caught] == [__file__] * 2


def test_a_delta_of_one_over_n_is_not_above_it():
    request = asked(delta=1 / 200)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        request.warn_of_weak_promise(200)
    with pytest.warns(WeakPromiseWarning):
        request.warn_of_weak_promise(201)


def test_a_request_that_was_checked_cannot_be_changed():
    request = asked()
    with pytest.raises(FrozenInstanceError):
        request.promise = ApproxDP(9.0, 1e-6, "replace")
