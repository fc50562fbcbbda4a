"""``dpcov local plan | randomize | collect``: the local model with files.

Owns the commands. A plan is JSON; `dpcov.cli.report_files` owns files of reports.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any

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
from dpcov.cli.publishing import Output, publish
from dpcov.cli.report_files import NewReports, read_reports, write_reports
from dpcov.cli.stopping import stoppable_until
from dpcov.cli.terminal import afterwards, guarded, tell
from dpcov.columns.limits import MOST_BYTES
from dpcov.errors import CollectionPlanError, ParameterError
from dpcov.local.study import Study
from dpcov.publication.folder import Identity
from dpcov.writing import check_apart

__all__ = ["local", "read_plan"]

local = typer.Typer(
    help="The local model: devices send reports, nobody is trusted with rows.",
    no_args_is_help=True,
)
_BLOCK = 4096

PlanFile = Annotated[
    Path, typer.Option("--plan", help="The collection plan, as dpcov local plan wrote it.")
]


class _Mechanism(str, Enum):
    CAP = "cap"
    GAUSSIAN = "gaussian"


@local.command("plan")
def make_plan(
    epsilon: Epsilon,
    columns: Annotated[
        str | None,
        typer.Option(help="Names with commas between them, or a file of public facts."),
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(help="A file of questions, which fill the columns: TOML or JSON."),
    ] = None,
    row_norm: Annotated[
        float | None,
        typer.Option(
            help="A public bound on the norm of a row; not needed with bounds or a study."
        ),
    ] = None,
    mechanism: Annotated[
        _Mechanism, typer.Option(help="16 bytes and a pure promise, or noisy products.")
    ] = _Mechanism.CAP,
    delta: Annotated[float | None, typer.Option(help="For gaussian, and for it alone.")] = None,
    mean: Annotated[
        bool,
        typer.Option(
            "--mean/--no-mean",
            help="Whether reports of cap hold the mean; without it, moments are about the center.",
        ),
    ] = True,
    people: Annotated[
        int | None,
        typer.Option(help="Also say what is promised if the reports of so many are shuffled."),
    ] = None,
    correlation: Annotated[
        float | None, typer.Option(help="Also say how many people show this correlation.")
    ] = None,
) -> None:
    """Print a collection plan: what a server publishes and every device obeys.

    Examples: dpcov local plan --columns age,sleep,mood --row-norm 2 --epsilon 2 > plan.json

    dpcov local plan --study study.toml --epsilon 2 > plan.json
    """
    with guarded():
        if (columns is None) == (study is None):
            raise ParameterError("State either --columns or --study.")
        promised: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "mechanism": mechanism.value,
            "mean": mean and mechanism is _Mechanism.CAP,
        }
        if study is not None:
            plan = Study.load(study).plan(row_norm=row_norm, **promised)
        else:
            plan = _plan_of(str(columns), row_norm, promised)
        needed = None if correlation is None else plan.people_needed(correlation)
        second = None if people is None else plan.shuffled(people)
        typer.echo(plan.to_json())
        if second is not None:
            tell(f"a second promise: {second}. {second.in_words}")
        if needed is not None:
            tell(f"a correlation of {correlation:g} takes at least {needed:,} people")


@local.command()
def randomize(
    data: Table,
    plan: PlanFile,
    out: Annotated[Path, typer.Option(help="The file of reports to write.")],
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file of reports for this plan.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Make one report for each row of a table. Spends each person's budget.

    Somebody who reports again must send the same report again: a second one is
    a second disclosure.

    Example: dpcov local randomize my_row.csv --plan plan.json --out my_report.bin
    """
    with guarded("Nothing was written."):
        made = read_plan(plan)
        check_apart(out, [data, plan])
        new: NewReports | None = None
        try:
            with write_reports(out, made, force=force) as new:
                stoppable_until(lambda file=new: file.complete)  # type: ignore[misc]
                if new.replaces:
                    tell(
                        "warning: these are second reports of the same people: the promises add up."
                    )
                count = _randomize_rows(data, made, new)
            if not quiet:
                with afterwards(f"{out} is complete"):
                    typer.echo(
                        f"{count:,} reports of {made.report_bytes} bytes, {made.promise}: {out}"
                    )
        except KeyboardInterrupt:
            if new is None or not new.complete:
                raise


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
        collector = dpcov.local.Collector(read_plan(plan), idempotent=True)
        for file in reports:
            for table in read_reports(file, collector.plan):
                collector.add_many(table)
        return collector.release()

    with guarded():
        output = Output(
            out=out,
            identity=Identity(name, curator, description, date),
            sources=[*reports, plan],
            fdr=fdr,
            force=force,
            as_json=as_json,
            quiet=quiet,
        )
        publish(release, output, spends=False)


def _randomize_rows(data: Path, plan: dpcov.local.CollectionPlan, new: NewReports) -> int:
    from dpcov.sensitive.tables import open_table

    count = 0
    for block in open_table(data, select=plan.columns, fewest_rows=1).blocks(_BLOCK):
        for row in block:
            new.file.write(dpcov.local.randomize(np.asarray(row), plan))
            count += 1
    return count


def _plan_of(
    columns: str, row_norm: float | None, promised: dict[str, Any]
) -> dpcov.local.CollectionPlan:
    """Return the plan of columns that are named, or listed in a file."""
    names, center, scale, bound = _columns(columns)
    norm = bound if row_norm is None else row_norm
    if norm is None:
        raise ParameterError("row_norm is needed: a public bound on the norm of a row.")
    return dpcov.local.CollectionPlan(
        columns=names, center=center, scale=scale, row_norm=norm, **promised
    )


def read_plan(file: Path) -> dpcov.local.CollectionPlan:
    """Read a collection plan from a file, which may be anybody's."""
    with file.open("rb") as opened:
        content = opened.read(MOST_BYTES + 1)  # one more than CollectionPlan.from_json takes
    try:
        return dpcov.local.CollectionPlan.from_json(content.decode("utf-8"))
    except UnicodeDecodeError:
        raise CollectionPlanError(f"{file.name} is not a collection plan.") from None


def _columns(
    text: str,
) -> tuple[tuple[str, ...], list[float] | None, list[float] | None, float | None]:
    """Return names, and centers, scales and the longest row if a file states them."""
    if not text.lower().endswith((".toml", ".json")):
        return tuple(name.strip() for name in text.split(",")), None, None, None
    facts = dpcov.Columns.load(text)
    facts.check_named("a collection plan")
    facts.check_known("center", "scale")  # devices cannot learn them
    units = facts.units
    return facts.names, units.center.tolist(), units.scale.tolist(), facts.largest_norm
