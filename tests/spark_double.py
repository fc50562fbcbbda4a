"""A stand-in for Spark: partitions of Arrow batches, and tasks that are pickled and run.

It does what Spark does with them: sends them as bytes, runs some twice, and returns what comes in
any order. Real sessions are in the tests that ask for DPCOV_TEST_SPARK=1.
"""

import pickle
import random
import sys
import types
from dataclasses import dataclass, field, replace
from itertools import pairwise

import cloudpickle
import pyarrow as pa


@dataclass
class Log:
    """What was sent to the executors, and what came back."""

    tasks: list = field(default_factory=list)
    boxes: list = field(default_factory=list)
    n_tasks: list = field(default_factory=list)


class _Context:
    place = None

    @classmethod
    def get(cls):
        return cls

    @classmethod
    def partitionId(cls):  # noqa: N802  # Spark's name
        return cls.place


def install(monkeypatch):
    """Let tasks ask which partition they have, as if there were Spark."""
    module = types.ModuleType("pyspark")
    module.TaskContext = _Context
    monkeypatch.setitem(sys.modules, "pyspark", module)


@dataclass(frozen=True)
class DataFrame:
    """A frame in partitions; `conf` is what its session says of itself."""

    partitions: tuple
    conf: dict = field(default_factory=dict)
    log: Log = field(default_factory=Log)
    task: object = None
    lose: object = None

    @classmethod
    def of(cls, table, cuts=(), **options):
        """Return a table cut at some rows."""
        ends = [0, *cuts, len(table)]
        return cls(tuple(table.slice(a, b - a) for a, b in pairwise(ends)), **options)

    @property
    def columns(self):
        return self.partitions[0].column_names

    @property
    def sparkSession(self):  # noqa: N802
        return types.SimpleNamespace(conf=self.conf)

    def count(self):
        return sum(map(len, self.partitions))

    def limit(self, size):
        return replace(self, partitions=(self.partitions[0].slice(0, size),))

    def select(self, *names):
        plain = [name[1:-1].replace("``", "`") for name in names]
        return self._each(lambda part: part.select(plain))

    def toDF(self, *names):  # noqa: N802
        return self._each(lambda part: part.rename_columns(list(names)))

    def coalesce(self, count):
        size = -(-len(self.partitions) // count)
        groups = range(0, len(self.partitions), size)
        joined = tuple(pa.concat_tables(self.partitions[at : at + size]) for at in groups)
        return replace(self, partitions=joined)

    def mapInArrow(self, task, schema):  # noqa: N802
        assert schema == "box binary"
        return replace(self, task=cloudpickle.dumps(task))

    def toArrow(self):  # noqa: N802
        if self.task is None:
            return pa.concat_tables(self.partitions)
        self.log.tasks.append(self.task)
        self.log.n_tasks.append(len(self.partitions))
        found = [box for place in range(len(self.partitions)) for box in self._run(place)]
        random.Random(1).shuffle(found)
        self.log.boxes.extend(found)
        return pa.table({"box": pa.array(found, pa.binary())})

    def _run(self, place):
        for _ in range(2):  # the first was lost with its executor
            _Context.place = place
            batches = self.partitions[place].to_batches(max_chunksize=7)
            if self.lose is not None:
                batches = self.lose(place, batches)
            (made,) = pickle.loads(self.task)(iter(batches))
        return made.column(0).to_pylist()

    def _each(self, change):
        return replace(self, partitions=tuple(map(change, self.partitions)))


@dataclass(frozen=True)
class SparkSession:
    """A session whose executors are this process; `conf` is what it says of itself."""

    conf: dict = field(default_factory=dict)
    log: Log = field(default_factory=Log)
    sparkContext: object = field(  # noqa: N815
        default_factory=lambda: types.SimpleNamespace(defaultParallelism=2)
    )

    def range(self, start, end, step, numPartitions):
        """Return a frame of numbers."""
        cells = range(start, end, step)
        cut = [len(cells) * part // numPartitions for part in range(numPartitions + 1)]
        tables = (pa.table({"id": pa.array(cells[a:b], pa.int64())}) for a, b in pairwise(cut))
        return DataFrame(tuple(tables), self.conf, self.log)


DataFrame.__module__ = SparkSession.__module__ = "pyspark.sql.double"
