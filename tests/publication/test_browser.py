"""The page in a real browser. Skipped where there is no Chromium."""

import pytest

from dpcov.publication import make_card, write_page
from plot.pictures import HOSTILE, estimate_of, truth_of
from publication.browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    truth = truth_of(6, (0, 1, 0.5), (2, 3, -0.6), (4, 5, 0.4))
    estimate = estimate_of(truth, columns=HOSTILE)
    write_page(
        estimate.release,
        estimate,
        path,
        card=make_card(estimate.release, estimate, name="<script>alert(2)</script>"),
    )
    return path.as_uri()


def requests_of(browser):
    addresses = [event["request"]["url"] for event in browser.seen("Network.requestWillBeSent")]
    return [address for address in addresses if not address.startswith("data:")]


def complaints_of(browser):
    kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
    return [event for kind in kinds for event in browser.seen(kind)]


def test_the_page_opens_without_complaints_and_asks_for_nothing(browser, page):
    browser.open(page)
    assert complaints_of(browser) == []
    assert requests_of(browser) == [page]
    assert browser.seen("Page.javascriptDialogOpening") == []


def test_the_watch_over_requests_and_complaints_is_awake(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text("<script>console.error('x')</script><img src='missing.png'>", encoding="utf-8")
    browser.open(bad.as_uri())
    assert complaints_of(browser)
    assert len(requests_of(browser)) == 2


def test_the_page_would_not_run_a_script_that_got_into_it(browser, page, tmp_path):
    from pathlib import Path
    from urllib.request import url2pathname

    source = Path(url2pathname(page.removeprefix("file://"))).read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(
        source.replace("<main>", "<main><script>document.title = 'ran'</script>"), encoding="utf-8"
    )
    browser.open(broken.as_uri())
    assert browser.evaluate("document.title") == "Private covariance"
    assert complaints_of(browser)


def test_on_a_phone_nothing_but_scroll_areas_is_wider_than_the_screen(browser, page):
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        width=400,
        height=800,
        deviceScaleFactor=1,
        mobile=True,
    )
    browser.open(page)
    assert browser.evaluate("document.documentElement.scrollWidth") == 400
    browser.call("Emulation.clearDeviceMetricsOverride")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_in_pictures_stands_out_from_the_paper(browser, page, scheme):
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.call("Emulation.setEmulatedMedia", features=[feature])
    browser.open(page)
    ink = browser.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
    paper = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = [sum(map(int, color[4:-1].split(","))) / 3 for color in (ink, paper)]
    assert abs(brightness[0] - brightness[1]) > 150
    assert (brightness[1] > 128) == (scheme == "light")
