"""How a reader fails without repeating what a library said: it may have quoted a cell.

Owns the one pattern for it. ``raise … from None`` is not enough, since the exception that
is being handled stays in ``__context__``: the refusal is raised after the handling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from dpcov.errors import DpcovError, InputError

__all__ = ["kind_of", "read_all_or_refuse", "read_or_refuse"]

T = TypeVar("T")

Reason = str | Callable[[Exception], str]


def read_or_refuse(read: Callable[[], T], reason: Reason) -> T:
    """Return what `read` returns, or raise InputError with a reason of our own.

    Examples
    --------
    >>> read_or_refuse(lambda: float("secret"), "The table cannot be read.")
    Traceback (most recent call last):
    dpcov.errors.InputError: The table cannot be read.
    """
    try:
        return read()
    except (DpcovError, MemoryError):
        raise
    except Exception as error:
        failure = error
    # Not before here: what a reason itself raises would be chained to what the library said.
    said = reason if isinstance(reason, str) else reason(failure)
    del failure
    raise InputError(said)


def read_all_or_refuse(parts: Callable[[], Iterable[T]], reason: Reason) -> Iterator[T]:
    """Yield the parts, or raise InputError with a reason of our own."""
    end = object()
    iterator = read_or_refuse(lambda: iter(parts()), reason)
    while True:
        part: Any = read_or_refuse(lambda: next(iterator, end), reason)
        if part is end:
            return
        yield part
        del part  # before the next one is read: it may be large


def kind_of(table: Any) -> str:
    """Return the name of a table's type, which is public."""
    return f"{type(table).__module__}.{type(table).__qualname__}"
