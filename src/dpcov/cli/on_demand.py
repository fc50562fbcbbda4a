"""Commands that are loaded when they are called.

Owns how a command stands in the manual before its module is imported: by its name and a sentence.
Each command needs other rooms of the library, and the manual none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

__all__ = ["Command", "Interrupted", "group_of", "load", "register"]


@dataclass(frozen=True)
class Command:
    """A command, or a group of them, that stands in the manual.

    Parameters
    ----------
    where : str
        The module of `dpcov.cli`, a colon, and what it calls the command.
    summary : str
        The first sentences of its own help, which a test compares.
    """

    where: str
    summary: str


class Interrupted(BaseException):
    """Ctrl-C while a command was loaded. Not a KeyboardInterrupt: typer has words for those."""


def group_of(commands: Mapping[str, Command]) -> type[TyperGroup]:
    """Return the class of a group whose commands are loaded when they are called."""

    class OnDemand(TyperGroup):
        def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
            name, found, rest = super().resolve_command(ctx, args)
            if found is None:  # half a word, to be completed
                return name, found, rest
            try:
                return name, load(str(name), commands[str(name)]), rest
            except KeyboardInterrupt:
                raise Interrupted from None

    return OnDemand


def load(name: str, command: Command) -> Any:
    """Import a command, and return it as it is called."""
    module, attribute = command.where.split(":")
    found = getattr(import_module(f"dpcov.cli.{module}"), attribute)
    whole = typer.Typer(add_completion=False, rich_markup_mode="rich")
    whole.callback()(_nothing)  # what has one command and no options is no group
    if isinstance(found, typer.Typer):
        whole.add_typer(found, name=name)
    else:
        whole.command(name)(found)
    loaded: Any = get_command(whole)
    return loaded.commands[name]


def register(app: typer.Typer, panel: str, commands: Mapping[str, Command]) -> None:
    """Let the commands stand in a panel of the manual."""
    for name, command in commands.items():
        app.command(name, help=command.summary, rich_help_panel=panel)(_nothing)


def _nothing() -> None:
    pass
