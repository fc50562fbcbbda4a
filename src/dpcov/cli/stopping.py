"""Being stopped: Ctrl-C, and the system's two other ways to ask for it.

Owns which signals end a command in good order, and its exit codes then.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from dpcov.writing.signals import STOPPING

__all__ = ["Stopped", "exit_code_of", "stoppable"]


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

    A signal that somebody chose to ignore, as nohup does, or handles already, is left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [number for number in STOPPING if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _stop(number: int, _: object) -> NoReturn:
    raise Stopped(number)
