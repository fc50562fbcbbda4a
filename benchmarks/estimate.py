"""The estimate: time against one eigen-decomposition, memory, and growth with p.

Releases of thousands of columns are simulated entry by entry (truth plus Gaussian
sampling error plus noise), since their rows would not fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy.linalg

from benchmarks.measure import Table, best_times, peak_memory
from dpcov.columns import Units
from dpcov.postprocess.choice import choose
from dpcov.postprocess.correlations import variances_of_correlations
from dpcov.postprocess.noise_model import NoiseModel
from dpcov.postprocess.psd import Variances, make_psd
from dpcov.privacy import ApproxDP
from dpcov.releases import SECOND_MOMENT, NoiseScale, Provenance, Release

__all__ = ["simulated_release", "tables"]

_ROWS = 1_000_000

Array = npt.NDArray[np.float64]


def tables() -> Iterator[Table]:
    """Yield the tables of this benchmark."""
    yield _time_table()
    yield _memory_table()
    yield _growth_table()


def simulated_release(kind: str, size: int, seed: int = 0) -> Release:
    """Return a release with components of 50 columns, or with one giant component."""
    if kind == "blocks":
        truth = np.kron(np.eye(size // 50), 0.5 * np.eye(50) + 0.5)
    else:
        truth = scipy.linalg.toeplitz(np.maximum(1 - np.arange(size) / 10, 0))
    noise = 4.2 * 1.1 * size / _ROWS
    normal = np.random.default_rng(seed).standard_normal((size, size))
    truth += np.sqrt((1 + truth**2) / _ROWS + noise**2) * normal
    return Release(
        matrix=np.triu(truth) + np.triu(truth, k=1).T,
        noise_scale=NoiseScale(noise, noise * 2**0.5),
        n_rows=_ROWS,
        columns=tuple(f"x{i}" for i in range(size)),
        provenance=Provenance("simulated", SECOND_MOMENT, 1.0, 20, ApproxDP(1, 1e-6, "replace")),
        simulated=True,
        units=Units.plain(size),
    )


def _time_table() -> Table:
    size = 2000
    table = Table(
        f"estimate() at p = {size:,} against one scipy.linalg.eigh",
        ("truth", "what", "ratio", "goal"),
    )
    for kind, goal in (("blocks", "≤ 1"), ("giant", "≤ 4")):
        release = simulated_release(kind, size)
        shrunk = release.estimate(psd="none").covariance
        known = partial(variances_of_correlations, NoiseModel.of(release), shrunk)
        times = best_times(
            3,
            eigh=partial(scipy.linalg.eigh, release.matrix),
            whole=release.estimate,
            algebra=partial(_project_copy, shrunk, known),
        )
        name = {"blocks": "components of 50", "giant": "one giant component"}[kind]
        table.rows.append((name, "all of it", f"{times['whole'] / times['eigh']:.2f}", goal))
        table.rows.append(
            (
                name,
                "linear algebra alone",
                f"{times['algebra'] / times['eigh']:.3f}",
                "≤ 0.1" if kind == "blocks" else "–",
            )
        )
    return table


def _project_copy(matrix: Array, known: Variances) -> Array:
    return make_psd(matrix.copy(), method="sparse", variances=known)


def _memory_table() -> Table:
    table = Table(
        "Peak memory of estimate() beyond the release", ("truth", "p", "in p² floats", "goal")
    )
    for kind, size in (("blocks", 5000), ("giant", 5000), ("blocks", 10_000)):
        setup = (
            "from benchmarks.estimate import simulated_release\n"
            "simulated_release('giant', 200).estimate()\n"
            f"release = simulated_release({kind!r}, {size})\n"
            # The peak of the simulation must not hide that of the estimate.
            "import pathlib; pathlib.Path('/proc/self/clear_refs').write_text('5')"
        )
        grown = peak_memory(setup, "release.estimate()") / (8 * size * size)
        goal = "≤ 8" if size == 5000 else "finishes"
        table.rows.append((kind, f"{size:,}", f"{grown:.1f}", goal))
    return table


def _growth_table() -> Table:
    table = Table("Choosing the threshold: growth with p", ("p", "seconds", "ns per p² log₂ p"))
    for size in (500, 1000, 2000, 4000):
        release = simulated_release("blocks", size)
        noise = NoiseModel.of(release)
        seconds = best_times(3, choose=partial(choose, release.matrix, noise))["choose"]
        unit = seconds / (size * size * np.log2(size)) * 1e9
        table.rows.append((f"{size:,}", f"{seconds:.2f}", f"{unit:.1f}"))
    return table
