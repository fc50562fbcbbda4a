"""What holds for every test: the same examples on any machine, and nothing left behind."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from threadpoolctl import ThreadpoolController

# Hypothesis runs the same examples every time, however slow the machine is.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

# No test opens a window, whatever the machine has.
os.environ["MPLBACKEND"] = "Agg"

# What numpy loaded; asking these few is quicker than looking for all.
POOLS = ThreadpoolController().lib_controllers


def pytest_configure(config):
    """Give each worker process one thread of BLAS: several on one core wait for each other."""
    if config.getoption("numprocesses", None):
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, "1")


def surroundings():
    """Return what a test could leave changed for the next one; pytest keeps warning filters."""
    drawing = getattr(sys.modules.get("matplotlib"), "rcParams", None)
    return {
        # pytest's own, and what importing scikit-learn sets.
        "environment": {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "KMP_"))
        },
        "working folder": Path.cwd(),
        "numpy's errors": np.geterr(),
        "numpy's printing": np.get_printoptions(),
        "threads": [pool.num_threads for pool in POOLS],
        # Past its own reader, which would choose a backend.
        "matplotlib": drawing and {k: v for k, v in dict.items(drawing) if k != "backend"},
    }


def changed(before, after):
    """Return the names of what differs. What was not loaded before cannot be compared."""
    return [name for name, was in before.items() if was is not None and after[name] != was]


@pytest.fixture(autouse=True)
def nothing_is_left_changed():
    """Fail a test that would change the next one: they run in any order."""
    before = surroundings()
    yield
    assert changed(before, surroundings()) == []
