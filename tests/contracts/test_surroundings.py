"""A test that would change the next one is found out."""

import matplotlib as mpl
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from surroundings import changed, surroundings


def test_nothing_that_changed_is_nothing_found():
    assert changed(surroundings(), surroundings()) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("environment", lambda patch, _: patch.setenv("OMP_NUM_THREADS", "7")),
        ("working folder", lambda patch, folder: patch.chdir(folder)),
        ("numpy's errors", lambda *_: np.seterr(over="ignore")),
        ("numpy's printing", lambda *_: np.set_printoptions(precision=3)),
        ("threads", lambda *_: threadpool_limits(3)),
        ("matplotlib", lambda patch, _: patch.setitem(mpl.rcParams, "font.size", 33.0)),
    ],
)
def test_what_changed_is_named(name, change, monkeypatch, tmp_path):
    with np.errstate(), np.printoptions(), threadpool_limits(2):
        before = surroundings()
        change(monkeypatch, tmp_path)
        assert changed(before, surroundings()) == [name]
