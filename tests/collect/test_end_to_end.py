"""From people's answers through the browser's code and the real server to an estimate."""

from dataclasses import dataclass

import numpy as np
import pytest

from clients.node import MISSING, answer_many
from collect.person import Person
from collect.running import ADMIN, BINARY, serving
from dpcov import local
from dpcov.collect import Collection
from publication.browser import CHROMIUM

STUDY = local.Study(
    title="Sleep and work",
    about="Who asks, and why.",
    questions=[
        local.NumberQuestion("How old are you?", "age", low=18, high=110, unit="years"),
        local.ScaleQuestion(
            "How often do you sleep badly?",
            "bad_sleep",
            ["never", "seldom", "sometimes", "often", "always"],
        ),
        local.ChoiceQuestion(
            "Do you smoke?",
            [
                local.Choice("no"),
                local.Choice("yes", "smokes"),
                local.Choice("formerly", "smoked"),
            ],
        ),
    ],
    minimum=10,
    count_is_public=True,
)
PLAN = STUDY.plan(epsilon=5.0, row_norm=1.5)
SMOKING = ("no", "yes", "formerly")


def people(n, seed):
    """Return ages, places of points and choices: the older, the worse the sleep."""
    rng = np.random.default_rng(seed)
    age = np.clip(np.round(rng.gamma(9.0, 5.0, n)), 18, 110).astype(int)
    worse = (age - 45) / 15 + rng.normal(0, 0.8, n)
    point = np.clip(np.round(worse + 2), 0, 4).astype(int)
    return age, point, rng.choice(3, n, p=[0.7, 0.2, 0.1])


def rows_of(age, point, choice):
    return np.column_stack([age, point + 1, choice == 1, choice == 2]).astype(float)


def as_read(rows):
    """Return rows as devices read them: clipped in working units."""
    working = (rows - PLAN.center) / np.array(PLAN.scale)
    length = np.linalg.norm(working, axis=1)
    working /= np.maximum(1, length / PLAN.row_norm)[:, None]
    return working * PLAN.scale + PLAN.center


@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_two_thousand_people_answer_by_the_browsers_code(tmp_path):
    age, point, choice = people(2000, seed=3)
    points = STUDY.questions[1].points
    lines = [[str(a), points[p], SMOKING[c]] for a, p, c in zip(age, point, choice, strict=True)]
    (tmp_path / "plan.json").write_text(PLAN.to_json(), encoding="utf-8")
    octets = answer_many(tmp_path / "plan.json", lines, answers=True)
    reports = np.frombuffer(octets, np.uint8).reshape(-1, 50)
    assert len(reports) == 2000
    with serving(str(tmp_path / "c"), PLAN) as client:
        for start in range(0, 2000, 500):
            body = reports[start : start + 500].tobytes()
            answer = client.post("/reports", content=body, headers=BINARY | ADMIN)
            assert answer.status_code == 201
        assert client.post("/admin/close", headers=ADMIN).json()["reports"] == 2000
    with Collection.open(tmp_path / "c") as collection:
        release = collection.release()
    estimate = release.estimate()
    rows = as_read(rows_of(age, point, choice))
    truth = np.corrcoef(rows.T)
    pairs = estimate.pairs()
    first, second = pairs.first, pairs.second
    z = (pairs.released - truth[first, second]) / pairs.standard_error
    assert np.abs(z).max() < 6
    low, high = estimate.interval()
    covariance = np.cov(rows.T, bias=True)
    assert ((low <= covariance) & (covariance <= high)).mean() > 0.5
    # A plan that is about the centers would be off by far more: the mean age is not 64.
    assert np.abs(rows.mean(axis=0)[0] - PLAN.center[0]) > 10
    mean_error = release.noise_scale.mean * np.array(PLAN.scale)
    assert (np.abs(estimate.location - rows.mean(axis=0)) < 6 * mean_error).all()


@dataclass
class Place:
    address: str


@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")
def test_twenty_people_answer_in_a_browser(browser, tmp_path):
    age, point, choice = people(20, seed=4)
    shown = set()
    with serving(str(tmp_path / "c"), PLAN) as client:
        place = Place(f"{client.base_url}/")
        for a, p, c in zip(age, point, choice, strict=True):
            person = Person(browser, place)
            person.begin().answer(age=str(a), sleep=int(p), smoke=int(c)).make()
            shown.add(person.shown_report())
            person.send().see("Thank you")
            assert person.complaints() == []
            # The next person has another browser: nothing of this one is kept.
            origin = str(client.base_url)
            browser.call("Storage.clearDataForOrigin", origin=origin, storageTypes="all")
        assert client.get("/status", headers=ADMIN).json()["reports"] == 20
    with Collection.open(tmp_path / "c") as collection:
        stored = {bytes(row) for table in collection.reports() for row in table}
        collection.close()
        release = collection.release()
    assert stored == shown
    assert release.n_rows == 20
    assert not release.simulated
