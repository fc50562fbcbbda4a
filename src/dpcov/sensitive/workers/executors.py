"""Spark's executors: who run a function on each partition of a frame, or on numbers.

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

from dpcov.errors import EngineError, InputError, ParameterError
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
_FAILED_ON_FILES = (
    "Spark's executors could not run what they were given, or the session has ended. What Spark "
    "says may quote a cell and is not repeated here. It must be version 4 or later, whose workers "
    "have pyarrow. Leave engine out to read the files in this process."
)
_LACKS = (
    f"Spark's executors need dpcov {__version__} and what it depends on: they add up their own "
    "rows, and only sums travel. Install it where PYSPARK_PYTHON points on the workers, or read "
    "the rows in this process: with engine='driver' those of a frame, without engine files."
)
_TOO_MUCH = (
    "The sums of all tasks are more than spark.driver.maxResultSize allows. Allow more, or make "
    "fewer partitions with the frame's coalesce(), or read the rows in this process: with "
    "engine='driver' those of a frame, without engine files."
)
_LOST = (
    "Spark's executors were lost again and again, or its work was cancelled. Nothing was released. "
    "Give them more memory, or more and smaller partitions."
)
_UNHIDDEN = (
    "privacy_unit= on Spark's executors needs spark.io.encryption.enabled=true: which rows count "
    "goes to them with the tasks, which Spark may write to its disks. Set it when the session is "
    "made, or leave engine out."
)
_MOST_TASKS = 10_000
_CORES_OF_A_SERVER = 32  # Spark Connect does not say
_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}


class Executors:
    """Says that a Spark frame is added up where its partitions are, or files by some session.

    Parameters
    ----------
    session : SparkSession, optional
        Whose executors read files; a frame knows its own.
    """

    def __init__(self, session: Any = None) -> None:
        self.session = session

    def __repr__(self) -> str:
        return "Executors()"

    @property
    def cores(self) -> int:
        """How many tasks run at a time, as far as the session says."""
        try:
            return max(1, int(self.session.sparkContext.defaultParallelism))
        except Exception:  # there is no such context in a client of Spark Connect
            return _CORES_OF_A_SERVER

    def check_units(self, privacy_unit: str | None) -> None:
        """Refuse units of files if what goes out with tasks would be written in the clear."""
        if None not in (self.session, privacy_unit) and not self.hide_tasks(self.session):
            raise ParameterError(_UNHIDDEN)

    def numbered(self, count: int) -> Partitions:
        """Return partitions of one number each, from 0 on, which these executors work on."""
        frame = _ask(lambda: self.session.range(0, count, 1, count), _FAILED_ON_FILES)
        return Partitions(frame, _FAILED_ON_FILES)

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

    def __init__(self, frame: Any, failed: str = FAILED) -> None:
        self._frame, self._failed = frame, failed

    def run(self, work: Work, *, value_bytes: int | None = None) -> list[Any]:
        """Return what `work` makes of each partition, or raise what one refused.

        If it is said how many bytes a value has, partitions go together to one task where there
        would be more values than the driver takes.
        """
        recipient = Recipient()
        task = BoxedTask(__version__, recipient.address, work)
        boxes = _ask(lambda: self._send(task, value_bytes), self._failed)
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


def _ask(send: Callable[[], Any], failed: str) -> Any:
    """Return what Spark returns, or raise an error of our own that is chained to nothing."""
    try:
        return send()
    except MemoryError:
        raise
    except Exception as error:
        failure = _explain(str(error), failed)
    raise failure


def _explain(said: str, failed: str) -> Exception:
    """Return what may be said of a failure, by the words in which Spark tells its kinds apart."""
    if re.search(r"No module named '(dpcov|numpy|cryptography|threadpoolctl|narwhals)", said):
        return EngineError(_LACKS)
    if "maxResultSize" in said:
        return EngineError(_TOO_MUCH)
    if re.search(r"ExecutorLostFailure|SparkContext (was|has been) shut ?down|cancelled", said):
        return EngineError(_LOST)
    return InputError(failed)
