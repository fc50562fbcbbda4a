"""Run the tests of exact numbers and the vectors as other processors would compute them.

OpenBLAS takes a kernel by OPENBLAS_CORETYPE, and numpy leaves instructions out by
NPY_DISABLE_CPU_FEATURES. A kernel that this machine cannot run is left out, and named.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys

TESTS = ["tests/exact", "tests/golden", "tests/local/test_vectors.py"]
PYTEST = ["-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", *TESTS]
# What each kernel of OpenBLAS needs of the processor, as numpy calls it.
KERNELS = {"Prescott": "SSE3", "Haswell": "AVX2", "SkylakeX": "AVX512_SKX"}
# OpenBLAS tells of the oldest processor with the same kernel.
OTHERWISE = {"Prescott": "Katmai"}
MINUTES = 10

_FEATURES = """
try:
    from numpy._core import _multiarray_umath as core
except ImportError:
    from numpy.core import _multiarray_umath as core
has = core.__cpu_features__
print(*(name for name, there in has.items() if there), sep=",")
print(*(name for name in core.__cpu_dispatch__ if has.get(name)), sep=",")
"""
_ARCHITECTURE = """
import numpy, threadpoolctl
blas = [each for each in threadpoolctl.threadpool_info() if each["user_api"] == "blas"]
print(*(each.get("architecture", "") for each in blas))
"""


def main() -> int:
    """Run the tests with each kernel, and return 1 if any failed."""
    features, dispatched = (set(line.split(",")) for line in _ask(_FEATURES).splitlines())
    ways = {}
    for kernel, needed in KERNELS.items():
        wanted = {"OPENBLAS_CORETYPE": kernel}
        if platform.machine().lower() not in ("x86_64", "amd64"):
            _leave_out(kernel, "this is no x86-64 processor")
        elif needed not in features:
            _leave_out(kernel, f"this processor has no {needed}")
        elif not set(_ask(_ARCHITECTURE, wanted).split()) & {kernel, OTHERWISE.get(kernel)}:
            _leave_out(kernel, "numpy's BLAS does not take it")
        else:
            ways[kernel] = wanted
    wide = sorted(name for name in dispatched if name.startswith("AVX512") or name == "X86_V4")
    if wide:
        ways["numpy without AVX-512"] = {"NPY_DISABLE_CPU_FEATURES": ",".join(wide)}
    else:
        _leave_out("numpy without AVX-512", "numpy does not use it here")
    failed = [name for name, wanted in ways.items() if not _passes(name, wanted)]
    if failed:
        print(f"Tests fail with: {', '.join(failed)}.")
    return int(bool(failed))


def _ask(code: str, environment: dict[str, str] | None = None) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(
        command,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


def _passes(name: str, environment: dict[str, str]) -> bool:
    print(f"With {name}:", flush=True)
    command = [sys.executable, *PYTEST]
    done = subprocess.run(command, env={**os.environ, **environment}, timeout=60 * MINUTES)
    return done.returncode == 0


def _leave_out(name: str, why: str) -> None:
    print(f"{name} is left out: {why}.", flush=True)


if __name__ == "__main__":
    sys.exit(main())
