"""How many rows a plain CSV file has, and how long the longest is, by its line breaks.

Owns when that is certain: a file in which no cell is quoted and no line is blank or ends with a
carriage return. Any other is left to the parser, which takes as long as a reading.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from dpcov.sensitive.tables.refusals import read_or_refuse

__all__ = ["count_lines"]

_CHUNK_BYTES = 1 << 20  # stays in the cache, through which it goes several times


def count_lines(path: Path, start: int) -> tuple[int, int] | None:
    r"""Return how many lines there are from a place on, and the bytes of the longest.

    None if they may not be the rows.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "x.csv")
    ...     _ = path.write_bytes(b"a,b\n1,2\n3,4")
    ...     plain = count_lines(path, start=4)
    ...     _ = path.write_bytes(b"a,b\n1,2\n\n3,4")
    ...     plain, count_lines(path, start=4)
    ((2, 3), None)
    """
    return read_or_refuse(lambda: _count(path, start), f"{path.name} cannot be read.")


def _count(path: Path, start: int) -> tuple[int, int] | None:
    lines, longest = 0, 0
    before, end = -1, 0  # where the last line break was, as if one stood before the rows
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        while chunk := file.read(_CHUNK_BYTES):
            if b'"' in chunk or b"\r" in chunk:
                return None
            breaks = np.flatnonzero(np.frombuffer(chunk, np.uint8) == ord("\n")) + end
            if len(breaks):
                lengths = np.diff(breaks, prepend=before) - 1
                if not lengths.all():
                    return None
                longest = max(longest, int(lengths.max()))
                lines, before = lines + len(breaks), int(breaks[-1])
            end += len(chunk)
    last = end - before - 1
    return lines + (last > 0), max(longest, last)
