"""The study of a collection plan: what people are told and asked, and what is kept to.

Owns the words and the rules that a plan publishes beside its columns: title, consent text,
questions, the least number of people, whether their count is public. All of it is public, and
the plan's id covers it: nobody can change a question and keep the id.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcov.columns.text import parse_file
from dpcov.errors import ParameterError
from dpcov.local.questions import (
    Choice,
    ChoiceQuestion,
    NumberQuestion,
    Question,
    ScaleQuestion,
    check_line,
    question_from_dict,
)
from dpcov.parameters import check_count

if TYPE_CHECKING:
    from dpcov.local.plan import CollectionPlan

__all__ = ["Study"]

_KEYS = {"title", "about", "contact", "minimum", "count_is_public", "questions"}
_MOST_QUESTIONS = 2000
_LONGEST_ABOUT = 50_000


@dataclass(frozen=True, kw_only=True)
class Study:
    """What people are told and asked.

    Parameters
    ----------
    title : str
        One line.
    questions : sequence of NumberQuestion, ScaleQuestion or ChoiceQuestion
        In their order. Each column is filled by one of them.
    about : str, default ""
        Who asks and why, and what a person agrees to: paragraphs of plain text.
    contact : str, default ""
        Whom to ask.
    minimum : int, default 100
        A release of fewer people is refused.
    count_is_public : bool, default False
        Whether anybody may ask a server how many reports it has.

    Examples
    --------
    >>> from dpcov import local
    >>> study = local.Study(
    ...     title="Sleep",
    ...     questions=[
    ...         local.NumberQuestion("How old are you?", "age", low=18, high=110, unit="years"),
    ...         local.ScaleQuestion("Do you sleep badly?", "bad", ["never", "at times", "always"]),
    ...     ],
    ... )
    >>> study.plan(epsilon=2.0)
    CollectionPlan(2 columns, cap, 2-differential privacy in the local model, 69959949044e8cd5)
    """

    title: str
    questions: tuple[Question, ...]
    about: str = ""
    contact: str = ""
    minimum: int = 100
    count_is_public: bool = False

    if TYPE_CHECKING:  # sequences become tuples

        def __init__(
            self,
            *,
            title: str,
            questions: Iterable[Question],
            about: str = "",
            contact: str = "",
            minimum: int = 100,
            count_is_public: bool = False,
        ) -> None: ...

    def __post_init__(self) -> None:
        check_line("title", self.title)
        check_line("contact", self.contact, may_be_empty=True)
        _check_about(self.about)
        minimum = check_count("minimum", self.minimum, low=1, high=10**12)
        object.__setattr__(self, "minimum", minimum)
        if not isinstance(self.count_is_public, bool):
            raise ParameterError("count_is_public must be True or False.")
        if isinstance(self.questions, str | Mapping) or not isinstance(self.questions, Iterable):
            raise ParameterError("questions must be a list of questions.")
        questions = tuple(self.questions)
        if not all(isinstance(question, Question) for question in questions):
            raise ParameterError("questions must be a list of questions.")
        check_count("the number of questions", len(questions), low=1, high=_MOST_QUESTIONS)
        object.__setattr__(self, "questions", questions)
        if len(set(self.columns)) != len(self.columns):
            raise ParameterError("Each column of a study is filled by one question, and once.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the questions fill, in their order."""
        return tuple(name for question in self.questions for name, _, _ in question.facts)

    def plan(
        self, *, epsilon: float, row_norm: float | None = None, **options: Any
    ) -> CollectionPlan:
        """Return the collection plan that asks these questions.

        Parameters
        ----------
        epsilon : float
            What each report spends.
        row_norm : float, optional
            By default the root of the number of questions, which no answers exceed. A smaller
            one shortens unusual rows, and makes less noise.
        **options
            Of `CollectionPlan`: mechanism, delta, missing, mean. Reports of ``"cap"``, the
            default mechanism, hold the mean unless ``mean=False``.
        """
        from dpcov.local.plan import CollectionPlan

        options.setdefault("mean", options.get("mechanism", "cap") == "cap")
        facts = [fact for question in self.questions for fact in question.facts]
        return CollectionPlan(
            columns=[name for name, _, _ in facts],
            center=[center for _, center, _ in facts],
            scale=[scale for _, _, scale in facts],
            row_norm=math.sqrt(len(self.questions)) if row_norm is None else row_norm,
            epsilon=epsilon,
            study=self,
            **options,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in a plan."""
        return {
            "title": self.title,
            "about": self.about,
            "contact": self.contact,
            "minimum": self.minimum,
            "count_is_public": self.count_is_public,
            "questions": [question.to_dict() for question in self.questions],
        }

    @classmethod
    def from_dict(cls, facts: object) -> Study:
        """Read what stands in a plan: every part, and nothing else."""
        if not isinstance(facts, Mapping) or set(facts) != _KEYS:
            raise ParameterError("The study has missing or unknown parts.")
        if not isinstance(facts["questions"], list):
            raise ParameterError("questions must be a list of questions.")
        questions = [question_from_dict(each) for each in facts["questions"]]
        return cls(**{**facts, "questions": questions})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Study:
        """Read a study from a TOML or JSON file, as a person writes it.

        Parts that have defaults may be left out; `about` may be a list of paragraphs; the
        choices of a question with a `column` may be a list of words, of which all but the first
        get a column, such as ``smoking=yes``.
        """
        file = Path(path)
        if file.suffix.lower() not in (".toml", ".json"):
            raise ParameterError(f"{file.name} must be a .toml or .json file of a study.")
        facts = parse_file(file)
        if not isinstance(facts, dict) or not {"title", "questions"} <= facts.keys() <= _KEYS:
            raise ParameterError(
                f"{file.name} must have a title and [[questions]]; beside them it may have "
                "about, contact, minimum and count_is_public."
            )
        about = facts.get("about", "")
        if isinstance(about, list) and all(isinstance(part, str) for part in about):
            about = "\n\n".join(about)
        if not isinstance(facts["questions"], list):
            raise ParameterError("questions must be a list: in TOML, [[questions]] above each.")
        questions = [_as_written(each, n) for n, each in enumerate(facts["questions"], start=1)]
        return cls(**{**facts, "about": about, "questions": questions})


def _as_written(facts: object, number: int) -> Question:
    """Return the question that a person wrote, or refuse it by its number."""
    try:
        return _written(facts)
    except ParameterError as error:
        problem = str(error)
    except TypeError:  # parts that no question of the kind has
        problem = "It has missing or unknown parts."
    raise ParameterError(
        f"Question {number}: {problem} A number has text, column, low, high and may have step and "
        "unit; a scale has text, column and points; a choice has text, column and choices."
    )


def _written(facts: object) -> Question:
    if not isinstance(facts, Mapping):
        raise ParameterError("A question must be a mapping.")
    parts = {key: value for key, value in facts.items() if key != "kind"}
    known = {"number": NumberQuestion, "scale": ScaleQuestion, "choice": None}
    kind = facts.get("kind")
    if kind is None:
        kind = "scale" if "points" in parts else "choice" if "choices" in parts else "number"
    if not isinstance(kind, str) or kind not in known:
        raise ParameterError("The kind of a question must be 'number', 'scale' or 'choice'.")
    made = known[kind]
    return _written_choice(parts) if made is None else made(**parts)


def _written_choice(parts: dict[str, Any]) -> ChoiceQuestion:
    listed, stem = parts.pop("choices", None), parts.pop("column", None)
    if not isinstance(listed, list):
        raise ParameterError("choices must be a list.")
    choices = []
    for place, each in enumerate(listed):
        if isinstance(each, str):
            has_column = place > 0 and isinstance(stem, str)
            choices.append(Choice(each, f"{stem}={each}" if has_column else None))
        elif isinstance(each, Mapping):
            choices.append(Choice(**each))
        else:
            raise ParameterError("choices must be a list of words.")
    return ChoiceQuestion(choices=tuple(choices), **parts)


def _check_about(value: object) -> None:
    if not isinstance(value, str) or len(value) > _LONGEST_ABOUT:
        raise ParameterError(f"about must be text of at most {_LONGEST_ABOUT:,} characters.")
    for line in value.split("\n"):
        check_line("text about the study", line, may_be_empty=True)
