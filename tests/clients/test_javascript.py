"""Reports of the JavaScript client, in Python's collector."""

import hashlib
import json
import random

import numpy as np
import pytest

from clients.node import MISSING, answer_many, make_reports, read_plans
from collect.plan_texts import STUDY, plan_text, sleep_plan
from dpcov import local
from dpcov.errors import CollectionPlanError
from dpcov.local.cap import in_cap, lift_rows
from dpcov.local.plan_json import canonical_form
from dpcov.local.randomizer import _one_row, _whole_rows

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


def plan_for(epsilon):
    return local.CollectionPlan(
        columns=["a", "b", "c"],
        row_norm=2.0,
        epsilon=epsilon,
        center=[0.0, 1.0, 0.0],
        scale=[1.0, 2.0, 1.0],
    )


PLAN = plan_for(2.0)
# Within the bound, with a gap, at the center, and beyond the bound.
ROWS = [[1.2, 2.6, -0.3], [-0.5, None, 1.4], [0.0, 1.0, 0.0], [30.0, -59.0, 0.0]]
WORKING = np.array([[1.2, 0.8, -0.3], [-0.5, 0.0, 1.4], [0.0, 0.0, 0.0], [2**0.5, -(2**0.5), 0.0]])
# The row that shows errors of the mechanism best.
LONG, WORKING_LONG = [[2.0, 1.0, 0.0]], np.array([[2.0, 0.0, 0.0]])


def largest_error(plan, rows, working, n, **options):
    """Collect reports of the client; return the largest error of a moment in standard errors."""
    reports = np.frombuffer(make_reports(plan, rows, n, **options), np.uint8).reshape(n, -1)
    collector = local.Collector(plan, simulated=True)
    collector.add_many(reports)
    truth = working.T @ working / len(working)
    noise = plan.noise_scale(n)
    square = np.diag(truth)
    variance = noise.off_diagonal**2 + noise.signal * np.add.outer(square, square)
    variance[np.diag_indices(3)] = noise.diagonal**2 + 4 * noise.signal * square
    return np.abs((collector.release().matrix - truth) / np.sqrt(variance)).max()


@pytest.mark.claim("P14")
def test_second_moments_of_twenty_thousand_reports_are_the_true_ones():
    assert 0.1 < largest_error(PLAN, ROWS, WORKING, 20_000, seed="moments") < 5


@pytest.mark.parametrize(
    ("bug", "epsilon", "n"),
    [("threshold", 2.0, 2000), ("coin", 4.0, 1000), ("reuse", 2.0, 1000)],
)
def test_a_planted_bug_shows_in_the_second_moments(bug, epsilon, n):
    plan = plan_for(epsilon)
    assert largest_error(plan, LONG, WORKING_LONG, n, seed="bug", bug=bug) > 5
    assert largest_error(plan, LONG, WORKING_LONG, n, seed="bug") < 5


def test_real_reports_are_counted_by_a_collector_of_real_reports():
    data = make_reports(PLAN, ROWS, 40)
    collector = local.Collector(PLAN, idempotent=True)
    for start in range(0, len(data), PLAN.report_bytes):
        collector.add(data[start : start + PLAN.report_bytes])
    assert collector.n_reports == 40


COIN, THRESHOLD = PLAN.cap.coin, PLAN.cap.threshold
# One value that is in the plan, and others that a device must judge as Python does.
FACTS = {
    "row_norm": [2.0, 2, 1e-20, 9e-21, 1e20, 1.1e20, 10**25, 0, -1.0, True, "2", None, [2.0]],
    "epsilon": [2.0, 2, 2.5, 20, 20.0001, 1.99999999, 1e-9, 0, -2.0, True, "2", None, 10**400],
    "delta": [None, 1e-6, 0, False],
    "mechanism": ["cap", "Cap", None, 1],
    "missing": ["center", "refuse", "pairwise", "", None],
    "version": [2, 1, 3, "2", True, None],
    "format": ["dpcov collection plan", "plan", None],
    "coin": [COIN, COIN - 1, COIN - 2**20, COIN + 1, COIN + 40, 0, 2**32, -1, "1", 0.5, True],
    "threshold": [THRESHOLD, THRESHOLD + 2**-40, 1.5, 2, 0.5, 3.0, 3.001, 0.49, "2", None],
    "name": ["a", "b", "", "ä\u0301", "\U0001f600", "\ud83d", "\u2028\x7f\x01\\", 5, None],
    "center": [0.0, -0.0, 0, -7, 1e100, 1.1e100, 10**100, 5e-324, "0", None, False],
    "scale": [1.0, 1, 1e-100, 9e-101, 1e100, 2e100, 0.0, -1.0, "1", None],
}


def text_of(choice):
    """Write a plan with the chosen facts, whatever they are, and the id of its contents."""
    column = {key: choice[key] for key in ("name", "center", "scale")}
    facts = {
        key: choice[key]
        for key in ("format", "version", "row_norm", "epsilon", "delta", "mechanism", "missing")
    }
    facts["columns"] = [column, {"name": "b", "center": 0.5, "scale": 1.0}]
    facts["constants"] = {"threshold": choice["threshold"], "coin": choice["coin"]}
    try:
        form = canonical_form(_with_reals(facts))
    except UnicodeEncodeError:
        form = b""
    return json.dumps(facts | {"id": hashlib.sha256(form).hexdigest()})


def _with_reals(value, key=""):
    if isinstance(value, dict):
        return {name: _with_reals(part, name) for name, part in value.items()}
    if isinstance(value, list):
        return [_with_reals(part) for part in value]
    real = key in {"row_norm", "epsilon", "threshold", "center", "scale"}
    if real and type(value) in (int, float) and abs(value) < 10**300:
        return float(value) + 0.0
    return value


def texts():
    usual = {key: values[0] for key, values in FACTS.items()}
    for key, values in FACTS.items():
        yield from (text_of(usual | {key: value}) for value in values)
    draw = random.Random(7)
    for _ in range(200):  # several facts at once
        keys = draw.sample(sorted(FACTS), 3)
        yield text_of(usual | {key: draw.choice(FACTS[key]) for key in keys})
    for _ in range(200):  # a character that is lost or changed
        text, place = text_of(usual), draw.randrange(500)
        yield text[:place] + draw.choice(["", "0", '"', " ", ",", "}", "e"]) + text[place + 1 :]


def id_by_python(text):
    try:
        return local.CollectionPlan.from_json(text).id
    except CollectionPlanError:
        return None


def test_python_and_the_client_read_the_same_plans():
    tried = list(texts())
    expected = [id_by_python(text) for text in tried]
    assert read_plans(tried) == expected
    assert sum(found is not None for found in expected) > 50
    assert expected.count(None) > 300


def test_many_people_answer_each_with_a_device_of_their_own(tmp_path):
    path = tmp_path / "plan.json"
    path.write_text(PLAN.to_json(), encoding="utf-8")
    rows = [*ROWS, dict(zip(PLAN.columns, ROWS[0], strict=True))]
    reports = np.frombuffer(answer_many(path, rows), np.uint8).reshape(len(rows), -1)
    collector = local.Collector(PLAN, idempotent=True)
    collector.add_many(reports)
    assert collector.n_reports == len(rows)
    assert len({row[18:].tobytes() for row in reports}) == len(rows)


def test_answers_become_the_row_that_the_page_makes_of_them(tmp_path):
    # At epsilon = 20 a seed is in the cap of its row but for one in a million.
    facts = {"center": [40.0, 3.0, 0.5, 0.5], "scale": [8.0, 0.8, 0.2, 0.2], "row_norm": 4.0}
    plan = sleep_plan(epsilon=20.0, **facts)
    path = tmp_path / "plan.json"
    path.write_text(plan_text(plan, STUDY), encoding="utf-8")
    answers = {("41", "often", "yes"): [41, 4, 1, 0], ("20", None, "formerly"): [20, None, 0, 1]}
    data = answer_many(path, [given for given in answers for _ in range(20)], answers=True)
    seeds = np.frombuffer(data, np.uint8).reshape(40, -1)[:, 34:]
    units = [
        lift_rows(_whole_rows(_one_row(row, plan), plan), plan.bits) for row in answers.values()
    ]

    def share(seeds, unit):
        return in_cap(seeds, unit, plan.cap.threshold).mean()

    assert [share(seeds[:20], units[0]), share(seeds[20:], units[1])] == [1.0, 1.0]
    assert share(seeds[:20], units[1]) < 0.9  # another row would show
