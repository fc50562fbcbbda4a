"""Where each byte of an archive lies.

Owns the form of the ``.npz`` files: a zip archive of members that are stored, each with
64-bit sizes, with a fixed date, in order, and nothing before, between or after them. Python's
own writer changed these bytes between versions. With one layout a file can be compared with
the only one that holds its value, and has no room for anything else.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

import numpy as np
import numpy.typing as npt

__all__ = ["archive_parts", "is_content", "npy_parts"]

Part = bytes | memoryview

_VERSION, _UNIX, _DATE, _MODE = 45, 3, (1 << 5) | 1, 0o600 << 16  # 1980-01-01
_LONG = 0xFFFFFFFF  # the size is elsewhere
_LIMIT = (1 << 31) - 1  # beyond it, offsets and sizes have 64 bits in the directory too
_STEP = 1 << 20


def npy_parts(array: npt.NDArray[Any]) -> list[Part]:
    r"""Return the content of an ``.npy`` file in parts; the numbers are not copied.

    Examples
    --------
    >>> b"".join(npy_parts(np.zeros(2)))[:6]
    b'\x93NUMPY'
    """
    about = np.lib.format.header_data_from_array_1_0(array)
    heading = io.BytesIO()
    np.lib.format.write_array_header_1_0(heading, about)
    flat = np.ascontiguousarray(array.T if about["fortran_order"] else array)
    return [heading.getvalue(), flat.reshape(-1).view(np.uint8).data]


def archive_parts(members: Mapping[str, Iterable[Part]]) -> Iterator[Part]:
    """Yield the bytes of the archive that holds `members`, in parts.

    Examples
    --------
    >>> import zipfile
    >>> content = b"".join(archive_parts({"a.txt": [b"one", b"two"]}))
    >>> zipfile.ZipFile(io.BytesIO(content)).read("a.txt")
    b'onetwo'
    """
    place, directory = 0, b""
    for name, content in members.items():
        label, parts = name.encode(), list(content)
        size, check = sum(map(len, parts)), 0
        for part in parts:
            check = zlib.crc32(part, check)
        head = _heading(label, size, check)
        yield head
        yield from parts
        directory += _entry(label, size, check, place)
        place += len(head) + size
    yield directory
    yield _end(len(members), len(directory), place)


def is_content(file: IO[bytes], parts: Iterable[Part]) -> bool:
    """Return whether a file goes on with these parts, and then ends."""
    for part in parts:
        for start in range(0, len(part), _STEP):
            step = part[start : start + _STEP]
            if file.read(len(step)) != step:
                return False
    return not file.read(1)


def _heading(label: bytes, size: int, check: int) -> bytes:
    fixed = ("<4s2B4H3L2H", b"PK\3\4", _VERSION, 0, 0, 0, 0, _DATE, check, _LONG, _LONG)
    sizes = struct.pack("<2H2Q", 1, 16, size, size)
    return struct.pack(*fixed, len(label), len(sizes)) + label + sizes


def _entry(label: bytes, size: int, check: int, place: int) -> bytes:
    longer = [size, size] if size > _LIMIT else []
    longer += [place] if place > _LIMIT else []
    extra = struct.pack(f"<2H{len(longer)}Q", 1, 8 * len(longer), *longer) if longer else b""
    short = _LONG if size > _LIMIT else size
    versions = (_VERSION, _UNIX, _VERSION, 0)
    lengths = (len(label), len(extra), 0, 0, 0)
    start = _LONG if place > _LIMIT else place
    fixed = struct.pack("<4s4B4H3L", b"PK\1\2", *versions, 0, 0, 0, _DATE, check, short, short)
    return fixed + struct.pack("<5H2L", *lengths, _MODE, start) + label + extra


def _end(count: int, size: int, place: int) -> bytes:
    longer = b""
    if place > _LIMIT:
        whole = (44, _VERSION, _VERSION, 0, 0, count, count, size, place)
        longer = struct.pack("<4sQ2H2L4Q", b"PK\6\6", *whole)
        longer += struct.pack("<4sLQL", b"PK\6\7", 0, place + size, 1)
    return longer + struct.pack(
        "<4s4H2LH", b"PK\5\6", 0, 0, count, count, size, min(place, _LONG), 0
    )
