"""The noise door, recorded and replayed: what was asked of it, and what came out.

Owns two who stand there: one who notes what passes, and one who gives known answers. A release
that was made meanwhile says that it promises nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from dpcov.audit.passages import Integers, Passage, Recording
from dpcov.audit.standing import Way, standing
from dpcov.errors import AuditError
from dpcov.exact.randomness import RandomStream

__all__ = ["recording", "replaying"]


@contextmanager
def recording() -> Iterator[Recording]:
    """Record what passes the noise door: for an audit, and never for real data.

    Yields
    ------
    Recording
        It has a `Passage` for each time that noise was added or a selection was made, as soon as
        it was. The noise is the mechanism's own. But whoever has a recording can take the noise
        away, so what was released meanwhile says that it promises nothing.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from dpcov import audit
    >>> rows = np.random.default_rng(0).normal(scale=0.3, size=(100, 3))
    >>> with audit.recording() as passages:
    ...     release = dpcov.release(rows, epsilon=2.0, delta=1e-3, row_norm=1.0)
    >>> [(each.kind, each.size) for each in passages]
    [('gaussian', 4), ('gaussian', 6)]
    >>> print(release.promise)
    no promise: simulated with a seed
    """
    recorder = _Recorder()
    with recorder.at_the_door():
        yield recorder.kept


@contextmanager
def replaying(recorded: Sequence[Passage]) -> Iterator[Recording]:
    """Give the answers of a recording again: for an audit, and never for real data.

    On the same table a release has the same bytes. On a neighbor the new recording has the exact
    numbers that it computes *given these answers*, from which `log_likelihood_ratio` follows.

    Parameters
    ----------
    recorded : Recording, or sequence of Passage
        What to replay, in this order.

    Yields
    ------
    Recording
        What passes now. What is released says that it promises nothing.

    Raises
    ------
    AuditError
        The run asks for something else than was recorded: another scale, number or kind, or
        another number of times. Between neighbors that would tell them apart without any noise.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> from dpcov import audit
    >>> rows = np.random.default_rng(0).normal(scale=0.3, size=(100, 3))
    >>> facts = {"epsilon": 2.0, "delta": 1e-3, "row_norm": 1.0}
    >>> with audit.recording() as passages:
    ...     release = dpcov.release(rows, **facts)
    >>> with audit.replaying(passages):
    ...     again = dpcov.release(rows, **facts)
    >>> again == release
    True
    """
    player = _Player(recorded)
    with player.at_the_door():
        yield player.kept
    player.check_end()


class _Recorder:
    """Lets everything pass, and notes it. Whoever has the notes knows the noise."""

    def __init__(self) -> None:
        self.kept = Recording()

    def at_the_door(self) -> AbstractContextManager[None]:
        ways = ("add_noise", "select_largest", "draw_pairing")
        return standing(**{name: partial(partial, getattr(self, name)) for name in ways})

    def add_noise(
        self, behind: Way, sums: npt.NDArray[Any], scale: int, stream: RandomStream
    ) -> Integers:
        answer = behind(sums, scale, stream)
        stream.simulated = True
        return self.kept.keep(Passage.of_noise(sums, scale, answer))

    def select_largest(
        self, behind: Way, scores: Any, *, count: int, scale: float, stream: RandomStream
    ) -> Integers:
        answer = behind(scores, count=count, scale=scale, stream=stream)
        stream.simulated = True
        return self.kept.keep(Passage.of_selection(scores, count, scale, answer))

    def draw_pairing(self, behind: Way, stream: RandomStream, *promised: Any) -> int:
        seed = behind(stream, *promised)
        stream.simulated = True
        return _seed(self.kept.keep(Passage.of_pairing(_answer(seed))))


class _Player(_Recorder):
    """Gives the answers of a recording, and notes the exact numbers of this run."""

    def __init__(self, recorded: Sequence[Passage]) -> None:
        super().__init__()
        self._left = list(recorded)

    def add_noise(
        self, behind: Way, sums: npt.NDArray[Any], scale: int, stream: RandomStream
    ) -> Integers:
        if not stream.is_drawn:  # a ledger is charged when a stream is first read
            behind(np.zeros(1, dtype=np.int64), scale, stream)
        stream.simulated = True
        return self._give(Passage.of_noise(sums, scale, self._next()))

    def select_largest(
        self, behind: Way, scores: Any, *, count: int, scale: float, stream: RandomStream
    ) -> Integers:
        if not stream.is_drawn:
            behind(scores, count=count, scale=scale, stream=stream)
        stream.simulated = True
        return self._give(Passage.of_selection(scores, count, scale, self._next()))

    def draw_pairing(self, behind: Way, stream: RandomStream, *promised: Any) -> int:
        behind(stream, *promised)  # it refuses what differences do not keep
        stream.simulated = True
        return _seed(self._give(Passage.of_pairing(self._next())))

    def _next(self) -> Integers:
        return self._left[0].answer if self._left else np.zeros(0, dtype=np.int64)

    def _give(self, passage: Passage) -> Integers:
        if not self._left or passage.asked != self._left.pop(0).asked:
            raise AuditError(
                "A replayed run asks the noise door for something else than was recorded: another "
                "scale, number or kind of answers."
            )
        return self.kept.keep(passage)

    def check_end(self) -> None:
        if self._left:
            raise AuditError(
                f"A replayed run asked the noise door {len(self._left)} times less often than was "
                "recorded."
            )


def _answer(seed: int) -> Integers:
    return np.array([seed], dtype=np.uint64).view(np.int64)


def _seed(answer: Integers) -> int:
    return int(answer.view(np.uint64)[0])
