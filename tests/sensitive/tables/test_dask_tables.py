"""Dask arrays and data frames as sources of rows."""

import dask
import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpcov.errors import InputError, MissingValueError
from dpcov.exact.grid import Grid
from dpcov.sensitive.engines.dask_engine import DaskEngine
from dpcov.sensitive.sums.gram import Gram, GramKernel
from dpcov.sensitive.tables import is_streamed, open_table
from dpcov.sensitive.tables.description import describe_table
from dpcov.sensitive.tables.keys import as_keys
from dpcov.sensitive.tables.privacy_units import limit_rows, rows_of_units
from dpcov.sensitive.workers.schedulers import ThreadScheduler

ROWS = np.random.default_rng(0).normal(size=(101, 3))
WHO = [f"person {who}" for who in np.random.default_rng(1).integers(0, 30, 101)]
FRAME = pd.DataFrame(ROWS, columns=list("abc"))
GRID = Grid(row_norm=2.0, bits=16)
CELL = "987654"  # must not be in any message


def gram(source):
    kernel = GramKernel(len(source.columns), GRID, "refuse")
    return DaskEngine(ThreadScheduler()).run("sums", source, kernel)


def expected(rows):
    return Gram.from_rows(np.asarray(rows), grid=GRID)


def frame(npartitions=3, table=FRAME):
    return dd.from_pandas(table, npartitions=npartitions, sort=False)


def from_parts(*parts, meta=None):
    """Return a frame whose partitions are what a caller says, whatever it declares."""
    meta = parts[0] if meta is None else meta
    return dd.from_map(lambda part: part, list(parts), meta=meta.iloc[:0])


@pytest.mark.parametrize("chunks", [(101, 3), (40, 3), (15, 2), (1, 1)])
def test_an_array_gives_its_numbers_however_it_is_chunked(chunks):
    source = open_table(da.from_array(ROWS, chunks=chunks))
    assert source.n_rows == 101
    assert source.columns == ("x0", "x1", "x2")
    assert gram(source) == expected(ROWS)


@pytest.mark.parametrize("npartitions", [1, 3, 7])
def test_a_frame_gives_its_numbers_however_it_is_partitioned(npartitions):
    source = open_table(frame(npartitions))
    assert source.n_rows == 101
    assert source.columns == ("a", "b", "c")
    assert gram(source) == expected(ROWS)


def test_chunks_of_unknown_length_are_counted():
    table = da.from_array(ROWS, chunks=(40, 2))
    source = open_table(table[table[:, 0] > 0])
    assert source.n_rows == (ROWS[:, 0] > 0).sum()
    assert gram(source) == expected(ROWS[ROWS[:, 0] > 0])


def test_chunks_of_unknown_length_are_counted_beside_others():
    table = da.from_array(ROWS, chunks=(40, 3))
    both = da.concatenate([table, table[table[:, 0] > 0]], allow_unknown_chunksizes=True)
    rows = np.concatenate([ROWS, ROWS[ROWS[:, 0] > 0]])
    assert open_table(both).n_rows == len(rows)
    assert gram(open_table(both)) == expected(rows)


@pytest.mark.parametrize("take", [describe_table, open_table])
def test_an_array_of_unknown_width_is_refused_with_a_way_out(take):
    table = da.from_array(ROWS, chunks=(40, 3))
    with pytest.raises(InputError, match=r"call its compute_chunk_sizes\(\) first"):
        take(table[:, table[0] > 0])


class Asked(ThreadScheduler):
    """Remembers how often it is asked."""

    times = 0

    def each(self, tasks):
        self.times += 1
        return super().each(tasks)


def test_rows_are_counted_by_the_scheduler_that_is_given():
    scheduler = Asked()
    open_table(frame(), scheduler=scheduler)
    assert scheduler.times == 1


def test_a_table_in_which_a_partition_is_empty_works():
    source = open_table(from_parts(FRAME[:50], FRAME[:0], FRAME[50:]))
    assert source.n_rows == 101
    assert gram(source) == expected(ROWS)


def test_an_array_in_which_a_chunk_is_empty_works():
    table = da.concatenate([da.from_array(ROWS[:50]), da.zeros((0, 3)), da.from_array(ROWS[50:])])
    assert gram(open_table(table)) == expected(ROWS)


def test_select_reads_some_columns_in_their_order():
    table = frame(table=FRAME.assign(text="x"))
    source = open_table(table, select=["c", "a"])
    assert source.columns == ("c", "a")
    assert gram(source) == expected(ROWS[:, [2, 0]])


def test_select_works_for_arrays():
    source = open_table(da.from_array(ROWS, chunks=(20, 1)), select=["x2", "x0"])
    assert gram(source) == expected(ROWS[:, [2, 0]])


def test_columns_rename_all():
    assert open_table(frame(), ["d", "e", "f"]).columns == ("d", "e", "f")
    assert gram(open_table(frame(), ["d", "e", "f"])) == expected(ROWS)


def test_the_unit_may_be_renamed_to_what_another_column_was_called():
    table = frame(3, FRAME.assign(who=WHO))
    source = limit_rows(open_table(table, ["u", "b", "c", "a"], privacy_unit="a"), 1, bytes(32))
    assert source.n_rows == len(set(WHO))
    assert source.columns == ("u", "b", "c")


@pytest.mark.parametrize("npartitions", [1, 3, 7])
def test_the_first_rows_of_each_unit_are_kept_across_partitions(npartitions):
    table = FRAME.assign(who=WHO)[["a", "who", "b", "c"]]
    kept = rows_of_units([as_keys(np.array(WHO), "who")], 2, bytes(32))
    source = limit_rows(open_table(frame(npartitions, table), privacy_unit="who"), 2, bytes(32))
    assert source.n_rows == kept.sum() < 101
    assert source.columns == ("a", "b", "c")
    assert gram(source) == expected(ROWS[kept])


def test_units_may_be_numbers_in_an_array():
    who = np.random.default_rng(1).integers(0, 30, 101)
    table = da.from_array(np.column_stack([who, ROWS]), chunks=(20, 2))
    kept = rows_of_units([as_keys(who, "x0")], 2, bytes(32))
    source = limit_rows(open_table(table, privacy_unit="x0"), 2, bytes(32))
    assert gram(source) == expected(ROWS[kept])


@pytest.mark.claim("P20")
def test_a_collection_whose_rows_come_in_another_order_is_refused():
    calls = []

    def turn(part):
        calls.append(1)
        # Counted and asked for their units first, then for their cells.
        return part if len(calls) <= 6 else part.iloc[::-1]

    table = frame(3, FRAME.assign(who=WHO)).map_partitions(turn, meta=FRAME.assign(who=WHO)[:0])
    source = limit_rows(open_table(table, privacy_unit="who"), 2, bytes(32))
    with pytest.raises(InputError, match="came in another order"):
        gram(source)
    assert len(calls) >= 9


@pytest.mark.claim("P20")
@pytest.mark.parametrize("other", ["M8[s]", str, float], ids=["moments", "text", "floats"])
def test_a_collection_whose_units_come_in_another_type_is_refused(other):
    calls = []

    def convert(part):
        calls.append(1)
        # Counted and asked for their units first, then for their cells.
        return part if len(calls) <= 6 else part.astype({"who": other})

    whole = FRAME.assign(who=np.arange(101) // 2)
    table = frame(3, whole).map_partitions(convert, meta=whole[:0])
    source = limit_rows(open_table(table, privacy_unit="who"), 1, bytes(32))
    with pytest.raises(InputError, match="with other units"):
        gram(source)


@pytest.mark.claim("P20")
def test_partitions_of_another_type_than_declared_are_refused():
    whole = FRAME.assign(who=np.arange(101) // 2)
    table = from_parts(whole.astype({"who": str}), meta=whole)
    with pytest.raises(InputError, match="one type in all pieces"):
        limit_rows(open_table(table, privacy_unit="who"), 1, bytes(32))


def test_an_empty_partition_may_be_of_any_type():
    whole = FRAME.assign(who=np.arange(101) // 2)
    empty = whole[:0].astype(object)
    table = from_parts(empty, whole, empty, meta=whole)
    source = limit_rows(open_table(table, privacy_unit="who"), 1, bytes(32))
    kept = rows_of_units([as_keys(np.arange(101) // 2, "who")], 1, bytes(32))
    assert gram(source) == expected(ROWS[kept])


def test_a_chunk_may_be_masked_beside_one_that_is_not():
    who = np.arange(2**53, 2**53 + 4)
    plain = np.column_stack([who, [1, 2, 3, 4]])
    masked = np.ma.masked_array(plain, mask=[[False, True]] + [[False, False]] * 3)
    table = da.concatenate([da.from_array(part, chunks=part.shape) for part in (plain, masked)])
    assert limit_rows(open_table(table, privacy_unit="x0"), 1, bytes(32)).n_rows == 4


def test_a_partition_that_changes_its_length_is_refused():
    calls = []

    def grow(part):
        calls.append(1)
        return part if len(calls) <= 3 else pd.concat([part, part])

    source = open_table(frame(3).map_partitions(grow, meta=FRAME[:0]))
    with pytest.raises(InputError, match="another number of rows than when they were counted"):
        gram(source)


def test_masked_and_sparse_chunks_are_read_as_such():
    masked = da.from_array(np.ma.masked_array(ROWS, mask=ROWS > 10), chunks=(40, 3))
    assert gram(open_table(masked)) == expected(ROWS)
    sparse = da.from_array(ROWS, chunks=(40, 3)).map_blocks(
        scipy.sparse.csr_array, meta=scipy.sparse.csr_array((0, 0))
    )
    assert gram(open_table(sparse)) == expected(ROWS)


def test_booleans_integers_and_nulls_are_read_as_in_pandas():
    table = pd.DataFrame(
        {
            "a": pd.array([1, 2, 3], dtype="Int64"),
            "b": [True, False, True],
            "c": np.array([1, 2, 3], dtype=np.int8),
        }
    )
    assert gram(open_table(frame(2, table))) == expected(table.to_numpy(dtype=float))
    table.loc[1, "a"] = None
    with pytest.raises(MissingValueError, match="missing"):
        gram(open_table(frame(2, table)))


def test_a_column_of_text_is_refused_by_its_declared_type():
    with pytest.raises(InputError, match="Column 'text' is of type String, not a number"):
        open_table(frame(table=FRAME.assign(text=CELL)))


def test_an_array_of_text_is_refused_by_its_declared_type():
    with pytest.raises(InputError, match="must hold real numbers; got str_"):
        open_table(da.from_array(np.array([["a", "b"], ["c", "d"]]), chunks=1))


@pytest.mark.parametrize(
    "table",
    [
        dask.bag.from_sequence([1, 2]),
        dask.delayed(np.eye(3)),
        dd.from_pandas(FRAME, npartitions=2)["a"],
        da.ones(5),
        da.ones((2, 2, 2)),
    ],
    ids=["bag", "delayed", "series", "vector", "cube"],
)
def test_what_is_no_table_is_refused(table):
    with pytest.raises(
        InputError, match=r"The table must be a (Dask array or data frame|2-D numpy array)"
    ):
        open_table(table)


@pytest.mark.parametrize(
    "odd",
    [FRAME[["b", "a", "c"]], FRAME.rename(columns={"c": "d"}), FRAME[["a", "b"]]],
    ids=["order", "names", "number"],
)
def test_a_partition_with_other_columns_is_refused(odd):
    with pytest.raises(InputError, match="other columns") as caught:
        gram(open_table(from_parts(FRAME, odd)))
    assert caught.value.__context__ is None


def test_a_partition_of_another_type_is_refused_without_a_cell():
    odd = FRAME.astype({"a": str}).assign(a=CELL)
    with pytest.raises(
        InputError, match=r"Column 'a' is of type|could not compute the table"
    ) as caught:
        gram(open_table(from_parts(FRAME, odd)))
    assert CELL not in str(caught.value)


@pytest.mark.claim("P8")
def test_a_collection_that_cannot_be_computed_repeats_nothing():
    def fail(part):
        raise ValueError(CELL)

    table = frame().map_partitions(fail, meta=FRAME[:0])
    with pytest.raises(InputError, match="Dask could not compute the table") as caught:
        open_table(table)
    assert CELL not in str(caught.value)
    assert caught.value.__context__ is caught.value.__cause__ is None


def test_too_few_rows_are_refused():
    with pytest.raises(InputError, match="1 sample"):
        open_table(da.ones((1, 3)))


def test_a_collection_is_no_table_in_memory():
    assert is_streamed(frame())
    assert is_streamed(da.ones((3, 3)))


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    ("make", "names"), [(frame, "abc"), (lambda: da.from_array(ROWS), ["x0", "x1", "x2"])]
)
def test_a_collection_is_described_without_being_computed(make, names):
    def fail(*anything, **keywords):
        raise AssertionError("computed")

    table = make()
    with dask.config.set(scheduler=fail):
        found = describe_table(table)
    assert [(column.name, column.kind) for column in found] == [(name, "number") for name in names]
