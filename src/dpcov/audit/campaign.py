"""The whole audit: every pair of tables and every planted bug, in a stated time.

Owns how time is shared, how the risk of a wrong word is, and the verdict.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from dpcov.audit.bounds import clopper_pearson_epsilon, gaussian_dp_epsilon
from dpcov.audit.controls import Control, controls
from dpcov.audit.findings import Audit, Finding
from dpcov.audit.neighbor_pair import NeighborPair
from dpcov.audit.neighbors import DELTA, EPSILON, neighbors
from dpcov.audit.sampling import Sampler, Samples
from dpcov.errors import ParameterError
from dpcov.parameters import check_count, check_number

__all__ = ["MINUTES", "run"]

MINUTES = 2.0
"""By default: as long as it takes to catch every planted bug on a slow machine."""

Tell = Callable[[str, float], None]
"""What a progress bar is told: what is attacked, and the share of the work that is done."""

_FEWEST, _MOST = 12, 100_000  # runs on each table
_STEPS = 10  # runs until the bar is told
_EACH = 4  # runs of the slowest line, in each turn
_METHODS = 3  # bounds for each pair: Clopper–Pearson, Gaussian DP, and by what is published


@dataclass(eq=False)
class _Line:
    """A line of the table to be: a mechanism, or a mechanism with a planted bug."""

    pair: NeighborPair
    control: Control | None = None
    sampler: Sampler = field(init=False)
    cost: float = 0.0
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.sampler = self._new_sampler()

    @property
    def title(self) -> str:
        return self.pair.title if self.control is None else self.control.bug

    @property
    def pace(self) -> float:
        """How many runs it gets, against others: fewer if a run is slow, more for a small bug."""
        effort = 1.0 if self.control is None else self.control.effort
        return effort / math.sqrt(math.sqrt(self.cost))

    def try_out(self) -> None:
        """Find out what a run costs; nothing else is taken from these runs."""
        trial = self._new_sampler()
        trial.step()  # the first one loads and remembers
        begun = time.perf_counter()
        trial.step()
        self.cost = max(1e-6, time.perf_counter() - begun)

    def step(self, times: int) -> None:
        """Run so often on both tables."""
        begun = time.perf_counter()
        for _ in range(times):
            self.sampler.step()
        self.seconds += time.perf_counter() - begun

    def _new_sampler(self) -> Sampler:
        if self.control is None:
            return Sampler(self.pair)
        return Sampler(self.control.pair, self.control.plant)


def run(
    *,
    minutes: float = MINUTES,
    runs: int | None = None,
    only: Collection[str] | None = None,
    epsilon: float = EPSILON,
    delta: float = DELTA,
    confidence: float = 0.95,
    progress: Tell | None = None,
) -> Audit:
    """Attack every mechanism as an adversary would, and mechanisms with planted bugs beside it.

    Parameters
    ----------
    minutes : float, default 2
        About how long. More time finds more: the bounds come closer to what is claimed.
    runs : int, optional
        How many runs on each table, instead of a time.
    only : collection of str, optional
        Names of `neighbors` to attack. By default all.
    epsilon, delta : float, default 2 and 0.1
        What the mechanisms are asked to promise. Noise is computed in one way for all promises;
        with a large delta few runs see most of it.
    confidence : float, default 0.95
        With which *all* lower bounds of the table together are below the true epsilons.
    progress : callable, optional
        Is told what is attacked, and which share of the work is done.

    Returns
    -------
    Audit
        A table of findings, and whether all claims hold and all planted bugs were caught.

    Examples
    --------
    >>> from dpcov import audit
    >>> found = audit.run(runs=200, only=["stated-add-remove"], confidence=0.99999)
    >>> found.verdict
    'holds'
    >>> [(each.title, each.verdict) for each in found.findings]
    [('row norm stated, add-remove', 'holds'), ('half the noise', 'caught')]
    """
    check_number("minutes", minutes, low=0.0, high=1e5)
    check_number("confidence", confidence, low=0.0, high=1.0)
    if runs is not None:
        check_count("runs", runs, low=_FEWEST, high=10**7)
    pairs = _chosen(neighbors(epsilon=epsilon, delta=delta), only)
    lines = [
        line
        for pair in pairs
        for line in (_Line(pair), *(_Line(pair, control) for control in controls(pair)))
    ]
    begun = time.monotonic()
    tell = progress or (lambda title, share: None)
    if runs is None:
        _run_for(lines, begun + 60 * minutes, tell)
    else:
        _run_times(lines, runs, tell)
    sure = 1 - (1 - confidence) / (_METHODS * len(pairs))
    findings = tuple(_finding(line, sure) for line in lines)
    return Audit(findings, epsilon, delta, confidence, time.monotonic() - begun)


def _run_times(lines: Sequence[_Line], runs: int, tell: Tell) -> None:
    """Run every line equally often."""
    for place, line in enumerate(lines):
        for done in range(0, runs, _STEPS):
            tell(line.title, (place + done / runs) / len(lines))
            line.step(min(_STEPS, runs - done))


def _run_for(lines: Sequence[_Line], end: float, tell: Tell) -> None:
    """Run all lines in turns until a time.

    The clock knows nothing of scores, and a machine that is busy for a while slows all of them.
    """
    begun = time.monotonic()
    for line in lines:
        tell("trial runs", 0.0)
        line.try_out()
    slowest = min(line.pace for line in lines)
    rounds = 0
    while rounds * _EACH < _FEWEST or time.monotonic() < end:
        for line in lines:
            tell(line.title, min(1.0, (time.monotonic() - begun) / max(1e-9, end - begun)))
            line.step(round(_EACH * line.pace / slowest))
        rounds += 1
        if len(lines[0].sampler) > _MOST:
            break


def _chosen(
    pairs: Sequence[NeighborPair], only: Collection[str] | None
) -> tuple[NeighborPair, ...]:
    if only is None:
        return tuple(pairs)
    known = [pair.name for pair in pairs]
    unknown = sorted(set(only) - set(known))
    if unknown or not only:
        asked = f"got {', '.join(map(repr, unknown))}" if unknown else "got none"
        raise ParameterError(f"only must be some of {', '.join(known)}; {asked}.")
    return tuple(pair for pair in pairs if pair.name in set(only))


def _finding(line: _Line, confidence: float) -> Finding:
    """Say what the runs of a line show."""
    pair, samples = line.sampler.pair, line.sampler.samples()
    return Finding(
        name=pair.name,
        title=line.title,
        bug=None if line.control is None else line.control.bug,
        relation=pair.relation,
        claims=pair.claims,
        claimed=pair.claimed,
        delta=pair.delta,
        bounds=_bounds(pair, samples, confidence),
        most=samples.most(delta=pair.delta) if line.control is None else None,
        runs=len(line.sampler),
        seconds=line.seconds,
    )


def _bounds(pair: NeighborPair, samples: Samples, confidence: float) -> dict[str, float]:
    """Return all lower bounds on ε, by how they were found."""
    facts = {"delta": pair.delta, "confidence": confidence}
    scores = samples.first, samples.second
    found = {"clopper-pearson": clopper_pearson_epsilon(*scores, **facts)}
    if pair.is_gaussian:
        found["gaussian-dp"] = gaussian_dp_epsilon(*scores, **facts, threshold=0.0)
    published = samples.discriminant()
    if published is not None:
        found["published"] = clopper_pearson_epsilon(*published, **facts)
    return found
