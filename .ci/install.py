"""Install the wheel and the archive of the sources in clean environments, and use them.

Owns the matrix: every Python that is named, without extras and with each. Each environment is
new, gets the wheel with one extra, runs ``smoke.py`` in an empty folder and is removed.
``make test-install PYTHONS="3.10 3.13"``; with uv on the path it is several times quicker than with
venv and pip.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "build" / "dist"
MOST_SECONDS = 900  # for one command: an installation of Spark, on a slow line
SDIST, TYPED = "sdist", "typed"


@dataclass(frozen=True)
class Result:
    """What came of one environment."""

    python: str
    what: str
    problem: str | None
    seconds: float


def extras() -> list[str]:
    """Return the extras that the project declares."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    return list(tomllib.loads(text)["project"]["optional-dependencies"])


def run(*words: str | os.PathLike[str], inside: Path | None = None) -> None:
    """Run a command; its output is shown if it fails."""
    done = subprocess.run(
        list(map(str, words)),
        cwd=inside,
        timeout=MOST_SECONDS,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
    )
    if done.returncode != 0:
        print(done.stdout[-2000:], done.stderr[-4000:], sep="\n", file=sys.stderr)
        raise RuntimeError(f"{Path(words[0]).name} {words[1]} ended with {done.returncode}")


def environment(python: str, folder: Path) -> Path:
    """Make an empty environment, and return its Python."""
    uv = shutil.which("uv")
    if uv is not None:
        run(uv, "venv", "--quiet", "--python", python, folder)
    else:
        run(python if Path(python).name != python else f"python{python}", "-m", "venv", folder)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    return scripts / ("python.exe" if os.name == "nt" else "python")


def install(python: Path, *requirements: str) -> None:
    """Install what is required, and nothing else."""
    uv = shutil.which("uv")
    if uv is not None:
        run(uv, "pip", "install", "--quiet", "--python", python, *requirements)
    else:
        run(python, "-m", "pip", "install", "--quiet", *requirements)


def requirements(what: str, wheel: Path, sdist: Path) -> Sequence[str]:
    """Return what pip is asked for."""
    if what == SDIST:
        return [str(sdist)]
    if what == TYPED:
        return [str(wheel), "mypy"]
    return [str(wheel) if what == "core" else f"{wheel}[{what}]"]


def attempt(python: str, what: str, wheel: Path, sdist: Path) -> Result:
    """Install and use one thing."""
    began, problem = time.monotonic(), None
    with tempfile.TemporaryDirectory(prefix="dpcov-install-") as place:
        elsewhere = Path(place, "work")
        elsewhere.mkdir()
        try:
            inside = environment(python, Path(place, "environment"))
            install(inside, *requirements(what, wheel, sdist))
            if what == TYPED:
                script = ROOT / ".ci" / "downstream.py"
                run(inside, "-m", "mypy", "--strict", script, inside=elsewhere)
            else:
                use = "core" if what == SDIST else what
                run(inside, "-I", ROOT / ".ci" / "smoke.py", use, inside=elsewhere)
        except (RuntimeError, subprocess.TimeoutExpired, OSError) as error:
            problem = f"{type(error).__name__}: {str(error)[:200]}"
    return Result(python, what, problem, time.monotonic() - began)


def table(results: Sequence[Result]) -> str:
    """Return the results as a table in Markdown, one line for each thing."""
    pythons = list(dict.fromkeys(each.python for each in results))
    cells = {
        (each.what, each.python): f"{each.seconds:.0f} s" if each.problem is None else "**fails**"
        for each in results
    }
    short = [Path(python).name.removeprefix("python") or "this Python" for python in pythons]
    lines = ["| | " + " | ".join(short) + " |", "|---" * (len(pythons) + 1) + "|"]
    for what in dict.fromkeys(each.what for each in results):
        row = " | ".join(cells.get((what, python), "") for python in pythons)
        lines.append(f"| {what} | {row} |")
    return "\n".join(lines)


def main() -> int:
    """Build or take what was built, and try all that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pythons", nargs="*", help="versions (3.13) or paths; this one if none")
    parser.add_argument("--only", nargs="+", help="core, sdist, typed, or names of extras")
    parser.add_argument("--built", type=Path, default=BUILT, help="the folder of the wheel")
    chosen = parser.parse_args()
    (wheel,), (sdist,) = chosen.built.glob("dpcov-*.whl"), chosen.built.glob("dpcov-*.tar.gz")
    results = []
    for python in chosen.pythons or [sys.executable]:
        for what in chosen.only or ["core", SDIST, TYPED, *extras()]:
            result = attempt(python, what, wheel.resolve(), sdist.resolve())
            print(
                f"{python} {what}: {result.problem or 'works'}, {result.seconds:.0f} s", flush=True
            )
            results.append(result)
    print("\n" + table(results))
    return int(any(each.problem for each in results))


if __name__ == "__main__":
    sys.exit(main())
