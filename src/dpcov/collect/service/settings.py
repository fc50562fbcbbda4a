"""What an operator decides about a service: where, how much at a time, who may do what.

Owns the numbers and their limits. All of them are public but the token and the address of the
database.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field

from dpcov.errors import ParameterError
from dpcov.parameters import check_count, check_number

__all__ = ["Settings"]

_SHORTEST_TOKEN = 20


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a service.

    Parameters
    ----------
    database : str
        The folder or the address of the collection.
    token : str, optional
        What administration over HTTP asks for; without one there is none.
    rate, burst : float, int
        How many reports one address may send in a second, in the long run and at once. A rate of
        0 is no limit.
    largest_upload : int
        Bytes of one request.
    waiting_bytes : int
        Bytes of all requests that wait at once; others are told to come back.
    slowest : float
        Seconds until a request must have come.
    connections : int
        How many connections may be open.
    """

    database: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    rate: float = 10.0
    burst: int = 1000
    largest_upload: int = 8 << 20
    waiting_bytes: int = 64 << 20
    slowest: float = 30.0
    connections: int = 1000

    def __post_init__(self) -> None:
        if self.token is not None and (
            not isinstance(self.token, str)
            or len(self.token) < _SHORTEST_TOKEN
            or not self.token.isascii()
            or not self.token.isprintable()
            or " " in self.token
        ):
            raise ParameterError(
                f"A token must have at least {_SHORTEST_TOKEN} letters and digits, and no space. "
                "One is made by: python3 -c 'import secrets; print(secrets.token_urlsafe())'"
            )
        check_number("rate", self.rate, low=0.0, high=1e9, open_low=False)
        check_count("burst", self.burst, low=1)
        check_count("largest_upload", self.largest_upload, low=50, high=1 << 30)
        check_count("waiting_bytes", self.waiting_bytes, low=self.largest_upload)
        check_number("slowest", self.slowest, low=0.0, high=3600.0)
        check_count("connections", self.connections, low=1)

    def to_json(self) -> str:
        """Return all settings as text, for the processes that a server starts."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Settings:
        """Read what `to_json` wrote."""
        return cls(**json.loads(text))
