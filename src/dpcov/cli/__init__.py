"""The command line. Needs the extra ``cli``; the library does not."""

from __future__ import annotations

import io
import sys

__all__ = ["main"]


def main() -> None:
    """Run the ``dpcov`` command."""
    try:
        from dpcov.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        raise SystemExit(
            "The dpcov command needs typer and rich: pip install 'dpcov[cli]'"
        ) from None
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # letters that a terminal lacks are no failure
            stream.reconfigure(errors="backslashreplace")
    app()
