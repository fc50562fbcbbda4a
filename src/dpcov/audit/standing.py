"""Who stands at the noise door while an audit runs.

Owns how a function takes the place of a way out. Nothing in the mechanisms knows of it: a context
manager puts functions in the place of those of `mechanisms.noise`, and of the draw of a pairing, in
this process and for the code inside of its ``with`` alone, and takes them away at the end. No
setting, file or variable of the environment leads here.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import ModuleType
from typing import Any

# All that draws must be loaded before somebody stands at the door.
import dpcov.local.gaussian
import dpcov.mechanisms.covariance
import dpcov.mechanisms.strongest_pairs  # noqa: F401
from dpcov.mechanisms import differences, noise

__all__ = ["Way", "standing"]

Way = Callable[..., Any]

# Where the ways out are defined: noise, a selection, and which rows are paired, whatever they are.
_HOMES = {"add_noise": noise, "select_largest": noise, "draw_pairing": differences}
_LOCK = threading.RLock()
# Who stands at the door in this thread and task; others are let through.
_HERE: ContextVar[tuple[object, ...]] = ContextVar("dpcov.audit: who stands at the door")


@contextmanager
def standing(**ways: Callable[[Way], Way]) -> Iterator[None]:
    """Put functions in the place of ways out, for the code inside of the ``with``.

    Each is made of the one that it replaces, so that one who stands there may have another behind.
    Other threads and tasks meanwhile pass as if nobody stood there.
    """
    me = object()
    with _LOCK:
        found = {name: getattr(_HOMES[name], name) for name in ways}
        mine = {name: _for(me, found[name], make(found[name])) for name, make in ways.items()}
        known = [
            (module, name)
            for module in _doors()
            for name, behind in found.items()
            if vars(module).get(name) is behind
        ]
        token = _HERE.set((*_HERE.get(()), me))
        try:
            for module, name in known:
                setattr(module, name, mine[name])
            yield
        finally:
            for module, name in known:
                setattr(module, name, found[name])
            _HERE.reset(token)


def _for(me: object, behind: Way, own: Way) -> Way:
    """Return a function that is `own` to those for whom I stand here, and `behind` to others."""

    def way(*given: Any, **stated: Any) -> Any:
        return (own if me in _HERE.get(()) else behind)(*given, **stated)

    return way


@cache
def _doors() -> tuple[ModuleType, ...]:
    """Return every module of this package that knows one of the ways out."""
    ours = [each for label, each in sys.modules.items() if label.startswith("dpcov.")]
    return tuple(each for each in ours if _HOMES.keys() & vars(each).keys())
