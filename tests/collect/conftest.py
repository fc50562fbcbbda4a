"""Both databases, one browser for each module, and a person who sits down in front of a study."""

import pytest

from collect.person import Person
from collect.plan_texts import SLEEP
from collect.study_stub import serving
from databases import empty_database
from publication.browser import Browser


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Give a place for a new collection in each kind of database."""
    if request.param == "sqlite":
        yield str(tmp_path / "collection")
        return
    with empty_database() as place:
        yield place


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
