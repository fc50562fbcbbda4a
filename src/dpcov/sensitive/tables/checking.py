"""Whether a file of facts and a table fit, and what would be read: all problems at once.

Owns the check before a release. It looks at names and declared types, and reads no cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dpcov.columns import Column, Columns
from dpcov.columns.csv_form import COMMAS, CsvForm
from dpcov.columns.fields import Field
from dpcov.columns.identifiers import is_identifier
from dpcov.columns.patterns import expand, is_pattern
from dpcov.columns.stated import column_of, did_you_mean, with_defaults
from dpcov.errors import DpcovError
from dpcov.sensitive.tables.cells import with_rules
from dpcov.sensitive.tables.choice import Choice, Wanted, shown_names
from dpcov.sensitive.tables.kinds import Declared
from dpcov.sensitive.tables.names import check_own_names
from dpcov.sensitive.tables.registry import find_kind

__all__ = ["Check", "CheckedColumn", "check_facts"]


@dataclass(frozen=True)
class CheckedColumn:
    """A column that would be read: the kind that its table declares, and what it becomes."""

    kind: str
    field: Field


@dataclass(frozen=True)
class Check:
    """What would be read, what is wrong, and which columns would not be read.

    `unused` has the names that may be shown, `n_unused` counts all of them.
    """

    columns: tuple[CheckedColumn, ...]
    problems: tuple[str, ...]
    unused: tuple[str, ...]
    n_unused: int


def check_facts(
    table: Any,
    facts: Mapping[str, Any] | None,
    defaults: Mapping[str, Any] | None = None,
    *,
    header: bool | None = None,
    csv: CsvForm = COMMAS,
) -> Check:
    """Return how each stated column of a table would be read, and everything that is wrong.

    Facts that are None are those of `defaults`, about all columns that are no identifiers.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [1.0, 2.0], "sex": ["f", "m"]})
    >>> check_facts(table, {"age": (18, 110), "sx": {}}).problems
    ("The table has no column 'sx' (did you mean 'sex'?).",)
    """
    problems: list[str] = []
    stated = _read_facts({"*": {}} if facts is None else facts, defaults, problems)
    if not stated:
        return Check((), tuple(problems), (), 0)
    wanted = Wanted(facts=Columns(stated), header=header, csv=csv)
    kind, found = find_kind(table)
    declared = kind.declare(found, wanted)
    labels = tuple(str(label) for label in declared.labels)
    shown = _shown(labels, declared, wanted)
    aside = (*declared.index, *(filter(is_identifier, labels) if facts is None else ()))
    columns = _match(stated, labels, aside, shown, problems)
    checked = []
    for column in columns:
        choice = Choice(labels, (labels.index(column.name),), facts=(column,))
        with _noting(problems):
            if not wanted.states(column.name):
                check_own_names({choice.places[0]: column.name}, are_names=False)
            rules = with_rules(choice, declared.types, wanted, form=csv.numbers).rules
            checked.append(CheckedColumn(declared.types[choice.places[0]].kind, rules[0].field))
    used = {column.name for column in columns} | set(declared.index)
    unused = tuple(name for name in shown if name not in used)
    n_unused = sum(label not in used for label in labels)
    return Check(tuple(checked), tuple(problems), unused, n_unused)


def _read_facts(
    facts: Any, defaults: Mapping[str, Any] | None, problems: list[str]
) -> list[Column]:
    """Return the columns whose facts are possible, and add what is wrong with the others."""
    if not isinstance(facts, Mapping):
        problems.append("columns must be a mapping from names to facts.")
        return []
    if not facts:
        problems.append("There are no columns: state at least one.")
    found = []
    for name, own in facts.items():
        with _noting(problems):
            found.append(column_of(name, with_defaults(name, own, defaults)))
    return found


def _shown(labels: tuple[str, ...], declared: Declared, wanted: Wanted) -> tuple[str, ...]:
    """Return the names of the table that may be shown: a stated one shows that they are names."""
    if not declared.has_own_names or wanted.header is True:
        return labels
    if set(labels).isdisjoint(wanted.stated_names):
        return ()
    return tuple(shown_names(labels, declared.index, ()))


def _match(
    stated: list[Column],
    labels: tuple[str, ...],
    aside: Sequence[str],
    shown: tuple[str, ...],
    problems: list[str],
) -> list[Column]:
    """Return the facts of each column of the table that is meant; a pattern means none aside."""
    data = [label for label in labels if label not in aside]
    kept = []
    for column in stated:
        if column.name in labels:
            kept.append(column)
        elif is_pattern(column.name):
            with _noting(problems):
                expand([column.name], data)
                kept.append(column)
        else:
            problems.append(
                f"The table has no column {column.name!r}{did_you_mean(column.name, shown)}."
            )
    found: list[Column] = []
    with _noting(problems):
        found += Columns(kept).resolve(data) if kept else ()
    return found


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    """Note what is refused, and go on."""
    try:
        yield
    except DpcovError as error:
        problems.append(str(error))
