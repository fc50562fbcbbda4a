"""The command line. Needs the extra ``cli``; the library does not."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress

__all__ = ["main"]


def main() -> None:
    """Run the ``dpcov`` command. What comes before or after a command is said in one line, too."""
    _open_closed_streams()
    try:
        _run()
    except KeyboardInterrupt:  # while libraries are loaded
        _end("Stopped. Nothing was written.", 130)
    except OSError as error:  # a manual that has nowhere to go
        _end(error.strerror or type(error).__name__, 1)


def _run() -> None:
    try:
        from dpcov.cli.app import app
        from dpcov.cli.on_demand import Interrupted
        from dpcov.cli.stopping import to_the_end_of_the_process

        for stream in (sys.stdout, sys.stderr):
            # Letters that a terminal lacks are no failure.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        try:
            with to_the_end_of_the_process():
                app()
        except Interrupted:
            raise KeyboardInterrupt from None
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        raise SystemExit(
            "The dpcov command needs typer and rich: pip install 'dpcov[cli]'"
        ) from None


def _end(message: str, code: int) -> None:
    with suppress(OSError):
        print(f"dpcov: {message}", file=sys.stderr)
    # Without the end of Python, which would flush what cannot be written.
    os._exit(code)


def _open_closed_streams() -> None:
    """Give nowhere the numbers of standard streams that are closed.

    Otherwise the next file that is opened gets them, and whatever a library prints gets into
    that file.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if not _is_open(number):
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True
