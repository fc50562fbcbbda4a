"""The page in a real browser: what a person does, and what leaves the device."""

import json

import numpy as np
import pytest

from collect.plan_texts import SLEEP, STUDY, plan_text, sleep_plan
from dpcov import local
from dpcov.local.cap import in_cap, lift_rows
from dpcov.local.randomizer import _one_row, _whole_rows
from publication.browser import CHROMIUM

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

OWN_FILES = {"", "page.js", "page.css", "dpcov.js", "page.svg"}
KEPT = """(async () => {
    const { browserStore, readReport } = await import("./dpcov.js");
    const all = await browserStore().all();
    return {
        names: (await indexedDB.databases()).map(({ name }) => name),
        kept: all.map((each) => ({ ...each, report: readReport(each.report).hex })),
        local: { ...localStorage },
        session: sessionStorage.length,
        cookies: document.cookie,
    };
})()"""
NOTHING_MADE = "indexedDB.databases().then((all) => all.length)"


def posts(person):
    return [body for _, body in person.study.reports]


# What leaves the device.


def test_the_report_that_was_shown_is_all_that_is_sent(person):
    report = person.begin().answer().make().shown_report()
    person.send().see("Thank you")
    [(headers, body)] = person.study.reports
    assert body == report
    assert len(body) == 50
    assert headers["Content-Type"] == "application/octet-stream"
    assert not {"Cookie", "Referer"} & set(headers)


def test_no_request_is_made_but_for_its_own_files_the_plan_and_the_report(person):
    person.begin().answer().make().send().see("Thank you")
    address = person.study.address
    allowed = {f"GET {address}{name}" for name in OWN_FILES | {"plan"}} | {f"POST {address}reports"}
    asked = person.requests()
    assert set(asked) <= allowed
    assert [each for each in asked if "POST" in each] == [f"POST {address}reports"]
    seen = {each.replace(" /", f" {address}") for each in person.study.asked}
    assert seen <= allowed
    assert person.complaints() == []


def test_nothing_is_sent_before_the_person_says_so(person):
    person.begin().answer().make()
    assert "Nothing has been sent." in person.text()
    assert posts(person) == []


def test_answers_are_not_stored(person):
    report = person.begin().answer().make().shown_report().hex()
    person.send().see("Thank you")
    plan_id = json.loads(SLEEP)["id"]
    assert person.run(KEPT) == {
        "names": ["dpcov"],
        "kept": [{"planId": plan_id, "epsilon": 2, "report": report, "sent": True}],
        "local": {"dpcov: send the report of plan": plan_id},
        "session": 0,
        "cookies": "",
    }


def test_answers_are_gone_from_the_page_once_the_report_is_made(person):
    person.begin().answer().make()
    assert person.run("document.querySelectorAll('input').length") == 0


@pytest.mark.parametrize(
    ("answers", "row"),
    [
        ({"age": "41", "sleep": 3, "smoke": 1}, [41, 4, 1, 0]),
        ({"age": "20", "sleep": 0, "smoke": 2}, [20, 1, 0, 1]),
        ({"age": None, "sleep": 4, "smoke": None}, [None, 5, None, None]),
    ],
)
def test_the_report_is_that_of_the_answers(at, answers, row):
    # At epsilon = 20 a seed is in the cap of the row but for one in a million, and in that of a
    # row with another answer in one of ten.
    facts = {"center": [40.0, 3.0, 0.5, 0.5], "scale": [8.0, 0.8, 0.2, 0.2], "row_norm": 4.0}
    plan = sleep_plan(epsilon=20.0, **facts)
    report = at(plan_text(plan, STUDY)).begin().answer(**answers).make().shown_report()
    seed = np.frombuffer(report[34:], np.uint8)[None]
    unit = lift_rows(_whole_rows(_one_row(row, plan), plan), plan.bits)
    assert in_cap(seed, unit, plan.cap.threshold)[0]


def test_a_collector_takes_the_report_of_a_plan_without_a_study(at):
    plan = local.CollectionPlan(columns=["height", "weight"], row_norm=1.0, epsilon=1.0)
    person = at(plan.to_json()).begin()
    person.click("#question-1").press("-0.25").click("#question-2").press("1e-1").make()
    assert local.Collector(plan).add(person.shown_report())


# Once, and again.


def test_a_reload_before_sending_shows_the_same_report_and_sends_nothing(person):
    report = person.begin().answer().make().shown_report()
    assert person.open().see("This is all that leaves").shown_report() == report
    assert posts(person) == []
    person.send().see("Thank you")
    assert posts(person) == [report]


def test_a_reload_after_sending_shows_the_receipt_and_sends_nothing(person):
    report = person.begin().answer().make().shown_report()
    person.send().see("Thank you")
    person.open().see("Thank you")
    assert posts(person) == [report]
    assert report[18:34].hex() in person.text()


def test_a_report_of_another_tab_stands(person):
    person.begin().answer()
    made = person.run("""(async () => {
        const { browserStore, Device, readPlan, readReport } = await import("./dpcov.js");
        const plan = await readPlan(await (await fetch("plan")).text());
        const device = new Device({ store: browserStore() });
        return readReport(await device.report([50, 1, 0, 0], plan)).hex;
    })()""")
    assert person.make().shown_report().hex() == made
    assert "answers that you gave now were not used" in person.text()


def test_offline_a_report_waits_and_is_sent_when_the_network_comes_back(person):
    report = person.begin().answer().make().shown_report()
    person.connect(online=False).send().hear("will be sent when there is a network")
    assert posts(person) == []
    person.connect(online=True).see("Thank you")
    assert posts(person) == [report]


def test_offline_a_report_waits_for_the_next_load_of_the_page(person):
    report = person.begin().answer().make().shown_report()
    person.connect(online=False).send().hear("waits in this browser")
    person.browser.call("Page.navigate", url="about:blank")
    person.connect(online=True).open().see("Thank you")
    assert posts(person) == [report]


def test_a_busy_server_gets_the_same_bytes_again(person):
    report = person.begin().answer().make().shown_report()
    person.study.statuses = [503]
    person.send().see("Thank you")
    assert posts(person) == [report, report]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (409, "another report with the same id"),
        (410, "The study is closed"),
        (422, "another plan now"),
        (400, "refused your report (status 400)"),
    ],
)
def test_a_refusal_is_told_in_words(person, status, said):
    report = person.begin().answer().make().shown_report()
    person.study.statuses = [status]
    person.send().hear(said)
    assert "not counted" in person.text()
    assert posts(person) == [report]
    assert person.run("document.querySelector('.send button').hidden")


def test_a_refusal_is_in_view_after_a_reload(person):
    person.begin().answer().make()
    person.study.statuses = [410, 410]
    person.send().hear("closed")
    person.open().hear("closed")
    top = person.run("document.querySelector('.sending').getBoundingClientRect().bottom")
    assert 0 < top <= person.run("innerHeight")


# What is not answered.


def wrong_plans():
    yield SLEEP.replace('"epsilon": 2.0', '"epsilon": 1.0'), "cannot be read as a collection plan"
    yield SLEEP.replace("seldom", "rarely"), "Its id is not that of its contents"
    yield "<html>", "not a collection plan"
    yield plan_text(sleep_plan(missing="refuse"), STUDY), "leaves a question out"
    gaussian = sleep_plan(mechanism="gaussian", delta=1e-6)
    yield plan_text(gaussian), "pure promise alone"
    yield plan_text(sleep_plan(), STUDY | {"questions": STUDY["questions"][:2]}), "one question"
    yield plan_text(sleep_plan(), STUDY | {"note": "x"}), "missing or unknown parts"


@pytest.mark.parametrize(("text", "said"), list(wrong_plans()), ids=lambda v: v[:20])
def test_a_plan_that_cannot_be_answered_is_refused_and_nothing_is_made(at, text, said):
    person = at(text).open().see("This study cannot be answered")
    assert said in person.text()
    assert "Nothing was made and nothing was sent" in person.text()
    assert person.run("document.querySelector('input, form, button')") is None
    assert person.run(NOTHING_MADE) == 0
    assert person.complaints() == []


def test_without_cryptography_the_page_asks_for_https(person):
    lost = "Object.defineProperty(Crypto.prototype, 'subtle', { get: () => undefined })"
    script = person.browser.call("Page.addScriptToEvaluateOnNewDocument", source=lost)
    try:
        person.open()
        assert "works only over https" in person.text()
        assert "GET /plan" not in person.study.asked
    finally:
        person.browser.call("Page.removeScriptToEvaluateOnNewDocument", **script)


def test_without_storage_nothing_is_made(person):
    lost = "IDBFactory.prototype.open = () => { throw new DOMException('no', 'SecurityError'); }"
    script = person.browser.call("Page.addScriptToEvaluateOnNewDocument", source=lost)
    try:
        assert "keeps no data for this page" in person.open().text()
    finally:
        person.browser.call("Page.removeScriptToEvaluateOnNewDocument", **script)


def test_without_scripts_the_page_says_why_it_needs_them(person):
    person.browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        person.open()
        assert "This page needs JavaScript" in person.text()
        assert "Loading" not in person.text()
    finally:
        person.browser.call("Emulation.setScriptExecutionDisabled", value=False)


def test_words_of_a_study_are_text_and_nothing_else(at):
    trap = "<img src=x onerror='document.title=1'><script>1</script>"
    person = at(plan_text(sleep_plan(), STUDY | {"title": trap, "about": trap})).open()
    assert trap in person.text()
    assert person.run("document.querySelectorAll('main img, main script').length") == 0
    assert person.complaints() == []


# The receipt.


def test_the_receipt_can_be_saved_as_a_file(person, tmp_path):
    report = person.begin().answer().make().shown_report()
    person.send().see("Thank you")
    behavior = {"behavior": "allow", "downloadPath": str(tmp_path), "eventsEnabled": True}
    person.browser.call("Page.setDownloadBehavior", **behavior)
    person.click("a[download]")
    path = tmp_path / "receipt.txt"
    for _ in range(200):
        if path.exists() and path.stat().st_size:
            break
        person.run("new Promise((done) => setTimeout(done, 25))")
    saved = path.read_text(encoding="utf-8")
    assert {report.hex(), report[18:34].hex(), json.loads(SLEEP)["id"]} <= set(saved.split())
    assert person.complaints() == []
