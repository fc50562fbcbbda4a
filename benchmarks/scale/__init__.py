"""How cost grows: measured exponents, the speed of one core, and two large studies on paper.

Everything is measured on one thread, so that slopes are those of the work. The plans multiply
speeds of the same run by sizes, and by prices and machines that are assumed.
"""

from __future__ import annotations

from collections.abc import Iterator

from threadpoolctl import threadpool_limits

from benchmarks.measure import Table
from benchmarks.scale.growth import growth_table
from benchmarks.scale.plans import plans
from benchmarks.scale.room import grid_table, memory_table
from benchmarks.scale.speeds import measure_speeds

__all__ = ["tables"]


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    with threadpool_limits(1):
        yield growth_table()
        yield memory_table()
        yield grid_table()
        speeds = measure_speeds()
    yield speeds.table()
    yield from plans(speeds)
