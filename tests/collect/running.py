"""A server for tests, in a thread or in a process of its own, on loopback."""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time

import httpx
import uvicorn

from dpcov.collect import Collection
from dpcov.collect.service.app import make_app
from dpcov.collect.service.server import server_options
from dpcov.collect.service.settings import Settings

TOKEN = "a-token-that-is-long-enough"  # noqa: S105
BINARY = {"Content-Type": "application/octet-stream"}
ADMIN = {"Authorization": f"Bearer {TOKEN}"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def serving(address, plan, **options):
    """Serve a collection from a thread; give a client."""
    Collection.create_or_open(address, plan).disconnect()
    settings = Settings(database=address, token=TOKEN, **options)
    options = server_options(settings) | {"host": "127.0.0.1", "port": free_port()}
    config = uvicorn.Config(make_app(settings), **options)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{config.port}", timeout=30) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


class Process:
    """A server in a process of its own, which can be killed."""

    def __init__(self, address, plan_file, port, *options):
        command = [sys.executable, "-m", "dpcov", "collect", "serve", str(plan_file)]
        command += ["--database", address, "--port", str(port), "--rate", "0", "--quiet", *options]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=dict(os.environ)
        )
        self.url = f"http://127.0.0.1:{port}"

    def wait_until_up(self):
        for _ in range(600):
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/healthz", timeout=5).status_code == 200:
                    return
            if self._process.poll() is not None:
                raise AssertionError(self._process.stderr.read().decode())
            time.sleep(0.05)
        raise AssertionError("the server does not come up")

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stderr.close()

    def end_and_read(self):
        """End it, and return what it said to those who watch it."""
        self._process.terminate()
        return self._process.communicate(timeout=60)[1]

    def end(self):
        self._process.terminate()
        code = self._process.wait(timeout=60)
        self._process.stderr.close()
        return code
