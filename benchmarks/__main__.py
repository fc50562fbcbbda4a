"""Run the benchmarks and print their tables: ``python -m benchmarks [name ...]``."""

from __future__ import annotations

import sys

from benchmarks import release

_TABLES = {"release": release.tables}


def main(names: list[str]) -> None:
    """Print the tables of the named benchmarks, or of all."""
    unknown = set(names) - _TABLES.keys()
    if unknown:
        raise SystemExit(f"Unknown benchmark; choose from: {', '.join(_TABLES)}")
    for name in names or _TABLES:
        for table in _TABLES[name]():
            print(table.to_markdown(), end="\n\n", flush=True)


main(sys.argv[1:])
