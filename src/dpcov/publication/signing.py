"""Signing a folder: only one that is what it says.

Owns the order: verify, then sign the very bytes that were verified.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from dpcov.errors import FolderError
from dpcov.publication.card_file import CARD_FILE, read_card_text
from dpcov.publication.keys import load_private_key
from dpcov.publication.signature import SIGNATURE_FILE, Signature, check_signer, write_signature
from dpcov.publication.verification import verify_folder

__all__ = ["sign_folder"]


def sign_folder(
    path: str | os.PathLike[str],
    *,
    key: str | os.PathLike[str],
    signer: str,
    passphrase: str | None = None,
    force: bool = False,
) -> Signature:
    """Sign the card of a folder, and with it the digests of all its files.

    Writes ``card.sig.json`` beside the card. Costs no privacy.

    Parameters
    ----------
    path : path
        A folder that `write_folder` wrote. One that does not hold is not signed.
    key : path
        An Ed25519 private key in PEM (PKCS 8): ``dpcov keygen`` makes one.
    signer : str
        What the holder of the key says of themself, in one line. Published.
    passphrase : str, optional
        That of the key, if it is encrypted.
    force : bool, default False
        Replace a signature that is there. What is no signature of dpcov is never replaced.

    Returns
    -------
    Signature

    Examples
    --------
    >>> import numpy as np, dpcov, tempfile, pathlib
    >>> from dpcov.publication.keys import make_keys
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder, key = pathlib.Path(place, "survey"), pathlib.Path(place, "office.pem")
    ...     card = dpcov.publication.write_folder(release, release.estimate(), folder)
    ...     public, _ = make_keys(key)
    ...     signature = dpcov.publication.sign_folder(folder, key=key, signer="Data office")
    ...     dpcov.publication.verify_folder(folder, keys=[public]).signature.signer
    'Data office'
    """
    folder = Path(path)
    check_signer(signer)
    if os.path.lexists(folder / SIGNATURE_FILE) and not force:
        raise FolderError(
            f"{str(folder)!r} is signed already. Replace its signature with --force (in Python, "
            "force=True)."
        )
    secret = load_private_key(Path(key), passphrase)
    text = read_card_text(folder)
    found = verify_folder(folder)
    # A signature that is about to be replaced may be that of another card.
    problems = [problem for problem in found.problems if not problem.startswith(SIGNATURE_FILE)]
    if (folder / CARD_FILE).is_symlink() or hashlib.sha256(text).hexdigest() != found.card_sha256:
        problems.append(f"{CARD_FILE} is a link, or is being written")
    if found.card is not None and not found.card["guarantee"]["holds"]:
        problems.append("it was simulated with a seed, and promises nothing")
    if problems:
        raise FolderError(f"{str(folder)!r} is not signed: {'; '.join(problems)}.")
    return write_signature(folder, text, secret, signer, force=force)
