"""Both ways of a loop: numpy's steps, and compiled."""

from contextlib import contextmanager
from functools import cache

import pytest

from dpcov.exact import binning, scaling, tally
from dpcov.exact.compiled import Loop

MODULES = (binning, scaling, tally)


@contextmanager
def all_compiled():
    """Take compiled loops from the first cell on."""
    with pytest.MonkeyPatch.context() as patch:
        for module in MODULES:
            patch.setattr(module, "_loop", _always(module._write))
        yield


@contextmanager
def none_compiled():
    """Take numpy's steps, however much there is to do."""
    with pytest.MonkeyPatch.context() as patch:
        for module in MODULES:
            patch.setattr(module, "_loop", lambda: Loop(lambda _: None, float("inf")))
        yield


@cache
def _always(write):
    loop = Loop(write, 1)
    assert loop.after(1) is not None
    return lambda: loop
