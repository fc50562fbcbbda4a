"""A small client of Chromium's DevTools protocol, over a pipe: no package is needed.

Messages are JSON objects that end in a zero byte, written to the browser's file 3 and read
from its file 4.
"""

import json
import os
import select
import shutil
import subprocess
import sys
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)

_FLAGS = (
    "--headless",
    "--no-sandbox",  # containers run as root
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--remote-debugging-pipe",
)


# Becomes the browser once the pipes are its files 3 and 4; by way of higher numbers, in case
# they are 3 and 4 crosswise.
_WIRE = """
import fcntl, os, sys
pipes = [fcntl.fcntl(int(file), fcntl.F_DUPFD, 10) for file in sys.argv[1:3]]
for file, pipe in zip((3, 4), pipes):
    os.dup2(pipe, file)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """A browser with one open tab; use it in a with statement."""

    def __init__(self, profile, *, timeout=60.0):
        self._profile, self._timeout = profile, timeout
        self._number, self._buffer, self.events = 0, b"", []
        self._session = None

    def __enter__(self):
        read, self._write = os.pipe()
        self._read, write = os.pipe()

        browser = [CHROMIUM, *_FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _WIRE, str(read), str(write), *browser],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(read, write),
        )
        os.close(read)
        os.close(write)
        try:
            target = self.call("Target.createTarget", url="about:blank")["targetId"]
            attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
            self._session = attached["sessionId"]
            for domain in ("Page", "Runtime", "Network", "Log"):
                self.call(f"{domain}.enable")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)

    def call(self, method, **parameters):
        """Send a command and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        return self._receive(lambda answer: answer.get("id") == self._number)["result"]

    def open(self, url):
        """Load a page and wait until it has loaded; `events` then holds what happened."""
        self.events = []
        self.call("Page.navigate", url=url)
        if not self.seen("Page.loadEventFired"):
            self._receive(lambda event: event.get("method") == "Page.loadEventFired")
        self.evaluate("new Promise(done => setTimeout(done, 300))")  # late requests, if any

    def evaluate(self, expression):
        """Return the value of a JavaScript expression in the page."""
        answer = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        return answer["result"].get("value")

    def seen(self, method):
        """Return the parameters of the events of a kind."""
        return [event["params"] for event in self.events if event.get("method") == method]

    def _receive(self, wanted):
        deadline = time.monotonic() + self._timeout
        while True:
            while b"\0" in self._buffer:
                line, self._buffer = self._buffer.split(b"\0", 1)
                message = json.loads(line)
                if "error" in message:
                    raise RuntimeError(message["error"]["message"])
                if "method" in message:
                    self.events.append(message)
                if wanted(message):
                    return message
            ready, _, _ = select.select([self._read], [], [], deadline - time.monotonic())
            if not ready:
                raise TimeoutError("Chromium did not answer in time.")
            self._buffer += os.read(self._read, 1 << 16)
