"""Being stopped: Ctrl-C, and the system's two other ways to ask for it.

Owns which signals end a command in good order, its exit codes then, and from when on it is too
late: what is complete is a success, until the process has ended.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from dpcov.writing.signals import STOPPING

__all__ = ["Stopped", "exit_code_of", "stoppable", "stoppable_until", "to_the_end_of_the_process"]

_is_complete: list[Callable[[], bool]] = []
_ends_the_process: list[bool] = []


class Stopped(KeyboardInterrupt):
    """A signal that asks to stop, handled like Ctrl-C."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def exit_code_of(stop: KeyboardInterrupt) -> int:
    """Return 128 and the number of the signal, as shells say it: 130 for Ctrl-C.

    Examples
    --------
    >>> exit_code_of(KeyboardInterrupt()), exit_code_of(Stopped(signal.SIGTERM))
    (130, 143)
    """
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


@contextmanager
def stoppable() -> Iterator[None]:
    """Let SIGTERM and SIGHUP stop what is inside like Ctrl-C.

    A signal that somebody chose to ignore, as nohup does, or handles already, is left alone. At
    the end whoever called gets their handlers back; of a process that only ends now, nobody
    does: its exit code is decided.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in STOPPING}
    usual = (signal.SIG_DFL, signal.default_int_handler)
    ours = {number: handler for number, handler in before.items() if handler in usual}
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, signal.SIG_IGN if _ends_the_process else handler)
        _is_complete.clear()


def stoppable_until(is_complete: Callable[[], bool]) -> None:
    """Let no signal stop what is inside `stoppable` once this is so.

    Asked when the signal comes, so that there is no moment between being complete and saying so.
    """
    _is_complete.append(is_complete)


@contextmanager
def to_the_end_of_the_process() -> Iterator[None]:
    """Say that the process ends with the command inside.

    Python takes a while to end, and a signal in that time would make a success look like a
    failure, which somebody would repeat.
    """
    _ends_the_process.append(True)
    try:
        yield
    finally:
        _ends_the_process.pop()


def _stop(number: int, _: object) -> None:
    if not any(is_complete() for is_complete in _is_complete):
        raise Stopped(number)
