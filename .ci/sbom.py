"""Write the bills of materials of the wheel: what it brings without extras, and with `all`.

Owns build/sbom. Each is made from a new environment in which the wheel was installed, in the form
of CycloneDX, and is held to its schema and to the environment: every package that is there is
listed, with its version. Takes the wheel of ``make dist``.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = Path(__file__).parents[1]
_SPEC = importlib.util.spec_from_file_location("install", ROOT / ".ci" / "install.py")
install = importlib.util.module_from_spec(_SPEC)
sys.modules["install"] = install  # dataclasses look their module up
_SPEC.loader.exec_module(install)

FORM = "1.6"
KINDS = {"core": "", "all": "[all]"}
LIST = (
    "import json, importlib.metadata as m;"
    "print(json.dumps({d.name.lower().replace('_', '-'): d.version for d in m.distributions()}))"
)


def make(wheel: Path, extra: str, out: Path) -> None:
    """Install the wheel with what an extra brings, and write what is there."""
    with tempfile.TemporaryDirectory(prefix="dpcov-sbom-") as place:
        python = install.environment(sys.executable, Path(place, "environment"))
        install.install(python, f"{wheel}{extra}")
        tool = [sys.executable, "-m", "cyclonedx_py", "environment", str(python)]
        project = ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "library"]
        form = ["--sv", FORM, "--of", "JSON", "--output-reproducible", "--validate"]
        subprocess.run([*tool, *project, *form, "-o", str(out)], check=True, timeout=600)
        there = json.loads(
            subprocess.run(
                [str(python), "-I", "-c", LIST], check=True, capture_output=True, text=True
            ).stdout
        )
    complete(out, wheel)
    check(out, there)


def complete(out: Path, wheel: Path) -> None:
    """State the version and the digest of the wheel, and not where on this machine it lay."""
    bill = json.loads(out.read_text(encoding="utf-8"))
    version = wheel.name.split("-")[1]
    bill["metadata"]["component"] |= {
        "version": version,
        "purl": f"pkg:pypi/dpcov@{version}",
        "hashes": [{"alg": "SHA-256", "content": sha256(wheel.read_bytes()).hexdigest()}],
    }
    for part in [bill["metadata"]["component"], *bill["components"]]:
        if "externalReferences" in part:
            part["externalReferences"] = [
                each for each in part["externalReferences"] if "file://" not in each["url"]
            ]
    text = json.dumps(bill, indent=1, sort_keys=True) + "\n"
    if problem := JsonStrictValidator(SchemaVersion.from_version(FORM)).validate_str(text):
        raise SystemExit(f"{out.name} is not valid: {problem}")
    out.write_text(text, encoding="utf-8")


def check(out: Path, there: dict[str, str]) -> None:
    """Want every package of the environment, in its version, and no place of this machine."""
    text = out.read_text(encoding="utf-8")
    bill = json.loads(text)
    parts = [bill["metadata"]["component"], *bill["components"]]
    listed = {part["name"].lower().replace("_", "-"): part.get("version") for part in parts}
    tools = {"pip", "setuptools", "wheel"}
    missing = {name for name in there if listed.get(name) != there[name]} - tools - {"dpcov"}
    if missing or "dpcov" not in listed:
        raise SystemExit(f"{out.name} lacks {sorted(missing) or 'dpcov'}.")
    if str(ROOT) in text or tempfile.gettempdir() + os.sep in text:
        raise SystemExit(f"{out.name} names a folder of this machine.")
    print(f"{out}: {len(listed)} packages, valid CycloneDX {FORM}")


def main() -> None:
    """Write both."""
    folder = ROOT / "build" / "sbom"
    folder.mkdir(parents=True, exist_ok=True)
    (wheel,) = (ROOT / "build" / "dist").glob("dpcov-*.whl")
    for name, extra in KINDS.items():
        make(wheel, extra, folder / f"dpcov-{name}.cdx.json")


if __name__ == "__main__":
    main()
