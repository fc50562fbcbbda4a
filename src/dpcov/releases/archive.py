"""The container of releases: an ``.npz`` archive with a versioned JSON header.

Owns the bytes, not their meaning. One member ``header.npy`` (UTF-8 bytes of a JSON object)
and one for each array: equal releases give equal bytes, and a file that holds anything else
than the bytes of its value is refused. The header carries a SHA-256 digest of everything else,
which detects damage; it is not a signature. Nothing is pickled, and nothing that a file states
makes the reader use more memory than a few times what the file is long.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dpcov.columns.limits import json_problem
from dpcov.errors import CorruptFileError, DpcovError, OtherSchemaError, ParameterError
from dpcov.releases.layout import archive_parts, is_content, npy_parts
from dpcov.writing import replacing_file

__all__ = ["Format", "read_archive", "write_archive"]

Arrays = Mapping[str, npt.NDArray[Any]]
Facts = dict[str, Any]

_MOST_HEADER = 1 << 25  # names of 40,000 columns with 800 letters each
_MOST_ESCAPES, _DEEPEST = 1 << 23, 4  # json.dumps has one for each letter beyond ASCII
_MOST_DIRECTORY = 1 << 17  # ours is below 1 kB; its end may hold a comment of 64 kB
_STEP = 1 << 16
# np.savez of numpy 2.0 and 2.1 took its option allow_pickle=False for an array of that name.
_STRAY = "allow_pickle.npy"


@dataclass(frozen=True)
class Format:
    """What a kind of archive holds.

    Parameters
    ----------
    kind : str
        Its name, in the header.
    schema : int
        The version that is written and read.
    arrays : mapping of str to str
        The arrays and their types.
    rebuild : callable
        Makes a value of facts and arrays, or raises.
    take_apart : callable
        Returns the facts and arrays of a value.
    """

    kind: str
    schema: int
    arrays: Mapping[str, str]
    rebuild: Callable[[Facts, Arrays], Any]
    take_apart: Callable[[Any], tuple[Facts, Arrays]]


def write_archive(path: str | PathLike[str], form: Format, value: Any) -> None:
    """Write a value to `path`: aside first, then renamed."""
    header, stored = _contents(form, value)
    if len(header) > _MOST_HEADER:
        raise ParameterError("The names of the columns are too long for a file of a release.")
    target = Path(path)
    if not target.parent.is_dir() or target.is_dir():
        what = "is a folder" if target.is_dir() else "lies in a folder that does not exist"
        raise FileNotFoundError(f"{target} {what}; a release is saved to a file.")
    with replacing_file(target) as aside, aside.open("xb") as file:
        _write_members(file, header, stored)


def read_archive(path: str | PathLike[str], formats: Sequence[Format]) -> Any:
    """Read the value at `path`, or say what is wrong with the file."""
    with Path(path).open("rb") as file:
        problem = None
        try:
            return _read_members(file, {form.kind: form for form in formats})
        except OtherSchemaError:
            raise
        except DpcovError as error:
            problem = str(error).rstrip(".")
        except zipfile.BadZipFile:
            problem = "it is not an intact .npz archive"
        except Exception:  # zipfile, numpy and json fail on damage in a dozen ways
            problem = "its contents are not those of a release"
    raise CorruptFileError(f"{path} cannot be read as a release: {problem}.")


def _digest(facts: Facts, arrays: Arrays) -> str:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()


def _contents(form: Format, value: Any) -> tuple[bytes, Arrays]:
    """Return the header and the arrays of the file of a value."""
    facts, arrays = form.take_apart(value)
    facts = {"kind": form.kind, "schema": form.schema} | facts
    stored = {name: arrays[name].astype(dtype, copy=False) for name, dtype in form.arrays.items()}
    header = json.dumps(facts | {"sha256": _digest(facts, stored)}, sort_keys=True).encode()
    return header, stored


def _members(header: bytes, arrays: Arrays) -> dict[str, list[bytes | memoryview]]:
    every = {"header": np.frombuffer(header, dtype=np.uint8), **arrays}
    return {f"{name}.npy": npy_parts(array) for name, array in every.items()}


def _write_members(file: IO[bytes], header: bytes, arrays: Arrays) -> None:
    for part in archive_parts(_members(header, arrays)):
        file.write(part)


class _Bounded:
    """A file that refuses to be read in large parts, for the directory of an archive."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        too_many = _MOST_DIRECTORY + 1
        content = self._file.read(too_many if size < 0 else min(size, too_many))
        if len(content) == too_many:
            raise CorruptFileError("it is an archive of something else")
        return content


def _read_members(file: IO[bytes], formats: Mapping[str, Format]) -> Any:
    with zipfile.ZipFile(_Bounded(file)) as archive:
        members = _check_directory(archive, os.fstat(file.fileno()).st_size)
        facts = _read_header(archive)
        form = _format_of(facts, formats)
        if set(members) - {_STRAY} != {f"{name}.npy" for name in ("header", *form.arrays)}:
            raise CorruptFileError("it is an archive of something else")
        arrays = {
            name: _read_array(archive, f"{name}.npy", dtype) for name, dtype in form.arrays.items()
        }
        if facts.pop("sha256") != _digest(facts, arrays):
            raise CorruptFileError("its contents were altered after it was written")
        value = form.rebuild(facts, arrays)
        if not _is_file_of(value, form, file, archive):
            raise CorruptFileError("it is not the file that dpcov writes for what it holds")
    return value


def _is_file_of(value: Any, form: Format, file: IO[bytes], archive: zipfile.ZipFile) -> bool:
    """Return whether nothing else is in the file: what is not paid for may not travel along."""
    members = _members(*_contents(form, value))
    if _STRAY not in archive.namelist():
        file.seek(0)
        return is_content(file, archive_parts(members))
    members[_STRAY] = npy_parts(np.zeros((), dtype=bool))
    for name, parts in members.items():
        with archive.open(name) as member:
            if not is_content(member, parts):
                return False
    return _has_no_gaps(file, archive)


def _has_no_gaps(file: IO[bytes], archive: zipfile.ZipFile) -> bool:
    """Return whether an archive that numpy wrote holds its members and nothing else."""
    place = rest = 0
    for member in archive.infolist():
        file.seek(place)
        heading = file.read(30)
        named, extra = struct.unpack("<2H", heading[26:])
        sizes = struct.pack("<2H2Q", 1, 16, member.file_size, member.file_size)
        file.seek(named, os.SEEK_CUR)
        if member.header_offset != place or file.read(extra) not in (b"", sizes):
            return False
        place += 30 + named + extra + member.file_size
        rest += 46 + named + len(member.extra) + len(member.comment)
        if named != len(member.filename.encode()) or member.extra or member.comment:
            return False
    return os.fstat(file.fileno()).st_size == place + rest + 22


def _check_directory(archive: zipfile.ZipFile, length: int) -> list[str]:
    """Return the names of the members, if their sizes can be those of this file."""
    members = archive.infolist()
    names = [member.filename for member in members]
    if "header.npy" not in names or len(set(names)) != len(names):
        raise CorruptFileError("it is an archive of something else")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise CorruptFileError("its members are compressed, which dpcov never does")
    if any(member.file_size != member.compress_size for member in members) or (
        sum(member.file_size for member in members) > length
    ):
        raise CorruptFileError("its members are longer than the file")
    if archive.getinfo("header.npy").file_size > _MOST_HEADER + _STEP:
        raise CorruptFileError("its header is too long")
    return names


def _read_header(archive: zipfile.ZipFile) -> Any:
    text = _read_array(archive, "header.npy", "|u1").tobytes().decode("ascii")
    if json_problem(text, most_deep=_DEEPEST, most_escapes=_MOST_ESCAPES):
        raise CorruptFileError("its header is not that of a release")
    return json.loads(text, object_pairs_hook=_without_repeats)


def _without_repeats(pairs: list[tuple[str, Any]]) -> Facts:
    facts = dict(pairs)
    if len(facts) != len(pairs):  # which of the two holds, readers may not agree on
        raise CorruptFileError("its header says something twice")
    return facts


def _read_array(archive: zipfile.ZipFile, name: str, dtype: str) -> npt.NDArray[Any]:
    """Read an array of a known type; what its header says reserves no memory."""
    with archive.open(name) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise CorruptFileError("its arrays are of an unknown version")
        shape, fortran_order, found = np.lib.format.read_array_header_1_0(member)
        if found != np.dtype(dtype):
            raise CorruptFileError("its arrays are of another type")
        content = bytearray()
        while part := member.read(_STEP):
            content += part
        if min(shape, default=0) < 0 or math.prod(shape) * found.itemsize != len(content):
            raise CorruptFileError("its arrays are of another shape")
        return np.frombuffer(content, dtype=dtype).reshape(
            shape, order="F" if fortran_order else "C"
        )


def _format_of(facts: Any, formats: Mapping[str, Format]) -> Format:
    kind = facts.get("kind") if isinstance(facts, dict) else None
    form = formats.get(kind) if isinstance(kind, str) else None
    if form is None:
        raise CorruptFileError("it is an archive of something else")
    schema = facts.get("schema")
    if type(schema) is not int or schema < 1:
        raise CorruptFileError("it states no schema")
    if schema != form.schema:
        raise OtherSchemaError(
            f"The file has schema {schema}, and this version of dpcov reads {form.schema} alone. "
            "Read it with the version of dpcov that wrote it."
        )
    return form
