"""Both ways of a loop: numpy's steps, and compiled."""

from contextlib import contextmanager
from functools import cache

import pytest

from dpcov.exact import binning, scaling, tally
from dpcov.exact.compiled import Loop

NAMES = {
    tally: {"_loop": "_write"},
    scaling: {"_loop": "_write"},
    binning: {"_by_rows": "_write_by_rows", "_by_columns": "_write_by_columns"},
}


@contextmanager
def all_compiled():
    """Take compiled loops from the first cell on."""
    with pytest.MonkeyPatch.context() as patch:
        for module, loops in NAMES.items():
            for name, write in loops.items():
                patch.setattr(module, name, _always(getattr(module, write)))
        yield


@contextmanager
def none_compiled():
    """Take numpy's steps, however much there is to do."""
    with pytest.MonkeyPatch.context() as patch:
        for module, loops in NAMES.items():
            for name in loops:
                patch.setattr(module, name, lambda: Loop(lambda _: None, float("inf")))
        yield


@cache
def _always(write):
    loop = Loop(write, 1)
    assert loop.after(1) is not None
    return lambda: loop
