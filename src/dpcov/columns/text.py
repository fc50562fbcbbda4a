"""Files of public facts: TOML or JSON, and a template to be filled in by hand.

Owns their text. A template has names and types, and never a number.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dpcov.columns.facts import Columns
from dpcov.columns.limits import MOST_BYTES, json_problem, toml_problem
from dpcov.errors import ParameterError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["column_template", "read_columns"]

_DEEPEST = 3  # columns, one of them, its facts
_LONGEST_REASON = 200

_HEADING = """\
# Public facts of the columns{of}, to be filled in by hand.
#
# They must come from knowledge (the questionnaire, the law, physics), never from the data:
# a bound that is read from the data gives away whoever made it.
#
# State what is known of each column:
#   lower, upper    cells beyond them are read as the bound; -inf or inf if only one is known
#   center, scale   a typical value and a typical deviation
# or nothing. Bounds in short, under [columns]:  age = [lower, upper]
# Delete the columns that are not to be used.
"""


def read_columns(path: str | os.PathLike[str]) -> Columns:
    """Read a file of facts; see `Columns.load`."""
    file = Path(path)
    kind = file.suffix.lower()
    if kind not in (".toml", ".json"):
        raise ParameterError(f"{file.name} must be a .toml or .json file of columns.")
    content = _parse(_read_text(file), kind, file.name)
    if not isinstance(content, dict) or set(content) != {"columns"}:
        raise ParameterError(
            f"{file.name} must have one table, 'columns', with the facts of each column by name: "
            + ("in TOML, a line [columns] above them." if kind == ".toml" else '{"columns": {…}}.')
        )
    return Columns.from_mapping(content["columns"])


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
    if kind == ".toml":
        problem = toml_problem(text, most_deep=_DEEPEST)
    else:
        problem = json_problem(text, most_deep=_DEEPEST)
    if problem:
        raise ParameterError(f"{name} cannot be read as a file of columns. {problem}")
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


def column_template(columns: Iterable[tuple[str, str]], *, of: str = "") -> str:
    r"""Return a TOML file with names and types, and places for facts.

    Examples
    --------
    >>> print(column_template([("age", "whole number")]).rpartition("#\n")[2])
    # State what is known of each column:
    #   lower, upper    cells beyond them are read as the bound; -inf or inf if only one is known
    #   center, scale   a typical value and a typical deviation
    # or nothing. Bounds in short, under [columns]:  age = [lower, upper]
    # Delete the columns that are not to be used.
    <BLANKLINE>
    [columns."age"]   # whole number
    # lower =
    # upper =
    <BLANKLINE>
    """
    parts = [_HEADING.format(of=f" of {_one_line(of)}" if of else "")]
    for name, kind in columns:
        parts.append(f"[columns.{_quoted(name)}]   # {_one_line(kind)}\n# lower =\n# upper =\n")
    return "\n".join(parts)


def _quoted(name: str) -> str:
    # JSON's escapes are TOML's, but for one character.
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
