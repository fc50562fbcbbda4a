"""Claim P7: pieces on several threads give the bytes of one reading."""

import threading

import numpy as np
import pytest

from dpcov.columns.missing import Missing
from dpcov.errors import MissingValueError
from dpcov.exact.grid import Grid
from dpcov.exact.threads import allowed_threads
from dpcov.sensitive.engines import threaded
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.engines.threaded import ThreadedEngine
from dpcov.sensitive.sums.gram import GramKernel
from dpcov.sensitive.sums.norm_histogram import NormBinsKernel
from dpcov.sensitive.sums.signs import SignKernel
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.differences import DifferenceSource
from dpcov.sensitive.tables.key_order import KeyOrder
from dpcov.sensitive.tables.pieces import Split, split_rows
from dpcov.sensitive.tables.privacy_units import UnitSource

GRID = Grid(row_norm=1.0, bits=20)
ROWS = np.random.default_rng(0).normal(size=(240_000, 5))
KERNELS = [
    GramKernel(5, GRID, Missing.REFUSE),
    NormBinsKernel(np.geomspace(0.1, 100, 30), 5, Missing.REFUSE),
]


@pytest.fixture(autouse=True)
def several_threads(monkeypatch):
    monkeypatch.setattr(threaded, "allowed_threads", lambda: 3)


def opened(table):
    return open_table(table)


@pytest.mark.claim("P7")
@pytest.mark.parametrize("kernel", KERNELS, ids=["moments", "lengths"])
def test_the_sums_are_those_of_one_thread(kernel):
    source = opened(ROWS)
    assert len(ThreadedEngine()._pieces(source, kernel)) > 1
    expected = SerialEngine().run("sums", source, kernel)
    assert ThreadedEngine().run("sums", source, kernel) == expected


def test_rows_are_read_on_other_threads_and_told_on_this_one():
    told, seen = [], set()

    class Watching(GramKernel):
        def sum_over(self, blocks, *, threads=None):
            seen.add(threading.get_ident())
            assert threads == 1
            return super().sum_over(blocks, threads=threads)

    def tell(name, done, of):
        told.append((name, done, of, threading.get_ident()))

    ThreadedEngine(tell).run("sums", opened(ROWS), Watching(5, GRID, Missing.REFUSE))
    assert threading.get_ident() not in seen
    assert {each[3] for each in told} == {threading.get_ident()}
    assert [each[1] for each in told] == sorted(each[1] for each in told)
    assert told[-1][:3] == ("sums", 240_000, 240_000)


@pytest.mark.parametrize("place", [0, 120_000, 239_999])
def test_a_refusal_in_any_piece_reaches_the_caller(place):
    rows = ROWS.copy()
    rows[place, 2] = np.nan
    with pytest.raises(MissingValueError):
        ThreadedEngine().run("sums", opened(rows), KERNELS[0])


def test_wide_tables_and_short_ones_are_read_in_one_piece():
    engine = ThreadedEngine()
    assert not engine._pieces(opened(ROWS[:100]), KERNELS[0])
    wide = GramKernel(2000, GRID, Missing.REFUSE)
    assert not engine._pieces(opened(np.ones((5000, 2000), dtype=np.int8)), wide)


def test_files_are_read_in_one_piece(tmp_path):
    np.save(tmp_path / "rows.npy", ROWS)
    assert not ThreadedEngine()._pieces(opened(str(tmp_path / "rows.npy")), KERNELS[0])


@pytest.mark.claim("P20")
def test_what_is_done_with_rows_is_done_in_every_piece():
    """Here rows beyond a person's limit are left out."""
    kept = np.random.default_rng(1).random(len(ROWS)) < 0.7
    source = UnitSource(opened(ROWS), kept)
    kernel = NormBinsKernel(np.geomspace(0.1, 100, 30), 5, Missing.REFUSE)
    assert len(ThreadedEngine()._pieces(source, kernel)) == 2
    found = ThreadedEngine().run("lengths", source, kernel)
    assert found.n_rows == np.count_nonzero(kept)
    assert found == SerialEngine().run("lengths", opened(ROWS[kept]), kernel)


@pytest.mark.claim("P19")
def test_rows_whose_place_matters_are_read_in_one_piece():
    engine, source = ThreadedEngine(), opened(ROWS)
    assert engine._pieces(source, KERNELS[0])
    pairs = DifferenceSource(source, seed=1)
    assert not engine._pieces(pairs, GramKernel(5, GRID, Missing.REFUSE))
    assert engine.run("sums", pairs, KERNELS[0]) == SerialEngine().run("sums", pairs, KERNELS[0])

    class InOrder:
        n_rows = len(ROWS)

        def split(self, parts):
            return Split(split_rows(source, parts).pieces, KeyOrder())

    assert not engine._pieces(InOrder(), KERNELS[0])


def test_kernels_that_do_not_say_that_their_sums_are_small_have_one_piece():
    kernel = SignKernel(5, np.zeros(5), None, Missing.REFUSE)
    assert len(ROWS) > 3 * kernel.block_rows
    assert not ThreadedEngine()._pieces(opened(ROWS), kernel)


def test_two_threads_have_two_pieces_and_one_thread_of_blas_each(monkeypatch):
    monkeypatch.setattr(threaded, "allowed_threads", lambda: 2)
    both, allowed = threading.Barrier(2), []

    class Watching(GramKernel):
        def sum_over(self, blocks, *, threads=None):
            both.wait(20)  # for the other thread
            allowed.append(allowed_threads())
            both.wait(20)  # before one sets a limit of its own
            return super().sum_over(blocks, threads=threads)

    found = ThreadedEngine().run("sums", opened(ROWS), Watching(5, GRID, Missing.REFUSE))
    assert found.n_rows == len(ROWS)
    assert allowed == [1, 1]
