"""Boxes: what one process closes and only one other can open.

Owns the way of sums through a system that may write to its disks whatever it carries, as Spark
does. The key that opens a box is made in the process that asked, is never stored and never sent:
who finds a box in a shuffle file, a spilled block or a log has random bytes.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from dpcov.errors import EngineError

__all__ = ["Recipient", "close_box"]

_ADDRESS_BYTES = 32
_NONCE = bytes(12)  # each key closes one box
_LENGTH_BYTES = 8
_PURPOSE = b"dpcov sums for one process"


class Recipient:
    """Who can open boxes: the one that made this value, in this process, and nobody else.

    Notes
    -----
    Claim P34. A box is closed with AES-256-GCM under a key that follows (HKDF-SHA256) from an
    X25519 agreement between the recipient's key and one that is made for the box and forgotten.

    Examples
    --------
    >>> recipient = Recipient()
    >>> recipient.open(close_box(recipient.address, b"sums"))
    b'sums'
    """

    def __init__(self) -> None:
        # The cryptography package refuses to pickle it.
        self._key = X25519PrivateKey.generate()
        self.address = self._key.public_key().public_bytes_raw()

    def open(self, box: bytes) -> bytes:
        """Return what is in a box, or refuse one that was closed for another or was changed."""
        sender, content = box[:_ADDRESS_BYTES], box[_ADDRESS_BYTES:]
        try:
            shared = self._key.exchange(X25519PublicKey.from_public_bytes(sender))
            padded = _cipher(shared, sender, self.address).decrypt(_NONCE, content, None)
            length = int.from_bytes(padded[:_LENGTH_BYTES], "big")
            return padded[_LENGTH_BYTES : _LENGTH_BYTES + length]
        except (InvalidTag, ValueError):
            pass
        raise EngineError(
            "What an executor sent is damaged, or was meant for another process. Nothing was "
            "released."
        )

    def __repr__(self) -> str:
        return "Recipient()"


def close_box(address: bytes, content: bytes) -> bytes:
    """Return a box that only the recipient of that address can open."""
    key = X25519PrivateKey.generate()
    sender = key.public_key().public_bytes_raw()
    shared = key.exchange(X25519PublicKey.from_public_bytes(address))
    return sender + _cipher(shared, sender, address).encrypt(_NONCE, _pad(content), None)


def _pad(content: bytes) -> bytes:
    """Return the content behind its length, as long as the next of eight steps of each octave."""
    needed = _LENGTH_BYTES + len(content)
    step = 1 << max(10, needed.bit_length() - 4)
    return len(content).to_bytes(_LENGTH_BYTES, "big") + content + bytes(-needed % step)


def _cipher(shared: bytes, sender: bytes, address: bytes) -> AESGCM:
    derived = HKDF(SHA256(), length=32, salt=None, info=_PURPOSE + sender + address)
    return AESGCM(derived.derive(shared))
