"""The page for everybody: keyboard alone, assistive technology, light and dark, a phone."""

import pytest

from collect.plan_texts import STUDY, long_study, plan_text, sleep_plan
from publication.browser import CHROMIUM

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")

CONTROLS = {"button", "link", "radio", "checkbox", "textbox", "radiogroup", "group", "table"}
FOCUS = "document.activeElement.tagName + '#' + document.activeElement.id"

# The smallest contrast of a text with what is behind it, and where it is.
CONTRAST = """(() => {
    const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const color = (text) => {
        paint.clearRect(0, 0, 1, 1);
        paint.fillStyle = text;
        paint.fillRect(0, 0, 1, 1);
        return paint.getImageData(0, 0, 1, 1).data;
    };
    const light = ([r, g, b]) => [r, g, b].reduce((sum, c, i) => {
        const x = c / 255;
        const linear = x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
        return sum + linear * [0.2126, 0.7152, 0.0722][i];
    }, 0);
    const behind = (element) => {
        for (let e = element; e; e = e.parentElement) {
            const found = color(getComputedStyle(e).backgroundColor);
            if (found[3] === 255) return found;
        }
        return [255, 255, 255];
    };
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let worst = [99, ""];
    while (walk.nextNode()) {
        const element = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || !element.checkVisibility()) continue;
        if (element.closest(":disabled")) continue;
        const pair = [light(color(getComputedStyle(element).color)), light(behind(element))];
        const ratio = (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
        if (ratio < worst[0]) worst = [ratio, element.outerHTML.slice(0, 80)];
    }
    return worst;
})()"""


def walk(person):
    """Go through the page, also where it goes wrong; stop at each step and say where it is."""
    person.open()
    yield "about"
    person.click(".buttons button").see("Questions")
    yield "questions"
    person.click("[type=submit]").hear("3 questions need another look", "[role=alert]")
    yield "wrong answers"
    person.answer().make()
    yield "report"
    person.study.statuses = [410]
    person.send().hear("closed")
    yield "refused"
    person.open().see("Thank you")  # the server has changed its mind
    yield "receipt"
    person.study.plan_text = "{}"
    person.open().see("This study cannot")
    yield "no plan"


def bring(person, wanted):
    """Bring the page to a step."""
    assert any(step == wanted for step in walk(person))
    return person


def tree_of(person):
    """Return the nodes of the accessibility tree: role, name, description, properties."""
    nodes = person.browser.call("Accessibility.getFullAXTree")["nodes"]
    return [
        {
            "role": node["role"]["value"],
            "name": node.get("name", {}).get("value", ""),
            "description": node.get("description", {}).get("value", ""),
            **{each["name"]: each["value"].get("value") for each in node.get("properties", [])},
        }
        for node in nodes
        if not node["ignored"]
    ]


def test_the_keyboard_is_enough(person):
    person.open().press("Tab", "Tab", "Enter").see("Questions")  # past the contact
    person.press("Tab", "41", "Tab")  # the age, and not the box below it
    person.press("Tab", "Space", "ArrowDown", "Tab", "Space", "ArrowDown", "ArrowDown")
    person.press("Tab", "Tab", "Enter").see("This is all that leaves")  # past the way back
    report = person.shown_report()
    person.press("Tab", "Enter").see("Thank you")
    assert [body for _, body in person.study.reports] == [report]


def test_every_control_has_a_name(person):
    for step in walk(person):
        found = [node for node in tree_of(person) if node["role"] in CONTROLS]
        assert [node for node in found if not node["name"].strip()] == [], step
        assert found or step in {"refused", "no plan"}


def test_questions_are_named_by_their_words(person):
    tree = tree_of(bring(person, "questions"))
    groups = [node["name"] for node in tree if node["role"] in {"group", "radiogroup"}]
    assert groups == ["How old are you?", "How often do you sleep badly?", "Do you smoke?"]
    [field] = [node for node in tree if node["role"] == "textbox"]
    assert (field["name"], field["description"]) == (
        "How old are you?",
        "18 to 110 years, a whole number",
    )


def test_errors_are_tied_to_their_fields_and_told(person):
    tree = tree_of(bring(person, "wrong answers"))
    [field] = [node for node in tree if node["role"] == "textbox"]
    assert field["invalid"] == "true"
    assert "Give a number" in field["description"]
    first = next(node for node in tree if node["role"] == "radio")
    assert "Choose an answer" in first["description"]
    assert "Nothing was made" in person.run("document.querySelector('[role=alert]').textContent")
    assert person.run(FOCUS) == "INPUT#question-1"


def test_an_error_is_taken_back_when_the_answer_changes(person):
    bring(person, "wrong answers").press("4")
    assert person.run("document.querySelector('#question-1').ariaInvalid") is None
    assert person.run("document.querySelector('#question-1-problem').textContent") == ""


def test_a_step_begins_with_the_focus_at_its_heading(person):
    for step in walk(person):
        if step not in {"wrong answers", "refused"}:
            assert person.run("document.activeElement.tagName") == "H2", step
        assert person.run("document.title.includes(document.querySelector('h2').textContent)")
        levels = person.run("[...document.querySelectorAll('h1,h2,h3')].map((e) => +e.tagName[1])")
        assert levels[:2] == [1, 2]
        assert levels.count(1) == levels.count(2) == 1


def test_going_back_keeps_the_answers(person):
    bring(person, "questions").answer("33", 2, 0).click(".second").see("About")
    person.click(".buttons button").see("Questions")
    assert person.run("document.querySelector('#question-1').value") == "33"
    assert person.run("document.querySelector('#question-2-2').checked")


def test_who_would_rather_not_answer_need_not_type(person):
    bring(person, "questions").answer(None, None, None)
    assert person.run("document.querySelector('#question-1').disabled")
    person.make()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_in_light_and_dark(at, scheme):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    person = at()
    person.browser.call("Emulation.setEmulatedMedia", features=[feature])
    try:
        for step in walk(person):
            ratio, where = person.run(CONTRAST)
            assert ratio >= 4.5, (step, where)
        for epsilon in (0.5, 5.0):  # a strong promise and a weak one have other colours
            ratio, where = at(plan_text(sleep_plan(epsilon=epsilon), STUDY)).open().run(CONTRAST)
            assert ratio >= 4.5, where
        paper = person.run("getComputedStyle(document.body).backgroundColor")
        assert paper == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 26)"}[scheme]
    finally:
        person.browser.call("Emulation.setEmulatedMedia", features=[])


def test_a_phone_needs_no_scrolling_to_the_side(at):
    person = at(plan_text(sleep_plan(), long_study()))
    size = {"width": 320, "height": 640, "deviceScaleFactor": 2, "mobile": True}
    person.browser.call("Emulation.setDeviceMetricsOverride", **size)
    targets = "[...document.querySelectorAll('button:not([hidden]), .button, label.option')]"
    try:
        for step in walk(person):
            assert person.run("innerWidth") == 320
            assert person.run("document.documentElement.scrollWidth") <= 320, step
            heights = person.run(f"{targets}.map((e) => e.getBoundingClientRect().height)")
            assert all(height >= 40 for height in heights)
    finally:
        person.browser.call("Emulation.clearDeviceMetricsOverride")


def test_nothing_moves_for_those_who_asked_for_less_motion(person):
    feature = {"name": "prefers-reduced-motion", "value": "reduce"}
    person.browser.call("Emulation.setEmulatedMedia", features=[feature])
    try:
        bring(person, "about")
        moving = "[...document.querySelectorAll('*')].map((e) => getComputedStyle(e))"
        moves = "(s) => s.transitionDuration !== '0s' || s.animationName !== 'none'"
        assert person.run(f"{moving}.filter({moves}).length") == 0
    finally:
        person.browser.call("Emulation.setEmulatedMedia", features=[])
