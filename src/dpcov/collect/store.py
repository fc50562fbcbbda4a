"""Stores: what a collection asks of a database, whichever it is.

Owns the protocol that SQLite and PostgreSQL fulfill, what became of reports that were added, and
which store an address means.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from dpcov.errors import CollectionError
from dpcov.local.plan import CollectionPlan
from dpcov.local.report import Reports

__all__ = [
    "DATABASE_VARIABLE",
    "Facts",
    "Outcome",
    "State",
    "Store",
    "Sums",
    "database_option",
    "find_store",
    "is_postgresql",
    "other_schema",
]


class Outcome(Enum):
    """What became of reports that came together."""

    ACCEPTED = "accepted"
    """All are on the disk, new or known with the same bytes."""
    CONFLICT = "conflict"
    """An id is known with other bytes. None was added."""
    CLOSED = "closed"
    """The collection is closed, and not all of them are known. None was added."""


@dataclass(frozen=True)
class Facts:
    """What a collection is about: fixed when it is made."""

    plan: CollectionPlan
    simulated: bool


@dataclass(frozen=True)
class State:
    """Where a collection is."""

    reports: int
    closed: bool


@dataclass(frozen=True)
class Sums:
    """Sums of the first reports in the order of a store, so that they need not be added again.

    Parameters
    ----------
    through : bytes
        What they cover, in words of the store.
    reports : int
        How many.
    sums : bytes
        The whole table, as 64-bit integers.
    """

    through: bytes
    reports: int
    sums: bytes


class Store(Protocol):
    """A database that holds at most one collection. One thread uses it at a time."""

    @property
    def name(self) -> str:
        """What messages call it: no password."""

    def create(self, facts: Facts) -> None:
        """Make a collection where there is none."""

    def facts(self) -> Facts:
        """Return what the collection is about, or refuse what is none."""

    def state(self) -> State:
        """Return where it is."""

    def add(self, batches: Sequence[Reports]) -> list[Outcome]:
        """Add reports, each batch as a whole or not at all.

        What is accepted is on the disk when this returns.
        """

    def check_writable(self) -> None:
        """Raise `CollectionError` if nothing could be added."""

    def close(self) -> None:
        """End the collection. It is final, and harmless when it was closed before."""

    def in_order(self) -> Iterator[Reports]:
        """Yield all reports, in the order of their ids."""

    def after(self, through: bytes | None) -> Iterator[tuple[Reports, bytes | None]]:
        """Yield reports beyond a checkpoint, in any order, with a checkpoint behind them.

        Reports that a later checkpoint could not cover come last, with None.
        """

    def checkpoint(self) -> Sums | None:
        """Return the sums that were kept."""

    def keep(self, sums: Sums) -> None:
        """Keep sums, in the place of those that were kept before."""

    def release_connections(self) -> None:
        """Let go of what is open."""


def is_postgresql(address: str | os.PathLike[str]) -> bool:
    """Return whether an address is that of a PostgreSQL database."""
    return os.fspath(address).startswith(("postgresql://", "postgres://"))


DATABASE_VARIABLE = "DPCOV_COLLECT_DATABASE"
"""The variable of the environment in which commands look for a collection first."""


def database_option(name: str) -> str:
    """Return the option by which commands find a collection again, if they need one.

    `name` is what messages call it, so that no user and no password is in it.

    Examples
    --------
    >>> database_option("sleep study")
    " --database 'sleep study'"
    """
    if find_store(os.environ.get(DATABASE_VARIABLE, "collection")).name == name:
        return ""
    address = name.replace("postgresql://local/", "postgresql:///", 1)
    return f" --database {shlex.quote(address)}"


def find_store(address: str | os.PathLike[str]) -> Store:
    """Return the store that an address means: a folder, or ``postgresql://…``."""
    text = os.fspath(address)
    if is_postgresql(text):
        from dpcov.collect.postgresql_store import PostgresqlStore

        return PostgresqlStore(text)
    if "://" in text:
        raise CollectionError(
            "A collection is a folder, or the address of a PostgreSQL database: postgresql://…"
        )
    from dpcov.collect.sqlite_store import SqliteStore

    return SqliteStore(text)


def other_schema(name: str, schema: int, reads: int) -> CollectionError:
    """Return the refusal of a collection that another version made."""
    return CollectionError(
        f"{name} has schema {schema}; this version of dpcov reads {reads}. Close and release it "
        "with the version of dpcov that made it: nobody has to answer again."
    )
