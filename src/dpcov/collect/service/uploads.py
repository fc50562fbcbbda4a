"""Uploads: from the bytes of a request to reports that may be added, within limits.

Owns the limits on one request and on all that wait at once. Bytes are read into memory only as far
as there is room for them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
from starlette.requests import ClientDisconnect, Request

from dpcov.collect.collection import Collection
from dpcov.collect.service.rates import Rates
from dpcov.collect.service.replies import BINARY, RefusedError
from dpcov.collect.service.settings import Settings
from dpcov.errors import ForeignReportError, ReportError
from dpcov.local.report import Reports

__all__ = ["Uploads"]

_MANY = 1000  # reports that are looked at in a thread, and not between two requests


class Uploads:
    """The way in."""

    def __init__(self, collection: Collection, settings: Settings) -> None:
        self._collection, self._settings = collection, settings
        self._rates = Rates(settings.rate, settings.burst)
        self._size = collection.plan.report_bytes
        self._most = max(settings.largest_upload, self._size)
        self._in_memory = 0

    @asynccontextmanager
    async def reading(self, request: Request, *, trusted: bool) -> AsyncIterator[Reports]:
        """Give the reports of a request; their memory counts until the block ends."""
        declared = self._declared_length(request)
        if not trusted:  # before it has room: what is never sent would keep others out
            self._check_burst(declared // self._size)
        if self._in_memory + declared > self._settings.waiting_bytes:
            raise RefusedError(503, "The server is busy. Send the same bytes again later.", wait=2)
        self._in_memory += declared
        try:
            body = await self._body(request, declared)
            self._check_rate(request, len(body) // self._size, trusted=trusted)
            yield await self._parsed(body)
        finally:
            self._in_memory -= declared

    def _declared_length(self, request: Request) -> int:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != BINARY:
            raise RefusedError(415, f"Reports are sent as {BINARY}.")
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            raise RefusedError(415, "Reports are sent as they are, without an encoding.")
        stated = request.headers.get("content-length")
        if stated is None:
            raise RefusedError(411, "The length of the request must be stated.")
        if not (stated.isascii() and stated.isdigit()):
            raise RefusedError(400, "The length of the request must be a number.")
        length = int(stated[:20])
        if length > self._most or len(stated) > 20:
            raise RefusedError(
                413, f"A request may have {self._most // self._size:,} reports at most."
            )
        if length == 0 or length % self._size:
            raise RefusedError(400, f"A report for this plan has {self._size} bytes.")
        return length

    async def _body(self, request: Request, length: int) -> bytes:
        try:
            body = await asyncio.wait_for(_read(request, length), self._settings.slowest)
        except asyncio.TimeoutError:
            raise RefusedError(
                408, "The request took too long. Send the same bytes again."
            ) from None
        except ClientDisconnect:
            raise RefusedError(400, "The request ended early.") from None
        if len(body) != length:
            raise RefusedError(400, "The request is shorter than it states.")
        return body

    def _check_burst(self, reports: int) -> None:
        if self._settings.rate and reports > self._settings.burst:
            raise RefusedError(
                413,
                f"Send {self._settings.burst:,} reports at a time at most, or with the token.",
            )

    def _check_rate(self, request: Request, reports: int, *, trusted: bool) -> None:
        if trusted:
            return
        address = request.client.host if request.client else ""
        wait = self._rates.wait(address, reports, time.monotonic())
        if wait > 0:
            raise RefusedError(
                429, "Too many reports from this address. Wait, and send again.", wait=wait
            )

    async def _parsed(self, body: bytes) -> Reports:
        table = np.frombuffer(body, dtype=np.uint8).reshape(-1, self._size)
        try:
            if len(table) < _MANY:
                return self._collection.parse(table)
            return await asyncio.to_thread(self._collection.parse, table)
        except ForeignReportError:
            reason = "A report was made for another plan, or by a simulation. None was taken."
            raise RefusedError(422, reason) from None
        except ReportError:
            reason = "Not all of this are reports for this plan. None was taken."
            raise RefusedError(400, reason) from None


async def _read(request: Request, length: int) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > length:
            raise RefusedError(400, "The request is longer than it states.")
    return bytes(body)
