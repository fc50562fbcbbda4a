"""What comes back from a worker: sums that may travel and not be stored, or a refusal.

Owns the way of sums between the processes of a Dask cluster. A worker that writes what it
holds to disk (spilling) gets the same refusal as pickle does: only a message to another
process, which names its recipient, may carry sums. A refusal comes back as a value and not
as an exception, since Dask would write an exception with the task's arguments to its logs.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing.reduction import ForkingPickler
from typing import Any

from dpcov.errors import DpcovError, EngineError, InputError
from dpcov.exact.sealed import Sealed
from dpcov.version import __version__

__all__ = ["Carried", "Refused", "add_carried", "allow_transport", "run_guarded"]

_FAILED = (
    "A part of the table could not be read. What a library said about it may quote a cell and is "
    "not repeated. Nothing was released."
)


class Carried(Sealed):
    """Sums of a piece and the order of its units; merge with ``+``.

    Parameters
    ----------
    sums : object
        What a kernel made. Sensitive.
    order : object, optional
        The digest of the unit column, if there is one; merged with ``+``, too.
    """

    __slots__ = ("order", "sums")

    sums: Any
    order: Any

    def __init__(self, sums: Any, order: Any = None) -> None:
        self._hold(sums=sums, order=order)

    def __add__(self, other: object) -> Carried:
        if not isinstance(other, Carried):
            return NotImplemented
        order = None
        if self.order is not None and other.order is not None:
            order = self.order + other.order
        return Carried(self.sums + other.sums, order)

    def __repr__(self) -> str:
        return "Carried()"


@dataclass(frozen=True)
class Refused:
    """Why a piece was not summed: one of our errors, without what it was chained to."""

    kind: type[Exception]
    reason: str

    @property
    def error(self) -> Exception:
        """The error, to be raised here."""
        return self.kind(self.reason) if self.reason else self.kind()

    def __repr__(self) -> str:
        return f"Refused({self.kind.__name__})"


def run_guarded(version: str, function: Any, *arguments: Any) -> Any:
    """Run a function on a worker, and return its value or a `Refused`."""
    if version != __version__:
        return Refused(
            EngineError,
            f"A worker has dpcov {__version__}, and {version} is needed: rows must be clipped and "
            "rounded in one way. Install the same version everywhere.",
        )
    try:
        return function(*arguments)
    except DpcovError as error:
        return Refused(type(error), str(error))
    except MemoryError:
        return Refused(MemoryError, "")
    except Exception:
        return Refused(InputError, _FAILED)


def add_carried(version: str, one: Any, other: Any) -> Any:
    """Merge what two tasks returned; a refusal stays one."""
    for each in (one, other):
        if isinstance(each, Refused):
            return each
    return run_guarded(version, lambda: one + other)


def _dump(value: Carried, context: Any = None) -> tuple[dict[str, Any], list[Any]]:
    # A message has a recipient; what is written to disk has none.
    if not context or "recipient" not in context:
        value._refuse_storage()
    return {}, [ForkingPickler.dumps((value.sums, value.order))]


def _load(header: dict[str, Any], frames: list[Any]) -> Carried:
    return Carried(*pickle.loads(b"".join(frames)))  # noqa: S301  # from a worker, as all of Dask


@lru_cache(maxsize=1)
def allow_transport() -> None:
    """Tell distributed how sums travel."""
    from distributed.protocol import dask_deserialize, dask_serialize

    dask_serialize.register(Carried)(_dump)
    dask_deserialize.register(Carried)(_load)


# A worker that receives sums loads this module first, and has distributed. Others need not.
if "distributed" in sys.modules:
    allow_transport()
