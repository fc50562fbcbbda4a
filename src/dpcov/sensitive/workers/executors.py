"""Spark's executors: who run a function on each partition of a frame.

Owns the way to them and back. What goes there is public or was paid for; what comes back is in
boxes that this process alone can open, since Spark writes results, broadcasts and shuffles to its
disks as it likes. A refusal comes back as a value, since Spark would log an exception.
"""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Any

from dpcov.errors import EngineError, InputError
from dpcov.sensitive.workers.boxes import Recipient, close_box
from dpcov.sensitive.workers.carried import Refused, run_guarded
from dpcov.version import __version__

__all__ = ["FAILED", "BoxedTask", "Executors", "Partitions", "unbox"]

Work = Callable[[int, Iterator[Any]], Any]
"""What is done with a partition: its number, and its batches."""

FAILED = (
    "The Spark data frame cannot be computed, or its session has ended. What Spark says may quote "
    "a cell and is not repeated here; its count() and show() show it. It must be a batch of "
    "version 4 or later, whose workers have pandas and pyarrow."
)
"""What is said of a frame that Spark cannot compute."""
_LACKS = (
    f"Spark's executors need dpcov {__version__} and what it depends on: they add up their own "
    "rows, and only sums travel. Install it where PYSPARK_PYTHON points on the workers, or pass "
    "engine='driver' to bring the rows to this process."
)
_TOO_MUCH = (
    "The sums of all tasks are more than spark.driver.maxResultSize allows. Allow more, make fewer "
    "partitions with the frame's coalesce(), or pass engine='driver'."
)
_LOST = (
    "Spark's executors were lost again and again, or its work was cancelled. Nothing was released. "
    "Give them more memory, or more and smaller partitions."
)
_MOST_TASKS = 10_000
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}


class Executors:
    """Says that a Spark frame is added up where its partitions are."""

    def __repr__(self) -> str:
        return "Executors()"

    @staticmethod
    def hide_tasks(session: Any) -> bool:
        """Return whether Spark encrypts what it writes to its disks, tasks among it."""
        try:
            said = session.conf.get("spark.io.encryption.enabled", "false")
        except Exception:  # a server need not say it
            return False
        return str(said).lower() == "true"


class Partitions:
    """The partitions of a Spark frame, and their executors.

    A task that is run again, because an executor died or was slow, gives the same value, and
    Spark hands over one for each partition.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def run(self, work: Work, *, value_bytes: int | None = None) -> list[Any]:
        """Return what `work` makes of each partition, or raise what one refused.

        If it is said how many bytes a value has, partitions go together to one task where there
        would be more values than the driver takes.
        """
        recipient = Recipient()
        task = BoxedTask(__version__, recipient.address, work)
        boxes = _ask(lambda: self._send(task, value_bytes))
        values = [unbox(recipient, box.as_buffer()) for box in boxes]
        for value in values:
            if isinstance(value, Refused):
                raise value.error
        return values

    def _send(self, task: BoxedTask, value_bytes: int | None) -> Any:
        frame = self._frame
        if value_bytes is not None:
            frame = frame.coalesce(_most_tasks(frame.sparkSession, value_bytes))
        return frame.mapInArrow(task, "box binary").toArrow().column(0)


@dataclass(frozen=True)
class BoxedTask:
    """What Spark is given to run: it works on a partition and closes a box around what it found.

    Notes
    -----
    Claim P34. Neither what was found nor why something was refused leaves the task in the clear.
    """

    version: str
    address: bytes
    work: Work

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield one batch of one cell."""
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        place = -1 if context is None else context.partitionId()
        value = run_guarded(self.version, self.work, place, _uninterrupted(batches))
        box = close_box(self.address, bytes(ForkingPickler.dumps(value)))
        yield pa.RecordBatch.from_arrays([pa.array([box], pa.binary())], ["box"])


class _InterruptedError(BaseException):
    """Spark stopped to give batches. Not an Exception: it is for Spark to see, and to try again."""


def _uninterrupted(batches: Iterator[Any]) -> Iterator[Any]:
    """Yield the batches; a reading that breaks off is no refusal of ours."""
    while True:
        failed = False
        try:
            batch = next(batches, None)
        except Exception:
            failed = True
        if failed:
            raise _InterruptedError("The partition broke off.")
        if batch is None:
            return
        yield batch


def unbox(recipient: Recipient, box: Any) -> Any:
    """Return the value in a box."""
    return pickle.loads(recipient.open(bytes(box)))  # noqa: S301  # from a worker, as all of Spark


def _most_tasks(session: Any, value_bytes: int) -> int:
    """Return how many values of a size fit half of what the driver takes."""
    try:
        said = str(session.conf.get("spark.driver.maxResultSize", "1g")).strip().lower()
    except Exception:  # a server need not say it
        said = "1g"
    found = re.fullmatch(r"(\d+)([bkmgtp]?)b?", said)
    allowed = int(found[1]) * _UNITS[found[2]] if found else 1 << 30
    if allowed == 0:  # no limit
        return _MOST_TASKS
    return max(1, min(_MOST_TASKS, allowed // (2 * value_bytes)))


def _ask(send: Callable[[], Any]) -> Any:
    """Return what Spark returns, or raise an error of our own that is chained to nothing."""
    try:
        return send()
    except MemoryError:
        raise
    except Exception as error:
        failure = _explain(str(error))
    raise failure


def _explain(said: str) -> Exception:
    """Return what may be said of a failure, by the words in which Spark tells its kinds apart."""
    if re.search(r"No module named '(dpcov|numpy|cryptography|threadpoolctl|narwhals)", said):
        return EngineError(_LACKS)
    if "maxResultSize" in said:
        return EngineError(_TOO_MUCH)
    if re.search(r"ExecutorLostFailure|SparkContext (was|has been) shut ?down|cancelled", said):
        return EngineError(_LOST)
    return InputError(FAILED)
