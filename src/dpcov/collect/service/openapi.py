"""The description of the service in OpenAPI 3.1.

Owns it. Tests hold the service to it.
"""

from __future__ import annotations

from typing import Any

from dpcov.collect.service.replies import BINARY
from dpcov.local.plan import CollectionPlan
from dpcov.version import __version__

__all__ = ["describe"]

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "string"}},
    "additionalProperties": False,
}
_REFUSALS = {
    "400": "The bytes are no report for this plan.",
    "401": "The operator's token is needed.",
    "408": "The request took too long.",
    "409": "An id is known with other bytes; or the collection cannot be released yet.",
    "410": "The collection is closed, and the report is not known.",
    "411": "The length is not stated.",
    "413": "More bytes than are taken at a time.",
    "415": "Another content type than application/octet-stream.",
    "422": "A report was made for another plan, or simulated.",
    "429": "Too many reports from this address.",
    "503": "The database does not answer, or too much waits for it.",
}
_STATUS = {
    "type": "object",
    "required": ["plan", "open", "reports", "minimum", "simulated"],
    "additionalProperties": False,
    "properties": {
        "plan": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
        "open": {"type": "boolean"},
        "reports": {
            "type": ["integer", "null"],
            "minimum": 0,
            "description": "null unless the plan says that the count is public",
        },
        "minimum": {"type": "integer", "minimum": 1},
        "simulated": {"type": "boolean"},
    },
}
_ACCEPTED = {
    "type": "object",
    "required": ["status", "reports"],
    "additionalProperties": False,
    "properties": {"status": {"const": "accepted"}, "reports": {"type": "integer", "minimum": 1}},
}
_CLOSED = {
    "type": "object",
    "required": ["open", "reports"],
    "additionalProperties": False,
    "properties": {"open": {"const": False}, "reports": {"type": "integer", "minimum": 0}},
}


def describe(plan: CollectionPlan) -> dict[str, Any]:
    """Return the description of the service of a plan."""
    size = plan.report_bytes
    body = {
        "required": True,
        "content": {
            BINARY: {
                "schema": {
                    "type": "string",
                    "format": "binary",
                    "minLength": size,
                    "description": f"Reports of {size} bytes, one after the other.",
                }
            }
        },
    }
    upload = {
        "summary": "Send one report, or many: all are taken, or none",
        "description": "Answered when they are on the disk. The same bytes again get the same "
        "answer and count once.",
        "requestBody": body,
        "responses": {"201": _json("All are kept.", _ACCEPTED)}
        | _refusals("400", "408", "409", "410", "411", "413", "415", "422", "429", "503"),
    }
    admin: dict[str, Any] = {"security": [{"token": []}]}
    metrics = _get("Counters for Prometheus", "text/plain")
    if plan.study is None or not plan.study.count_is_public:
        metrics = _get("Counters for Prometheus", "text/plain", refusals=("401",)) | admin
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "A collection of dpcov",
            "version": __version__,
            "description": f"Takes randomized reports for the plan {plan.id}: {plan.promise}.",
        },
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "paths": {
            "/plan": {"get": _get("The collection plan", "application/json", {"type": "object"})},
            "/reports": {"post": upload},
            "/status": {"get": _get("Where the collection is", "application/json", _STATUS)},
            "/healthz": {"get": _get("Whether reports can be kept", "text/plain")},
            "/metrics": {"get": metrics},
            "/openapi.json": {"get": _get("This", "application/json", {"type": "object"})},
            "/admin/close": {
                "post": {
                    "summary": "End the collection, which is final",
                    "responses": {"200": _json("It is closed.", _CLOSED)} | _refusals("401", "503"),
                }
                | admin
            },
            "/admin/release": {
                "post": {
                    "summary": "Release a collection that was closed",
                    "responses": {
                        "200": {
                            "description": "The file of the release.",
                            "content": {BINARY: {"schema": {"type": "string"}}},
                        }
                    }
                    | _refusals("401", "409", "503"),
                }
                | admin
            },
        },
    }


def _json(words: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": schema}}}


def _get(
    words: str,
    kind: str,
    schema: dict[str, Any] | None = None,
    *,
    refusals: tuple[str, ...] = (),
) -> dict[str, Any]:
    found = {"description": words, "content": {kind: {"schema": schema or {"type": "string"}}}}
    answers: dict[str, Any] = {"200": found} | _refusals(*refusals)
    if kind == "text/plain":
        answers["503"] = {
            "description": "The database cannot be written.",
            "content": {kind: {"schema": {"type": "string"}}},
        }
    else:
        answers |= {"304": {"description": "It is what was asked for."}} | _refusals("503")
    return {"summary": words, "responses": answers}


def _refusals(*statuses: str) -> dict[str, Any]:
    return {status: _json(_REFUSALS[status], _ERROR) for status in statuses}
