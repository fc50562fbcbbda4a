"""A person at the page: a mouse, a keyboard, and what can be seen."""

import json
import time

KEYS = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Space": (" ", 32, " "),
    "ArrowDown": ("ArrowDown", 40, ""),
}
SOURCES = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
ALL_BYTES = "[...document.querySelectorAll('.hex')].map((e) => e.textContent).join('')"


class Person:
    """Sits at a browser in front of one study."""

    def __init__(self, browser, study):
        self.browser, self.study = browser, study

    # What the person does.

    def open(self):
        """Load the page, also again, and wait until it says something."""
        self.run("globalThis.before = true")
        self.browser.events = []
        self.browser.call("Page.navigate", url=self.study.address)
        self.until("!globalThis.before && document.readyState === 'complete'")
        self.until("document.querySelector('h2, .alarm') !== null")
        return self

    def click(self, selector):
        """Click where an element is."""
        place = self.run(
            f"""(() => {{
                const element = document.querySelector({json.dumps(selector)});
                element.scrollIntoView({{ block: "center", behavior: "instant" }});
                const box = element.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        for kind in ("mousePressed", "mouseReleased"):
            where = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
            self.browser.call("Input.dispatchMouseEvent", type=kind, **where)
        return self

    def press(self, *keys):
        """Press keys, one after the other; what is no key is typed."""
        for key in keys:
            if key not in KEYS:
                self.browser.call("Input.insertText", text=key)
                continue
            name, code, text = KEYS[key]
            facts = {"key": name, "code": key, "windowsVirtualKeyCode": code}
            down = (
                facts | {"type": "keyDown", "text": text} if text else facts | {"type": "keyDown"}
            )
            self.browser.call("Input.dispatchKeyEvent", **down)
            self.browser.call("Input.dispatchKeyEvent", type="keyUp", **facts)
        return self

    def begin(self):
        """Go on to the questions."""
        self.open().click(".buttons button")
        return self.see("Questions")

    def answer(self, age="41", sleep=1, smoke=2):
        """Fill in the study about sleep: options by their place, None is not to answer."""
        if age is None:
            self.click(".question .not")
        else:
            self.click("#question-1").press(age)
        self.click(f"#question-2-{5 if sleep is None else sleep}")
        return self.click(f"#question-3-{3 if smoke is None else smoke}")

    def make(self):
        """Say that the report be made."""
        self.click("[type=submit]")
        return self.see("This is all that leaves")

    def send(self):
        """Say that the report be sent."""
        return self.click(".send button")

    def connect(self, *, online):
        """Pull or put the plug."""
        speed = -1 if online else 0
        speeds = {"latency": 0, "downloadThroughput": speed, "uploadThroughput": speed}
        self.browser.call("Network.emulateNetworkConditions", offline=not online, **speeds)
        return self

    # What the person sees.

    def run(self, expression):
        return self.browser.evaluate(expression)

    def until(self, condition, seconds=20.0):
        """Wait for a condition of the page."""
        deadline = time.monotonic() + seconds
        while not self.run(condition):
            assert time.monotonic() < deadline, f"{condition} did not come: {self.text()}"
            time.sleep(0.02)
        return self

    def see(self, heading):
        """Wait for the heading of a step."""
        wanted = json.dumps(heading)
        return self.until(f"document.querySelector('h2')?.textContent.startsWith({wanted})")

    def hear(self, words, selector="[role=status]"):
        """Wait for words in a region that is read out."""
        words, selector = json.dumps(words), json.dumps(selector)
        return self.until(f"document.querySelector({selector})?.textContent.includes({words})")

    def text(self):
        return self.run("document.body.innerText")

    def shown_report(self):
        """Return the bytes on the page before sending."""
        return bytes.fromhex(self.run(ALL_BYTES))

    def complaints(self):
        """Return what the browser wrote to its console, errors of policies among it."""
        return [event for kind in SOURCES for event in self.browser.seen(kind)]

    def requests(self):
        """Return all requests since the page was opened, whoever they went to."""
        asked = self.browser.seen("Network.requestWillBeSent")
        return [f"{each['request']['method']} {each['request']['url']}" for each in asked]
