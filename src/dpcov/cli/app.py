"""The typer application: it registers the commands and does nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

from dpcov.cli.demo import demo
from dpcov.cli.reproduce import reproduce
from dpcov.version import __version__

__all__ = ["app"]

app = typer.Typer(
    name="dpcov",
    help="Publish the covariance of sensitive data with a promise that is true.",
    no_args_is_help=True,
    # A traceback with local variables would print people's rows.
    pretty_exceptions_show_locals=False,
)
app.command()(demo)
app.command()(reproduce)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dpcov {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Publish the covariance of sensitive data with a promise that is true."""
