"""A mechanism and two neighboring tables: what an audit attacks.

Owns the value; which there are is `neighbors`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["NeighborPair", "Table"]

Table = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NeighborPair:
    """A mechanism with options, and two neighboring tables that are hard to tell apart.

    Attributes
    ----------
    name, title : str
        For machines and for readers.
    claims : tuple of str
        The claims of docs/privacy.md that it attacks.
    relation : str
        In which way the tables are neighbors.
    epsilon, delta : float
        What is claimed.
    tables : tuple
        Both tables; rows of persons in the local model.
    mechanism : callable
        A table → what is released.
    is_gaussian : bool
        Whether all that is random is Gaussian noise, so that Gaussian-DP bounds hold.
    is_adaptive : bool
        Whether exact numbers may follow from answers before.
    publish : callable, optional
        What was released → the numbers in it, for a test that looks at nothing else.
    score : callable, optional
        What was released → the log-likelihood ratio, where it does not follow from the noise door.

    Examples
    --------
    >>> from dpcov import audit
    >>> pair = next(each for each in audit.neighbors() if each.name == "stated")
    >>> pair
    NeighborPair('stated', (2, 0.1), replace)
    >>> pair.run(0).n_rows
    4
    """

    name: str
    title: str
    claims: tuple[str, ...]
    relation: str
    epsilon: float
    delta: float
    tables: tuple[Any, Any]
    mechanism: Callable[[Any], Any]
    is_gaussian: bool = True
    is_adaptive: bool = True
    publish: Callable[[Any], Table] | None = None
    score: Callable[[Any], float] | None = None
    spent: Callable[[Any], float] | None = field(default=None, repr=False)

    def run(self, side: int) -> Any:
        """Run the mechanism on one of the tables, with noise of the operating system.

        Parameters
        ----------
        side : {0, 1}
            Which of the tables.

        Returns
        -------
        Release, PairsRelease, bytes of a report, or a tuple of releases
        """
        return self.mechanism(self.tables[side])

    @property
    def claimed(self) -> float:
        """The ε that is claimed at `delta`; where a ledger adds up, what it says was spent."""
        return self.epsilon if self.spent is None else self.spent(self.tables[0])

    def __repr__(self) -> str:
        return f"NeighborPair({self.name!r}, ({self.epsilon:g}, {self.delta:g}), {self.relation})"
