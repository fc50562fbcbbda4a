"""`dpcov.Ledger`: an account of what was promised about the same people, in a database.

Owns the steps, each of them one transaction: all lines are read and checked, the step is
compared with what they say, and a line is added. A refusal is a line, too.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dpcov.errors import BudgetError, LedgerError, ParameterError
from dpcov.ledger.account import Account, Limit, Terms, check_words
from dpcov.ledger.book import FORMAT, LINES_VERSION, Book
from dpcov.ledger.database import Database, find_database
from dpcov.ledger.numbers import event_from_text, event_to_text
from dpcov.ledger.pages import Pages, begun, kept_file
from dpcov.ledger.receipt import Receipt, receipt_of
from dpcov.ledger.statements import stated_event
from dpcov.privacy import Event, Neighbors

__all__ = ["Ledger"]


class Ledger:
    """An account of what was promised about the same people.

    Made by `Ledger.create`, and given to `dpcov.release` and `dpcov.release_pairs`. It holds an
    address and names, and no connection: it may be copied, and used in any process.

    Parameters
    ----------
    address : path or str
        A file, or ``postgresql://…``. It must be there, and as it was written.
    accounts : sequence of str, optional
        The populations to charge, all of them or none. By default the only one.
    data_set : str, optional
        What the table is called. File names and contents are never stored.

    Notes
    -----
    Claim P41. What is to be spent is on the disk before a random word is drawn for it.

    Examples
    --------
    >>> import dpcov, numpy as np, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = dpcov.Ledger.create(
    ...     pathlib.Path(folder.name, "budget.db"),
    ...     population="Panel 2026",
    ...     owner="Data office",
    ...     epsilon=3.0,
    ...     delta=1e-6,
    ... )
    >>> rows = np.random.default_rng(0).normal(size=(5000, 3))
    >>> for _ in range(2):
    ...     release = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=4.0, ledger=ledger)
    >>> ledger.account("Panel 2026").releases
    2
    >>> round(ledger.account("Panel 2026").spent, 3)  # and not 2
    1.455
    >>> folder.cleanup()
    """

    def __init__(
        self,
        address: str | os.PathLike[str],
        *,
        accounts: Sequence[str] | None = None,
        data_set: str = "",
    ) -> None:
        if isinstance(accounts, str):
            raise ParameterError("accounts must be a sequence of populations.")
        self.address = os.fspath(address)
        self.accounts = None if accounts is None else tuple(accounts)
        self.data_set = check_words("data_set", data_set, empty=True)
        with self.reading() as pages:
            self.chosen(pages.book)

    def __repr__(self) -> str:
        return f"Ledger({self.database.name!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.address, self.accounts, self.data_set))

    @property
    def database(self) -> Database:
        """The database that the address means."""
        return find_database(self.address)

    @classmethod
    def create(
        cls,
        address: str | os.PathLike[str],
        *,
        population: str,
        owner: str,
        epsilon: float,
        delta: float,
        neighbors: str = "replace",
        privacy_unit: str | None = None,
        data_sets: Sequence[str] = (),
        counting: str | None = None,
        stated_delta: float = 0.0,
    ) -> Ledger:
        """Make a ledger where there is none, with one account.

        Parameters
        ----------
        address : path or str
            A file that is not there, or the ``postgresql://…`` of a database without a ledger.
        population : str
            Who the people are: the name of the account.
        owner : str
            Who may change its limit.
        epsilon, delta : float
            The limit of all that is charged to it together.
        neighbors : {"replace", "add-remove", "local"}
            Which tables its promises compare.
        privacy_unit : str, optional
            The column that says whose row it is, when its promises are about all rows of one
            person together.
        data_sets : sequence of str, optional
            The only data sets of these people. By default any, named or not.
        counting : {"gaussian", "zcdp"}, optional
            How costs are added up: exactly for Gaussian noise alone, or for selections and other
            tools as well. By default the first charge decides.
        stated_delta : float, default 0
            The part of delta for promises that are stated as (epsilon, delta).

        Returns
        -------
        Ledger
        """
        limit = Limit.of(epsilon, delta, stated_delta)
        terms = Terms.of(
            population=population,
            owner=owner,
            neighbors=neighbors,
            privacy_unit=privacy_unit,
            counting=counting,
            data_sets=data_sets,
        )
        with find_database(address).create() as session:
            pages = Pages(session, [])
            pages.add("ledger", format=FORMAT, version=LINES_VERSION, id=secrets.token_hex(16))
            pages.add("account", **_written_terms(terms), **limit.written())
        return cls(address, accounts=[population])

    @classmethod
    def open(cls, address: str | os.PathLike[str]) -> Ledger:
        """Return a ledger with all of its accounts, to look at it and to keep it.

        Parameters
        ----------
        address : path or str
            As for `Ledger`.
        """
        with find_database(address).reading() as session:
            names = list(Pages(session, begun(session.lines())).book.accounts)
        return cls(address, accounts=names)

    def add_account(self, *, population: str, owner: str, **stated: Any) -> None:
        """Open another account in the same database, so that both can be charged at once.

        Parameters
        ----------
        population, owner
            See `create`.
        **stated
            ``epsilon``, ``delta`` and what else `create` takes.
        """
        limit = Limit.of(
            stated.pop("epsilon", None), stated.pop("delta", None), stated.pop("stated_delta", 0.0)
        )
        asked = {"neighbors": "replace", "privacy_unit": None, "counting": None, "data_sets": ()}
        if not set(stated) <= set(asked):
            raise ParameterError(
                f"An account has no {', '.join(sorted(set(stated) - set(asked)))}."
            )
        terms = Terms.of(population=population, owner=owner, **(asked | stated))
        with self.writing() as pages:
            if population in pages.book.accounts:
                raise LedgerError(f"There is an account {population!r} already.")
            pages.add("account", **_written_terms(terms), **limit.written())

    def account(self, population: str | None = None) -> Account:
        """Return an account as it is now: limit, what is spent and what is left.

        Parameters
        ----------
        population : str, optional
            By default the only one that this ledger charges.
        """
        with self.reading() as pages:
            return pages.book.account(population or self._only(pages.book))

    def change_limit(
        self,
        *,
        by: str,
        reason: str,
        population: str | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        stated_delta: float | None = None,
    ) -> None:
        """Change the limit of an account. Only its owner may, and the reason is kept.

        Parameters
        ----------
        by, reason : str
            The owner, as the account names them, and why.
        population : str, optional
            By default the only account.
        epsilon, delta, stated_delta : float, optional
            The new limit; what is not stated stays.
        """
        check_words("reason", reason)
        with self.writing() as pages:
            name = population or self._only(pages.book)
            account = pages.book.account(name)
            _check_owner(account, by)
            old = account.limit
            limit = Limit.of(
                old.epsilon if epsilon is None else epsilon,
                old.delta if delta is None else delta,
                old.stated_delta if stated_delta is None else stated_delta,
            )
            pages.add("limit", account=name, by=by, reason=reason, **limit.written())

    def enter(
        self,
        name: str,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        multiplier: float | None = None,
        neighbors: str | None = None,
        privacy_unit: str | None = None,
        made: bool = False,
    ) -> int:
        """Enter what another tool releases about the same people, or a collection of reports.

        Parameters
        ----------
        name : str
            What it is.
        epsilon, delta : float, optional
            A promise; without delta a pure one.
        rho : float, optional
            A promise of zCDP.
        multiplier : float, optional
            Gaussian noise: its standard deviation over the ℓ₂ sensitivity.
        neighbors : {"replace", "add-remove", "local"}, optional
            Which tables the promise compares; by default those of the account.
        privacy_unit : str, optional
            Whose rows it protects; by default as the account.
        made : bool, default False
            It is out already: it is entered even if it does not fit.

        Returns
        -------
        int
            The number of the line.
        """
        check_words("name", name)
        event = stated_event(name, epsilon, delta, rho, multiplier)
        with self.writing() as pages:
            chosen = self.chosen(pages.book)
            terms = pages.book.account(chosen[0]).terms
            said = self.charge_of(
                pages.book,
                [event],
                neighbors=terms.neighbors if neighbors is None else Neighbors.parse(neighbors),
                privacy_unit=terms.privacy_unit if privacy_unit is None else privacy_unit,
                complete=False,
            )
            fits = self.try_charge(pages, "entry", said | {"made": made}, request="")
            if fits is None:
                return pages.add("entry", name=name, made=made, **said)
        raise fits

    def give_back(self, number: int, *, by: str, reason: str) -> None:
        """Give back a reservation for which no noise was drawn. Only the owner may.

        Parameters
        ----------
        number : int
            The line of the reservation.
        by, reason : str
            The owner, as the account names them, and why.

        Notes
        -----
        Claim P41. Whoever draws noise says so in the ledger before, and can no more if it was
        given back.
        """
        check_words("reason", reason)
        with self.writing() as pages:
            found = pages.book.reservation(number, "reserved")
            for population in found.accounts:
                _check_owner(pages.book.account(population), by)
            pages.add("return", reservation=number, by=by, reason=reason)

    def receipt(self, sha256: str) -> Receipt:
        """Return what a card says of the ledger about a release.

        Parameters
        ----------
        sha256 : str
            The digest of the release's file.
        """
        with self.reading() as pages:
            return receipt_of(pages.lines, sha256)

    def lines(self) -> list[dict[str, Any]]:
        """Return what all lines say, in order, each with its hash."""
        with self.reading() as pages:
            return [line.read() | {"hash": line.hash} for line in pages.lines]

    def look(self) -> tuple[Book, list[dict[str, Any]]]:
        """Return what all lines say together, and each of them, as of one moment."""
        with self.reading() as pages:
            return pages.book, [line.read() | {"hash": line.hash} for line in pages.lines]

    def verify(self) -> str:
        """Check every line, every sum and every release that is kept; return the last hash."""
        with self.reading() as pages:
            for reservation in pages.book.reservations.values():
                if reservation.sha256 is not None:
                    kept_file(pages, reservation.sha256)
            return pages.lines[-1].hash

    @contextmanager
    def writing(self) -> Iterator[Pages]:
        """Open the ledger for one step that adds lines, and excludes all others meanwhile."""
        with self.database.writing() as session:
            yield Pages(session, begun(session.lines()))

    @contextmanager
    def reading(self) -> Iterator[Pages]:
        """Open the ledger to be looked at."""
        with self.database.reading() as session:
            yield Pages(session, begun(session.lines()))

    def chosen(self, book: Book) -> tuple[str, ...]:
        """Return the populations that are charged, or refuse."""
        if self.accounts is None:
            return (self._only(book),)
        if not self.accounts or len(set(self.accounts)) != len(self.accounts):
            raise ParameterError("accounts must name one or more populations, each once.")
        for population in self.accounts:
            book.account(population)
        return self.accounts

    def charge_of(
        self,
        book: Book,
        events: Sequence[Event],
        *,
        neighbors: Neighbors,
        privacy_unit: str | None,
        complete: bool,
    ) -> dict[str, Any]:
        """Return the fields of a line that charges events."""
        return {
            "accounts": list(self.chosen(book)),
            "data_set": self.data_set,
            "neighbors": neighbors.value,
            "privacy_unit": privacy_unit,
            "complete": complete,
            "events": [event_to_text(event) for event in events],
        }

    def try_charge(
        self, pages: Pages, what: str, said: Mapping[str, Any], *, request: str
    ) -> Exception | None:
        """Return None if a charge fits; if not, write the refusal down and return it."""
        events = tuple(event_from_text(each) for each in said["events"])
        try:
            pages.book.check(said, events)
        except (BudgetError, LedgerError, ParameterError) as error:
            fields = {name: value for name, value in said.items() if name != "made"}
            pages.add("refusal", what=what, request=request, reason=str(error), **fields)
            return error
        return None

    def _only(self, book: Book) -> str:
        if self.accounts is not None and len(self.accounts) == 1:
            return self.accounts[0]
        if self.accounts is None and len(book.accounts) == 1:
            return next(iter(book.accounts))
        listed = ", ".join(map(repr, book.accounts))
        raise LedgerError(f"The ledger has several accounts; name one or more of {listed}.")


def _written_terms(terms: Terms) -> dict[str, Any]:
    return {
        "population": terms.population,
        "owner": terms.owner,
        "neighbors": terms.neighbors.value,
        "privacy_unit": terms.privacy_unit,
        "counting": None if terms.counting is None else terms.counting.value,
        "data_sets": list(terms.data_sets),
    }


def _check_owner(account: Account, by: str) -> None:
    if by != account.terms.owner:
        raise LedgerError(
            f"Only the owner of the account {account.terms.population!r}, "
            f"{account.terms.owner!r}, may do this."
        )
