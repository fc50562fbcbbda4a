"""``dpcov local plan | randomize | collect``: the local model with files of reports.

Owns these files: a plan is JSON, and reports stand one after the other, all of the length
that the plan says.
"""

from __future__ import annotations

import os
import secrets
from enum import Enum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import dpcov
from dpcov.cli.options import (
    Curator,
    Date,
    Description,
    Epsilon,
    Fdr,
    Force,
    Json,
    Name,
    Out,
    Quiet,
    Table,
)
from dpcov.cli.publishing import publish
from dpcov.cli.terminal import guarded, tell
from dpcov.errors import FolderError, MalformedReportError, ParameterError, PlanError
from dpcov.report.folder import Identity

__all__ = ["local"]

local = typer.Typer(
    help="The local model: devices send reports, nobody is trusted with rows.",
    no_args_is_help=True,
)
_BLOCK = 4096

PlanFile = Annotated[Path, typer.Option("--plan", help="The plan, as dpcov local plan wrote it.")]


class _Mechanism(str, Enum):
    CAP = "cap"
    GAUSSIAN = "gaussian"


@local.command("plan")
def make_plan(
    columns: Annotated[
        str, typer.Option(help="Names with commas between them, or a file of public facts.")
    ],
    epsilon: Epsilon,
    row_norm: Annotated[
        float | None,
        typer.Option(
            help="A public bound on the norm of a row; not needed with bounds of columns."
        ),
    ] = None,
    mechanism: Annotated[
        _Mechanism, typer.Option(help="16 bytes and a pure promise, or noisy products.")
    ] = _Mechanism.CAP,
    delta: Annotated[float | None, typer.Option(help="For gaussian, and for it alone.")] = None,
    correlation: Annotated[
        float | None, typer.Option(help="Also say how many people show this correlation.")
    ] = None,
) -> None:
    """Print a plan: what a server publishes and every device obeys.

    Example: dpcov local plan --columns age,sleep,mood --row-norm 2 --epsilon 2 > plan.json
    """
    with guarded():
        names, shift, scale, bound = _columns(columns)
        norm = bound if row_norm is None else row_norm
        if norm is None:
            raise ParameterError("row_norm is needed: a public bound on the norm of a row.")
        plan = dpcov.local.Plan(
            columns=names,
            shift=shift,
            scale=scale,
            row_norm=norm,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism.value,
        )
        needed = None if correlation is None else plan.people_needed(correlation)
        typer.echo(plan.to_json())
        if needed is not None:
            tell(f"a correlation of {correlation:g} takes at least {needed:,} people")


@local.command()
def randomize(
    data: Table,
    plan: PlanFile,
    out: Annotated[Path, typer.Option(help="The file of reports to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file of reports.")] = False,
    quiet: Quiet = False,
) -> None:
    """Make one report for each row of a table. Spends each person's budget.

    Somebody who reports again must send the same report again: a second one is a second
    disclosure.

    Example: dpcov local randomize my_row.csv --plan plan.json --out my_report.bin
    """
    from dpcov.sensitive.sources import open_source

    with guarded("Nothing was written."):
        made = _read_plan(plan)
        if out.exists() and not force:
            raise FolderError(
                f"{str(out)!r} exists. To report again, send the same reports again: new ones are "
                "a second disclosure, and the promises add up. --force makes them all the same."
            )
        if force and out.exists():
            tell("warning: these are second reports of the same people: the promises add up.")
        source = open_source(data, select=made.columns, fewest_rows=1)
        count = 0
        aside = out.with_name(f".{out.name}.{secrets.token_hex(8)}")
        try:
            with aside.open("xb") as file:
                for block in source.blocks(_BLOCK):
                    for row in block:
                        file.write(dpcov.local.randomize(np.asarray(row), made))
                        count += 1
            aside.replace(out)
        finally:
            aside.unlink(missing_ok=True)
        if not quiet:
            typer.echo(f"{count:,} reports of {made.report_bytes} bytes, {made.promise}: {out}")


@local.command()
def collect(
    reports: Annotated[list[Path], typer.Argument(help="Files of reports.", show_default=False)],
    plan: PlanFile,
    out: Out,
    name: Name = "",
    curator: Curator = "",
    description: Description = "",
    date: Date = None,
    fdr: Fdr = 0.1,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add up reports and write the folder of their release. A report that comes twice counts once.

    Example: dpcov local collect reports/*.bin --plan plan.json --out study/
    """

    def release() -> dpcov.Release:
        collector = dpcov.local.Collector(_read_plan(plan), idempotent=True)
        for file in reports:
            _add_file(collector, file)
        return collector.release()

    with guarded():
        publish(
            release,
            out,
            Identity(name, curator, description, date),
            fdr=fdr,
            force=force,
            as_json=as_json,
            quiet=quiet,
        )


def _add_file(collector: dpcov.local.Collector, file: Path) -> None:
    size = collector.plan.report_bytes
    if os.path.getsize(file) % size:  # noqa: PTH202
        raise MalformedReportError(
            f"{file.name} is not a file of reports for this plan: each has {size} bytes."
        )
    with file.open("rb") as content:
        while octets := content.read(size * _BLOCK):
            collector.add_many(np.frombuffer(octets, dtype=np.uint8).reshape(-1, size))


def _read_plan(file: Path) -> dpcov.local.Plan:
    try:
        return dpcov.local.Plan.from_json(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise PlanError(f"{file.name} is not a plan of the local model.") from None


def _columns(
    text: str,
) -> tuple[tuple[str, ...], list[float] | None, list[float] | None, float | None]:
    """Return names, and centers, scales and the longest row if a file states them."""
    if not text.lower().endswith((".toml", ".json")):
        return tuple(name.strip() for name in text.split(",")), None, None, None
    facts = dpcov.Columns.load(text)
    units = facts.units
    return facts.names, units.center.tolist(), units.scale.tolist(), facts.largest_norm
