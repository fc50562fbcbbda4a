"""Keys of signatures: Ed25519 in PEM files, private ones for their owner's eyes alone.

Owns these files. The arithmetic is that of the `cryptography` library.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from dpcov.errors import FolderError, ParameterError
from dpcov.publication.file_sizes import read_bounded

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

__all__ = [
    "fingerprint",
    "is_encrypted",
    "is_sound",
    "load_private_key",
    "load_public_key",
    "make_keys",
]

_MOST_BYTES = 1 << 14
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL
_LONGEST_PASSPHRASE = 1023  # bytes that the library of the arithmetic takes
_ENCRYPTED = b"ENCRYPTED"  # in the first lines of such a PEM file
_PRIME = 2**255 - 19
# The y of all points whose order divides 8. With such a key one signature fits every card.
_SMALL_ORDER = frozenset(
    {
        0,
        1,
        _PRIME - 1,
        2707385501144840649318225287225658788936804267575313519463743609750303402022,
        55188659117513257062467267217118295137698188065244968500265048394206261417927,
    }
)


def make_keys(private: Path, *, passphrase: str | None = None) -> tuple[Path, str]:
    """Make a pair of keys, and return the file of the public one and its fingerprint.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     public, _ = make_keys(Path(folder, "office.pem"))
    ...     public.name
    'office.pub.pem'
    """
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret_words = None if passphrase is None else _passphrase(passphrase)
    if private.name in {"", ".."}:
        raise FolderError(f"{str(private)!r} has no name of its own. Name a new file for the key.")
    public = private.with_name(f"{private.name.removesuffix('.pem')}.pub.pem")
    for file in (private, public):
        if os.path.lexists(file):
            raise FolderError(f"{str(file)!r} exists, and a key is never overwritten.")
    key = Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        form.Encoding.PEM,
        form.PrivateFormat.PKCS8,
        form.NoEncryption() if secret_words is None else form.BestAvailableEncryption(secret_words),
    )
    shown = key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
    _write_new(private, secret, mode=0o600)
    try:
        _write_new(public, shown, mode=0o644)
    except BaseException:
        private.unlink()
        raise
    return public, fingerprint(key.public_key())


def is_encrypted(file: Path) -> bool:
    """Return whether a private key needs a passphrase."""
    return _ENCRYPTED in _read(file)


def load_private_key(file: Path, passphrase: str | None = None) -> Ed25519PrivateKey:
    """Read a private key, or say what is wrong with it."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    content = _read(file)
    encrypted = _ENCRYPTED in content
    if encrypted and passphrase is None:
        raise FolderError(f"{str(file)!r} is encrypted, and needs its passphrase.")
    secret = _passphrase(passphrase) if encrypted and passphrase is not None else None
    try:
        key = load_pem_private_key(content, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        what = "cannot be read with this passphrase" if encrypted else "is no private key in PEM"
        raise FolderError(f"{str(file)!r} {what}. dpcov keygen makes keys.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise FolderError(f"{str(file)!r} must be an Ed25519 key. dpcov keygen makes keys.")
    return key


def load_public_key(file: Path) -> Ed25519PublicKey:
    """Read a public key, or say what is wrong with it."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    content = _read(file)
    if b"PRIVATE" in content:
        raise FolderError(f"{str(file)!r} is a private key; state the public one.")
    try:
        key = load_pem_public_key(content)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise FolderError(f"{str(file)!r} is no public key in PEM.") from None
    if not isinstance(key, Ed25519PublicKey) or not is_sound(key.public_bytes_raw()):
        raise FolderError(f"{str(file)!r} must be a sound Ed25519 key.")
    return key


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return SHA-256 of a public key: ``openssl pkey -pubin -outform DER | sha256sum``."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    content = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def is_sound(key: bytes) -> bool:
    """Return whether 32 bytes may be a key: written in one way, and of no small order."""
    if len(key) != 32:
        return False
    y = int.from_bytes(key, "little") & (2**255 - 1)
    return y < _PRIME and y not in _SMALL_ORDER


def _passphrase(words: str) -> bytes:
    try:
        given = words.encode()
    except UnicodeEncodeError:  # from an environment that holds any bytes
        raise ParameterError("The passphrase must be text in UTF-8.") from None
    if not 0 < len(given) <= _LONGEST_PASSPHRASE:
        raise ParameterError(
            f"The passphrase must not be empty, nor longer than {_LONGEST_PASSPHRASE:,} bytes."
        )
    return given


def _read(file: Path) -> bytes:
    try:
        return read_bounded(file, most=_MOST_BYTES, longer_than="any key")
    except FileNotFoundError:
        raise FolderError(f"There is no file {str(file)!r}.") from None
    except OSError:
        raise FolderError(f"{str(file)!r} cannot be read.") from None


def _write_new(file: Path, content: bytes, *, mode: int) -> None:
    try:
        place = os.open(file, _NEW | getattr(os, "O_BINARY", 0), mode)
    except FileExistsError:
        raise FolderError(f"{str(file)!r} exists, and a key is never overwritten.") from None
    except OSError:
        raise FolderError(f"{str(file)!r} cannot be written.") from None
    try:
        with os.fdopen(place, "wb") as target:
            target.write(content)
            target.flush()
            os.fsync(target.fileno())
    except BaseException as error:
        file.unlink()
        if isinstance(error, OSError):
            raise FolderError(f"{str(file)!r} cannot be written.") from None
        raise
