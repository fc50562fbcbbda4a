"""Facts as somebody writes them down: a mapping, or two bounds in brackets.

Owns how they become a `Column`, and which facts that hold for all reach one that states its own.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from dpcov.columns.codes import check_codes
from dpcov.columns.column import FACTS, Column
from dpcov.columns.levels import name_of
from dpcov.errors import ParameterError

__all__ = ["column_of", "did_you_mean", "with_defaults"]

_OF_LEVELS = {"levels", "ordered", "numbers", "other"}
_OF_NUMBERS = {"lower", "upper", "center", "scale", "unit", "since", "text"}


def column_of(name: str, stated: Any) -> Column:
    """Return the column of a mapping of facts."""
    return Column(name, **_as_facts(f"column {name!r}", stated))


def with_defaults(name: str, stated: Any, defaults: Mapping[str, Any] | None) -> Any:
    """Return the facts of a column with those that hold for all, where it has none of its own."""
    if not defaults:
        return stated
    own = _as_facts(f"column {name!r}", stated)
    general = _as_facts("[defaults]", defaults)
    # Bounds mean nothing to a category, nor levels to a number.
    if _OF_LEVELS & own.keys():
        general = {fact: value for fact, value in general.items() if fact not in _OF_NUMBERS}
    elif _OF_NUMBERS & own.keys():
        general = {fact: value for fact, value in general.items() if fact not in _OF_LEVELS}
    if "missing" in own and "complete" not in own:
        general.pop("complete", None)
    if own.get("complete") is True:
        general.pop("missing", None)
    if "missing" in general and isinstance(own.get("levels"), (list, tuple)):
        levels = {name_of(level) for level in own["levels"]}
        codes = check_codes("missing of [defaults]", general["missing"])
        general["missing"] = [code for code in codes if name_of(code) not in levels]
    return {**general, **own}


def _as_facts(whose: str, stated: Any) -> dict[str, Any]:
    """Return stated facts by name, or say what is wrong with their form."""
    if isinstance(stated, (list, tuple)):
        if len(stated) != 2:
            raise ParameterError(
                f"The facts of {whose} must be two bounds, lower and upper; got {len(stated)} of "
                "them. One that is not known is None in Python, inf in a file."
            )
        return dict(zip(("lower", "upper"), stated, strict=True))
    if not isinstance(stated, Mapping):
        raise ParameterError(f"The facts of {whose} must be a mapping, or two bounds in brackets.")
    unknown = sorted(str(fact) for fact in stated if fact not in FACTS)
    if unknown:
        capital = whose[0].upper() + whose[1:]
        raise ParameterError(
            f"{capital} has the unknown fact {unknown[0]!r}{did_you_mean(unknown[0], FACTS)}; "
            f"known are {', '.join(FACTS)}."
        )
    return dict(stated)


def did_you_mean(name: str, known: Any) -> str:
    """Return a question in brackets about the known name that is closest, or nothing.

    Examples
    --------
    >>> did_you_mean("uper", ["lower", "upper"])
    " (did you mean 'upper'?)"
    """
    close = difflib.get_close_matches(name, list(known), 1)
    return f" (did you mean {close[0]!r}?)" if close else ""
