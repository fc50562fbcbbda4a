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
from dpcov.privacy import (
    ApproxDP,
    Neighbors,
    PureDP,
    frobenius_sensitivity,
    gaussian_scale,
    plan_cap,
)
from dpcov.releases.archive import Arrays, Facts, Format, read_archive, write_archive
from dpcov.releases.release import (
    LOCAL_CAP,
    LOCAL_GAUSSIAN,
    SECOND_MOMENT,
    NoiseScale,
    Provenance,
    Release,
)

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
            "signal": release.noise_scale.signal,
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
    check = {
        (SECOND_MOMENT, ApproxDP, False): _central_noise,
        (LOCAL_GAUSSIAN, ApproxDP, True): _local_gaussian_noise,
        (LOCAL_CAP, PureDP, True): _local_cap_noise,
    }
    made, promise = release.provenance, release.provenance.calibrated_for
    local = promise.neighbors is Neighbors.LOCAL
    needed = check.get((made.mechanism, type(promise), local))
    if needed is None:
        raise CorruptFileError("its promise is not that of its origin")
    least, noise = needed(release), release.noise_scale
    if (
        noise.off_diagonal < least.off_diagonal
        or noise.diagonal < least.diagonal
        or noise.signal < least.signal
    ):
        raise CorruptFileError("its noise does not pay for its promise")


def _central_noise(release: Release) -> NoiseScale:
    return _gaussian_noise(release, release.n_rows)


def _local_gaussian_noise(release: Release) -> NoiseScale:
    return _gaussian_noise(release, math.sqrt(release.n_rows))  # each report has its own


def _gaussian_noise(release: Release, divisor: float) -> NoiseScale:
    promise = release.provenance.calibrated_for
    row_norm = release.provenance.row_norm
    diagonal = gaussian_scale(
        epsilon=promise.epsilon,
        delta=getattr(promise, "delta", 0.0),
        sensitivity=frobenius_sensitivity(row_norm, promise.neighbors) / divisor,
    ) * (1 - 1e-9)
    return NoiseScale(diagonal / math.sqrt(2), diagonal)


def _local_cap_noise(release: Release) -> NoiseScale:
    """Return the noise of the best cap; other constants for the same promise have more."""
    made = release.provenance
    epsilon = made.calibrated_for.epsilon
    gain = plan_cap(epsilon=epsilon, n_columns=release.n_columns).gain
    unit = made.row_norm**2 / gain * (1 - 1e-6)
    sd = unit / math.sqrt(release.n_rows)
    return NoiseScale(sd, math.sqrt(2) * sd, unit / release.n_rows)


def _promise_facts(promise: ApproxDP | PureDP) -> Facts:
    facts: Facts = {"epsilon": promise.epsilon, "neighbors": promise.neighbors.value}
    return facts | {"delta": promise.delta} if isinstance(promise, ApproxDP) else facts


def _promise_of(facts: Facts) -> ApproxDP | PureDP:
    return ApproxDP(**facts) if "delta" in facts else PureDP(**facts)


MOMENTS = Format("dpcov second-moment release", 1, {"matrix": "<f8"}, _rebuild_moments)
_FORMATS = (MOMENTS,)
