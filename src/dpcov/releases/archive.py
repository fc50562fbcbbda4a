"""The container of releases: an ``.npz`` archive with a versioned JSON header.

One member ``header.npy`` (UTF-8 bytes of a JSON object) and one for each array, stored, with a
fixed date: the same release gives the same bytes on every machine. The header carries a SHA-256
digest of everything else, which detects damage; it is not a signature.

A file may come from anybody. Its members are named before they are read and hold nothing that does
not follow from the release; nothing lies beside them; nothing is unpickled or decompressed; and
nothing that a file states makes the reader use more memory than a few times what it is long.
"""

from __future__ import annotations

import hashlib
import io
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

from dpcov.columns.limits import json_problem
from dpcov.errors import CorruptFileError, DpcovError, OtherSchemaError, ParameterError
from dpcov.writing import replacing_file

__all__ = ["Format", "read_archive", "write_archive"]

Arrays = Mapping[str, npt.NDArray[Any]]
Facts = dict[str, Any]

_MOST_HEADER = 1 << 25  # names of 40,000 columns with 800 letters each
_MOST_ESCAPES, _DEEPEST = 1 << 23, 4  # json.dumps has one for each letter beyond ASCII
_MOST_DIRECTORY = 1 << 17  # ours is below 1 kB; its end may hold a comment of 64 kB
_STEP = 1 << 16
_DATE = (1980, 1, 1, 0, 0, 0)
_UNIX, _READABLE = 3, 0o600 << 16


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


def _write_members(file: IO[bytes], header: bytes, arrays: Arrays) -> None:
    """Write an archive that numpy can read, with the same bytes under every version of Python."""
    with zipfile.ZipFile(file, "w") as archive:
        for name, array in _members(header, arrays).items():
            about = zipfile.ZipInfo(name, date_time=_DATE)
            about.create_system, about.external_attr = _UNIX, _READABLE
            heading = io.BytesIO()
            kind = np.lib.format.header_data_from_array_1_0(array)
            np.lib.format.write_array_header_1_0(heading, kind)
            about.file_size = heading.tell() + array.nbytes  # whether sizes need 64 bits
            with archive.open(about, "w") as member:
                np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)


def _members(header: bytes, arrays: Arrays) -> Arrays:
    every = {"header": np.frombuffer(header, dtype=np.uint8), **arrays}
    return {f"{name}.npy": array for name, array in every.items()}


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
        length = os.fstat(file.fileno()).st_size
        names = _check_directory(archive, length)
        header = _read_array(archive, "header.npy", "|u1").tobytes()
        facts = _parse(header)
        form = _format_of(facts, formats)
        if names != {f"{name}.npy" for name in ("header", *form.arrays)}:
            raise CorruptFileError("it is an archive of something else")
        arrays = {
            name: _read_array(archive, f"{name}.npy", dtype) for name, dtype in form.arrays.items()
        }
        if facts.pop("sha256") != _digest(facts, arrays):
            raise CorruptFileError("its contents were altered after it was written")
        value = form.rebuild(facts, arrays)
        # What is not paid for may not travel along. The header has a digest of the arrays.
        if _contents(form, value)[0] != header or not _is_filled(archive, length):
            raise CorruptFileError("it holds more than a release")
    return value


def _is_filled(archive: zipfile.ZipFile, length: int) -> bool:
    """Return whether nothing lies before, between or behind the members of an archive."""
    place = rest = 0
    for member in archive.infolist():
        if member.header_offset != place:
            return False
        is_long = member.file_size * 1.05 > zipfile.ZIP64_LIMIT  # as zipfile decides
        place += 30 + len(member.filename) + 20 * is_long + member.file_size
        rest += 46 + len(member.filename)
    # Beyond 2 GiB the directory has further numbers: up to 28 bytes for each member, and 76.
    longer = 28 * len(archive.infolist()) + 76 if place > zipfile.ZIP64_LIMIT else 0
    return 0 <= length - place - rest - 22 <= longer


def _check_directory(archive: zipfile.ZipFile, length: int) -> set[str]:
    """Return the names of the members, if they can be those of a file of this length."""
    members = archive.infolist()
    names = {member.filename for member in members}
    if "header.npy" not in names or len(names) != len(members):
        raise CorruptFileError("it is an archive of something else")
    if any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise CorruptFileError("its members are compressed, which dpcov never does")
    if any(member.flag_bits for member in members):
        raise CorruptFileError("its members are encrypted, or not as dpcov writes them")
    if any(member.file_size != member.compress_size for member in members) or (
        sum(member.file_size for member in members) > length
    ):
        raise CorruptFileError("its members are longer than the file")
    if archive.getinfo("header.npy").file_size > _MOST_HEADER + _STEP:
        raise CorruptFileError("its header is too long")
    return names


def _parse(header: bytes) -> Any:
    text = header.decode("ascii")
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
