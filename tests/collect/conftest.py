"""One browser for each module, and a person who sits down at it in front of a new study."""

import pytest

from collect.person import Person
from collect.plan_texts import SLEEP
from collect.study_stub import serving
from publication.browser import Browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def at(browser):
    """Give the person a study; each has an address of its own, so that nothing is kept before."""
    running = []

    def sit_down(text=SLEEP):
        running.append(serving(text))
        return Person(browser, running[-1].__enter__())

    yield sit_down
    browser.call("Page.navigate", url="about:blank")
    for each in running:
        each.__exit__(None, None, None)


@pytest.fixture
def person(at):
    return at()
