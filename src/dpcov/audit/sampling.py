"""Many runs on both tables, and what an adversary computes from each.

Owns the attack on one pair of tables: the likelihood ratio of all answers of the noise door, and
the numbers that were published.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from dpcov.audit.bounds import plug_in_epsilon, training_size
from dpcov.audit.likelihood import log_likelihood_ratio, squared_distance
from dpcov.audit.neighbor_pair import NeighborPair
from dpcov.audit.passages import Passage
from dpcov.audit.recording import recording, replaying
from dpcov.errors import AuditError
from dpcov.parameters import check_count
from dpcov.privacy import gaussian_epsilon

__all__ = ["Sampler", "Samples", "sample"]

Array = npt.NDArray[np.float64]
_RIDGE = 1e-3  # of the variance of a standardized number


@dataclass(frozen=True, eq=False)
class Samples:
    """What many runs on two neighboring tables say.

    Attributes
    ----------
    first, second : ndarray
        Logs of likelihood ratios of runs on each table; larger speaks for the first.
    distances : ndarray
        μ² of the Gaussian pair of each run, given its answers.
    published : tuple of two ndarray, or None
        The numbers that were published, one row for each run.
    is_gaussian : bool
        Whether Gaussian noise is all that is random.
    """

    first: Array
    second: Array
    distances: Array
    published: tuple[Array, Array] | None
    is_gaussian: bool

    def __repr__(self) -> str:
        return f"Samples({len(self.first):,} runs on each of two tables)"

    def most(self, *, delta: float) -> float:
        """Return the ε that runs without end would find between these two tables.

        Parameters
        ----------
        delta : float
            The δ of the promise.

        Returns
        -------
        float
            For Gaussian noise from the distance of the tables, given the answers; its mean over
            runs, where answers decide what is asked next. Otherwise an estimate from the ratios.
        """
        if not self.is_gaussian:
            return plug_in_epsilon(self.first, self.second, delta=delta)
        distance = math.sqrt(float(self.distances.mean()))
        return gaussian_epsilon(delta=delta, scale=1 / distance) if distance > 0 else 0.0

    def discriminant(self) -> tuple[Array, Array] | None:
        """Return scores from what was published alone, by a rule that some of the runs choose.

        Returns
        -------
        tuple of two ndarray, or None
            Scores by Fisher's linear discriminant. The first third of the runs chose it, as they
            choose the threshold: the others judge.
        """
        if self.published is None:
            return None
        # Numbers of any size: learned limits may be beyond a million.
        runs = [np.arcsinh(each) for each in self.published]
        cut = training_size(len(runs[0]))
        seen = np.concatenate([each[:cut] for each in runs])
        middle, spread = seen.mean(axis=0), seen.std(axis=0)
        runs = [(each - middle) / np.where(spread > 0, spread, 1.0) for each in runs]
        means = [each[:cut].mean(axis=0) for each in runs]
        within = sum(np.atleast_2d(np.cov(each[:cut].T)) for each in runs) / 2
        rule = np.linalg.solve(within + _RIDGE * np.eye(len(middle)), means[0] - means[1])
        return runs[0] @ rule, runs[1] @ rule


def sample(pair: NeighborPair, runs: int) -> Samples:
    """Run a mechanism many times on both tables: for an auditor of your own.

    Parameters
    ----------
    pair : NeighborPair
        One of `neighbors`.
    runs : int
        How often, on each table. Every run has its own noise from the operating system.

    Returns
    -------
    Samples
        ``first`` and ``second`` are scores for any test of whether two laws differ.

    Examples
    --------
    >>> from dpcov import audit
    >>> pair = next(each for each in audit.neighbors() if each.name == "stated")
    >>> samples = audit.sample(pair, 50)
    >>> samples.first.shape, samples.second.shape
    ((50,), (50,))
    """
    check_count("runs", runs, low=1)
    sampler = Sampler(pair)
    for _ in range(runs):
        sampler.step()
    return sampler.samples()


@dataclass
class Sampler:
    """Runs of one pair so far. A bug may be planted while they run."""

    pair: NeighborPair
    plant: Callable[[], AbstractContextManager[object]] = nullcontext
    _scores: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    _distances: list[float] = field(default_factory=list)
    _published: tuple[list[Array], list[Array]] = field(default_factory=lambda: ([], []))
    _fixed: tuple[list[Passage], list[Passage]] | None = None

    def __len__(self) -> int:
        return len(self._scores[1])

    def step(self) -> None:
        """Run once on each table."""
        with warnings.catch_warnings(), self.plant():
            warnings.simplefilter("ignore", UserWarning)  # so few rows, so large a delta
            for side in (0, 1):
                self._run(side)

    def samples(self) -> Samples:
        """Return all runs so far."""
        seen = [np.array(each) for each in self._published] if self._published[0] else None
        return Samples(
            np.array(self._scores[0]),
            np.array(self._scores[1]),
            np.array(self._distances),
            None if seen is None else (seen[0], seen[1]),
            self.pair.is_gaussian,
        )

    def _run(self, side: int) -> None:
        if self.pair.score is not None:
            self._scores[side].append(self.pair.score(self.pair.run(side)))
            return
        with recording() as seen:
            made = self.pair.run(side)
        other = self._given(seen, side)
        ratio = log_likelihood_ratio(seen, other)
        self._scores[side].append(ratio if side == 0 else -ratio)
        self._distances.append(squared_distance(seen, other))
        if self.pair.publish is not None:
            self._published[side].append(self.pair.publish(made))

    def _given(self, seen: Sequence[Passage], side: int) -> list[Passage]:
        """Return what the other table computes, given the same answers."""
        if self._fixed is None:
            with replaying(seen) as other:
                self.pair.run(1 - side)
            if not self.pair.is_adaptive:
                self._fixed = (list(seen), list(other)) if side == 0 else (list(other), list(seen))
            return list(other)
        own, others = self._fixed[side], self._fixed[1 - side]
        if any(not np.array_equal(a.exact, b.exact) for a, b in zip(own, seen, strict=True)):
            raise AuditError("The exact numbers of a mechanism differ from run to run.")
        return [
            Passage(*each.asked, exact=known.exact, answer=each.answer)
            for each, known in zip(seen, others, strict=True)
        ]
