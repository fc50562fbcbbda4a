"""What every command shares: errors in one line, warnings, exit codes, machine output.

Owns the border to the terminal. No traceback is ever printed: its frames, and the messages
of other libraries, may hold people's rows.
"""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import typer
from rich.console import Console

from dpcov import errors
from dpcov.cli.stopping import exit_code_of, stoppable

__all__ = [
    "FAILED",
    "INTERNAL",
    "USAGE",
    "afterwards",
    "guarded",
    "in_options",
    "new_console",
    "print_json",
    "printable",
    "tell",
]

FAILED, USAGE, INTERNAL = 1, 2, 3
"""Exit codes: refused or failed, wrong usage, a fault of dpcov."""

_WARNINGS = [
    value
    for name, value in vars(errors).items()
    if name in errors.__all__ and issubclass(value, Warning)
]
# What the library calls its parameters, and what they are called here.
_OPTIONS = {
    r"dpcov\.release_pairs\b": "dpcov release-pairs",
    r"dpcov\.release\b": "dpcov release",
    r"\b(missing|neighbors|center|scales|engine)='([\w-]+)'": r"--\1 \2",
    r"\ballow=\{'([a-z]+)'\}": r"--allow \1",
    r"see release\.columns": "dpcov show lists them, and so does columns.csv",
    r"\bcsv=\{'delimiter': '(.)'\}, and 'decimal': ','": r"--delimiter '\1', and --decimal ','",
    r"\bmissing_codes\b=?": "--missing-code",
    r"\bcolumns=(?!\{)": "--columns",
    r"\bheader=True\b": "--header",
    r"\bheader=False\b": "--no-header",
    r"\brows_per_unit\b=?": "--rows-per-unit",
    r"\bprivacy_unit\b=?": "--privacy-unit",
    r"\bmax_pairs(?: ?= ?|\b)": "--max-pairs ",
    r"\bcell_bound\b=?": "--cell-bound",
    r"\brow_norm\b=?": "--row-norm",
    r"\bshares\b=?": "--share",
    r"\bweight_bound\b=?": "--weight-bound",
    r"\bweight=": "--weight",
    r"\b(center|scales|epsilon|delta|neighbors|missing|seed|engine)(?:=| (?=must))": r"--\1 ",
    r"\b(confidence|fdr) (?=must)": r"--\1 ",
}
_ANY_WIDTH = 10_000
_OURS = (typer.Exit, typer.Abort, typer.BadParameter)


@contextmanager
def guarded(undone: str = "Nothing was written.") -> Iterator[None]:
    """Turn whatever goes wrong into one line on the error stream and an exit code."""
    with _shown_warnings(), stoppable():
        try:
            yield
            sys.stdout.flush()
        except _OURS:
            raise
        except errors.DpcovError as error:
            _fail(in_options(str(error)), FAILED)
        except KeyboardInterrupt as stop:
            _fail(f"Stopped. {undone}{_cost_of(stop)}", exit_code_of(stop))
        except BrokenPipeError:  # whoever read the output has seen enough: no failure
            _give_up(sys.stdout)
        except OSError as error:
            # Of the error itself, only what cannot hold data: the system's words and a name.
            where = "" if error.filename is None else f": {error.filename}"
            _fail(f"{error.strerror or type(error).__name__}{where}.{_cost_of(error)}", FAILED)
        except MemoryError as error:
            _fail(f"There is not enough memory.{_cost_of(error)}", FAILED)
        except Exception as error:
            _fail(
                f"internal error: {type(error).__name__} at {_place(error)}. Its message is not "
                f"shown because it may hold data. Please report it.{_cost_of(error)}",
                INTERNAL,
            )


@contextmanager
def afterwards(done: str) -> Iterator[None]:
    """Let nothing fail any more, since what was asked for is done.

    Whoever sees a command fail runs it again, and that would spend privacy twice: an output
    that nobody can read, or that has no room, is no reason.
    """
    try:
        yield
        sys.stdout.flush()
    except BaseException as error:
        with suppress(BaseException):
            _give_up(sys.stdout)
            if not isinstance(error, BrokenPipeError | SystemExit | KeyboardInterrupt):
                tell(f"warning: {done}, but not all of the output could be written.")


def _give_up(stream: TextIO) -> None:
    """Send what is still to be written to a stream to nowhere, at the end of Python too."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
        stream.flush()


def in_options(message: str) -> str:
    """Say options of the command where the library says its parameters.

    Examples
    --------
    >>> in_options("row_norm= is needed, or missing='center'.")
    '--row-norm is needed, or --missing center.'
    """
    for python, option in _OPTIONS.items():
        message = re.sub(python, option, message)
    return message


def tell(message: str) -> None:
    """Write one line to the error stream, where it does not get into a result.

    If nobody can be told, the work goes on: the line may be a warning after privacy was spent.
    """
    try:
        typer.echo(f"dpcov: {printable(message)}", err=True)
    except (OSError, ValueError):
        _give_up(sys.stderr)


def printable(text: str) -> str:
    r"""Return text in one line that cannot steer a terminal.

    Examples
    --------
    >>> printable("a\x1b[31m\nb")
    'a [31m b'
    """
    safe = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(safe.split())


def print_json(value: Any) -> None:
    """Print a value for machines."""
    typer.echo(json.dumps(value, indent=2, allow_nan=False))


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to `guarded`: rich would end with a code that means a failure."""
        raise BrokenPipeError


def new_console() -> Console:
    """Return the console of results. When it is piped it has no colour, and no width to keep to."""
    piped = not sys.stdout.isatty()
    return _Console(
        highlight=False, markup=False, soft_wrap=piped, width=_ANY_WIDTH if piped else None
    )


def _fail(message: str, code: int) -> None:
    tell(message)
    raise typer.Exit(code) from None


def _cost_of(error: BaseException) -> str:
    """Return what a release had spent when it ended, if it was one."""
    spent = getattr(error, "budget_spent", None)
    if spent is None:
        return ""
    from dpcov.mechanisms.door import cost_in_words  # lazily: most commands release nothing

    return f" {cost_in_words(spent)}"


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    file = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f"{file}:{trace.tb_lineno}"


@contextmanager
def _shown_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        # Other libraries' warnings may hold data.
        warnings.simplefilter("ignore")
        for category in _WARNINGS:
            warnings.simplefilter("always", category)
        warnings.showwarning = _show_warning
        yield


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    tell(f"warning: {in_options(str(message))}")
