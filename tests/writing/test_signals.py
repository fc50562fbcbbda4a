import signal

import pytest

from dpcov.writing import uninterrupted


def test_ctrl_c_waits_until_the_steps_are_done():
    steps = []

    def work():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("done")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert steps == ["done"]


def test_without_a_signal_handlers_are_as_they_were():
    before = signal.getsignal(signal.SIGINT)
    with uninterrupted():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
