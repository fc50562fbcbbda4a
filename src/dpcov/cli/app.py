"""The typer application: it registers the commands and does nothing else."""

from __future__ import annotations

from typing import Annotated

import typer

from dpcov.cli.on_demand import Command, group_of, register
from dpcov.version import __version__

__all__ = ["COMMANDS", "app"]

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
_PANELS: dict[str, dict[str, Command]] = {
    "Before any data": {
        "plan": Command("plan:plan", "Say what can be learned, before any data is touched."),
        "columns": Command(
            "columns:columns",
            "Print a file of public facts to be filled in by hand. No cell is read.",
        ),
    },
    "Spends privacy": {
        "release": Command(
            "release:release", "Publish the covariance of a table. Spends the privacy budget."
        ),
        "release-pairs": Command(
            "release:release_pairs",
            "Publish the strongest pairs of columns of a table. Spends the privacy budget.",
        ),
    },
    "After a release, and free": {
        "estimate": Command(
            "estimate:estimate",
            "Make another estimate of a release. Costs no privacy and never touches data.",
        ),
        "show": Command(
            "folders:show", "Print what a published folder promises and what was found."
        ),
        "regress": Command(
            "answers:regress", "Print a linear regression that is computed from a release."
        ),
        "partial": Command(
            "answers:partial", "Print partial correlations: of each two columns, given all others."
        ),
        "components": Command(
            "answers:components",
            "Print principal components: eigenvalues with intervals, and loadings.",
        ),
        "factors": Command(
            "answers:factors",
            "Print a factor analysis: loadings with errors, and how well the factors fit.",
        ),
        "reliability": Command(
            "answers:reliability",
            "Print how reliable a scale of several items is: Cronbach's alpha and omega.",
        ),
        "compare": Command(
            "comparing:compare",
            "Print which correlations, covariances, deviations and means changed.",
        ),
        "verify": Command(
            "folders:verify",
            "Check the files of a folder against its card, and all of the card against the "
            "release.",
        ),
        "card": Command(
            "folders:card", "Print the card of a published folder, as it follows from the release."
        ),
        "export": Command("export:export", "Write a release for another program: R or SPSS."),
    },
    "To see it work": {
        "demo": Command(
            "demo:demo",
            "Simulate a sensitive survey, release its covariance, show what was learned.",
        ),
        "reproduce": Command(
            "reproduce:reproduce",
            "Run the paper's experiments and draw its four figures, as printed and as they hold.",
        ),
        "audit": Command(
            "audit:audit",
            "Attack every mechanism as an adversary would, and planted bugs beside it.",
        ),
    },
    "Without a trusted table": {
        "local": Command(
            "local:local", "The local model: devices send reports, nobody is trusted with rows."
        ),
        "collect": Command(
            "collect:collect",
            "Collect reports of the local model: a server, its page, and what comes of it.",
        ),
    },
    "What was promised so far": {
        "ledger": Command(
            "ledger:ledger",
            "Accounts of what was promised about the same people, kept on the disk.",
        ),
    },
}
COMMANDS: dict[str, Command] = {
    name: command for commands in _PANELS.values() for name, command in commands.items()
}
"""All of them, by their names."""

app = typer.Typer(
    name="dpcov",
    cls=group_of(COMMANDS),
    help=_MANUAL,
    no_args_is_help=True,
    rich_markup_mode="rich",
    # A traceback with local variables would print people's rows.
    pretty_exceptions_show_locals=False,
)
for panel, commands in _PANELS.items():
    register(app, panel, commands)


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
