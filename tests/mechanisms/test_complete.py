"""missing="complete": rows with a gap count as empty rows, as statsmodels and R leave them out."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dpcov
from dpcov.columns.fields import Field
from dpcov.errors import InputError, MismatchError, ParameterError
from dpcov.mechanisms.learning.noisy import Noisy
from dpcov.publication import verify_folder, write_folder
from dpcov.publication.card import make_card
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.complete import CompleteSource, only_complete

ONE = {"epsilon": 1.0, "delta": 1e-6, "missing": "complete"}
N = 20_000
FIELDS = (Field("a"), Field("sex", ("f", "m")), Field("b"))
CELLS = st.sampled_from([np.nan, np.inf, 0.0, 1.0, 2.0, 0.5, -1.0])


def survey(seed=0, n=N):
    """Cells of x are missing where y is large: the complete rows are other people."""
    generator = np.random.default_rng(seed)
    y = generator.normal(size=n)
    x = 0.5 * y + generator.normal(size=n)
    table = pd.DataFrame({"x": x, "y": y, "z": 3 * generator.normal(size=n) + x})
    table.loc[generator.random(n) < 1 / (1 + np.exp(-2 * y)), "x"] = np.nan
    return table


@pytest.mark.claim("P27")
@given(hnp.arrays(float, (6, 3), elements=CELLS))
def test_a_row_has_all_of_its_cells_or_none_and_no_weight(rows):
    made = only_complete(rows, FIELDS)
    for row, after in zip(rows, made, strict=True):
        complete = bool(np.isfinite(row).all()) and row[1] in (0.0, 1.0)
        assert after.tolist() == [*row, 1.0] if complete else np.isnan(after[:3]).all()
        assert after[3] == complete


@pytest.mark.claim("P27")
@given(hnp.arrays(float, (6, 3), elements=CELLS), st.integers(0, 5))
def test_what_a_row_becomes_follows_from_that_row_alone(rows, place):
    alone = only_complete(rows[place : place + 1], FIELDS)[0]
    assert np.array_equal(only_complete(rows, FIELDS)[place], alone, equal_nan=True)


def test_weights_of_complete_rows_stay_within_their_bound():
    rows = np.array([[1.0, 0.0, 2.0, 0.5], [1.0, 1.0, np.nan, 0.5], [1.0, 1.0, 1.0, 9.0]])
    assert only_complete(rows, FIELDS, 2.0)[:, -1].tolist() == [0.5, 0.0, 2.0]


def test_moments_are_those_of_the_complete_rows():
    table = survey()
    truth = table.dropna()
    release = dpcov.release(table, **ONE)
    rows = release.weights.mean * N
    assert abs(rows - len(truth)) < 5 * release.weights.error * N
    estimate = release.estimate()
    low, high = estimate.correlation_interval(about="table")
    inside = (low <= truth.corr().to_numpy()) & (truth.corr().to_numpy() <= high)
    assert inside.all()
    # Pairwise moments are about other rows.
    pairwise = dpcov.release(table, **ONE | {"missing": "pairwise"})
    assert abs(pairwise.location[1] - table.y.mean()) < 0.1
    assert abs(release.location[1] - truth.y.mean()) < 0.1
    assert truth.y.mean() < table.y.mean() - 0.3


def test_a_slope_is_that_of_least_squares_on_complete_rows():
    table = survey(1)
    truth = np.polynomial.Polynomial.fit(*table.dropna()[["y", "x"]].to_numpy().T, 1).convert()
    fit = dpcov.release(table, **ONE).regress("x", on=["y"])
    assert abs(fit.coefficients[-1] - truth.coef[1]) < 4 * fit.standard_errors[-1]


def test_the_number_of_complete_rows_is_released_first_and_costs_little():
    release = dpcov.release(survey(), **ONE)
    assert [event.name for event in release.events][:2] == ["weights", "observed"]
    assert release.provenance.missing == "complete"


def test_a_table_with_too_few_complete_rows_stops_there():
    table = survey()
    table.loc[300:, "z"] = np.nan
    with pytest.raises(MismatchError) as stop:
        dpcov.release(table, **ONE)
    assert stop.value.budget_spent.startswith("weights, observed (")


def test_complete_rows_that_show_nothing_are_refused_after_their_count(monkeypatch):
    monkeypatch.setattr("dpcov.mechanisms.learning.tuning.Tuning.nearly_empty", 0.0)
    table = survey(n=3000)
    table.loc[70:, "z"] = np.nan
    with pytest.raises(InputError) as stop:
        dpcov.release(table, **ONE, allow={"mismatch"})
    assert stop.value.budget_spent.startswith("weights, observed (")
    dpcov.release(table, **ONE, allow={"mismatch", "small"})


def test_nothing_is_learned_beside_a_stated_norm():
    with pytest.raises(ParameterError) as refusal:
        dpcov.release(survey(), **ONE, row_norm=4.0)
    assert refusal.value.budget_spent == "nothing"


def test_pairs_have_no_complete_rows():
    with pytest.raises(ParameterError):
        dpcov.release_pairs(survey(), max_pairs=2, **ONE)


@pytest.mark.parametrize("share", [-1.0, 0.0])
def test_a_noisy_count_of_no_rows_is_refused_like_any_that_is_too_small(share, monkeypatch):
    answer = Noisy(np.array([share]), 0.0)
    monkeypatch.setattr("dpcov.mechanisms.learning.learn.find_observed", lambda *_: answer)
    with pytest.raises(InputError) as stop:
        dpcov.release(survey(n=3000), **ONE, allow={"mismatch"})
    assert stop.value.budget_spent.startswith("weights, observed (")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.longdouble])
def test_no_cell_makes_a_warning(kind):
    rows = np.ones((2, 3), kind)
    if kind is np.longdouble:
        rows[0, 1] = np.finfo(kind).max
    else:
        bits = {np.float16: np.uint16, np.float32: np.uint32}[kind]
        rows.view(bits)[0, 1] = np.array(np.inf, kind).view(bits) + 1  # a signalling NaN
    made = only_complete(rows, (Field("a"), Field("b"), Field("c")))
    assert made[1].tolist() == [1.0, 1.0, 1.0, 1.0]


@pytest.mark.claim("P7")
@pytest.mark.parametrize("kind", ["csv", "parquet", "dask", "polars"])
def test_every_kind_of_table_gives_the_same_bytes(kind, tmp_path):
    table = survey(n=3000).assign(sex=np.where(np.arange(3000) % 7, "f", "m"))
    facts = {"x": {}, "y": {}, "z": {}, "sex": {"levels": ["f", "m"]}}
    options = {**ONE, "columns": facts, "seed": 3}
    expected = dpcov.release(table, **options)
    if kind == "csv":
        table.to_csv(tmp_path / "table.csv", index=False)
        table = tmp_path / "table.csv"
    elif kind == "parquet":
        table.to_parquet(tmp_path / "table.parquet", row_group_size=500)
        assert pq.ParquetFile(tmp_path / "table.parquet").num_row_groups == 6
        table = tmp_path / "table.parquet"
    elif kind == "dask":
        options["engine"] = "dask"
    else:
        table = pl.from_pandas(table)
    assert dpcov.release(table, **options) == expected


def test_weights_and_units_go_with_complete_rows():
    table = survey().assign(w=np.linspace(0.1, 2.0, N), who=np.arange(N) // 2)
    release = dpcov.release(
        table, **ONE, weight="w", weight_bound=2.0, privacy_unit="who", rows_per_unit=2
    )
    complete = table.dropna()
    share = complete.w.sum() / 2.0 / N
    assert abs(release.weights.mean - share) < 5 * release.weights.error
    assert (
        "that are complete" in make_card(release, release.estimate())["data"]["weights"]["in_words"]
    )


def test_a_card_says_that_only_complete_rows_count(tmp_path):
    release = dpcov.release(survey(), **ONE)
    card = make_card(release, release.estimate())
    assert card["data"]["weights"]["in_words"].startswith("Only complete rows count: ")
    assert "how many rows are complete" in " ".join(card["learned"]["in_words"])
    release.save(tmp_path / "release.npz")
    assert dpcov.Release.load(tmp_path / "release.npz") == release


@pytest.mark.parametrize("missing", ["pairwise", "complete", "center"])
def test_a_folder_is_written_and_verified_whatever_becomes_of_missing_cells(missing, tmp_path):
    table = survey().assign(sex=np.where(np.arange(N) % 7, "f", "m"))
    facts = {"x": {}, "y": {}, "sex": {"levels": ["f", "m"]}}
    release = dpcov.release(table, columns=facts, **ONE | {"missing": missing})
    write_folder(release, release.estimate(), tmp_path / "folder", name="Survey")
    assert verify_folder(tmp_path / "folder").holds
    told = release.regress("x", on=["y"]).summary()
    counted = re.search(r"of which the (.*) complete ones count", told)
    assert (counted is not None) == (missing == "complete")
    if counted:  # the same number in every view
        page = (tmp_path / "folder" / "page.html").read_text(encoding="utf-8")
        assert f"Only complete rows count: {counted[1]}." in page


def test_pieces_of_a_table_have_the_same_complete_rows():
    rows = CompleteSource(open_table(survey(n=1000).to_numpy()))
    whole = np.concatenate(list(rows.blocks(10**6)))
    parts = np.concatenate(list(rows.blocks(7)))
    assert np.array_equal(whole, parts, equal_nan=True)
    assert rows.columns == ("x0", "x1", "x2", "weight")
