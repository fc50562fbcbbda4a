"""Build the archive of the sources and the wheel, twice, and want the same bytes.

Owns what a release is built from: the files of the project in a folder of their own, the versions
of ``build_versions.txt``, one moment for all files. The second build has another folder, other
times of files, another umask, time zone and order. The wheel is built from the archive, not from
the tree: who has one can make the other.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ROOT / ".ci" / "build_versions.txt"
EPOCH = 1_580_601_600  # 2020-02-02, for who states no moment; the workflow states that of its tag
NOT_OURS = {".git", ".venv", ".venv-lowest", "build", "dist", "node_modules", "__pycache__"}


def project_files() -> list[Path]:
    """Return the files of the project: those that git knows, or all of an unpacked archive."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
            cwd=ROOT,
            check=True,
            capture_output=True,
        ).stdout
        names = [Path(name) for name in listed.decode().split("\0") if name]
    else:
        names = [path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file()]
    return sorted(
        name for name in names if not NOT_OURS & set(name.parts) and (ROOT / name).is_file()
    )


def copy(target: Path, *, seed: int) -> None:
    """Copy the project in an order and with times that follow from the seed."""
    shuffled = random.Random(seed)  # noqa: S311
    files = project_files()
    shuffled.shuffle(files)
    for name in files:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target / name)
        moment = shuffled.randrange(1_000_000_000, 1_700_000_000)
        os.utime(target / name, (moment, moment))


def build(folder: Path, out: Path, *, umask: int, zone: str) -> dict[str, str]:
    """Build both in a folder, and return the digest of each."""
    environment = os.environ | {
        "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH", str(EPOCH)),
        "PIP_CONSTRAINT": str(VERSIONS),
        "TZ": zone,
    }
    before = os.umask(umask)
    try:
        subprocess.run(
            [sys.executable, "-m", "build", "--outdir", str(out), str(folder)],
            check=True,
            env=environment,
            stdout=subprocess.DEVNULL,
            timeout=600,
        )
    finally:
        os.umask(before)
    return {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(out.iterdir())
    }


def check_contents(out: Path) -> None:
    """Want what a wheel and an archive must have, and nothing that they must not."""
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    with tarfile.open(sdist) as archive_of_sources:
        sources = [name.partition("/")[2] for name in archive_of_sources.getnames()]
    ours = [name.removeprefix("src/") for name in sources if name.startswith("src/")]
    wanted = {"dpcov/py.typed", "dpcov/__init__.pyi", "dpcov/publication/card_schema.json"}
    foreign = [name for name in names if not name.startswith(("dpcov/", "dpcov-"))]
    problems = [
        *(f"the wheel has no {name}" for name in sorted({*ours, *wanted} - set(names))),
        *(f"the wheel has {name}" for name in foreign),
        *(f"there is a {name}" for name in [*names, *sources] if "__pycache__" in name),
    ]
    if not any(name.endswith("licenses/LICENSE") for name in names):
        problems.append("the wheel has no license")
    if problems:
        raise SystemExit("\n".join(problems))


def main() -> None:
    """Build twice, compare, and keep one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "dist")
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory(prefix="dpcov-build-") as place:
        first, second = Path(place, "one"), Path(place, "another folder", "deeper")
        copy(first, seed=1)
        copy(second, seed=2)
        results = [
            build(first, Path(place, "out1"), umask=0o022, zone="UTC"),
            build(second, Path(place, "out2"), umask=0o077, zone="Asia/Kathmandu"),
        ]
        if results[0] != results[1] or len(results[0]) != 2:
            raise SystemExit(f"Two builds differ:\n{results[0]}\n{results[1]}")
        check_contents(Path(place, "out1"))
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(Path(place, "out1"), out)
    lines = [f"{digest}  {name}" for name, digest in results[0].items()]
    (out / "SHA256SUMS").write_text("\n".join(lines) + "\n", encoding="ascii")
    print("Two builds have the same bytes:", *lines, sep="\n")


if __name__ == "__main__":
    main()
