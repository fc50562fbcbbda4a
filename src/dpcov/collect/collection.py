"""Collections: reports of one plan that are kept, counted once, and released.

Owns the rules: which plan, what may be added, when it may be released. A store keeps reports and
knows nothing of them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from dpcov.collect.runs import split
from dpcov.collect.store import (
    Facts,
    Outcome,
    State,
    Store,
    database_option,
    find_store,
)
from dpcov.collect.summing import sum_up
from dpcov.errors import CollectionError, ParameterError, ReportError
from dpcov.local.plan import CollectionPlan
from dpcov.local.report import Reports, encode_reports, parse_reports
from dpcov.progress import Tell, show_progress
from dpcov.releases import Collected, Release

__all__ = ["Collection"]

_PIECE = 1 << 15


class Collection:
    """The reports of one plan, on the disk.

    Use `create`, `open` or `create_or_open`. One thread at a time; several processes may share a
    database.

    Notes
    -----
    Claim P51. What is accepted is on the disk, counted once, and released to the bit.

    Examples
    --------
    >>> import tempfile
    >>> from dpcov import collect, local
    >>> plan = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=4.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with collect.Collection.create(folder, plan) as collection:
    ...         report = local.randomize([0.6, 0.6], plan)
    ...         _ = collection.add(report)
    ...         _ = collection.add(report)  # the same bytes again: counted once
    ...         collection.close()
    ...         collection.release()
    Release(1 rows × 2 columns, 4-differential privacy in the local model)
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        try:
            self._facts = store.facts()
        except BaseException:
            store.release_connections()
            raise

    @classmethod
    def create(
        cls, address: str | os.PathLike[str], plan: CollectionPlan, *, simulated: bool = False
    ) -> Collection:
        """Make a collection where there is none.

        Parameters
        ----------
        address : path or str
            A folder, or ``postgresql://…``.
        plan : CollectionPlan
            The plan that is published.
        simulated : bool, default False
            Take simulated reports and none but them; the release then promises nothing.
        """
        if not isinstance(plan, CollectionPlan):
            raise ParameterError("A collection needs a CollectionPlan.")
        store = find_store(address)
        try:
            store.create(Facts(plan, simulated))
        except BaseException:
            store.release_connections()
            raise
        return cls(store)

    @classmethod
    def open(cls, address: str | os.PathLike[str]) -> Collection:
        """Open a collection that is there."""
        return cls(find_store(address))

    @classmethod
    def create_or_open(
        cls, address: str | os.PathLike[str], plan: CollectionPlan, *, simulated: bool = False
    ) -> Collection:
        """Open the collection of a plan, or make it.

        Raises
        ------
        CollectionError
            There is one of another plan.
        """
        try:
            made = cls.open(address)
        except CollectionError:
            try:
                return cls.create(address, plan, simulated=simulated)
            except CollectionError:  # it is there, and cannot be used; or another was faster
                made = cls.open(address)
        if made.plan != plan or made.simulated != simulated:
            made.disconnect()
            raise CollectionError(
                f"{made.name} holds the reports of another plan. State another place for this one."
            )
        return made

    @property
    def name(self) -> str:
        """What messages call it: no password."""
        return self._store.name

    @property
    def plan(self) -> CollectionPlan:
        """The plan that is published."""
        return self._facts.plan

    @property
    def simulated(self) -> bool:
        """Whether its reports are made up."""
        return self._facts.simulated

    @property
    def minimum(self) -> int:
        """The least number of people of a release."""
        return 1 if self.plan.study is None else self.plan.study.minimum

    @property
    def state(self) -> State:
        """How many reports there are, and whether it is closed."""
        return self._store.state()

    def add(self, report: bytes) -> Outcome:
        """Add one report. It is on the disk when this returns.

        Returns
        -------
        Outcome
            Whether it was accepted, which a report that is known with the same bytes is, too.

        Raises
        ------
        ReportError
            It is malformed, or made for another plan.
        """
        return self._store.add([self.parse([report])])[0]

    def add_many(self, reports: Iterable[bytes] | npt.NDArray[np.uint8]) -> Outcome:
        """Add many reports, all or none; see `add`."""
        return self._store.add([self.parse(reports)])[0]

    def add_batches(self, batches: list[Reports]) -> list[Outcome]:
        """Add what came in several requests with one commit, each as a whole or not at all."""
        return self._store.add(batches)

    def parse(self, reports: Iterable[bytes] | npt.NDArray[np.uint8]) -> Reports:
        """Return reports that can be added, or refuse them."""
        parsed = parse_reports(reports, self.plan, simulated=self.simulated)
        if not len(parsed):
            raise ReportError("There is no report.")
        return parsed

    def check_writable(self) -> None:
        """Raise `CollectionError` if nothing could be added."""
        self._store.check_writable()

    def close(self) -> None:
        """End the collection: nothing is added any more. It is final."""
        self._store.close()

    def reports(self) -> Iterator[npt.NDArray[np.uint8]]:
        """Yield all reports as they came, one in each row, in the order of their ids."""
        for run in self._store.in_order():
            for piece in split(run, _PIECE):
                yield encode_reports(self.plan, piece.ids, piece.payloads, simulated=self.simulated)

    def runs(self) -> Iterator[Reports]:
        """Yield all reports in the order of their ids, without what is the same in all."""
        return self._store.in_order()

    def digest(self) -> str:
        """Return the SHA-256 of all reports, one after the other in the order of their ids."""
        digest = hashlib.sha256()
        for table in self.reports():
            digest.update(table.tobytes())
        return digest.hexdigest()

    def release(
        self,
        *,
        interim: bool = False,
        recompute: bool = False,
        progress: bool | Tell | None = None,
    ) -> Release:
        """Add up all reports and release what they say together.

        Parameters
        ----------
        interim : bool, default False
            Whether a collection that is not closed may be released. It costs no privacy:
            reports were paid for on the devices.
        recompute : bool, default False
            Add up every report again, and believe no sums that were kept.
        progress : bool or callable, optional
            Whether to show a bar; by default in a terminal, after two seconds.

        Raises
        ------
        CollectionError
            It is open, or there are fewer reports than the plan's minimum.
        """
        state = self.state
        if not (state.closed or interim):
            raise CollectionError(
                "The collection is open. State --interim (interim=True); or close it first, which "
                f"is final: dpcov collect close{database_option(self.name)}"
            )
        if state.reports < self.minimum:
            raise CollectionError(
                f"There are fewer reports than the plan's minimum for a release, {self.minimum:,}."
            )
        with show_progress(progress) as tell:
            release = sum_up(self._store, recompute=recompute, tell=tell).release()
            digest = self.digest()
        after = self.state
        if not state.closed and after.reports != release.n_rows:
            raise CollectionError(
                "Reports came while they were added up. Close the collection, or try again."
            )
        if after.reports != release.n_rows:
            raise CollectionError(f"The sums of {self.name} are not those of its reports.")
        collected = Collected(plan=self.plan.id, digest=digest, final=state.closed)
        return replace(release, provenance=replace(release.provenance, collected=collected))

    def disconnect(self) -> None:
        """Let go of the database."""
        self._store.release_connections()

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect()

    def __repr__(self) -> str:
        plan, state = self.plan, self.state
        many = "1 report" if state.reports == 1 else f"{state.reports:,} reports"
        where = "closed" if state.closed else "open"
        return f"Collection({many}, {where}, {plan.n_columns} columns, {plan.mechanism})"
