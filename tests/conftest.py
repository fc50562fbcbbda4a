"""What holds for every test: the same examples and noise on any machine, nothing left behind."""

import os
import signal

import pytest
from hypothesis import settings

from steady_noise import NOISE, make_noise_steady
from surroundings import changed, surroundings

# Hypothesis runs the same examples every time, however slow the machine is.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")

make_noise_steady()

# A shell that starts the tests in the background lets them ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test opens a window, whatever the machine has.
os.environ["MPLBACKEND"] = "Agg"


def pytest_configure(config):
    """Give each worker process one thread of BLAS: several on one core wait for each other."""
    if config.getoption("numprocesses", None):
        for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
            os.environ.setdefault(name, "1")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef, request):
    """Name the noise of a fixture after it, and not after the test that happens to need it."""
    place = getattr(request, "param_index", 0)
    with NOISE.named(f"{request.node.nodeid}, {fixturedef.argname}, {place}"):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Name the noise of a test after it."""
    with NOISE.named(item.nodeid):
        return (yield)


@pytest.fixture(autouse=True)
def nothing_is_left_changed():
    """Fail a test that would change the next one: they run in any order."""
    before = surroundings()
    yield
    assert changed(before, surroundings()) == []
