"""The typer application: it registers the commands and does nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from dpcov.cli.answers import components, factors, partial, regress, reliability
from dpcov.cli.audit import audit
from dpcov.cli.collect import collect
from dpcov.cli.columns import columns
from dpcov.cli.comparing import compare
from dpcov.cli.demo import demo
from dpcov.cli.estimate import estimate
from dpcov.cli.export import export
from dpcov.cli.folders import card, show, verify
from dpcov.cli.ledger import ledger
from dpcov.cli.local import local
from dpcov.cli.plan import plan
from dpcov.cli.release import release, release_pairs
from dpcov.cli.reproduce import reproduce
from dpcov.cli.signing import keygen, sign
from dpcov.version import __version__

__all__ = ["app"]

_MANUAL = """
Publish the covariance of sensitive data with a promise that is true.

A table has one row for each person. From a file to something to publish:

\b
  dpcov plan --rows 20000 --columns 12 --epsilon 1 --delta 1e-6
  dpcov columns survey.csv > columns.toml
  (now state what you know in columns.toml, and never from the data)
  dpcov release survey.csv --columns columns.toml --out survey/
                           --epsilon 1 --delta 1e-6
  dpcov verify survey/

Only `release`, `release-pairs` and `local randomize` spend privacy, each time
they run. Everything else is free.

Results go to the output, warnings and errors to the error stream.

\b
Exit codes:
  0    done
  1    refused or failed; verify: something is not as the card says;
       audit: a claim is broken
  2    wrong usage
  3    a fault of dpcov
  4    audit: too short to catch every planted bug
  129  stopped by SIGHUP: the terminal was closed
  130  stopped with Ctrl-C
  143  stopped by SIGTERM
"""
_PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Before any data": (plan, columns),
    "Spends privacy": (release, release_pairs),
    "After a release, and free": (
        estimate,
        show,
        regress,
        partial,
        components,
        factors,
        reliability,
        compare,
        verify,
        card,
        export,
        sign,
        keygen,
    ),
    "To see it work": (demo, reproduce, audit),
}

app = typer.Typer(
    name="dpcov",
    help=_MANUAL,
    no_args_is_help=True,
    rich_markup_mode="rich",
    # A traceback with local variables would print people's rows.
    pretty_exceptions_show_locals=False,
)
for panel, commands in _PANELS.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)
app.add_typer(local, name="local", rich_help_panel="Without a trusted table")
app.add_typer(collect, name="collect", rich_help_panel="Without a trusted table")
app.add_typer(ledger, name="ledger", rich_help_panel="What was promised so far")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpcov {__version__}")
        raise typer.Exit


@app.callback(help=_MANUAL)
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass
