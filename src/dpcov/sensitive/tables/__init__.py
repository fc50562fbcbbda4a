"""Tables of every kind become one stream of blocks of numbers. Knows no promises.

`open_table` is the way in, `describe_table` what can be said without reading a cell. A kind of
table is one module here and one line in `registry.KINDS`.
"""

from dpcov.sensitive.tables.registry import home_of, is_streamed, open_table
from dpcov.sensitive.tables.source import MAX_STREAM_ROWS, Rows, RowSource

__all__ = [
    "MAX_STREAM_ROWS",
    "RowSource",
    "Rows",
    "home_of",
    "is_streamed",
    "open_table",
]
