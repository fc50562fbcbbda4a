"""``dpcov reproduce``: the paper's experiments and figures.

Owns the options and the progress bar; `dpcov.paper.reproduce` does the work.
"""

from __future__ import annotations

import signal
from concurrent.futures.process import BrokenProcessPool
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from dpcov.cli.stopping import exit_code_of, stoppable
from dpcov.cli.terminal import afterwards
from dpcov.errors import DpcovError
from dpcov.paper.study import MANNERS, Study

__all__ = ["reproduce"]


class _Manner(str, Enum):
    printed = "printed"
    holds = "holds"
    both = "both"


class _Entries(str, Enum):
    normal = "normal"
    uniform = "uniform"


def reproduce(
    out: Annotated[Path, typer.Option(help="Folder for the table and the figures.")],
    figure: Annotated[str, typer.Option(help="1, 2, 3, 4 or all; several as 1,3.")] = "all",
    manner: Annotated[
        _Manner,
        typer.Option(
            "--as", help="printed: the paper's data and noise; holds: bounded rows, a true promise."
        ),
    ] = _Manner.both,
    runs: Annotated[int | None, typer.Option(help="Repetitions.", show_default="20")] = None,
    n: Annotated[
        str | None,
        typer.Option("--n", help="Sample sizes, such as 1000,10000.", show_default="300 to 1e8"),
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 2,
    entries: Annotated[
        _Entries, typer.Option(help="Law of the model's entries, which the paper leaves open.")
    ] = _Entries.normal,
    seed: Annotated[int, typer.Option(help="Repeat with other data.")] = 0,
    quick: Annotated[bool, typer.Option("--quick", help="Two runs, few sample sizes.")] = False,
) -> None:
    """Run the paper's experiments and draw its four figures, as printed and as they hold.

    A run that was stopped goes on where it was when it is called again.
    """
    from dpcov.paper.reproduction import reproduce as run_study

    console = Console(highlight=False)
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
        speed_estimate_period=600,
    )
    try:
        study = Study(
            figures=_figures(figure),
            manners=MANNERS if manner is _Manner.both else (manner.value,),
            runs=runs,
            sizes=_sizes(n),
            entries=entries.value,
            seed=seed,
            quick=quick,
        )
        with stoppable(), bar:
            task = bar.add_task("experiments", total=None)
            files = run_study(
                out,
                study,
                jobs=jobs,
                progress=lambda done, all_: bar.update(task, completed=done, total=all_),
            )
    except DpcovError as error:
        raise typer.BadParameter(str(error)) from None
    except BrokenProcessPool:
        console.print(
            f"A process was killed. The same command goes on from what is in {out}.", soft_wrap=True
        )
        raise typer.Exit(1) from None
    except KeyboardInterrupt as stop:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second one
        console.print(f"Stopped. The same command goes on from what is in {out}.", soft_wrap=True)
        raise typer.Exit(exit_code_of(stop)) from None
    with afterwards(f"{out} is complete"):
        for file in files:
            console.print(str(file), soft_wrap=True)


def _figures(text: str) -> tuple[int, ...]:
    if text == "all":
        return (1, 2, 3, 4)
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"figure must be 1, 2, 3, 4 or all; got {text!r}.") from None


def _sizes(text: str | None) -> tuple[int, ...] | None:
    """Read 1000,1e4 as two sample sizes."""
    if text is None:
        return None
    try:
        numbers = [float(part) for part in text.split(",")]
        return tuple(int(number) if number.is_integer() else number for number in numbers)  # type: ignore[misc]
    except ValueError:
        raise typer.BadParameter(
            f"n must be whole numbers with commas between them; got {text!r}."
        ) from None
