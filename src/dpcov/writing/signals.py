"""Steps that belong together, whenever Ctrl-C comes.

Owns the delay: a signal that a handler of Python's would turn into an exception waits until
the steps are done. They are a few calls to the system, so nobody notices.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["STOPPING", "uninterrupted"]

STOPPING = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Signals that ask a program to stop, as far as the system has them."""


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let no handler run inside; what arrived is delivered at the end."""
    if threading.current_thread() is not threading.main_thread():  # no handler runs elsewhere
        yield
        return
    arrived: list[int] = []
    handlers = {number: signal.getsignal(number) for number in STOPPING}
    ours = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in ours:
        signal.signal(number, lambda number, _: arrived.append(number))
    try:
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        if arrived:
            signal.raise_signal(arrived[0])
