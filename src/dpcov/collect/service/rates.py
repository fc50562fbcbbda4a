"""How many reports an address may send.

Owns the count of each address, in memory alone and under a key of this process; it is forgotten
as soon as the address may send its full burst again.
"""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
from collections import OrderedDict
from dataclasses import dataclass, field

__all__ = ["Rates"]

_MOST_ADDRESSES = 100_000


@dataclass
class Rates:
    """A bucket for each address: it holds `burst` reports and fills with `rate` a second."""

    rate: float
    burst: int
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(16), repr=False)
    _debts: OrderedDict[bytes, tuple[float, float]] = field(default_factory=OrderedDict, repr=False)

    def wait(self, address: str, reports: int, now: float) -> float:
        """Count reports of an address; return 0, or the seconds after which they may come.

        What must wait is not counted.
        """
        if self.rate == 0:
            return 0.0
        name = hashlib.blake2b(_network(address), key=self._key, digest_size=8).digest()
        debt, since = self._debts.pop(name, (0.0, now))
        debt = max(0.0, debt - (now - since) * self.rate)
        over = debt + min(reports, self.burst) - self.burst
        if over <= 0:
            debt += min(reports, self.burst)
        if debt > 0:
            self._debts[name] = (debt, now)
        self._forget(now)
        return max(0.0, over / self.rate)

    def _forget(self, now: float) -> None:
        """Forget addresses that owe nothing any more, and the oldest if there are too many."""
        while self._debts:
            name, (debt, since) = next(iter(self._debts.items()))
            if debt > (now - since) * self.rate and len(self._debts) <= _MOST_ADDRESSES:
                return
            del self._debts[name]


def _network(address: str) -> bytes:
    """Return what counts as one address: of IPv6 the 64 bits that one household has."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address.encode(errors="replace")
    if isinstance(parsed, ipaddress.IPv4Address):
        return parsed.packed
    # Where one socket listens for both, an address of IPv4 is written within IPv6.
    return parsed.ipv4_mapped.packed if parsed.ipv4_mapped else parsed.packed[:8]
