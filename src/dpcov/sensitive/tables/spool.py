"""Streams that are read several times: their rows wait in a temporary file.

Owns the one place where dpcov writes rows to a disk. Only columns that are used are written, as
they came, to a file that nobody else can open: it loses its name as soon as it is made, or never
has one, so that the system removes it with the process, however that ends. Where open files keep
their names, as on Windows, it is called ``dpcov-spool-…`` and removed when it is closed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import IO, TYPE_CHECKING, Any

from dpcov.progress import Tell
from dpcov.sensitive.tables.arrow import ArrowBatchSource
from dpcov.sensitive.tables.arrow_columns import import_pyarrow
from dpcov.sensitive.tables.blocks import batch_rows
from dpcov.sensitive.tables.choice import Choice
from dpcov.sensitive.tables.refusals import read_all_or_refuse, read_or_refuse
from dpcov.sensitive.tables.source import RowSource
from dpcov.sensitive.tables.streams import StreamSource

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["SpooledSource", "readable"]

_PREFIX = "dpcov-spool-"
_MOST_WAITING = 1 << 10  # batches of one row take more memory than their rows


class SpooledSource(ArrowBatchSource):
    """The rows of a stream, in a file of Arrow batches: to the bit, and of the same types.

    One reading ends before the next begins. Pieces of it do not go to other processes, which
    could not open the file.
    """

    def __init__(self, file: IO[bytes], choice: Choice, n_rows: int) -> None:
        super().__init__(choice, n_rows, "The spooled stream")
        self._file = file

    def _batches(self, places: tuple[int, ...]) -> Iterator[Sequence[Any]]:
        lost = "The rows of the stream cannot be read back from the temporary file."
        for batch in read_all_or_refuse(partial(self._read, places), lost):
            yield batch.columns

    def _read(self, places: tuple[int, ...]) -> pa.RecordBatchReader:
        ipc = import_pyarrow().ipc
        self._file.seek(0)
        # In the order of the file, which is that of every choice here.
        fields = ipc.IpcReadOptions(included_fields=list(places))
        return ipc.open_stream(self._file, options=fields)


@contextmanager
def readable(source: RowSource, times: int, tell: Tell | None) -> Iterator[RowSource]:
    """Give a source that can be read so many times: a stream is spooled if once is not enough."""
    if times == 1 or not isinstance(source, StreamSource):
        yield source
        return
    folder = _folder()
    refuse = partial(_unwritable, folder)
    # Closed below, where closing may fail.
    file: IO[bytes] = read_or_refuse(
        lambda: tempfile.TemporaryFile(prefix=_PREFIX, dir=folder),  # noqa: SIM115
        refuse,
    )
    try:
        n_rows = _write(source, file, folder, tell)
        yield SpooledSource(file, source.used_choice, n_rows)
    finally:
        # Of a full disk closing complains again, and closes all the same.
        with suppress(OSError):
            file.close()


def _write(stream: StreamSource, file: IO[bytes], folder: str, tell: Tell | None) -> int:
    """Write what is used of a stream, and return its number of rows."""
    refuse = partial(_unwritable, folder)
    pyarrow = import_pyarrow()
    cheap = "lz4" if pyarrow.Codec.is_available("lz4") else None
    options = pyarrow.ipc.IpcWriteOptions(compression=cheap)
    schema = stream.used_schema
    writer = read_or_refuse(lambda: pyarrow.ipc.new_stream(file, schema, options=options), refuse)
    n_rows = 0

    def counted() -> Iterator[pa.RecordBatch]:
        nonlocal n_rows
        for batch in stream.used_batches():
            yield batch
            n_rows += len(batch)
            if tell is not None:
                tell(f"spooling to {folder}", n_rows, None)

    for batch in _regroup(counted(), batch_rows(len(schema))):
        read_or_refuse(partial(writer.write_batch, batch), refuse)
    read_or_refuse(writer.close, refuse)
    read_or_refuse(file.flush, refuse)
    return n_rows


def _regroup(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of about `size`, and no more.

    A batch may be the whole table, and is read back in one piece; or a few rows, beside which
    the headers of their columns are long.
    """
    waiting: list[pa.RecordBatch] = []
    n_rows = 0
    for batch in batches:
        for start in range(0, len(batch), size):
            part = batch.slice(start, size)
            if n_rows + len(part) > size:
                yield from _join(waiting)
                waiting, n_rows = [], 0
            waiting.append(part)
            n_rows += len(part)
            if n_rows > size // 2 or len(waiting) == _MOST_WAITING:
                yield from _join(waiting)
                waiting, n_rows = [], 0
    yield from _join(waiting)


def _join(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    """Return one batch of all rows; or the batches, if their categories do not fit into one."""
    pyarrow = import_pyarrow()
    if len(batches) < 2:
        return batches
    try:
        joined: list[pa.RecordBatch] = (
            pyarrow.Table.from_batches(batches).combine_chunks().to_batches()
        )
    except pyarrow.ArrowException:
        return batches
    return joined


def _folder() -> str:
    # Python's own choice passes over a TMPDIR that is not there, and somebody chose it for what
    # may lie in it.
    return os.environ.get("TMPDIR") or tempfile.gettempdir()


def _unwritable(folder: str, error: Exception) -> str:
    said = f": {error.strerror}" if isinstance(error, OSError) and error.strerror else ""
    return (
        "The table is a stream that can be read only once, and its rows cannot be written to a "
        f"temporary file in {folder!r}{said}. Set TMPDIR to a folder with room, or read the stream "
        "into a table; without privacy_unit= a stated row_norm=, or for pairs a stated center=, "
        "makes one reading enough."
    )
