"""``dpcov demo``: the main job on built-in data.

Owns the simulated survey and what is printed about it. The survey is simulated, so the
truth is known; the release is a real one, with noise from the operating system.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import dpcov
from dpcov.errors import DpcovError
from dpcov.privacy import ApproxDP

__all__ = ["demo"]

_TOPICS = ("sleep", "stress", "income", "reading", "exercise", "mood")
_ITEMS = 5
_WITHIN_TOPIC = (0.6, 0.5, 0.4, 0.3, 0.2, 0.0)  # correlation of two items of a topic
_SHOWN = 8
_DATA_SEED = 20


@dataclass(frozen=True)
class _Survey:
    rows: npt.NDArray[np.float64]
    columns: list[str]
    truth: npt.NDArray[np.float64]
    row_norm: float


def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy parameter of the release.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy parameter of the release.")] = 1e-6,
    people: Annotated[int, typer.Option(help="Rows of the simulated survey.", min=2)] = 20_000,
) -> None:
    """Simulate a sensitive survey, release its covariance, show what was learned."""
    console = Console(highlight=False)
    survey = _simulate_survey(people)
    try:
        release = dpcov.release(
            survey.rows,
            epsilon=epsilon,
            delta=delta,
            row_norm=survey.row_norm,
            columns=survey.columns,
        )
    except DpcovError as error:
        raise typer.BadParameter(str(error)) from None
    console.print(_promise_panel(survey, release))
    console.print(_pairs_table(survey, release))
    console.print(_what_was_learned(survey, release))


def _simulate_survey(people: int) -> _Survey:
    """Simulate answers on six topics; items of different topics are unrelated."""
    columns = [f"{topic} {item + 1}" for topic in _TOPICS for item in range(_ITEMS)]
    size = len(columns)
    truth = np.eye(size)
    for topic, correlation in enumerate(_WITHIN_TOPIC):
        block = slice(topic * _ITEMS, (topic + 1) * _ITEMS)
        truth[block, block] = correlation + (1 - correlation) * np.eye(_ITEMS)
    normal = np.random.default_rng(_DATA_SEED).standard_normal((people, size))
    rows = normal @ np.linalg.cholesky(truth).T
    # Standardized answers: a row of 30 has a norm near √30, and 1.3 times that is roomy.
    return _Survey(rows, columns, truth, row_norm=round(1.3 * size**0.5, 1))


def _promise_panel(survey: _Survey, release: dpcov.Release) -> Panel:
    people, size = survey.rows.shape
    noise = release.noise_scale
    lines = [
        f"A simulated survey: {people:,} people, {size} answers each.",
        f"Rows clipped to norm {survey.row_norm:g}; noise sd {noise.off_diagonal:.2g} per "
        f"covariance, {noise.diagonal:.2g} per variance.",
        "",
        f"[bold]Promised:[/bold] {release.promise}.",
        release.promise.in_words,
        *_attack_lines(release),
    ]
    return Panel("\n".join(lines), title="release", title_align="left", padding=(1, 2))


def _attack_lines(release: dpcov.Release) -> list[str]:
    promise = release.promise
    if not isinstance(promise, ApproxDP):
        return []
    return [
        "An attacker who knows every other row, and accepts 5 % false alarms, detects one "
        f"person's row with probability at most {promise.attack_power(0.05):.1%}."
    ]


def _pairs_table(survey: _Survey, release: dpcov.Release) -> Table:
    table = Table(title=f"The {_SHOWN} largest released covariances", title_justify="left")
    for heading in ("column", "column"):
        table.add_column(heading)
    for heading in ("released", "± noise sd", "truth"):
        table.add_column(heading, justify="right")
    first, second = np.triu_indices(release.n_columns, k=1)
    order = np.argsort(-np.abs(release.matrix[first, second]))[:_SHOWN]
    for i, j in zip(first[order], second[order], strict=True):
        table.add_row(
            release.columns[i],
            release.columns[j],
            f"{release.matrix[i, j]:+.3f}",
            f"{release.noise_scale.off_diagonal:.3f}",
            f"{survey.truth[i, j]:+.2f}",
        )
    return table


def _what_was_learned(survey: _Survey, release: dpcov.Release) -> str:
    above = np.triu_indices(release.n_columns, k=1)
    related = survey.truth[above] != 0
    largest = np.argsort(-np.abs(release.matrix[above]))[: related.sum()]
    found = int(related[largest].sum())
    error = np.linalg.norm(release.matrix - survey.truth, 2) / np.linalg.norm(survey.truth, 2)
    return (
        f"[bold]Learned:[/bold] of the {related.sum()} truly related pairs among {related.size}, "
        f"{found} are among the {related.sum()} largest released ones.\n"
        f"Relative error of the released matrix, spectral norm: {error:.3f}."
    )
