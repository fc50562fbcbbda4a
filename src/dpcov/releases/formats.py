"""What the files of releases say, kind by kind.

Owns the meaning of the archives' headers. A file is read back only if the promise it
states is the one that its noise pays for.
"""

from __future__ import annotations

import math
from os import PathLike
from typing import Any

import numpy as np

from dpcov.errors import CorruptFileError
from dpcov.privacy import ApproxDP, PureDP, frobenius_sensitivity, gaussian_scale
from dpcov.releases.archive import Arrays, Facts, Format, read_archive, write_archive
from dpcov.releases.release import SECOND_MOMENT, NoiseScale, Provenance, Release

__all__ = ["MOMENTS", "read_release", "write_release"]


def write_release(release: Release, path: str | PathLike[str]) -> None:
    """Write `release` to `path`."""
    write_archive(path, MOMENTS, _moment_facts(release), {"matrix": release.matrix})


def read_release(path: str | PathLike[str]) -> Any:
    """Read the release at `path`, or say what is wrong with the file."""
    return read_archive(path, _FORMATS)


def _moment_facts(release: Release) -> Facts:
    made = release.provenance
    return {
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
            "calibrated_for": _promise_facts(made.calibrated_for),
        },
    }


def _rebuild_moments(facts: Facts, arrays: Arrays) -> Release:
    made = facts["provenance"]
    if not isinstance(facts["columns"], list):
        raise CorruptFileError("its columns are not a list")
    release = Release(
        matrix=arrays["matrix"].astype(np.float64, copy=False),
        noise_scale=NoiseScale(**facts["noise_scale"]),
        n_rows=facts["n_rows"],
        columns=tuple(facts["columns"]),
        provenance=Provenance(
            version=made["version"],
            mechanism=made["mechanism"],
            row_norm=made["row_norm"],
            bits=made["bits"],
            calibrated_for=_promise_of(made["calibrated_for"]),
        ),
        simulated=facts["simulated"],
    )
    if facts["promise"] != str(release.promise):
        raise CorruptFileError("its promise is not that of its origin")
    _check_moment_noise(release)
    return release


def _check_moment_noise(release: Release) -> None:
    """Refuse a file whose promise is not the one that its noise pays for."""
    made, promise = release.provenance, release.provenance.calibrated_for
    if made.mechanism != SECOND_MOMENT or not isinstance(promise, ApproxDP):
        raise CorruptFileError("its promise is not that of its origin")
    needed = gaussian_scale(
        epsilon=promise.epsilon,
        delta=promise.delta,
        sensitivity=frobenius_sensitivity(made.row_norm, promise.neighbors) / release.n_rows,
    )
    noise = release.noise_scale
    if min(noise.diagonal, math.sqrt(2) * noise.off_diagonal) < needed * (1 - 1e-9):
        raise CorruptFileError("its noise does not pay for its promise")


def _promise_facts(promise: ApproxDP | PureDP) -> Facts:
    facts: Facts = {"epsilon": promise.epsilon, "neighbors": promise.neighbors.value}
    return facts | {"delta": promise.delta} if isinstance(promise, ApproxDP) else facts


def _promise_of(facts: Facts) -> ApproxDP | PureDP:
    return ApproxDP(**facts) if "delta" in facts else PureDP(**facts)


MOMENTS = Format("dpcov second-moment release", 1, {"matrix": "<f8"}, _rebuild_moments)
_FORMATS = (MOMENTS,)
