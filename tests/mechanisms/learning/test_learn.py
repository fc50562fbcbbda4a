"""Learning as a whole: the same from every engine, and what it refuses."""

import dask.array as da
import numpy as np
import pytest

from dpcov.columns.missing import Missing
from dpcov.errors import InputError, MissingValueError, ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning.budget import plan_learning
from dpcov.mechanisms.learning.learn import learn
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.tuning import Tuning
from dpcov.privacy import ApproxDP
from dpcov.releases.learned import Known
from dpcov.sensitive.engines.dask_engine import DaskEngine
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.sums.cell_counts import CellKernel
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.workers.schedulers import ThreadScheduler
from wiring.learning import same

ROWS = np.random.default_rng(0).lognormal(size=(3001, 4)) * [1.0, -1e9, 1e-6, 50.0]
NAN = np.nan


def learned_from(source, facts=None, engine=None, missing=Missing.REFUSE, **tuning):
    facts = Stated.nothing(4) if facts is None else facts
    return learn(
        source,
        facts,
        plan_learning(ApproxDP(3.0, 1e-6, "replace"), facts),
        missing=missing,
        engine=engine or SerialEngine(),
        stream=RandomStream.from_seed(9),
        tuning=Tuning(**tuning),
    )


@pytest.mark.claim("P7")
@pytest.mark.parametrize("parts", [2, 5])
def test_pieces_and_blocks_are_not_seen(parts, monkeypatch):
    whole = learned_from(open_table(ROWS))
    engine = DaskEngine(ThreadScheduler(), parts=parts)
    assert same(learned_from(open_table(ROWS), engine=engine), whole)
    for kernel in (CellKernel, NormBinsKernel):
        monkeypatch.setattr(kernel, "block_rows", 97)
    assert same(learned_from(open_table(ROWS)), whole)


@pytest.mark.claim("P7")
def test_a_dask_array_is_learned_from_as_a_table_is():
    scheduler = ThreadScheduler()
    source = open_table(da.from_array(ROWS, chunks=(1000, 3)), scheduler=scheduler)
    whole = learned_from(open_table(ROWS))
    assert same(learned_from(source, engine=DaskEngine(scheduler)), whole)


def test_what_is_stated_is_used_and_marked():
    facts = Stated(
        lower=np.array([0.0, -np.inf, -np.inf, 0.0]),
        upper=np.array([9.0, 0.0, np.inf, np.inf]),
        center=np.array([NAN, NAN, NAN, 80.0]),
        scale=np.array([NAN, NAN, 2e-6, 70.0]),
    )
    reading, found, events = learned_from(open_table(ROWS), facts)
    assert found.known_range.tolist() == [Known.STATED, Known.LEARNED, Known.LEARNED, Known.STATED]
    assert found.known_center.tolist() == [Known.LEARNED] * 3 + [Known.STATED]
    assert found.known_scale.tolist() == [Known.LEARNED] * 2 + [Known.STATED] * 2
    assert found.center[3] == 80.0
    assert found.scale[2:].tolist() == [2e-6, 70.0]
    assert (found.lower >= facts.lower).all()
    assert (found.upper <= facts.upper).all()
    assert reading.scale is found.scale
    names = ["range", "center", "limit", "mean", "scale", "beyond", "radius"]
    assert [event.name for event in events] == names


def test_missing_cells_are_refused_or_count_for_nothing():
    rows = ROWS.copy()
    rows[::3, 0] = NAN
    with pytest.raises(MissingValueError):
        learned_from(open_table(rows))
    _, found, _ = learned_from(open_table(rows), missing=Missing.CENTER)
    _, complete, _ = learned_from(open_table(ROWS))
    assert found.upper[0] == pytest.approx(complete.upper[0], rel=0.5)


def test_a_table_of_nothing_but_gaps_is_learned_from_without_a_word():
    rows = np.full((200, 4), NAN)
    _, found, _ = learned_from(open_table(rows), missing=Missing.CENTER)
    assert np.isfinite(found.scale).all()


@pytest.mark.parametrize("offset", [0.0, 1e15, 1e90])
@pytest.mark.parametrize("width", [1e-3, 1.0, 1e80])
def test_bounds_of_every_size_are_learned_within(offset, width):
    lower, upper = np.full(4, offset), np.full(4, max(offset + width, np.nextafter(offset, np.inf)))
    facts = Stated(lower=lower, upper=upper, center=np.full(4, NAN), scale=np.full(4, NAN))
    rows = lower + (upper - lower) * np.random.default_rng(1).random((300, 4))
    _, found, _ = learned_from(open_table(rows), facts)
    assert (found.lower >= lower).all()
    assert (found.upper <= upper).all()


def test_other_columns_streams_and_empty_tables_are_refused():
    with pytest.raises(ParameterError, match="columns of the table"):
        learned_from(open_table(ROWS[:, :3]))
    with pytest.raises(InputError, match="no rows"):
        learned_from(_Rows(0))
    with pytest.raises(InputError, match="read only once"):
        learned_from(_Rows(None))


class _Rows:
    columns = ("a", "b", "c", "d")

    def __init__(self, n_rows):
        self.n_rows = n_rows

    def blocks(self, size):
        pytest.fail("read a row")


def test_constants_beyond_what_is_planned_for_are_refused():
    with pytest.raises(ParameterError, match="planned for"):
        Tuning(center_steps=17)
    with pytest.raises(ParameterError, match="planned for"):
        Tuning(cell_steps=1 << 13)
