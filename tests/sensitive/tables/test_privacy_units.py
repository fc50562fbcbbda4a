"""How many rows of a person count, and which."""

import datetime
import decimal
import subprocess
import sys
import uuid
from collections import Counter

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import InputError, ParameterError
from dpcov.sensitive.tables import open_table, privacy_units
from dpcov.sensitive.tables.keys import as_keys
from dpcov.sensitive.tables.pieces import split_rows
from dpcov.sensitive.tables.privacy_units import UnitSource, limit_rows, rows_of_units
from dpcov.sensitive.tables.spool import readable

people = st.lists(st.integers(0, 5), max_size=40)
cuts = st.lists(st.integers(0, 40), max_size=4)
secrets = st.binary(min_size=32, max_size=32)
KEY = bytes(32)


def runs(keys, cut=()):
    cells = np.split(np.array(keys, dtype=np.int64), sorted(cut))
    return (as_keys(run, "who") for run in cells)


def kept_of(keys, most, secret, cut=()):
    """Return for each unit whether its first, second, … row is kept."""
    found = {}
    for key, kept in zip(keys, rows_of_units(runs(keys, cut), most, secret).tolist(), strict=True):
        found.setdefault(key, []).append(kept)
    return found


@pytest.mark.claim("P20")
@given(people, cuts, st.integers(1, 5), secrets)
def test_each_unit_keeps_as_many_rows_as_it_has_up_to_the_limit(keys, cut, most, secret):
    mask = rows_of_units(runs(keys, cut), most, secret)
    kept = Counter(np.array(keys, dtype=int)[mask].tolist())
    assert kept == {key: min(most, count) for key, count in Counter(keys).items()}


@given(people, cuts, st.integers(1, 5), secrets)
def test_how_keys_are_cut_into_runs_changes_nothing(keys, cut, most, secret):
    whole = rows_of_units(runs(keys), most, secret)
    assert rows_of_units(runs(keys, cut), most, secret).tolist() == whole.tolist()


@given(people, cuts, st.integers(1, 5), secrets)
def test_when_rows_are_forgotten_changes_nothing(keys, cut, most, secret):
    whole = rows_of_units(runs(keys), most, secret)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(privacy_units, "_LOGGED_AT_LEAST", 0)
        assert rows_of_units(runs(keys, cut), most, secret).tolist() == whole.tolist()


def others_keep_their_rows(keys, unit, rows, most, secret, cut=()):
    """Return whether the rows of other units are the same if those of one come elsewhere."""
    changed = [key for key in keys if key != unit]
    for place in rows:
        changed.insert(place % (len(changed) + 1), unit)
    before, after = (kept_of(each, most, secret, cut) for each in (keys, changed))
    return {key: kept for key, kept in before.items() if key != unit} == {
        key: kept for key, kept in after.items() if key != unit
    }


@pytest.mark.claim("P20")
@given(people, st.integers(0, 5), st.lists(st.integers(0, 60)), st.integers(1, 3), secrets, cuts)
def test_what_one_unit_does_changes_nothing_for_the_others(keys, unit, rows, most, secret, cut):
    assert others_keep_their_rows(keys, unit, rows, most, secret, cut)


def by_place(draw):
    """Plant the bug: a row is drawn for by its place in the table."""
    return lambda self, words, before: draw(self, np.full_like(words, self._n_rows), before)


def by_number(draw):
    """Plant the bug: a unit is drawn for by how many units came before it."""

    def planted(self, words, before):
        numbers = [np.flatnonzero(self._words == word)[0] for word in words]
        return draw(self, np.array(numbers, np.uint64), before)

    return planted


def by_crowd(draw):
    """Plant the bug: the secret is made of the units that are there."""

    def planted(self, words, before):
        self._secret = len(self._units).to_bytes(32, "little")
        return draw(self, words, before)

    return planted


@pytest.mark.claim("P20")
@pytest.mark.parametrize("plant", [None, by_place, by_number, by_crowd])
def test_a_draw_that_depends_on_other_people_is_found(plant, monkeypatch):
    hit, draw = [], privacy_units._Kept._draw
    planted = draw if plant is None else plant(draw)

    def watched(self, words, before):
        hit.extend(before)
        return planted(self, words, before)

    monkeypatch.setattr(privacy_units._Kept, "_draw", watched)
    keys = [0] * 3 + [1] * 9 + [2] * 9
    one_by_one = list(range(1, 21))
    same = [others_keep_their_rows(keys, 0, [], 2, bytes([k] * 32), one_by_one) for k in range(10)]
    assert len(hit) == 10 * (1 + 4 * 7)
    assert all(same) == (plant is None)


@pytest.mark.claim("P20")
def test_which_rows_are_kept_is_random_and_every_row_is_as_likely_as_another():
    n_units, n_rows, most = 4000, 7, 3
    keys = np.tile(np.arange(n_units), n_rows)
    mask = rows_of_units([as_keys(keys, "who")], most, KEY).reshape(n_rows, n_units)
    shares = mask.mean(axis=1)
    # Six standard errors of a share.
    assert np.abs(shares - most / n_rows).max() < 6 * np.sqrt(12 / 49 / n_units)
    together = Counter(map(tuple, mask.T.tolist()))
    assert len(together) == 35
    assert max(together.values()) < 4000 / 35 + 6 * np.sqrt(4000 / 35)
    assert min(together.values()) > 4000 / 35 - 6 * np.sqrt(4000 / 35)


def test_another_secret_keeps_other_rows_and_the_same_one_the_same():
    keys = np.repeat(np.arange(50), 5)
    one, same, other = (
        rows_of_units([as_keys(keys, "who")], 2, secret).tolist()
        for secret in (KEY, bytes(32), b"\1" * 32)
    )
    assert one == same != other


UNITS = {
    "whole numbers": [3, -4],
    "numbers beyond 64 bits": [2**70 + 3, 2**70 + 4],
    "truth values": [True, False],
    "floats": [0.5, -0.0],
    "text": ["ann", "Größe \ud800"],
    "bytes": [b"ann", b"\xff"],
    "decimals": [decimal.Decimal("1.50"), decimal.Decimal(2)],
    "dates": [datetime.date(2020, 1, 1), datetime.date(1900, 1, 1)],
    "moments": [datetime.datetime(2020, 1, 1, 12), datetime.datetime(9999, 1, 1)],
    "uuids": [uuid.UUID(int=5), uuid.UUID(int=5 << 64)],
}


@pytest.mark.claim("P20")
@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
def test_units_of_any_type_keep_rows_of_their_own(units):
    cells = np.empty(100, dtype=object)
    cells[:] = units * 50
    mask = rows_of_units([as_keys(cells, "who")], 3, KEY)
    assert mask[::2].sum() == mask[1::2].sum() == 3
    alone = rows_of_units([as_keys(cells[::2], "who")], 3, KEY)
    assert alone.tolist() == mask[::2].tolist()


def test_the_rows_of_a_secret_are_the_same_in_every_process():
    code = (
        "import numpy as np\n"
        "from dpcov.sensitive.tables.keys import as_keys\n"
        "from dpcov.sensitive.tables.privacy_units import rows_of_units\n"
        "keys = as_keys(np.repeat(['ann', 'bob'], 40), 'who')\n"
        "print(np.flatnonzero(rows_of_units([keys], 3, bytes(32))).tolist())\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        ).stdout
        for _ in range(2)
    }
    assert found == {"[13, 16, 34, 46, 61, 62]\n"}


@pytest.mark.claim("P20")
@pytest.mark.parametrize(
    "pieces",
    [
        [np.array([1], np.uint64), np.array([1], np.int8)],
        [np.array([0.0]), np.array([-0.0])],
        [np.array([2.0**70]), np.array([2.0**70], object)],
        [np.array(["a"], object), np.array(["a"], object)],
        [np.array([decimal.Decimal("1.0")]), np.array([decimal.Decimal("1.00")])],
        [np.array([0.1], np.float32), np.array([np.float32(0.1)], object)],
    ],
)
def test_a_person_in_runs_of_two_types_is_one_person(pieces):
    orders = [[0, 1], [1, 0], [0, 0], [1, 1]]
    for order in orders:
        keys = [as_keys(pieces[each], "who") for each in order]
        assert rows_of_units(keys, 1, KEY).sum() == 1
    # The same row is kept however it is stored.
    kept = {
        tuple(rows_of_units([as_keys(pieces[each], "who") for each in order], 1, KEY).tolist())
        for order in orders
    }
    assert len(kept) == 1


@pytest.mark.claim("P20")
def test_keys_of_two_kinds_are_never_compared():
    numbers, texts = (as_keys(np.array(cells), "who") for cells in ([1, 2], ["1", "2"]))
    assert rows_of_units([numbers, texts.kept(np.zeros(2, bool)), numbers], 1, KEY).sum() == 2
    with pytest.raises(AssertionError, match="of one kind"):
        rows_of_units([numbers, texts], 1, KEY)


def test_no_runs_are_no_rows():
    assert rows_of_units(iter([]), 1, KEY).shape == (0,)


@pytest.mark.parametrize("most", [0, -1, 1.5, True])
def test_a_limit_that_keeps_nothing_is_refused(most):
    with pytest.raises(ParameterError, match="most must be a whole number of at least 1"):
        rows_of_units(runs([1]), most, KEY)


def test_a_unit_with_many_rows_takes_no_more_memory_than_its_limit(monkeypatch):
    monkeypatch.setattr(privacy_units, "_LOGGED_AT_LEAST", 100)
    kept = privacy_units._Kept(5, KEY)
    noted = []
    for _ in range(200):
        kept.add(np.zeros(50, dtype=np.int64))
        noted.append(sum(len(rows) for _, _, rows in kept._notes))
    assert max(noted) <= 2 * 5 + 100 + 50
    assert kept.mask().sum() == 5


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
    capped = UnitSource(source, rows_of_units(source.unit_keys(10), 3, KEY))
    keys = [key for run in capped.unit_keys(10) for key in run.cells]
    assert Counter(keys) == dict.fromkeys(who, 3)
    kept = rows_of_units([as_keys(who, "who")], 3, KEY)
    assert (np.concatenate(list(capped.blocks(5)))[:, 0] == ROWS[kept, 0]).all()


WHO = np.random.default_rng(3).integers(0, 20, 101)
PANEL = pd.DataFrame({"who": WHO, "a": ROWS[:, 0], "w": np.abs(ROWS[:, 1])})


def tables(folder):
    """Return one panel as tables of many kinds, whose ids are whole numbers."""
    arrow = pa.Table.from_pandas(PANEL)
    pq.write_table(arrow, folder / "x.parquet", row_group_size=9)
    yield PANEL
    yield PANEL.astype({"who": object})
    yield pl.from_pandas(PANEL)
    yield pl.from_pandas(PANEL).lazy()
    yield arrow
    yield folder / "x.parquet"
    yield pa.RecordBatchReader.from_batches(arrow.schema, arrow.to_batches(7))
    yield dd.from_pandas(PANEL, npartitions=4)


@pytest.mark.claim("P20")
def test_all_kinds_of_tables_keep_the_same_rows_with_their_weights(tmp_path):
    kept = rows_of_units([as_keys(WHO, "who")], 2, KEY)
    assert kept.sum() == sum(np.minimum(np.bincount(WHO), 2))
    for table in tables(tmp_path):
        opened = open_table(table, select=["a"], privacy_unit="who", weight="w")
        with readable(opened, 2, None) as rows:
            source = limit_rows(rows, 2, KEY)
            whole = split_rows(source, 3) if isinstance(table, dd.DataFrame) else None
            if whole is None:
                found = np.concatenate(list(source.blocks(10)))
            else:  # each piece twice, as when a worker died
                again = [[read(piece) for piece in whole.pieces] for _ in range(2)]
                assert all(map(np.array_equal, *again))
                found = np.concatenate(again[0])
            assert (found == PANEL.loc[kept, ["a", "w"]].to_numpy()).all()


def read(piece):
    rows = piece.open(None if piece.delayed is None else piece.delayed.compute())
    for layer in piece.layers:
        rows = layer(rows)
    return np.concatenate(list(rows.blocks(50)))
