import hashlib
import json
import struct
from dataclasses import replace

import numpy as np
import pytest

from dpcov import local
from dpcov.errors import CollectionPlanError, ParameterError

AGE = local.NumberQuestion("How old are you?", "age", low=18, high=110, unit="years")
BAD = local.ScaleQuestion("Do you sleep badly?", "bad", ["never", "at times", "always"])
SMOKES = local.ChoiceQuestion(
    "Do you smoke?",
    [local.Choice("no"), local.Choice("yes", "smokes"), local.Choice("formerly", "smoked")],
)
STUDY = local.Study(title="Sleep", questions=[AGE, BAD, SMOKES], about="Who.\n\nWhy.", minimum=7)
PLAN = STUDY.plan(epsilon=2.0)

TOML = """
title = "Sleep"
about = ["Who.", "Why."]
minimum = 7

[[questions]]
text = "How old are you?"
column = "age"
low = 18
high = 110
unit = "years"

[[questions]]
text = "Do you sleep badly?"
column = "bad"
points = ["never", "at times", "always"]

[[questions]]
text = "Do you smoke?"
choices = ["no", {label = "yes", column = "smokes"}, {label = "formerly", column = "smoked"}]
"""


def by_hand(value):
    """The canonical form, written again."""
    if isinstance(value, dict):
        parts = (f"{json.dumps(key)}:{by_hand(value[key])}" for key in sorted(value))
        return "{" + ",".join(parts) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(by_hand, value)) + "]"
    if isinstance(value, float):
        return f'"{struct.pack(">d", value).hex()}"'
    return json.dumps(value, ensure_ascii=False)


def changed(**parts):
    facts = json.loads(PLAN.to_json())
    return json.dumps(facts | {"study": facts["study"] | parts})


def test_a_plan_with_a_study_survives_json():
    assert local.CollectionPlan.from_json(PLAN.to_json()) == PLAN


def test_the_id_covers_the_study():
    facts = json.loads(PLAN.to_json())
    stated = facts.pop("id")
    assert hashlib.sha256(by_hand(facts).encode()).hexdigest() == stated
    assert replace(PLAN, study=replace(STUDY, minimum=8)).id != PLAN.id
    assert replace(PLAN, study=None).id != PLAN.id


def test_a_plan_without_a_study_has_the_id_that_it_had():
    plain = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0)
    assert plain.id.startswith("12025b7d112e5edd")
    assert "study" not in plain.to_json()


def test_whole_and_real_numbers_of_a_question_have_different_ids():
    real = replace(AGE, low=18.0)
    other = local.Study(title="Sleep", questions=[real, BAD, SMOKES], about=STUDY.about, minimum=7)
    again = local.CollectionPlan.from_json(other.plan(epsilon=2.0).to_json())
    assert isinstance(again.study.questions[0].low, float)
    assert again.id != PLAN.id


@pytest.mark.parametrize("questions", [[AGE], [AGE, BAD], [SMOKES], [AGE, BAD, SMOKES]])
def test_no_answers_are_longer_than_the_row_norm(questions):
    plan = local.Study(title="x", questions=questions).plan(epsilon=1.0)
    cells = {"age": [18, 110, 40], "bad": [1, 2, 3], "smokes": [0, 1, 0], "smoked": [0, 0, 1]}
    for age in cells["age"]:
        for bad in cells["bad"]:
            for smokes, smoked in zip(cells["smokes"], cells["smoked"], strict=True):
                row = {"age": age, "bad": bad, "smokes": smokes, "smoked": smoked}
                x = np.array([row[name] for name in plan.columns], dtype=float)
                length = np.linalg.norm((x - plan.center) / np.array(plan.scale))
                assert length <= plan.row_norm * (1 + 1e-12)


def test_a_file_is_what_it_says(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(TOML)
    assert local.Study.load(file) == STUDY
    (tmp_path / "study.json").write_text(json.dumps(STUDY.to_dict()))
    assert local.Study.load(tmp_path / "study.json") == STUDY


def test_words_become_choices_with_columns(tmp_path):
    file = tmp_path / "study.toml"
    file.write_text(
        'title = "x"\n[[questions]]\ntext = "Smoke?"\ncolumn = "s"\nchoices = ["no", "yes"]\n'
    )
    study = local.Study.load(file)
    assert study.columns == ("s=yes",)
    assert study.minimum == 100


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("low = 18", "low = 200", "Question 1: A number needs low < high"),
        ("low = 18", "", "Question 1: It has missing or unknown parts"),
        ("low = 18", "low = 18\nlower = 3", "Question 1: It has missing or unknown parts"),
        ('points = ["never", "at times", "always"]', "points = [1]", "Question 2: points"),
        ('column = "bad"', 'column = "age"', "filled by one question"),
        ('title = "Sleep"', 'titel = "Sleep"', "must have a title"),
        ("minimum = 7", "minimum = 0", "minimum must be a whole number"),
        ("minimum = 7", 'about2 = "x"', "must have a title"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place(tmp_path, before, after, words):
    file = tmp_path / "study.toml"
    assert before in TOML
    file.write_text(TOML.replace(before, after))
    with pytest.raises(ParameterError, match=words):
        local.Study.load(file)


@pytest.mark.parametrize(
    "parts",
    [
        {"minimum": "7"},
        {"minimum": 7.0},
        {"count_is_public": 1},
        {"title": ""},
        {"title": "two\nlines"},
        {"title": "\u202eevil"},
        {"about": None},
        {"questions": []},
        {"questions": {}},
        {"questions": [1]},
        {"questions": [{"kind": "text"}]},
        {"more": 1},
    ],
)
def test_a_plan_with_a_study_of_another_shape_is_refused(parts):
    with pytest.raises(CollectionPlanError):
        local.CollectionPlan.from_json(changed(**parts))


def test_questions_must_fill_the_columns_of_the_plan():
    with pytest.raises(ParameterError, match="must fill the columns"):
        local.CollectionPlan(columns=["a"], row_norm=1.0, epsilon=1.0, study=STUDY)
    with pytest.raises(ParameterError, match="must be a Study"):
        local.CollectionPlan(columns=["a"], row_norm=1.0, epsilon=1.0, study={})


def test_minus_zero_is_zero_in_a_question():
    plain, minus = (
        local.Study(title="T", questions=[local.NumberQuestion("Q", "a", low=low, high=1.0)])
        for low in (0.0, -0.0)
    )
    assert minus.plan(epsilon=1.0).id == plain.plan(epsilon=1.0).id
