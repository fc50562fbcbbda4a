"""What holds for every test: the same examples and noise on any machine, nothing left behind."""

import os
import signal

import pytest
from hypothesis import settings

from steady_noise import SteadyNoise
from surroundings import changed, surroundings
from time_limits import limit

# Hypothesis runs the same examples every time, however slow the machine is.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

# A shell that starts the tests in the background lets them ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test opens a window, whatever the machine has.
os.environ["MPLBACKEND"] = "Agg"


def pytest_configure(config):
    """Give each worker process one thread of BLAS: several on one core wait for each other.

    Noise is steady in the examples of docstrings, too: they have no conftest.
    """
    config.pluginmanager.register(SteadyNoise())
    if config.getoption("numprocesses", None):
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, "1")


@pytest.fixture(autouse=True)
def nothing_is_left_changed():
    """Fail a test that would change the next one: they run in any order."""
    before = surroundings()
    yield
    assert changed(before, surroundings()) == []


@pytest.fixture(autouse=True)
def processes_have_a_limit_of_time():
    """Fail a test whose process hangs, and let the others run."""
    with pytest.MonkeyPatch.context() as patch:
        limit(patch)
        yield
