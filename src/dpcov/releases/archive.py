"""The file of a release: an ``.npz`` archive with a versioned JSON header.

Owns the format. Two members: ``header.npy`` (UTF-8 bytes of a JSON object) and
``matrix.npy`` (float64). The header carries a SHA-256 digest of everything else, which
detects damage; it is not a signature. Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
import zipfile
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from dpcov.errors import CorruptFileError, DpcovError, FutureSchemaError
from dpcov.privacy import ApproxDP, frobenius_sensitivity, gaussian_scale
from dpcov.releases.release import SECOND_MOMENT, NoiseScale, Provenance, Release

__all__ = ["SCHEMA", "read_release", "write_release"]

KIND = "dpcov second-moment release"
SCHEMA = 1
_MEMBERS = {"header.npy", "matrix.npy"}


def write_release(release: Release, path: str | PathLike[str]) -> None:
    """Write `release` to `path`: aside first, then renamed."""
    header = json.dumps(_header(release), sort_keys=True).encode()
    target = Path(path)
    if not target.parent.is_dir() or target.is_dir():
        what = "is a folder" if target.is_dir() else "lies in a folder that does not exist"
        raise FileNotFoundError(f"{target} {what}; a release is saved to a file.")
    aside = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with aside.open("xb") as file:
            _write_members(file, header, release.matrix)
        aside.replace(target)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


def read_release(path: str | PathLike[str]) -> Release:
    """Read the release at `path`, or say what is wrong with the file."""
    with Path(path).open("rb") as file:
        problem = None
        try:
            return _read_members(file)
        except FutureSchemaError:
            raise
        except DpcovError as error:
            problem = str(error).rstrip(".")
        except zipfile.BadZipFile:
            problem = "it is not an intact .npz archive"
        except Exception:  # zipfile, numpy and json fail on damage in a dozen ways
            problem = "its contents are not those of a release"
    raise CorruptFileError(f"{path} cannot be read as a release: {problem}.")


def _header(release: Release) -> dict[str, Any]:
    made = release.provenance
    calibrated_for = made.calibrated_for
    facts: dict[str, Any] = {
        "kind": KIND,
        "schema": SCHEMA,
        "n_rows": release.n_rows,
        "columns": list(release.columns),
        "noise_scale": {
            "off_diagonal": release.noise_scale.off_diagonal,
            "diagonal": release.noise_scale.diagonal,
        },
        "promise": str(release.promise),
        "simulated": release.simulated,
        "provenance": {
            "version": made.version,
            "mechanism": made.mechanism,
            "row_norm": made.row_norm,
            "bits": made.bits,
            "calibrated_for": {
                "epsilon": calibrated_for.epsilon,
                "delta": calibrated_for.delta,
                "neighbors": calibrated_for.neighbors.value,
            },
        },
    }
    return facts | {"sha256": _digest(facts, release.matrix)}


def _digest(facts: dict[str, Any], matrix: npt.NDArray[np.float64]) -> str:
    text = json.dumps(facts, sort_keys=True).encode()
    digest = hashlib.sha256(text)
    digest.update(np.ascontiguousarray(matrix, dtype="<f8").data)
    return digest.hexdigest()


def _write_members(file: IO[bytes], header: bytes, matrix: npt.NDArray[np.float64]) -> None:
    # np.savez puts a fixed date into the archive: equal releases give equal bytes.
    np.savez(
        file,
        allow_pickle=False,
        header=np.frombuffer(header, dtype=np.uint8),
        matrix=matrix.astype("<f8", copy=False),
    )


def _read_members(file: IO[bytes]) -> Release:
    with zipfile.ZipFile(file) as archive:
        members = {member.filename: member for member in archive.infolist()}
        if members.keys() != _MEMBERS or len(archive.infolist()) != len(_MEMBERS):
            raise CorruptFileError("it is an archive of something else")
        if any(member.compress_type != zipfile.ZIP_STORED for member in members.values()):
            raise CorruptFileError("its members are compressed, which dpcov never does")
        facts = json.loads(_read_array(archive, "header.npy", np.uint8).tobytes().decode())
        _check_kind(facts)
        matrix = _read_array(archive, "matrix.npy", "<f8")
    if facts.pop("sha256") != _digest(facts, matrix):
        raise CorruptFileError("its contents were altered after it was written")
    release = _rebuild(facts, matrix)
    _check_promise(release, facts["promise"])
    return release


def _check_promise(release: Release, stated: object) -> None:
    """Refuse a file whose promise is not the one that its noise pays for."""
    made = release.provenance
    if stated != str(release.promise) or made.mechanism != SECOND_MOMENT:
        raise CorruptFileError("its promise is not that of its origin")
    promise = made.calibrated_for
    needed = gaussian_scale(
        epsilon=promise.epsilon,
        delta=promise.delta,
        sensitivity=frobenius_sensitivity(made.row_norm, promise.neighbors) / release.n_rows,
    )
    noise = release.noise_scale
    if min(noise.diagonal, math.sqrt(2) * noise.off_diagonal) < needed * (1 - 1e-9):
        raise CorruptFileError("its noise does not pay for its promise")


def _read_array(archive: zipfile.ZipFile, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Read an array of a known type; what its header says reserves no memory."""
    with archive.open(name) as member:
        if np.lib.format.read_magic(member) != (1, 0):
            raise CorruptFileError("its arrays are of an unknown version")
        shape, fortran_order, found = np.lib.format.read_array_header_1_0(member)
        if found != np.dtype(dtype):
            raise CorruptFileError("its arrays are of another type")
        content = np.frombuffer(bytearray(member.read()), dtype=dtype)
        return content.reshape(shape, order="F" if fortran_order else "C")


def _check_kind(facts: Any) -> None:
    if not isinstance(facts, dict) or facts.get("kind") != KIND:
        raise CorruptFileError("it is an archive of something else")
    schema = facts.get("schema")
    if type(schema) is not int or schema < 1:
        raise CorruptFileError("it states no schema")
    if schema > SCHEMA:
        raise FutureSchemaError(
            f"The file has schema {schema}; this version of dpcov reads up to {SCHEMA}. "
            "Upgrade dpcov to read it."
        )


def _rebuild(facts: dict[str, Any], matrix: npt.NDArray[np.float64]) -> Release:
    made = facts["provenance"]
    if not isinstance(facts["columns"], list):
        raise CorruptFileError("its columns are not a list")
    return Release(
        matrix=matrix.astype(np.float64, copy=False),
        noise_scale=NoiseScale(**facts["noise_scale"]),
        n_rows=facts["n_rows"],
        columns=tuple(facts["columns"]),
        provenance=Provenance(
            version=made["version"],
            mechanism=made["mechanism"],
            row_norm=made["row_norm"],
            bits=made["bits"],
            calibrated_for=ApproxDP(**made["calibrated_for"]),
        ),
        simulated=facts["simulated"],
    )
