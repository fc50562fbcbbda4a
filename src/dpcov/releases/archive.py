"""The container of releases: an ``.npz`` archive with a versioned JSON header.

Owns the bytes, not their meaning. One member ``header.npy`` (UTF-8 bytes of a JSON object)
and one for each array. The header carries a SHA-256 digest of everything else, which
detects damage; it is not a signature. Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import CorruptFileError, DpcovError, FutureSchemaError

__all__ = ["Format", "read_archive", "write_archive"]

Arrays = Mapping[str, npt.NDArray[Any]]
Facts = dict[str, Any]


@dataclass(frozen=True)
class Format:
    """What a kind of archive holds.

    Parameters
    ----------
    kind : str
        Its name, in the header.
    schema : int
        The newest version that can be read.
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
    target = Path(path)
    if not target.parent.is_dir() or target.is_dir():
        what = "is a folder" if target.is_dir() else "lies in a folder that does not exist"
        raise FileNotFoundError(f"{target} {what}; a release is saved to a file.")
    aside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with aside.open("xb") as file:
            _write_members(file, header, stored)
        aside.replace(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def read_archive(path: str | PathLike[str], formats: Sequence[Format]) -> Any:
    """Read the value at `path`, or say what is wrong with the file."""
    with Path(path).open("rb") as file:
        problem = None
        try:
            return _read_members(file, {form.kind: form for form in formats})
        except FutureSchemaError:
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
    # np.savez puts a fixed date into the archive: equal releases give equal bytes.
    members = {"header": np.frombuffer(header, dtype=np.uint8), **arrays}
    np.savez(file, allow_pickle=False, **members)


def _read_members(file: IO[bytes], formats: Mapping[str, Format]) -> Any:
    with zipfile.ZipFile(file) as archive:
        members = [member.filename for member in archive.infolist()]
        if members.count("header.npy") != 1:
            raise CorruptFileError("it is an archive of something else")
        if any(member.compress_type != zipfile.ZIP_STORED for member in archive.infolist()):
            raise CorruptFileError("its members are compressed, which dpcov never does")
        facts = json.loads(_read_array(archive, "header.npy", "|u1").tobytes().decode())
        form = _format_of(facts, formats)
        if sorted(members) != sorted(f"{name}.npy" for name in ("header", *form.arrays)):
            raise CorruptFileError("it is an archive of something else")
        arrays = {
            name: _read_array(archive, f"{name}.npy", dtype) for name, dtype in form.arrays.items()
        }
    if facts.pop("sha256") != _digest(facts, arrays):
        raise CorruptFileError("its contents were altered after it was written")
    return form.rebuild(facts, arrays)


def _read_array(archive: zipfile.ZipFile, name: str, dtype: str) -> npt.NDArray[Any]:
    """Read an array of a known type; what its header says reserves no memory."""
    with archive.open(name) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise CorruptFileError("its arrays are of an unknown version")
        shape, fortran_order, found = np.lib.format.read_array_header_1_0(member)
        if found != np.dtype(dtype):
            raise CorruptFileError("its arrays are of another type")
        content = np.frombuffer(bytearray(member.read()), dtype=dtype)
        return content.reshape(shape, order="F" if fortran_order else "C")


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
    return form
