"""``dpcov keygen`` and ``dpcov sign``: keys, and signatures of published folders.

Owns where a passphrase comes from: the environment, or somebody at the terminal.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from dpcov.cli.options import Folder, Quiet
from dpcov.cli.stopping import stoppable_until
from dpcov.cli.terminal import afterwards, guarded, new_console
from dpcov.publication.keys import is_encrypted, make_keys
from dpcov.publication.signing import sign_folder

__all__ = ["keygen", "sign"]

_PASSPHRASE = "DPCOV_KEY_PASSPHRASE"  # noqa: S105  # the name of a variable


def keygen(
    file: Annotated[
        Path, typer.Argument(help="A new file for the private key.", show_default=False)
    ],
    encrypt: Annotated[
        bool, typer.Option("--encrypt", help=f"Ask for a passphrase, if {_PASSPHRASE} has none.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Make a pair of keys for signatures: NAME.pem, to be kept secret, and NAME.pub.pem.

    Example: dpcov keygen office.pem --encrypt
    """
    with guarded():
        passphrase = os.environ.get(_PASSPHRASE) or (_ask(again=True) if encrypt else None)
        public, mark = make_keys(file, passphrase=passphrase)
        stoppable_until(lambda: True)
        if quiet:
            return
        with afterwards(f"{file} and {public} are written"):
            console = new_console()
            kept = "It has a passphrase. " if passphrase else ""
            console.print(f"Private key: {file}. {kept}Keep it secret.")
            console.print(f"Public key: {public}. Publish it where readers trust you.")
            console.print(f"Fingerprint: {mark}")


def sign(
    folder: Folder,
    key: Annotated[Path, typer.Option(help="Your private key: see dpcov keygen.")],
    signer: Annotated[str, typer.Option(help="Who you are. Published.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a signature.")] = False,
    quiet: Quiet = False,
) -> None:
    """Sign the card of a folder, if all in it is as the release says.

    Example: dpcov sign survey/ --key office.pem --signer "Data office, X"
    """
    with guarded():
        passphrase = os.environ.get(_PASSPHRASE) or None
        if passphrase is None and sys.stdin.isatty() and is_encrypted(key):
            passphrase = _ask(again=False)
        made = sign_folder(folder, key=key, signer=signer, passphrase=passphrase, force=force)
        stoppable_until(lambda: True)
        if not quiet:
            with afterwards(f"{folder} is signed"):
                new_console().print(f"Signed by {made.signer} with the key {made.fingerprint}.")


def _ask(*, again: bool) -> str:
    asked = typer.prompt(
        "Passphrase of the key", hide_input=True, confirmation_prompt=again, err=True
    )
    return str(asked)
