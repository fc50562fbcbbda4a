"""What comes back from a worker travels, and cannot be stored."""

import importlib.util
import pickle
import subprocess
import sys
from multiprocessing.reduction import ForkingPickler

import distributed
import numpy as np
import pytest
from dask.utils import Dispatch
from distributed.protocol import deserialize, serialize, serialize_bytelist
from distributed.spill import SpillBuffer

from dpcov.errors import EngineError, InputError, MissingValueError, SensitiveDataError
from dpcov.exact.grid import Grid
from dpcov.sensitive.sums.gram import Gram, GramKernel
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel
from dpcov.sensitive.sums.signs import SignKernel, Squares
from dpcov.sensitive.tables.key_order import KeyOrder
from dpcov.sensitive.tables.keys import as_keys
from dpcov.sensitive.workers.carried import (
    Carried,
    Refused,
    add_carried,
    allow_transport,
    run_guarded,
)
from dpcov.version import __version__

ROWS = np.random.default_rng(0).normal(scale=0.3, size=(60, 3))
GRID = Grid(row_norm=1.0, bits=20)
KERNELS = {
    "gram": GramKernel(3, GRID, "refuse"),
    "counts": NormBinsKernel(np.array([0.1, 0.5, 1.0]), 3, "refuse"),
    "signs": SignKernel(3, np.zeros(3), Squares(GRID, 1000), "refuse"),
}
NUMBERS = {
    "gram": lambda sums: sums.sums,
    "counts": lambda sums: sums.sums(np.eye(4, dtype=np.int64)),
    "squares": lambda sums: sums.sums,
    "signs": lambda sums: np.append(sums.triangle.full(), sums.squares),
}
MESSAGE = {"sender": {}, "recipient": {}}
CELL = "987654"


def load(name):
    """Return a module of the room, loaded once more, beside the one that is there."""
    found = importlib.util.find_spec(f"dpcov.sensitive.workers.{name}")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def order(start, stop):
    return KeyOrder.of([as_keys(np.arange(start, stop), "who")], start)


@pytest.fixture(autouse=True)
def transport():
    allow_transport()


@pytest.mark.parametrize("kind", KERNELS)
def test_sums_travel_in_a_message(kind):
    sums = KERNELS[kind].sum_over([ROWS])
    frames = serialize(Carried(sums), on_error="raise", context=MESSAGE)
    arrived = deserialize(*frames).sums
    assert type(arrived) is type(sums)
    assert (NUMBERS[kind](arrived) == NUMBERS[kind](sums)).all()
    doubled = NUMBERS[kind](arrived + sums)
    assert (doubled == 2 * NUMBERS[kind](sums)).all()


@pytest.mark.parametrize("kind", KERNELS)
def test_sums_travel_through_multiprocessing(kind):
    sums = KERNELS[kind].sum_over([ROWS])
    arrived = pickle.loads(ForkingPickler.dumps(sums))
    assert (NUMBERS[kind](arrived) == NUMBERS[kind](sums)).all()


@pytest.mark.parametrize("kind", KERNELS)
def test_one_thread_gives_the_same_sums(kind):
    numbers = [
        NUMBERS[kind](KERNELS[kind].sum_over([ROWS], threads=threads)) for threads in (1, 2, None)
    ]
    assert (numbers[0] == numbers[1]).all()
    assert (numbers[0] == numbers[2]).all()


@pytest.mark.parametrize("kind", KERNELS)
def test_sums_refuse_to_be_pickled(kind):
    sums = KERNELS[kind].sum_over([ROWS])
    for value in (sums, Carried(sums)):
        with pytest.raises(SensitiveDataError, match="must not be stored"):
            pickle.dumps(value)


@pytest.mark.parametrize("context", [None, {}, {"sender": {}}])
def test_what_has_no_recipient_is_not_serialized(context):
    carried = Carried(Gram.from_rows(ROWS, grid=GRID))
    with pytest.raises(TypeError, match="Could not serialize"):
        serialize_bytelist(carried, on_error="raise", context=context)


def test_distributed_is_told_how_sums_travel(monkeypatch):
    told = {name: Dispatch(name) for name in ("dask_serialize", "dask_deserialize")}
    for name, dispatch in told.items():
        monkeypatch.setattr(distributed.protocol, name, dispatch)
    allow_transport.__wrapped__()
    frames = told["dask_serialize"](Carried(7), MESSAGE)
    assert told["dask_deserialize"].dispatch(Carried)(*frames).sums == 7


def test_a_worker_tells_it_as_soon_as_it_loads_the_module(monkeypatch):
    module = load("carried")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    frames = serialize(module.Carried(7), on_error="raise", context=MESSAGE)
    assert deserialize(*frames).sums == 7


def test_a_worker_that_spills_keeps_sums_in_memory(tmp_path):
    buffer = SpillBuffer(str(tmp_path), target=5000)
    buffer["rows"] = np.ones(100)
    assert buffer.evict() > 0
    assert list(buffer.slow) == ["rows"], "the buffer spills what it can"
    carried = buffer["sums"] = Carried(Gram.from_rows(ROWS, grid=GRID))
    assert buffer.evict() == -1
    assert buffer.fast["sums"] is carried
    assert list(buffer.slow) == ["rows"]


def test_merging_adds_sums_and_orders():
    one = Carried(Gram.from_rows(ROWS[:20], grid=GRID), order(0, 20))
    other = Carried(Gram.from_rows(ROWS[20:], grid=GRID), order(20, 60))
    both = one + other
    assert both.sums == Gram.from_rows(ROWS, grid=GRID)
    assert both.order == order(0, 60)


@pytest.mark.claim("P20")
def test_an_order_that_one_piece_lacks_is_none_and_not_that_of_the_other():
    """Who compares it with the order that was counted refuses it."""
    assert (Carried(1, order(0, 20)) + Carried(2)).order is None
    assert (Carried(1) + Carried(2, order(0, 20))).order is None
    assert (Carried(1) + Carried(2)).order is None


def test_a_refusal_survives_merging():
    refused = Refused(InputError, "no")
    carried = Carried(1)
    assert add_carried(__version__, carried, refused) is refused
    assert add_carried(__version__, refused, carried) is refused


def test_sums_that_do_not_fit_together_are_refused_as_a_value():
    other = Gram.from_rows(ROWS, grid=Grid(row_norm=2.0, bits=20))
    made = add_carried(__version__, Carried(Gram.from_rows(ROWS, grid=GRID)), Carried(other))
    assert isinstance(made, Refused)
    assert "merge only" in str(made.error)


def fail(error):
    raise error


def test_our_own_errors_come_back_as_they_are():
    refused = run_guarded(__version__, fail, MissingValueError("a cell is missing"))
    assert type(refused.error) is MissingValueError
    assert str(refused.error) == "a cell is missing"


@pytest.mark.claim("P8")
def test_what_a_library_says_does_not_come_back():
    refused = run_guarded(__version__, fail, ValueError(CELL))
    assert type(refused.error) is InputError
    assert CELL not in repr(refused) + refused.reason
    assert refused.error.__cause__ is refused.error.__context__ is None


def test_a_worker_out_of_memory_says_so():
    assert type(run_guarded(__version__, fail, MemoryError(CELL)).error) is MemoryError


def test_a_worker_with_another_version_refuses():
    refused = run_guarded("0.0.0", fail, AssertionError("must not be called"))
    assert type(refused.error) is EngineError
    assert f"has dpcov {__version__}, and 0.0.0 is needed" in refused.reason


def test_sums_alone_do_not_load_distributed():
    code = (
        "import dpcov.sensitive.workers.carried, dpcov.sensitive.workers.schedulers, sys;"
        "print([m for m in ('dask', 'distributed') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ["carried", "schedulers", "tasks"])
def test_modules_load_where_there_is_no_dask(name, monkeypatch):
    for each in [each for each in sys.modules if each.partition(".")[0] == "dask"]:
        monkeypatch.setitem(sys.modules, each, None)
    monkeypatch.delitem(sys.modules, "distributed")
    assert load(name).__all__
    assert "distributed" not in sys.modules
