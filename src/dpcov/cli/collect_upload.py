"""Sending many reports to a server, again until it has them.

Owns what is tried again: the same bytes, after the time that the server states.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterable
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from dpcov.errors import CollectionError, ParameterError
from dpcov.progress import Tell

__all__ = ["send_all"]

_AT_A_TIME = 1000
_ATTEMPTS = 8
_LATER = {408, 425, 429, 500, 502, 503, 504}
_LONGEST_WAIT = 60.0


def send_all(
    url: str, tables: Iterable[npt.NDArray[np.uint8]], total: int, tell: Tell | None
) -> int:
    """Send reports to a server, and return how many it has."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError("url must begin with http:// or https://.")
    done = 0
    for table in tables:
        for start in range(0, len(table), _AT_A_TIME):
            piece = table[start : start + _AT_A_TIME]
            _send(url, piece.tobytes())
            done += len(piece)
            if tell is not None:
                tell("sending reports", done, total)
    return done


def _send(url: str, body: bytes) -> None:
    wait = 1.0
    for _ in range(_ATTEMPTS):
        status, stated = _post(url, body)
        if status == 201:
            return
        if status is not None and status not in _LATER:
            raise CollectionError(f"The server refused the reports (status {status}).")
        time.sleep(min(max(stated, wait), _LONGEST_WAIT))
        wait = 2 * wait
    raise CollectionError("The server does not take the reports. Try again later.")


def _post(url: str, body: bytes) -> tuple[int | None, float]:
    """Return the status, or None without an answer, and how long the server wants us to wait."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=60)
    try:
        path = f"{parts.path.rstrip('/')}/reports"
        connection.request("POST", path, body, {"Content-Type": "application/octet-stream"})
        answer = connection.getresponse()
        answer.read()
        stated = answer.headers.get("Retry-After", "0")
        return answer.status, float(stated) if stated.isdigit() else 0.0
    except (OSError, http.client.HTTPException):
        return None, 0.0
    finally:
        connection.close()
