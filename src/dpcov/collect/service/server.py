"""Serving: uvicorn, with a patience for slow clients that it does not have by itself.

Owns the process or processes that listen. Nothing is logged about requests.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from dpcov.collect.service.app import SETTINGS, from_environment
from dpcov.collect.service.settings import Settings

__all__ = ["PatientProtocol", "serve", "server_options"]

_HEADERS_WITHIN = 15.0  # seconds
_KEEP_ALIVE = 20
_ANSWER_WITHIN = 60.0  # seconds in which a client must read some of an answer
_MOST_UNMEASURED = 1 << 16  # bytes of headers, and of a request that does not state its length
_MOST_IN_LINE = 100  # requests that come on one connection before the first is answered
_LAST_WORDS = 30  # seconds for requests that are being answered when the server ends


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 that hangs up on clients who do not finish asking, or do not listen.

    The parser keeps what it cannot pass on yet, however long that gets: bytes are counted here.
    """

    _hang_up: asyncio.TimerHandle | None = None
    _give_up: asyncio.TimerHandle | None = None
    _is_unmeasured = False
    _unmeasured = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._be_content()
        self._be_heard()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait for the rest, unless a request is being answered."""
        if self._hang_up is None and (self.cycle is None or self.cycle.response_complete):
            self._expect()
        more = len(data) if self._is_unmeasured else 0
        super().data_received(data)
        if self._is_unmeasured:
            self._unmeasured += more
            if self._unmeasured > _MOST_UNMEASURED:
                self.transport.abort()

    def on_message_begin(self) -> None:
        """Begin to count."""
        self._is_unmeasured, self._unmeasured = True, 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Wait no more: from here on the application does."""
        self._be_content()
        self._is_unmeasured = any(name == b"transfer-encoding" for name, _ in self.headers)
        if len(self.pipeline) >= _MOST_IN_LINE:
            self.transport.abort()
        else:
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Count no more."""
        self._is_unmeasured = False
        super().on_message_complete()

    def pause_writing(self) -> None:
        """Begin to wait until the client reads."""
        super().pause_writing()
        self._give_up = self.loop.call_later(_ANSWER_WITHIN, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop waiting."""
        self._be_heard()
        super().resume_writing()

    def _expect(self) -> None:
        self._hang_up = self.loop.call_later(_HEADERS_WITHIN, self.transport.abort)

    def _be_content(self) -> None:
        if self._hang_up is not None:
            self._hang_up.cancel()
            self._hang_up = None

    def _be_heard(self) -> None:
        if self._give_up is not None:
            self._give_up.cancel()
            self._give_up = None


def server_options(settings: Settings, trusted_proxies: Sequence[str] = ()) -> dict[str, Any]:
    """Return how uvicorn is to serve."""
    return {
        "http": PatientProtocol,
        "ws": "none",
        "access_log": False,
        "server_header": False,
        "log_level": "error",
        "limit_concurrency": settings.connections,
        "timeout_keep_alive": _KEEP_ALIVE,
        "timeout_graceful_shutdown": _LAST_WORDS,
        "proxy_headers": bool(trusted_proxies),
        "forwarded_allow_ips": list(trusted_proxies),
    }


def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    workers: int = 1,
    trusted_proxies: Sequence[str] = (),
) -> None:
    """Serve a collection until a signal ends it."""
    options = server_options(settings, trusted_proxies) | {"host": host, "port": port}
    os.environ[SETTINGS] = settings.to_json()
    try:
        if workers == 1:
            uvicorn.run(from_environment, factory=True, **options)
            return
        with tempfile.TemporaryDirectory() as folder:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
            uvicorn.run(
                "dpcov.collect.service.app:from_environment",
                factory=True,
                workers=workers,
                **options,
            )
    finally:
        os.environ.pop(SETTINGS, None)
        os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
