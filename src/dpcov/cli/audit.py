"""``dpcov audit``: attack every mechanism, and show what was found.

Owns the options, the progress bar and the table; `dpcov.audit` does the work.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from dpcov.audit.campaign import MINUTES, Tell, run
from dpcov.audit.findings import HEADER, Audit, Finding, cells
from dpcov.audit.neighbors import DELTA, EPSILON
from dpcov.cli.options import Json
from dpcov.cli.terminal import FAILED, guarded, new_console, print_json, tell
from dpcov.errors import FolderError
from dpcov.writing.durable import replacing_file

__all__ = ["audit"]

TOO_SHORT = 4
"""Exit code: a planted bug was missed, so that the audit says little."""

_STYLES = {"holds": "green", "caught": "dim", "BROKEN": "bold red", "missed": "bold yellow"}


def audit(
    minutes: Annotated[float, typer.Option(help="About how long. More finds more.")] = MINUTES,
    runs: Annotated[
        int | None,
        typer.Option(help="Runs on each table, instead of a time.", show_default=False),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(help="Some of the mechanisms, such as stated,learned.", show_default=False),
    ] = None,
    epsilon: Annotated[float, typer.Option(help="What the mechanisms promise.")] = EPSILON,
    delta: Annotated[float, typer.Option(help="Large, so that few runs see much.")] = DELTA,
    confidence: Annotated[float, typer.Option(help="Of all lower bounds together.")] = 0.95,
    as_json: Json = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Write JSON to this file, too. It must not exist.", show_default=False),
    ] = None,
) -> None:
    """Attack every mechanism as an adversary would, and planted bugs beside it.

    Each mechanism runs many times on two fixed neighboring tables. How well
    they can be told apart bounds epsilon from below: above what is claimed,
    the claim is broken. Mechanisms with planted bugs stand in the same table
    and must be caught. No data are read.

    The exit code is 0 if no claim is refuted and every planted bug was caught,
    1 if a claim is broken, and 4 if the audit was too short to catch all bugs.
    """
    with guarded():
        if out is not None:
            _check_out(out)
        with _progress() as progress:
            found = run(
                minutes=minutes,
                runs=runs,
                only=None if only is None else [name.strip() for name in only.split(",")],
                epsilon=epsilon,
                delta=delta,
                confidence=confidence,
                progress=progress,
            )
        if out is not None:
            with replacing_file(out) as aside:
                aside.write_text(f"{json.dumps(found.to_dict(), indent=2)}\n", encoding="utf-8")
        if as_json:
            print_json(found.to_dict())
        else:
            _show(found)
        _conclude(found)


def _check_out(out: Path) -> None:
    """Refuse a file that could not be written, before minutes are spent."""
    if os.path.lexists(out):
        raise FolderError(f"{str(out)!r} is there already. Choose another name.")
    if not out.absolute().parent.is_dir():
        raise FolderError(f"The folder of {str(out)!r} is not there. Make it, or choose another.")


def _conclude(found: Audit) -> None:
    if not found.holds:
        broken = [each.title for each in found.findings if each.verdict == "BROKEN"]
        chance = f"By chance at most {100 * (1 - found.confidence):.3g} % of audits say so"
        again = "run it again with more --minutes and a higher --confidence, and report it"
        tell(f"{found.in_words} {'; '.join(broken)}. {chance}: {again}.")
        raise typer.Exit(FAILED)
    if not found.is_powerful:
        tell(f"warning: {found.in_words}")
        raise typer.Exit(TOO_SHORT)


@contextmanager
def _progress() -> Iterator[Tell | None]:
    """Give what tells a bar on the error stream, if that is a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as bar:
        task = bar.add_task("trial runs", total=1.0)
        yield lambda title, share: bar.update(task, description=title, completed=share)


def _show(found: Audit) -> None:
    console = new_console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for heading in HEADER:
        right = heading not in ("mechanism", "verdict")
        table.add_column(heading, justify="right" if right else "left", no_wrap=right)
    for place, finding in enumerate(found.findings):
        following = found.findings[place + 1 : place + 2]
        table.add_row(*_styled(finding), end_section=any(each.bug is None for each in following))
    console.print(table)
    claims = sum(each.bug is None for each in found.findings)
    console.print(
        f"claimed: ε at δ = {found.delta:g} (cap: 0). found: a lower bound on ε; those of all "
        f"{claims} mechanisms hold together with {100 * found.confidence:g} % confidence. most: "
        "what runs without end would find between these two tables.",
    )
    if found.verdict == "holds":  # what else there is to say goes to the error stream
        console.print(found.in_words)


def _styled(finding: Finding) -> list[Text]:
    quiet = "dim" if finding.bug is not None else ""
    *others, verdict = cells(finding)
    return [*(Text(cell, style=quiet) for cell in others), Text(verdict, _STYLES[verdict])]
