"""The container of releases: an ``.npz`` archive with a versioned JSON header.

Owns the bytes, not their meaning. One member ``header.npy`` (UTF-8 bytes of a JSON object)
and one for each array, stored and not compressed, with a fixed date: equal releases give equal
bytes, whatever numpy writes them. The header carries a SHA-256 digest of everything else, which
detects damage; it is not a signature. Nothing is pickled, and nothing that a file states makes
the reader use more memory than the file is long.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import (
    CorruptFileError,
    DpcovError,
    FutureSchemaError,
    ParameterError,
    PastSchemaError,
)
from dpcov.writing import replacing_file

__all__ = ["Format", "read_archive", "write_archive"]

Arrays = Mapping[str, npt.NDArray[Any]]
Facts = dict[str, Any]

_LONG_AGO = (1980, 1, 1, 0, 0, 0)
_MOST_HEADER = 1 << 28  # names of 40,000 columns with 6,000 letters each
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
    """

    kind: str
    schema: int
    arrays: Mapping[str, str]
    rebuild: Callable[[Facts, Arrays], Any]


def write_archive(path: str | PathLike[str], form: Format, facts: Facts, arrays: Arrays) -> None:
    """Write facts and arrays to `path`: aside first, then renamed."""
    facts = {"kind": form.kind, "schema": form.schema} | facts
    stored = {name: arrays[name].astype(dtype, copy=False) for name, dtype in form.arrays.items()}
    header = json.dumps(facts | {"sha256": _digest(facts, stored)}, sort_keys=True).encode()
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
        except (FutureSchemaError, PastSchemaError):
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


def _write_members(file: IO[bytes], header: bytes, arrays: Arrays) -> None:
    members = {"header": np.frombuffer(header, dtype=np.uint8), **arrays}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            about = zipfile.ZipInfo(f"{name}.npy", date_time=_LONG_AGO)
            about.create_system = 3  # the same bytes from every system
            with archive.open(about, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


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
        if _STRAY in members:
            _check_stray(archive)
        arrays = {
            name: _read_array(archive, f"{name}.npy", dtype) for name, dtype in form.arrays.items()
        }
    if facts.pop("sha256") != _digest(facts, arrays):
        raise CorruptFileError("its contents were altered after it was written")
    return form.rebuild(facts, arrays)


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
    text = _read_array(archive, "header.npy", "|u1").tobytes().decode()
    return json.loads(text, object_pairs_hook=_without_repeats)


def _without_repeats(pairs: list[tuple[str, Any]]) -> Facts:
    facts = dict(pairs)
    if len(facts) != len(pairs):  # which of the two holds, readers may not agree on
        raise CorruptFileError("its header says something twice")
    return facts


def _check_stray(archive: zipfile.ZipFile) -> None:
    if archive.getinfo(_STRAY).file_size > _STEP:
        raise CorruptFileError("it is an archive of something else")
    stray = _read_array(archive, _STRAY, "|b1")
    if stray.shape != () or stray.tobytes() != b"\0":
        raise CorruptFileError("it is an archive of something else")


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
    if schema > form.schema:
        raise FutureSchemaError(
            f"The file has schema {schema}; this version of dpcov reads up to {form.schema}. "
            "Upgrade dpcov to read it."
        )
    if schema < form.schema:
        raise PastSchemaError(
            f"The file has schema {schema}, which this version of dpcov cannot read: it reads "
            f"{form.schema}. Read it with the version of dpcov that wrote it, or release the "
            "table anew, which costs privacy again."
        )
    return form
