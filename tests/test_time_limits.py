"""A process that hangs ends its test, and not the run of all tests."""

import multiprocessing
import subprocess
import sys
import time

import pytest

import time_limits

HANGS = [sys.executable, "-c", "import time; time.sleep(600)"]


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    time_limits.limit(monkeypatch, 0.5)


@pytest.mark.parametrize("options", [{}, {"capture_output": True}])
def test_a_process_that_hangs_is_killed(options):
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run(HANGS, check=False, **options)


def test_a_limit_that_is_stated_is_the_limit():
    done = subprocess.run(
        [sys.executable, "-c", "import time; time.sleep(1)"], timeout=60, check=False
    )
    assert done.returncode == 0


def test_a_worker_that_hangs_is_killed():
    worker = multiprocessing.get_context("spawn").Process(target=time.sleep, args=(600,))
    worker.start()
    with pytest.raises(multiprocessing.TimeoutError):
        worker.join()
    worker.join(60)
    assert not worker.is_alive()
