"""The JavaScript client in a real browser. Skipped where there is no Chromium."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from clients.node import MISSING, MODULE
from dpcov import local
from publication.browser import CHROMIUM, Browser

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or bool(MISSING), reason=MISSING or "needs Chromium"
)

PLAN = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0)
OTHER = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=1.0)
FILES = {
    "/": ("text/html", b"<!doctype html><title>x</title><script type=module src=page.js></script>"),
    "/page.js": ("text/javascript", b"globalThis.dpcov = await import('./dpcov.js');"),
    "/favicon.ico": ("image/x-icon", b""),
}


class Study(ThreadingHTTPServer):
    """A server that has the module, takes reports, and remembers all that came."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked, self.reports, self.statuses = [], [], []
        self.address = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(f"GET {self.path}")
        kind, data = (
            ("text/javascript", MODULE.read_bytes())
            if self.path == "/dpcov.js"
            else FILES.get(self.path, ("text/plain", b""))
        )
        self.answer(200, kind, data)

    def do_POST(self):
        self.server.asked.append(f"POST {self.path}")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.reports.append((dict(self.headers), body))
        self.answer(self.server.statuses.pop(0) if self.server.statuses else 201, "text/plain", b"")

    def answer(self, status, kind, data):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Set-Cookie", "who=somebody; Path=/")
        self.send_header(
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'",
        )
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def study():
    with Study() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def run(browser, script, plan=PLAN):
    """Return what a script gives in the page, given a plan and a device; errors as their names."""
    return browser.evaluate(
        f"""(async () => {{
            const {{ Device, browserStore, readPlan, readReport }} = dpcov;
            const plan = await readPlan({json.dumps(plan.to_json())});
            const device = new Device({{ store: browserStore(), mostEpsilon: 2.5 }});
            const hex = (report) => readReport(report).hex;
            {script}
        }})().catch((error) => `${{error.name}}: ${{error.message}}`)"""
    )


MAKE = "return hex(await device.report([0.3, -0.5], plan));"


def complaints_of(browser):
    kinds = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled")
    return [event for kind in kinds for event in browser.seen(kind)]


def test_a_reload_gives_the_same_bytes(browser, study):
    browser.open(study.address)
    first = run(browser, MAKE)
    browser.open(study.address)
    assert run(browser, "return hex(await device.kept(plan));") == first
    assert run(browser, MAKE) == first
    assert complaints_of(browser) == []
    assert local.Collector(PLAN).add(bytes.fromhex(first))


def test_the_browser_keeps_the_report_and_nothing_of_the_row(browser, study):
    browser.open(study.address)
    report = run(browser, MAKE)
    script = """
        const names = (await indexedDB.databases()).map(({ name }) => name);
        const all = await browserStore().all();
        for (const kept of all) kept.report = hex(kept.report);
        return { names, all, others: localStorage.length + sessionStorage.length };
    """
    kept = {"planId": PLAN.id, "epsilon": 2, "report": report, "sent": False}
    assert run(browser, script) == {"names": ["dpcov"], "all": [kept], "others": 0}


def test_making_a_report_sends_nothing(browser, study):
    browser.open(study.address)
    before = list(study.asked)
    run(browser, MAKE)
    assert study.asked == before
    assert [request for request in study.asked if "POST" in request] == []


def test_devices_that_ask_at_the_same_time_get_one_report(browser, study):
    browser.open(study.address)
    script = """
        const devices = [1, 2, 3, 4].map(() => new Device({ store: browserStore() }));
        const answers = await Promise.all(devices.map((each) => each.report([0.3, 0.1], plan)));
        return new Set(answers.map(hex)).size;
    """
    assert run(browser, script) == 1


def test_the_limit_of_the_owner_outlives_the_page(browser, study):
    browser.open(study.address)
    run(browser, MAKE)
    browser.open(study.address)
    assert run(browser, MAKE, OTHER).startswith("BudgetError: With this plan epsilon = 3")
    assert run(browser, "return (await device.pending()).length;") == 1


def test_the_limit_is_held_by_the_transaction_too(browser, study):
    browser.open(study.address)
    script = """
        await device.report([0.3, 0.1], plan);
        const late = { ...browserStore(), all: async () => [] };
        const other = await readPlan(OTHER);
        const refused = await new Device({ store: late, mostEpsilon: 2.5 })
            .report([0, 0], other).catch((error) => error.name);
        return [refused, (await browserStore().all()).length];
    """
    asked = script.replace("OTHER", json.dumps(OTHER.to_json()))
    assert run(browser, asked) == ["BudgetError", 1]


def test_an_upload_is_the_report_and_nothing_else(browser, study):
    browser.open(study.address)
    report = run(browser, MAKE)
    before = list(study.asked)
    assert run(browser, "return device.upload(plan, '/reports');") is True
    assert study.asked[len(before) :] == ["POST /reports"]
    [(headers, body)] = study.reports
    assert body.hex() == report
    assert headers["Content-Type"] == "application/octet-stream"
    assert not {"Cookie", "Referer"} & set(headers)


def test_what_was_sent_is_not_sent_again_after_a_reload(browser, study):
    browser.open(study.address)
    run(browser, MAKE)
    run(browser, "return device.upload(plan, '/reports');")
    browser.open(study.address)
    assert run(browser, "return device.upload(plan, '/reports');") is True
    assert run(browser, "return (await device.pending()).length;") == 0
    assert len(study.reports) == 1


def test_offline_a_report_waits_and_the_same_bytes_come_later(browser, study):
    browser.open(study.address)
    offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
    browser.call("Network.emulateNetworkConditions", **offline)
    report = run(browser, MAKE)
    upload = "return device.upload(plan, '/reports', { attempts: 2, firstWait: 0.05 });"
    assert run(browser, upload) is False
    online = {**offline, "offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
    browser.call("Network.emulateNetworkConditions", **online)
    study.statuses = [503]  # and then the server is busy once
    browser.open(study.address)
    assert run(browser, upload) is True
    assert [body.hex() for _, body in study.reports] == [report, report]
