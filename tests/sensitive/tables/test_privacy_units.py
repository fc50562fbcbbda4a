"""How many rows of a person count."""

from collections import Counter

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import InputError, ParameterError
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.keys import as_keys
from dpcov.sensitive.tables.privacy_units import UnitSource, rows_of_units

people = st.lists(st.integers(0, 5), max_size=40)
cuts = st.lists(st.integers(0, 40), max_size=4)


def runs(keys, cut=()):
    cells = np.split(np.array(keys, dtype=np.int64), sorted(cut))
    return (as_keys(run, "who") for run in cells)


@given(people, cuts, st.integers(1, 5))
def test_each_unit_keeps_as_many_rows_as_it_has_up_to_the_limit(keys, cut, most):
    mask = rows_of_units(runs(keys, cut), most)
    kept = Counter(np.array(keys, dtype=int)[mask].tolist())
    assert kept == {key: min(most, count) for key, count in Counter(keys).items()}


@given(people, cuts, st.integers(1, 5))
def test_the_first_rows_are_kept(keys, cut, most):
    mask = rows_of_units(runs(keys, cut), most)
    for place, kept in enumerate(mask):
        assert kept == (keys[:place].count(keys[place]) < most)


@given(people, st.integers(0, 5), st.integers(1, 3))
def test_what_one_unit_does_changes_nothing_for_the_others(keys, unit, most):
    mask = rows_of_units(runs(keys), most)
    without = [key for key in keys if key != unit]
    others = [kept for key, kept in zip(keys, mask, strict=True) if key != unit]
    assert rows_of_units(runs(without), most).tolist() == others


@pytest.mark.parametrize(
    "pieces",
    [
        [np.array([1], np.uint64), np.array([1], np.int8)],
        [np.array([0.0]), np.array([-0.0])],
        [np.array(["a"], object), np.array(["a"], object)],
    ],
)
def test_a_person_in_runs_of_two_types_is_one_person(pieces):
    keys = (as_keys(piece, "who") for piece in pieces)
    assert rows_of_units(keys, 1).tolist() == [True, False]


@pytest.mark.claim("P20")
def test_keys_of_two_kinds_are_never_compared():
    numbers, texts = (as_keys(np.array(cells), "who") for cells in ([1, 2], ["1", "2"]))
    assert rows_of_units([numbers, texts.kept(np.zeros(2, bool)), numbers], 1).sum() == 2
    with pytest.raises(AssertionError, match="of one kind"):
        rows_of_units([numbers, texts], 1)


def test_no_runs_are_no_rows():
    assert rows_of_units(iter([]), 1).shape == (0,)


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_a_limit_that_keeps_nothing_is_refused(most):
    with pytest.raises(ParameterError, match="most must be a whole number of at least 1"):
        rows_of_units(runs([1]), most)


ROWS = np.random.default_rng(0).normal(size=(101, 3))
MASK = np.random.default_rng(1).random(101) < 0.6


@pytest.mark.parametrize("size", [1, 7, 16, 200])
def test_kept_rows_come_in_blocks_of_one_length(size):
    source = UnitSource(open_table(ROWS), MASK)
    lengths = [len(block) for block in source.blocks(size)]
    assert lengths[:-1] == [size] * (len(lengths) - 1)
    assert 0 < lengths[-1] <= size
    assert (np.concatenate(list(source.blocks(size))) == ROWS[MASK]).all()


def test_a_table_of_kept_rows_knows_its_rows_and_names():
    source = UnitSource(open_table(ROWS), MASK)
    assert source.n_rows == MASK.sum()
    assert source.columns == ("x0", "x1", "x2")


def test_blocks_without_a_kept_row_leave_no_trace():
    mask = np.zeros(101, dtype=bool)
    mask[[0, 100]] = True
    assert len(np.concatenate(list(UnitSource(open_table(ROWS), mask).blocks(10)))) == 2


@pytest.mark.parametrize("kept", [0, 1])
def test_fewer_than_two_kept_rows_are_refused_without_saying_how_many(kept):
    mask = np.arange(101) < kept
    with pytest.raises(InputError, match="too few rows") as caught:
        UnitSource(open_table(ROWS), mask)
    assert f" {kept} " not in str(caught.value)


def test_a_mask_of_another_length_is_refused():
    with pytest.raises(InputError, match="101 rows, and 100 of them"):
        UnitSource(open_table(ROWS), np.ones(100, dtype=bool))


def test_the_keys_of_kept_rows_obey_the_limit(tmp_path):
    who = np.random.default_rng(2).choice(["ann", "bob", "cid", "dan"], 101)
    table = pa.Table.from_pandas(pd.DataFrame({"who": who, "a": ROWS[:, 0]}))
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=9)
    source = open_table(tmp_path / "x.parquet", privacy_unit="who")
    capped = UnitSource(source, rows_of_units(source.unit_keys(10), most=3))
    keys = [key for run in capped.unit_keys(10) for key in run.cells]
    assert Counter(keys) == dict.fromkeys(who, 3)
    first = [place for place in range(101) if list(who[:place]).count(who[place]) < 3]
    assert (np.concatenate(list(capped.blocks(5)))[:, 0] == ROWS[first, 0]).all()
