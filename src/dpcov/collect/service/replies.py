"""What a service says: status codes, words, headers.

Owns them. No answer repeats anything of what was sent.
"""

from __future__ import annotations

import math
from typing import Any

from starlette.responses import JSONResponse, Response

from dpcov.collect.store import Outcome

__all__ = ["BINARY", "RefusedError", "no_store", "outcome_reply", "secure"]

BINARY = "application/octet-stream"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class RefusedError(Exception):
    """An answer that says no, and why."""

    def __init__(self, status: int, reason: str, *, wait: float | None = None) -> None:
        super().__init__(reason)
        self.status, self.reason, self.wait = status, reason, wait

    def reply(self) -> Response:
        """Return it as an answer."""
        headers = {} if self.wait is None else {"Retry-After": str(math.ceil(self.wait))}
        return JSONResponse({"error": self.reason}, self.status, headers | no_store())


def outcome_reply(outcome: Outcome, reports: int) -> Response:
    """Return what became of an upload."""
    if outcome is Outcome.CONFLICT:
        raise RefusedError(409, "A report with this id was accepted before, with other bytes.")
    if outcome is Outcome.CLOSED:
        raise RefusedError(410, "The collection is closed. No report is taken any more.")
    said: dict[str, Any] = {"status": "accepted", "reports": reports}
    return JSONResponse(said, 201, no_store())


def no_store() -> dict[str, str]:
    """Return the headers of what is not to be kept."""
    return {"Cache-Control": "no-store"}


def secure(response: Response) -> Response:
    """Add the headers that all answers have."""
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response
