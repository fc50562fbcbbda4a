"""A stand-in for the service that collects: the page's files, a plan, and what was posted.

Tests of the page know nothing of it but `address`, `plan_text`, `reports`, `asked` and
`statuses`: whatever has these will do in its place.
"""

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

STATIC = Path(__file__).parents[2] / "src" / "dpcov" / "collect" / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/dpcov.js": ("dpcov.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.svg": ("page.svg", "image/svg+xml"),
}


class StudyStub(ThreadingHTTPServer):
    """Remembers every request and every body; answers posts from a list of statuses, then 201."""

    def __init__(self, plan_text):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.plan_text = plan_text
        self.asked, self.reports, self.statuses = [], [], []
        self.address = f"http://127.0.0.1:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(f"GET {self.path}")
        if self.path == "/plan":
            self._answer(200, "application/json", self.server.plan_text.encode())
        elif self.path in FILES:
            name, kind = FILES[self.path]
            self._answer(200, kind, (STATIC / name).read_bytes())
        else:
            self._answer(404, "text/plain", b"")

    def do_POST(self):
        self.server.asked.append(f"POST {self.path}")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.reports.append((dict(self.headers), body))
        status = self.server.statuses.pop(0) if self.server.statuses else 201
        self._answer(status, "application/json", b"{}")

    def _answer(self, status, kind, data):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@contextmanager
def serving(plan_text):
    """Run the stand-in for the time of a with statement."""
    with StudyStub(plan_text) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
