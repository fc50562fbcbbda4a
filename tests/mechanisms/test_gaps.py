"""Tables with gaps and categories: what is open, what is the same, and what never fails."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from designs import public_levels
from dpcov.sensitive.sums.field_counts import FieldKernel
from dpcov.sensitive.sums.gram import GramKernel
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel
from wiring.watching import Watch

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
N_ROWS = 1000
GENERATOR = np.random.default_rng(0)
NUMBERS = GENERATOR.normal(size=(N_ROWS, 3)) * [1.0, 50.0, 1e-3] + [0.0, 900.0, 5e-3]
SEX, ANSWERS = ("f", "m", "x"), ("no", "yes")


def with_gaps(share, seed=1):
    rows = NUMBERS.copy()
    rows[np.random.default_rng(seed).random(rows.shape) < share] = np.nan
    return rows


def frame(share=0.0, sexes=3):
    """Return numbers and categories; a share of all cells is missing."""
    generator = np.random.default_rng(2)
    sex = generator.integers(0, sexes, N_ROWS)
    answer = generator.integers(0, 2, N_ROWS)
    for codes in (sex, answer):
        codes[generator.random(N_ROWS) < share] = -1
    return pd.DataFrame(with_gaps(share), columns=list("abc")).assign(
        sex=pd.Categorical.from_codes(sex, SEX),
        answer=pd.Categorical.from_codes(answer, ANSWERS),
    )


def without_a_cell(table, column):
    table = table.copy()
    if column == "all":
        return table.assign(**{name: without_a_cell(table, name)[name] for name in table})
    empty = np.full(N_ROWS, -1)
    levels = table[column].cat.categories if table[column].dtype == "category" else None
    made = np.nan if levels is None else pd.Categorical.from_codes(empty, levels)
    return table.assign(**{column: made})


TABLES = {
    "no gap": frame(),
    "some": frame(0.2),
    "nearly all": frame(0.99),
    "no number": without_a_cell(frame(), "b"),
    "no category": without_a_cell(frame(), "sex"),
    "nothing": without_a_cell(frame(), "all"),
}


def release(table, **options):
    """Release a table, whose levels are public."""
    facts = public_levels(table) if isinstance(table, pd.DataFrame) else None
    return dpcov.release(table, columns=facts, **options)


def passed(table, **options):
    """Return what is open of a release: kind, size and scale of every draw, and its file."""
    with pytest.MonkeyPatch.context() as patch:
        watch = Watch().stand(patch)
        watch.begin()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = release(table, **BUDGET | options)
        draws = [(draw.kind, len(draw.exact), *draw.scales) for draw in watch.draws]
    return draws, made


def layout(release, folder):
    release.save(folder / "release.npz")
    with np.load(folder / "release.npz") as file:
        shapes = {name: (file[name].shape, file[name].dtype) for name in file.files}
        facts = json.loads(file["header"].tobytes())
    shapes.pop("header")
    return shapes, facts["fields"], sorted(facts), sorted(facts["learned"])


@pytest.mark.claim("P28")
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("kind", list(TABLES)[1:])
def test_whether_cells_are_missing_decides_nothing_in_the_open(tmp_path, kind, neighbors):
    (draws, complete), (others, other) = (
        passed(TABLES[name], neighbors=neighbors) for name in ("no gap", kind)
    )
    assert draws == others
    assert complete.events == other.events
    assert complete.shares == other.shares
    assert layout(complete, tmp_path) == layout(other, tmp_path)


@pytest.mark.claim("P28")
def test_a_look_at_the_gaps_would_be_seen(monkeypatch, tmp_path):
    """A control: a kernel that leaves out columns without a gap."""
    from dpcov.columns.design import Design

    real = Design.of.__func__

    def looking(cls, fields, *, gaps):
        return real(cls, fields, gaps=gaps and TABLES["some"].isna().any(axis=None) and looked[0])

    looked = [True]
    monkeypatch.setattr(Design, "of", classmethod(looking))
    draws, release = passed(TABLES["some"])
    looked[0] = False
    others, other = passed(TABLES["no gap"])
    assert draws != others
    assert layout(release, tmp_path) != layout(other, tmp_path)


def apart():
    """Two columns that are never seen together."""
    rows = NUMBERS.copy()
    rows[:500, 0] = rows[500:, 1] = np.nan
    return rows


def category(n_levels, used):
    codes = np.random.default_rng(3).integers(0, used, N_ROWS)
    return pd.DataFrame({"level": pd.Categorical.from_codes(codes, map(str, range(n_levels)))})


EXTREME = {
    "a column without a cell": TABLES["no number"],
    "no cell at all": TABLES["nothing"],
    "one column": NUMBERS[:, :1],
    "one column without a cell": np.full((N_ROWS, 1), np.nan),
    "one category of two levels": category(2, 2),
    "a category without a cell": TABLES["nothing"][["sex"]],
    "a level that never occurs": category(3, 2),
    "a thousand levels": category(1000, 1000),
    "columns that are never seen together": apart(),
    "two rows": with_gaps(0.4)[:2],
    "infinite cells": np.where(np.isnan(with_gaps(0.3)), np.inf, NUMBERS),
}


@pytest.mark.claim("P28")
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 50.0])
@pytest.mark.parametrize("kind", EXTREME)
def test_no_table_fails_and_none_is_warned_of(kind, epsilon, tmp_path):
    for seed in range(1 if kind == "a thousand levels" else 4):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            options = {"epsilon": epsilon, "delta": 1e-6, "allow": {"small", "mismatch"}}
            made = release(EXTREME[kind], **options, seed=seed)
        assert np.isfinite(made.matrix).all()
        assert np.isfinite(made.location).all()
        assert (np.diag(made.pairwise.observed) > 0).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        estimate = made.estimate()
    assert np.isfinite(estimate.covariance).all()
    if kind != "a thousand levels":
        assert all(np.isfinite(end).all() for end in estimate.interval(about="table"))
        assert np.isfinite(estimate.standard_error).all()
        made.save(tmp_path / "made.npz")
        assert dpcov.Release.load(tmp_path / "made.npz") == made


ROWS = with_gaps(0.2)


def from_csv(folder):
    pd.DataFrame(ROWS, columns=["x0", "x1", "x2"]).to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def from_parquet(folder):
    table = pa.table({f"x{place}": pa.array(ROWS[:, place]) for place in range(3)})
    pq.write_table(table, folder / "x.parquet", row_group_size=77)
    return folder / "x.parquet"


def null_for_nan(folder):
    columns = {f"x{place}": ROWS[:, place] for place in range(3)}
    return pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))


def from_npy(folder):
    np.save(folder / "x.npy", ROWS)
    return folder / "x.npy"


KINDS = {
    "columns first": lambda folder: np.asfortranarray(ROWS),
    "backwards": lambda folder: ROWS[::-1],
    "masked": lambda folder: np.ma.masked_invalid(ROWS),
    "pandas": lambda folder: pd.DataFrame(ROWS, columns=["x0", "x1", "x2"]),
    "polars": null_for_nan,
    "lazy": lambda folder: null_for_nan(folder).lazy(),
    "arrow": lambda folder: null_for_nan(folder).to_arrow(),
    "csv": from_csv,
    "parquet": from_parquet,
    "npy": from_npy,
}


@pytest.mark.claim("P7")
@pytest.mark.claim("P28")
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_numbers_and_gaps_give_the_same_bytes(kind, tmp_path):
    dpcov.release(ROWS, **BUDGET, seed=5).save(tmp_path / "one.npz")
    dpcov.release(KINDS[kind](tmp_path), **BUDGET, seed=5).save(tmp_path / "other.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "other.npz").read_bytes()


@pytest.mark.claim("P7")
@pytest.mark.claim("P28")
@pytest.mark.parametrize("size", [1, 7, 333])
def test_blocks_of_any_size_give_the_same_release(monkeypatch, size):
    expected = release(TABLES["some"], **BUDGET, seed=5)
    for kernel in (FieldKernel, NormBinsKernel, GramKernel):
        monkeypatch.setattr(kernel, "block_rows", size)
    assert release(TABLES["some"], **BUDGET, seed=5) == expected


@pytest.mark.claim("P7")
@pytest.mark.claim("P28")
def test_threads_of_dask_give_the_same_release():
    expected = release(TABLES["some"], **BUDGET, seed=5)
    assert release(TABLES["some"], **BUDGET, seed=5, engine="dask") == expected


@pytest.mark.claim("P28")
def test_the_pairwise_numbers_follow_from_what_the_file_stores(tmp_path):
    made = release(TABLES["some"], **BUDGET)
    made.save(tmp_path / "one.npz")
    read = dpcov.Release.load(tmp_path / "one.npz")
    read.save(tmp_path / "other.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "other.npz").read_bytes()
    for name in vars(made.pairwise):
        assert np.array_equal(getattr(made.pairwise, name), getattr(read.pairwise, name))
    assert np.array_equal(made.matrix, read.matrix)
    assert np.array_equal(made.mean, read.mean)


def relative_noise(rows, **options):
    """Return the noise of an entry, in units of a variance: the mean of some releases."""
    made = [dpcov.release(rows, **BUDGET, seed=seed, **options) for seed in range(12)]
    return np.mean([each.noise_scale.off_diagonal / np.diag(each.matrix).mean() for each in made])


def test_a_complete_table_pays_hardly_more_for_gaps_that_it_might_have():
    rows = np.random.default_rng(4).normal(size=(10_000, 6))
    assert relative_noise(rows) / relative_noise(rows, missing="refuse") <= 1.05


def test_columns_that_are_declared_complete_pay_nothing():
    rows = np.random.default_rng(4).normal(size=(2000, 2))
    facts = {name: {"complete": True} for name in ("x0", "x1")}
    table = pd.DataFrame(rows, columns=["x0", "x1"])
    one, other = (
        dpcov.release(table, **BUDGET, seed=1, columns=facts, missing=rule)
        for rule in ("pairwise", "refuse")
    )
    assert one.noise_scale == other.noise_scale
    assert one.events == other.events
    assert np.array_equal(one.matrix, other.matrix)
