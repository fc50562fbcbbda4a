"""Files of public facts: TOML or JSON.

They are written by whoever releases a table. Their size is bounded.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from dpcov.columns.facts import Columns
from dpcov.columns.limits import MOST_BYTES
from dpcov.errors import ParameterError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["parse_file", "read_columns", "read_facts"]

_LONGEST_REASON = 200


def read_columns(path: str | os.PathLike[str]) -> Columns:
    """Read a file of facts; see `Columns.load`."""
    facts, defaults = read_facts(path)
    return Columns.from_mapping(facts, defaults=defaults)


def read_facts(path: str | os.PathLike[str]) -> tuple[Any, Any]:
    """Return the facts of columns and those that hold for all, as they stand in a file.

    A file of defaults alone is about all columns of a table, and names none.
    """
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".toml", ".json"):
        raise ParameterError(f"{file.name} must be a .toml or .json file of columns.")
    content = parse_file(file)
    known = {"columns", "defaults"}
    if kind == ".json" and isinstance(content, dict) and not content.keys() & known:
        content = {"columns": content}  # the facts of each column, with nothing around them
    if not isinstance(content, dict) or not content or not content.keys() <= known:
        raise ParameterError(
            f"{file.name} must have one table, 'columns', with the facts of each column by name: "
            + ("in TOML, a line [columns] above them." if kind == ".toml" else '{"columns": {…}}.')
            + " Beside it there may be 'defaults', facts of every column."
        )
    defaults = content.get("defaults")
    if defaults is not None and not isinstance(defaults, dict):
        raise ParameterError(f"defaults of {file.name} must be a mapping of facts.")
    return content.get("columns"), defaults


def parse_file(file: Path) -> Any:
    """Return what a TOML or JSON file holds."""
    return _parse(_read_text(file), file.suffix.lower(), file.name)


def _read_text(file: Path) -> str:
    text, problem = "", ""
    try:
        with file.open("rb") as opened:
            content = opened.read(MOST_BYTES + 1)
        text = content.decode("utf-8") if len(content) <= MOST_BYTES else ""
        if len(content) > MOST_BYTES:
            problem = f"{file.name} has more than {MOST_BYTES >> 20} MiB, the most for columns."
    except FileNotFoundError:
        problem = f"There is no file {str(file)!r}; `dpcov columns` writes a template."
    except OSError:
        problem = f"{str(file)!r} cannot be opened."
    except UnicodeDecodeError:
        problem = f"{file.name} is not valid {file.suffix[1:].upper()}: it is not in UTF-8."
    if problem:
        raise ParameterError(problem)
    return text


def _parse(text: str, kind: str, name: str) -> Any:
    try:
        if kind == ".toml":
            return tomllib.loads(text)
        return json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:  # of both parsers
        problem = str(error)[:_LONGEST_REASON]
    raise ParameterError(f"{name} is not valid {kind[1:].upper()}: {problem.rstrip('.')}.")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    facts = dict(pairs)
    if len(facts) != len(pairs):
        raise ValueError("a name stands twice in one place.")
    return facts
