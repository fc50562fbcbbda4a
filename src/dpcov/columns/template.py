"""A file of facts to be filled in by hand: names, types, and what a public schema says.

Owns its text. It is made of a header, of declared types and of a schema that somebody
published, and never of cells.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dpcov.columns.identifiers import is_identifier

__all__ = ["TemplateColumn", "column_template", "is_aside"]

_HEADING = """\
# Public facts of the columns{of}, to be filled in by hand. {origin}
#
# They must come from knowledge (the questionnaire, the law, physics), never from the data:
# a bound that is read from the data gives away whoever made it.
#
# State what is known of each column:
#   lower, upper     cells beyond them are read as the bound; -inf or inf if only one is known
#   center, scale    a typical value and a typical deviation
#   levels           all answers of a category, as they stand in the table: ["f", "m", "x"];
#                    other cells are missing, or count as another level: other = "other"
#   ordered = true   the levels count as 1, 2, 3, …; or numbers = [0, 2.5, 10]
#   missing          codes that mean that there is no answer: [-9, 99]
#   complete = true  no cell is missing
#   unit, since      dates and durations as numbers: "days", since = 2000-01-01
#   text             numbers in texts, by an example of how they are written: "1.234,5"
# or nothing. Bounds in short, under [columns]:  age = [lower, upper]
# One line for many columns:  "A*" = [1, 6]
# Delete the columns that are not to be used.
"""

_DEFAULTS = """\
# [defaults]   # facts of every column that does not state its own
# missing =
"""

_ASIDE = ("text", "category", "object", "date", "duration", "other")


@dataclass(frozen=True)
class TemplateColumn:
    """A column of a template.

    Parameters
    ----------
    name : str
        Its name.
    kind : str
        Its type, in the words of `describe_table`.
    facts : mapping
        What a public schema says of it.
    """

    name: str
    kind: str
    facts: Mapping[str, Any] = field(default_factory=dict)


def column_template(
    columns: Iterable[TemplateColumn],
    *,
    of: str = "",
    defaults: Mapping[str, Any] | None = None,
    origin: str = "No cell was read for it.",
) -> str:
    r"""Return a TOML file with names and types, and places for facts.

    Examples
    --------
    >>> listed = [TemplateColumn("age", "whole number"), TemplateColumn("city", "text")]
    >>> print(column_template(listed).partition("# missing =\n")[2])
    <BLANKLINE>
    [columns."age"]   # whole number
    # lower =
    # upper =
    <BLANKLINE>
    # [columns."city"]   # text
    # levels = ["…", "…"]
    <BLANKLINE>
    """
    parts = [_HEADING.format(of=f" of {_one_line(of)}" if of else "", origin=origin)]
    if defaults:
        parts.append("\n".join(["[defaults]", *_lines(defaults)]) + "\n")
    else:
        parts.append(_DEFAULTS)
    parts.extend(_column_lines(column) for column in columns)
    return "\n".join(parts)


def is_aside(column: TemplateColumn) -> bool:
    """Return whether a template has a column as a comment only: there is something to decide."""
    return not column.facts and (is_identifier(column.name) or column.kind in _ASIDE)


def _column_lines(column: TemplateColumn) -> str:
    heading = f"[columns.{_quoted(column.name)}]   # {_one_line(column.kind)}"
    if is_identifier(column.name) and not column.facts:
        return (
            f"# {heading}, by its name an identifier. Leave it out;\n"
            f"#   if it says whose row it is: --privacy-unit {_quoted(column.name)}\n"
        )
    if column.facts:
        return "\n".join([heading, *_lines(column.facts)]) + "\n"
    if column.kind in ("text", "category", "object"):
        return f'# {heading}\n# levels = ["…", "…"]\n'
    if column.kind in ("date", "duration"):
        return f'# {heading}\n# unit = "days"\n'
    if column.kind == "boolean":
        return f"{heading}: 0 and 1\n"
    if column.kind == "other":
        return f"# {heading}, which cannot be read as a number\n"
    return f"{heading}\n# lower =\n# upper =\n"


def _lines(facts: Mapping[str, Any]) -> list[str]:
    return [f"{fact} = {_written(value)}" for fact, value in facts.items()]


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, datetime.date):
        return value.isoformat()
    return repr(value)


def _quoted(name: str) -> str:
    # JSON's escapes are TOML's, but for one character.
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def _one_line(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
