"""The service: routes over a collection.

Owns which request does what. It keeps nothing about who asks: no address, no agent, no time.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files as package_files
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dpcov.collect.collection import Collection
from dpcov.collect.service.arrivals import Arrivals
from dpcov.collect.service.metrics import Metrics
from dpcov.collect.service.openapi import describe
from dpcov.collect.service.replies import BINARY, RefusedError, no_store, outcome_reply, secure
from dpcov.collect.service.settings import Settings
from dpcov.collect.service.shared import Shared
from dpcov.collect.service.uploads import Uploads
from dpcov.collect.store import State
from dpcov.errors import CollectionError

__all__ = ["SETTINGS", "from_environment", "make_app"]

SETTINGS = "DPCOV_COLLECT_SETTINGS"
"""The variable by which a server tells its processes their settings."""
_FRESH = 5.0  # seconds for which the state is not asked for again
_HEALTHY = 1.0  # seconds for which it is not tried again whether reports can be kept
_HEALTH_PATIENCE = 10.0
_STATIC = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/dpcov.js": ("dpcov.js", "text/javascript; charset=utf-8"),
    "/page.svg": ("page.svg", "image/svg+xml"),
}

Handler = Callable[[Request], Awaitable[Response]]


def from_environment() -> ASGIApp:
    """Return the service that a server's process is told to be."""
    return make_app(Settings.from_json(os.environ[SETTINGS]))


def make_app(settings: Settings) -> ASGIApp:
    """Return the service of the collection that the settings name, which must be there."""
    collection = Collection.open(settings.database)
    service = _Service(collection, settings)
    return _Secured(service.app())


class _Service:
    """One process of a service."""

    def __init__(self, collection: Collection, settings: Settings) -> None:
        self._collection, self._settings = collection, settings
        self._metrics = Metrics()
        self._uploads = Uploads(collection, settings)
        self._arrivals = Arrivals(collection.add_batches, self._metrics.observe_commit)
        study = collection.plan.study
        self._count_is_public = study is not None and study.count_is_public
        self._state = Shared(self._asked_state, _FRESH)
        self._health = Shared(lambda: self._arrivals.run(collection.check_writable), _HEALTHY)

    def app(self) -> Starlette:
        """Return the application."""
        routes = [
            Route("/plan", self._answering(self.plan), methods=["GET"]),
            Route("/reports", self._answering(self.reports), methods=["POST"]),
            Route("/status", self._answering(self.status), methods=["GET"]),
            Route("/healthz", self._answering(self.health), methods=["GET"]),
            Route("/metrics", self._answering(self.metrics), methods=["GET"]),
            Route("/openapi.json", self._answering(self.openapi), methods=["GET"]),
            Route("/admin/close", self._answering(self.close), methods=["POST"]),
            Route("/admin/release", self._answering(self.release), methods=["POST"]),
        ]
        routes += [
            Route(path, _static(name, kind), methods=["GET"])
            for path, (name, kind) in _STATIC.items()
        ]
        return Starlette(
            routes=routes,
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _http_problem, Exception: _other_problem},
        )

    @asynccontextmanager
    async def _lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        yield
        await self._arrivals.end()
        self._collection.disconnect()

    def _answering(self, handle: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except RefusedError as refusal:
                return refusal.reply()
            except CollectionError:
                reason = "The database does not answer. Send the same bytes again later."
                return RefusedError(503, reason, wait=5).reply()

        return answer

    async def plan(self, request: Request) -> Response:
        """Give the plan, as it was published."""
        tag = f'"{self._collection.plan.id}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        asked = request.headers.get("if-none-match", "")
        if tag in [each.strip().removeprefix("W/") for each in asked.split(",")]:
            return Response(status_code=304, headers=headers)
        return Response(
            self._collection.plan.to_json(), headers=headers, media_type="application/json"
        )

    async def reports(self, request: Request) -> Response:
        """Take one report or many, and answer when they are on the disk."""
        answer = "accepted"
        try:
            async with self._uploads.reading(request, trusted=self._is_admin(request)) as reports:
                outcome = await self._arrivals.submit(reports)
                response = outcome_reply(outcome, len(reports))
                self._metrics.reports.inc(len(reports))
                return response
        except RefusedError as refusal:
            answer = str(refusal.status)
            raise
        except CollectionError:
            answer = "503"
            raise
        finally:
            self._metrics.answers.labels(answer).inc()

    async def status(self, request: Request) -> Response:
        """Say what may be known of the collection."""
        state = await self._state.answer()
        seen = self._count_is_public or self._is_admin(request)
        return JSONResponse(
            {
                "plan": self._collection.plan.id,
                "open": not state.closed,
                "reports": state.reports if seen else None,
                "minimum": self._collection.minimum,
                "simulated": self._collection.simulated,
            },
            headers=no_store(),
        )

    async def health(self, _request: Request) -> Response:
        """Say whether reports can be kept."""
        try:
            await asyncio.wait_for(self._health.answer(), _HEALTH_PATIENCE)
        except (CollectionError, asyncio.TimeoutError):
            return PlainTextResponse("the database cannot be written", 503, no_store())
        return PlainTextResponse("ok", headers=no_store())

    async def metrics(self, request: Request) -> Response:
        """Give counters: they tell how many reports there are, and are as public as that."""
        if not self._count_is_public:
            self._check_admin(request)
        return Response(
            self._metrics.text(),
            headers=no_store(),
            media_type="text/plain; version=0.0.4; charset=utf-8",
        )

    async def openapi(self, _request: Request) -> Response:
        """Describe all this."""
        return JSONResponse(describe(self._collection.plan))

    async def close(self, request: Request) -> Response:
        """End the collection."""
        self._check_admin(request)
        await self._arrivals.run(self._collection.close)
        self._state.forget()
        state = await self._state.answer()
        return JSONResponse({"open": False, "reports": state.reports}, headers=no_store())

    async def release(self, request: Request) -> Response:
        """Release a collection that was closed: the file of the release."""
        self._check_admin(request)
        # Reports are added up beside the commits, over connections of their own.
        other = await asyncio.to_thread(Collection.open, self._settings.database)
        try:
            octets = await asyncio.to_thread(_released, other)
        except CollectionError as error:
            raise RefusedError(409, str(error)) from None
        finally:
            other.disconnect()
        return Response(octets, headers=no_store(), media_type=BINARY)

    async def _asked_state(self) -> State:
        state = await self._arrivals.run(lambda: self._collection.state)
        if not isinstance(state, State):
            raise AssertionError("unreachable: a collection has a state")
        return state

    def _is_admin(self, request: Request) -> bool:
        token = self._settings.token
        if token is None:
            return False
        given = request.headers.get("authorization", "")
        return hmac.compare_digest(given.encode(), f"Bearer {token}".encode())

    def _check_admin(self, request: Request) -> None:
        if not self._is_admin(request):
            raise RefusedError(401, "This needs the token that the operator set.")


def _released(collection: Collection) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "release.npz"
        collection.release(progress=False).save(file)
        return file.read_bytes()


def _static(name: str, kind: str) -> Handler:
    content = (package_files("dpcov.collect") / "static" / name).read_bytes()

    async def answer(_request: Request) -> Response:
        return Response(content, headers={"Cache-Control": "no-cache", "Content-Type": kind})

    return answer


async def _http_problem(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = error.headers if isinstance(error, HTTPException) else None
    reasons = {404: "There is nothing here.", 405: "This cannot be done here."}
    reason = reasons.get(status, "The request cannot be answered.")
    return JSONResponse({"error": reason}, status, dict(headers or {}) | no_store())


async def _other_problem(_request: Request, _error: Exception) -> Response:
    return JSONResponse({"error": "The server has a problem."}, 500, no_store())


class _Secured:
    """Adds the headers that all answers have."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                response = Response()
                response.raw_headers = message["headers"]
                secure(response)
                message = {**message, "headers": response.raw_headers}
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)
