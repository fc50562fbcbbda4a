"""Print the lowest versions that pyproject.toml declares, as constraints for pip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)((?:\s*;.*)?)")


def declared(project: dict[str, Any]) -> Iterator[str]:
    """Yield every requirement that is not the project itself."""
    lists = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    for requirement in (each for some in lists for each in some if isinstance(each, str)):
        if not requirement.startswith("dpcov["):
            yield requirement


def constraint(requirement: str) -> str:
    """Return the requirement with its lower bound as the only version.

    >>> constraint("dask[array]>=2024.8.0")
    'dask==2024.8.0'
    """
    found = REQUIREMENT.fullmatch(requirement)
    if found is None:
        raise SystemExit(f"{requirement!r} needs one lower bound, like 'numpy>=2.0.0'.")
    name, version, marker = found.groups()
    return f"{name}=={version}{marker}"


if __name__ == "__main__":
    text = PROJECT.read_text(encoding="utf-8")
    print("\n".join(sorted({constraint(each) for each in declared(tomllib.loads(text))})))
