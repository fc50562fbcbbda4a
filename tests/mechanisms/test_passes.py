"""A release reads its rows several times: what a table may do in between, and what not."""

import numpy as np
import polars as pl
import pytest

import dpcov
from dpcov.columns.fields import Field
from dpcov.errors import InputError, MissingValueError
from dpcov.mechanisms import door

CELL = 987654.0  # must not be in any message
N_ROWS = 2000
ROWS = np.random.default_rng(0).normal(size=(N_ROWS, 3))
ROWS[7] = CELL
FRAME = pl.DataFrame(ROWS, schema=["a", "b", "c"])
BUDGET = {"epsilon": 1.0, "delta": 1e-6, "seed": 1}
PASSES = ("columns", "lengths", "moments")


def computed_anew(change):
    """Return a lazy frame that is another one whenever it is computed, and how often it was."""
    calls = []

    def compute(frame):
        calls.append(len(calls))
        return change(frame, calls[-1])

    return FRAME.lazy().map_batches(compute), calls


@pytest.mark.claim("P7")
def test_each_pass_may_have_its_own_order():
    table, calls = computed_anew(lambda frame, call: frame.sample(fraction=1, shuffle=True))
    released = dpcov.release(table, **BUDGET)
    assert len(calls) == 1 + len(PASSES)  # the number of rows, and the rows
    in_memory = dpcov.release(FRAME, **BUDGET)
    assert (released.matrix == in_memory.matrix).all()
    assert (released.mean == in_memory.mean).all()


@pytest.mark.claim("P8")
@pytest.mark.parametrize("other", [N_ROWS - 1, 0, N_ROWS + 1], ids=["fewer", "none", "more"])
@pytest.mark.parametrize("place", range(len(PASSES)), ids=PASSES)
def test_a_table_of_another_length_in_any_pass_is_refused(place, other):
    def change(frame, call):
        return pl.concat([frame, frame]).head(other) if call == 1 + place else frame

    table, _ = computed_anew(change)
    with pytest.raises(InputError, match=r"changed while it was read.*Nothing was") as caught:
        dpcov.release(table, **BUDGET)
    assert f"{CELL:.0f}" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.claim("P8")
@pytest.mark.parametrize("place", range(len(PASSES)), ids=PASSES)
def test_a_cell_that_is_missing_in_any_pass_is_refused_where_gaps_are(place):
    def change(frame, call):
        gap = pl.when(pl.int_range(pl.len()) == 7).then(None).otherwise(pl.col("b")).alias("b")
        return frame.with_columns(gap) if call == 1 + place else frame

    table, _ = computed_anew(change)
    with pytest.raises(MissingValueError, match="missing or infinite cells"):
        dpcov.release(table, **BUDGET, missing="refuse")


class _Shortened:
    """Rows that know their number, do not look whether they have it, and lose some."""

    columns = ("a", "b", "c")
    fields = tuple(map(Field, columns))
    n_rows = N_ROWS

    def __init__(self, readings):
        self.readings = readings

    def blocks(self, size):
        self.readings -= 1
        yield ROWS if self.readings >= 0 else ROWS[:1000]


@pytest.mark.claim("P8")
@pytest.mark.parametrize("readings", range(len(PASSES)))
def test_no_kind_of_table_has_to_look_itself(readings, monkeypatch):
    monkeypatch.setattr(door, "open_table", lambda *_, **__: _Shortened(readings))
    with pytest.raises(InputError, match="changed while it was read") as caught:
        dpcov.release(ROWS, **BUDGET)
    assert f"{CELL:.0f}" not in str(caught.value)
