"""Questions of a study: what a person is asked, and which cells an answer becomes.

Owns the kinds of questions, their written form, and the public center and scale of the columns
that they fill. Each question adds at most one to the squared norm of a row in working units.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcov.columns.spelling import has_hidden_characters
from dpcov.errors import ParameterError

__all__ = ["Choice", "ChoiceQuestion", "NumberQuestion", "Question", "ScaleQuestion"]

_LONGEST = 2000
_LARGEST = 10**15  # whole numbers that all languages hold
_MOST_POINTS, _MOST_CHOICES = 50, 200

Facts = tuple[tuple[str, float, float], ...]
"""Name, center and scale of each column."""


@dataclass(frozen=True)
class NumberQuestion:
    """A number between two bounds.

    Parameters
    ----------
    text : str
        What is asked.
    column : str
        The column of the plan that the answer fills.
    low, high : int or float
        The smallest and the largest answer that can be given: public facts.
    step : int or float, default 1
        What an input field counts in.
    unit : str, default ""
        What stands behind the field.
    """

    text: str
    column: str
    low: float
    high: float
    step: float = 1
    unit: str = ""
    kind: ClassVar[str] = "number"

    def __post_init__(self) -> None:
        check_line("text of a question", self.text)
        check_line("column of a question", self.column)
        check_line("unit of a question", self.unit, may_be_empty=True)
        for name in ("low", "high", "step"):
            object.__setattr__(self, name, _plain(name, getattr(self, name)))
        if not self.low < self.high or not self.step > 0:
            raise ParameterError("A number needs low < high, and a positive step.")

    @property
    def facts(self) -> Facts:
        """Center and scale of its column."""
        return ((self.column, (self.low + self.high) / 2, (self.high - self.low) / 2),)

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in a plan."""
        return {
            "kind": self.kind,
            "text": self.text,
            "column": self.column,
            "low": self.low,
            "high": self.high,
            "step": self.step,
            "unit": self.unit,
        }


@dataclass(frozen=True)
class ScaleQuestion:
    """Points in an order, such as never … always; the answer is 1 for the first, 2 for the next.

    Parameters
    ----------
    text, column : str
        What is asked, and the column that the answer fills.
    points : sequence of str
        The words for the points, from 2 to 50.
    """

    text: str
    column: str
    points: tuple[str, ...]
    kind: ClassVar[str] = "scale"

    def __post_init__(self) -> None:
        check_line("text of a question", self.text)
        check_line("column of a question", self.column)
        points = _list("points", self.points, low=2, high=_MOST_POINTS)
        for point in points:
            check_line("point of a scale", point)
        object.__setattr__(self, "points", points)

    @property
    def facts(self) -> Facts:
        """Center and scale of its column."""
        size = len(self.points)
        return ((self.column, (size + 1) / 2, (size - 1) / 2),)

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in a plan."""
        return {
            "kind": self.kind,
            "text": self.text,
            "column": self.column,
            "points": list(self.points),
        }


@dataclass(frozen=True)
class Choice:
    """An answer without an order, and the column that says whether it was given.

    Parameters
    ----------
    label : str
        The answer.
    column : str, optional
        The column that is 1 for this answer and 0 for the others; without it, all columns of
        the question are 0.
    """

    label: str
    column: str | None = None

    def __post_init__(self) -> None:
        check_line("label of a choice", self.label)
        if self.column is not None:
            check_line("column of a choice", self.column)

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in a plan."""
        return {"label": self.label, "column": self.column}


@dataclass(frozen=True)
class ChoiceQuestion:
    """One of several answers without an order.

    Parameters
    ----------
    text : str
        What is asked.
    choices : sequence of Choice
        From 2 to 200, at least one with a column.
    """

    text: str
    choices: tuple[Choice, ...]
    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        check_line("text of a question", self.text)
        choices = _list("choices", self.choices, low=2, high=_MOST_CHOICES)
        if not all(isinstance(choice, Choice) for choice in choices):
            raise ParameterError("choices must be a list of Choice.")
        if not any(choice.column is not None for choice in choices):
            raise ParameterError("A question needs a choice with a column.")
        object.__setattr__(self, "choices", choices)

    @property
    def facts(self) -> Facts:
        """Center and scale of its columns.

        With k choices, zeros and one 1 about 1/k have a squared norm of at most 1 − 1/k.
        """
        size = len(self.choices)
        scale = math.sqrt(1 - 1 / size)
        return tuple(
            (choice.column, 1 / size, scale) for choice in self.choices if choice.column is not None
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in a plan."""
        return {
            "kind": self.kind,
            "text": self.text,
            "choices": [choice.to_dict() for choice in self.choices],
        }


Question = NumberQuestion | ScaleQuestion | ChoiceQuestion


def question_from_dict(facts: object) -> Question:
    """Read a question as a plan states it, all parts of it, or refuse."""
    made: Question
    if not isinstance(facts, Mapping):
        raise ParameterError("A question must be a mapping.")
    parts = {key: value for key, value in facts.items() if key != "kind"}
    kind = facts.get("kind")
    if kind == "number":
        made = NumberQuestion(**_with_keys(parts, "text column low high step unit"))
    elif kind == "scale":
        made = ScaleQuestion(**_with_keys(parts, "text column points"))
    elif kind == "choice":
        parts = _with_keys(parts, "text choices")
        listed = _list("choices", parts["choices"], low=2, high=_MOST_CHOICES)
        choices = tuple(Choice(**_with_keys(choice, "label column")) for choice in listed)
        made = ChoiceQuestion(parts["text"], choices)
    else:
        raise ParameterError("The kind of a question must be 'number', 'scale' or 'choice'.")
    return made


def check_line(name: str, value: object, *, may_be_empty: bool = False) -> str:
    """Return text that stays on its line and is what it seems."""
    if not isinstance(value, str) or len(value) > _LONGEST or has_hidden_characters(value):
        raise ParameterError(
            f"The {name} must be one line of text of at most {_LONGEST:,} characters."
        )
    if not (value.strip() or may_be_empty):
        raise ParameterError(f"The {name} must not be empty.")
    return value


def _with_keys(facts: object, keys: str) -> dict[str, Any]:
    wanted = keys.split()
    if not isinstance(facts, Mapping) or set(facts) != set(wanted):
        raise ParameterError(f"A question has missing or unknown parts: it needs {keys}.")
    return dict(facts)


def _plain(name: str, value: object) -> float:
    """Return an int or a float as it was written: they have different ids."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise ParameterError(f"{name} of a question must be a number.")
    number = int(value) if isinstance(value, int | np.integer) else float(value) + 0.0  # not −0.0
    if not abs(number) <= _LARGEST:
        raise ParameterError(f"{name} of a question must be a number within ±1e15.")
    return number


def _list(name: str, values: object, *, low: int, high: int) -> tuple[Any, ...]:
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise ParameterError(f"{name} must be a list.")
    found = tuple(values)
    if not low <= len(found) <= high:
        raise ParameterError(f"{name} must be a list of {low} to {high}.")
    return found
