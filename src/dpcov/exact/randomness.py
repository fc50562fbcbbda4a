"""Random words: a stream keyed by the operating system, and a seeded one for simulation.

Owns where randomness comes from. A stream is made for one release and thrown away; it
refuses to be copied, pickled, or used in a forked process.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import numpy.typing as npt

from dpcov.errors import ForkedStreamError, SensitiveDataError
from dpcov.parameters import check_count

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import CipherContext

__all__ = ["RandomStream"]

_KEY_BYTES = 32
_SPARE_COUNTER = 1 << 127  # the second half of the counter space


class RandomStream:
    """The AES-256-CTR keystream of one key, as 64-bit words.

    Use `from_os` for a release and `from_seed` for a simulation.

    Notes
    -----
    Claim P6. The key of `from_os` is 32 bytes that the operating system drew for this
    stream alone. `words` reads one half of the 128-bit counter space, `spare_word` and
    `spare_key` read on in the other, so no block of the keystream is used twice. A copy of
    the stream in a child process would repeat its noise, and the difference of two such
    releases would be free of noise: the stream remembers its process and refuses to work in
    another.

    Claim P41. What is to happen before noise is drawn happens before the first of `words`: if it
    fails, none is ever returned. Who gives words to something that costs privacy says first what
    it is (`begin`), so that of a release that ends early it is known what was drawn.

    Examples
    --------
    >>> stream = RandomStream.from_seed(7)
    >>> stream.words(3).dtype
    dtype('uint64')
    >>> stream.simulated
    True
    """

    def __init__(
        self, key: bytes, *, simulated: bool, before: Callable[[], None] | None = None
    ) -> None:
        self.simulated = simulated
        self._before = before
        self._process, self._drawn = os.getpid(), False
        self.begun: tuple[str, ...] = ()
        """The events for which words were drawn, or are about to be, in order."""
        self._main = _keystream(key, 0)
        self._spare = _keystream(key, _SPARE_COUNTER)

    @classmethod
    def from_os(cls, *, before: Callable[[], None] | None = None) -> RandomStream:
        """Return a stream with a fresh key from the operating system.

        `before` is called before the first words are read, and must not fail.
        """
        return cls(secrets.token_bytes(_KEY_BYTES), simulated=False, before=before)

    @classmethod
    def from_seed(cls, seed: int) -> RandomStream:
        """Return the stream of a seed: repeatable, hence not private."""
        number = check_count("seed", seed, low=0)
        text = f"dpcov simulation, seed {number:x}".encode()
        return cls(hashlib.sha256(text).digest(), simulated=True)

    def begin(self, event: str) -> None:
        """Say which event the next words are for."""
        if event not in self.begun:
            self.begun = (*self.begun, event)

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        """Return the next `count` words."""
        if not self._drawn and self._before is not None:
            if not self.begun:
                raise AssertionError("unreachable: words were drawn for no event")
            self._before()
        self._drawn = True
        return self._read(self._main, count)

    @property
    def is_drawn(self) -> bool:
        """Whether noise came from it: whether `words` were asked for."""
        return self._drawn

    def spare_word(self) -> int:
        """Return one more word, without disturbing the sequence of `words`."""
        return int(self._read(self._spare, 1)[0])

    def spare_key(self) -> bytes:
        """Return a key of 32 bytes for another cipher, without disturbing the same sequence."""
        return self._read(self._spare, _KEY_BYTES // 8).astype("<u8").tobytes()

    def _read(self, keystream: CipherContext, count: int) -> npt.NDArray[np.uint64]:
        if os.getpid() != self._process:
            raise ForkedStreamError(
                "This random stream was keyed in another process and would repeat its noise. "
                "Make a new stream in each process."
            )
        # update_into asks for room of one block, less a byte, beyond the data.
        buffer = bytearray(8 * (count + 2))
        keystream.update_into(bytes(8 * count), buffer)
        return np.frombuffer(buffer, dtype="<u8", count=count).astype(np.uint64, copy=False)

    def __repr__(self) -> str:
        return f"RandomStream({'seeded, for simulation' if self.simulated else 'operating system'})"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise SensitiveDataError("A random stream is made for one release and cannot be copied.")


def _keystream(key: bytes, counter: int) -> CipherContext:
    # Imported here: a user who only reads releases need not load a cipher.
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES256
    from cryptography.hazmat.primitives.ciphers.modes import CTR

    return Cipher(AES256(key), CTR(counter.to_bytes(16, "big"))).encryptor()
