"""Signatures of cards: Ed25519, in a file beside the card.

Owns ``card.sig.json`` and the keys. A signature binds the exact bytes of ``card.json``, and with
them the digests of all other files, to a key and to what its holder says of themself. It says
that the holder of that key signed this card. Who that is, only a key that comes another way
can say; that the release is private, only the release can.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcov.errors import FolderError, ParameterError
from dpcov.publication.keys import fingerprint, is_sound, load_public_key
from dpcov.writing import give_free_name, sync_file, sync_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

__all__ = [
    "SIGNATURE_FILE",
    "Signature",
    "check_signature",
    "check_signer",
    "is_signature",
    "write_signature",
]

SIGNATURE_FILE = "card.sig.json"
_FORMAT, _VERSION = "dpcov card signature", 1
_FIELDS = ("format", "version", "signer", "public_key", "signature")
_MOST_BYTES = 1 << 12
_LONGEST_SIGNER = 200
# The order of the group: s and s + order would both verify.
_ORDER = 2**252 + 27742317777372353535851937790883648493


@dataclass(frozen=True)
class Signature:
    """A valid signature of a card.

    Parameters
    ----------
    signer : str
        What the holder of the key says of themself.
    fingerprint : str
        SHA-256 of the public key.
    expected : bool
        Whether the key is one that was stated to `verify_folder`.
    """

    signer: str
    fingerprint: str
    expected: bool

    @property
    def in_words(self) -> str:
        """Who signed, as far as it is known."""
        if self.expected:
            return (
                f"Signed with the key that you stated, {self.fingerprint}; its holder signs as "
                f"{self.signer!r}."
            )
        return (
            f"Signed with the key {self.fingerprint}, by someone who calls themself "
            f"{self.signer!r}. Compare the fingerprint with one that comes another way, or state "
            "the key with --key."
        )


def check_signer(signer: object) -> str:
    """Return what a signer says of themself: one line that can be printed."""
    if not (isinstance(signer, str) and signer.strip() == signer and signer.isprintable()):
        raise ParameterError("signer must be text in one line, without spaces around it.")
    if not 0 < len(signer) <= _LONGEST_SIGNER:
        raise ParameterError(f"signer must have 1 to {_LONGEST_SIGNER} letters.")
    return signer


def write_signature(
    folder: Path, card: bytes, key: Ed25519PrivateKey, signer: str, *, force: bool = False
) -> Signature:
    """Sign the bytes of a card, and put the signature beside it.

    Raises
    ------
    FolderError
        There is a signature already, or with `force` something that is none.
    """
    public = key.public_key()
    signed = {
        "format": _FORMAT,
        "version": _VERSION,
        "signer": check_signer(signer),
        "public_key": public.public_bytes_raw().hex(),
        "signature": key.sign(_message(card, signer)).hex(),
    }
    aside = folder / f".{SIGNATURE_FILE}.{secrets.token_hex(8)}"
    try:
        aside.write_bytes(_to_bytes(signed))
        sync_file(aside)
        _give_name(aside, folder, force)
    finally:
        aside.unlink(missing_ok=True)
    sync_folder(folder)
    return Signature(signer, fingerprint(public), expected=True)


def is_signature(file: Path) -> bool:
    """Return whether a file is a signature as dpcov writes it, of whatever card."""
    return _read(file) is not None


def check_signature(
    folder: Path, card: bytes, keys: Sequence[str | os.PathLike[str]]
) -> tuple[Signature | None, list[str]]:
    """Return the signature of a card if there is a valid one, and what is wrong."""
    expected = {fingerprint(load_public_key(Path(key))) for key in keys}
    file = folder / SIGNATURE_FILE
    if not os.path.lexists(file):
        return None, ["the card has no signature, and a key was stated"] if expected else []
    stated = _read(file)
    if stated is None:
        return None, [f"{SIGNATURE_FILE} is not a signature of dpcov, or was altered"]
    signer, key, signature = stated
    if not _verifies(key, signature, _message(card, signer)):
        return None, [f"{SIGNATURE_FILE} is not a valid signature of this card"]
    found = Signature(signer, fingerprint(key), expected=fingerprint(key) in expected)
    if expected and not found.expected:
        return None, [f"the card is signed with another key: {found.fingerprint}"]
    return found, []


def _give_name(aside: Path, folder: Path, force: bool) -> None:
    file = folder / SIGNATURE_FILE
    if force and os.path.lexists(file):
        if not is_signature(file):
            raise FolderError(
                f"{str(file)!r} is not a signature of dpcov, and nothing else is replaced. Move it."
            )
        os.replace(aside, file)  # noqa: PTH105
        return
    try:
        give_free_name(aside, file)
    except FileExistsError:
        raise FolderError(
            f"{str(folder)!r} is signed already. Replace its signature with --force (in Python, "
            "force=True)."
        ) from None


def _message(card: bytes, signer: str) -> bytes:
    """Return what is signed: nothing else that is ever signed begins like it."""
    words = signer.encode()
    digest = hashlib.sha512(card).digest()
    return b"dpcov card signature 1\0" + len(words).to_bytes(8, "big") + words + digest


def _read(file: Path) -> tuple[str, Ed25519PublicKey, bytes] | None:
    """Return signer, key and signature, if the file is as dpcov writes it, to the byte."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        about = file.lstat()
        if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_BYTES:
            return None
        text = file.read_bytes()[: _MOST_BYTES + 1]
        stated = json.loads(text.decode())
        if not isinstance(stated, dict) or tuple(stated) != _FIELDS or _to_bytes(stated) != text:
            return None
        if stated["format"] != _FORMAT or type(stated["version"]) is not int:
            return None
        if stated["version"] != _VERSION:
            return None
        key, signature = (bytes.fromhex(stated[name]) for name in ("public_key", "signature"))
        if key.hex() != stated["public_key"] or signature.hex() != stated["signature"]:
            return None
        if len(signature) != 64 or not is_sound(key):
            return None
        return check_signer(stated["signer"]), Ed25519PublicKey.from_public_bytes(key), signature
    except (ValueError, TypeError, RecursionError, OSError):
        return None


def _verifies(key: Ed25519PublicKey, signature: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature

    if int.from_bytes(signature[32:], "little") >= _ORDER:
        return False
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True


def _to_bytes(signed: dict[str, Any]) -> bytes:
    return (json.dumps(signed, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()
