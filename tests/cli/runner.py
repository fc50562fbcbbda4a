"""The command in this process, with its two streams apart."""

import inspect

from typer.testing import CliRunner

from dpcov.cli.app import app

# Older click mixes the streams unless it is told not to, and newer click cannot be told.
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


def invoke(arguments):
    """Run the command and return its result."""
    return CliRunner(**APART).invoke(app, [str(argument) for argument in arguments])
