"""``dpcov demo``: the main job on built-in data.

Owns the simulated survey and what is printed about it. The survey is simulated, so the
truth is known; the release is a real one, with noise from the operating system.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import typer
from rich.console import Console, RenderableType
from rich.panel import Panel
from rich.table import Table

import dpcov
from dpcov.cli.options import Force
from dpcov.cli.stopping import stoppable_until
from dpcov.cli.terminal import afterwards, guarded
from dpcov.errors import DpcovError, NothingDetectableWarning
from dpcov.publication.card import make_card
from dpcov.publication.folder import Identity, check_extras, fill_folder
from dpcov.publication.replacement import Aside, write_aside

__all__ = ["demo"]

_TOPICS = ("sleep", "stress", "income", "reading", "exercise", "mood")
_ITEMS = 5
_WITHIN_TOPIC = (0.6, 0.5, 0.4, 0.3, 0.2, 0.0)  # correlation of two items of a topic
_SHOWN = 8
_FDR = 0.05
_DATA_SEED = 20
_IDENTITY = Identity(
    "A simulated survey",
    description="Answers on six topics; answers on one topic are related.",
)


@dataclass(frozen=True)
class _Survey:
    rows: npt.NDArray[np.float64]
    columns: list[str]
    truth: npt.NDArray[np.float64]
    row_norm: float

    def true_covariance(self, first: str, second: str) -> float:
        """Return what the release should have found."""
        return float(self.truth[self.columns.index(first), self.columns.index(second)])


def demo(
    epsilon: Annotated[float, typer.Option(help="Privacy parameter of the release.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Privacy parameter of the release.")] = 1e-6,
    people: Annotated[int, typer.Option(help="Rows of the simulated survey.", min=2)] = 20_000,
    out: Annotated[
        Path | None, typer.Option(help="Also write the folder that would be published.")
    ] = None,
    force: Force = False,
) -> None:
    """Simulate a sensitive survey, release its covariance, show what was learned."""
    console = Console(highlight=False)
    if out is None:
        with guarded("Nothing was written."):
            _, said = _run(epsilon, delta, people)
            console.print(*said, sep="\n")
        return
    with guarded():
        check_extras()
        aside: Aside | None = None
        try:
            with write_aside(out, force=force) as aside:
                stoppable_until(lambda made=aside: made.complete)  # type: ignore[misc]
                estimate, said = _run(epsilon, delta, people)
                fill_folder(aside.folder, estimate.release, estimate, _IDENTITY, fdr=_FDR)
            with afterwards(f"{out} is complete"):
                console.print(*said, sep="\n")
                console.print(
                    f"\nTo publish: {out}/. Begin with {out / 'page.html'}.", soft_wrap=True
                )
        except KeyboardInterrupt:
            if aside is None or not aside.complete:
                raise


def _run(epsilon: float, delta: float, people: int) -> tuple[dpcov.Estimate, list[RenderableType]]:
    """Release a survey, and return its estimate and what there is to say."""
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
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NothingDetectableWarning)
        estimate = release.estimate()
    edges = estimate.edges(fdr=_FDR)
    card = make_card(release, estimate)
    said: list[RenderableType] = [_promise_panel(survey, release, card["guarantee"])]
    if len(edges):
        said.append(_edges_table(survey, edges))
    said.append(_what_was_learned(survey, estimate, edges))
    said.append(card["estimate"]["detectable_in_words"])
    said += [f"[bold]Warning:[/bold] {warning.message}" for warning in caught]
    return estimate, said


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
    # Standardized answers: a row of 30 has a norm near √30, and 1.5 times that is roomy.
    return _Survey(rows, columns, truth, row_norm=round(1.5 * size**0.5, 1))


def _promise_panel(survey: _Survey, release: dpcov.Release, guarantee: Mapping[str, Any]) -> Panel:
    people, size = survey.rows.shape
    noise = release.noise_scale
    lines = [
        f"A simulated survey: {people:,} people, {size} answers each.",
        f"Rows clipped to norm {survey.row_norm:g}; noise sd {noise.off_diagonal:.2g} per "
        f"covariance, {noise.diagonal:.2g} per variance.",
        "",
        f"[bold]Promised:[/bold] {guarantee['statement']}.",
        guarantee["in_words"],
        guarantee["attack"]["in_words"],
    ]
    return Panel("\n".join(lines), title="release", title_align="left", padding=(1, 2))


def _edges_table(survey: _Survey, edges: dpcov.Edges) -> Table:
    table = Table(
        title=f"Related pairs: the surest of {len(edges)} (false discovery rate {_FDR:g})",
        title_justify="left",
    )
    for heading in ("column", "column"):
        table.add_column(heading)
    for heading in ("covariance", "± standard error", "truth"):
        table.add_column(heading, justify="right")
    for edge in list(edges)[:_SHOWN]:
        table.add_row(
            edge.first,
            edge.second,
            f"{edge.value:+.3f}",
            f"{edge.standard_error:.3f}",
            f"{survey.true_covariance(edge.first, edge.second):+.2f}",
        )
    return table


def _what_was_learned(survey: _Survey, estimate: dpcov.Estimate, edges: dpcov.Edges) -> str:
    true_pairs = int((np.triu(survey.truth, k=1) != 0).sum())
    found = sum(survey.true_covariance(edge.first, edge.second) != 0 for edge in edges)
    raw, shrunk = (
        dpcov.norms.relative_error(matrix, survey.truth)
        for matrix in (estimate.release.matrix, estimate.covariance)
    )
    return (
        f"[bold]Learned:[/bold] {found} of the {true_pairs} truly related pairs; false pairs on "
        f"the list: {len(edges) - found}, where {_FDR * len(edges):.0f} are to be expected.\n"
        f"Relative error, spectral norm: {shrunk:.3f} for the estimate "
        f"({estimate.choice.in_words}, chosen from the release alone), {raw:.3f} for the "
        "release."
    )
