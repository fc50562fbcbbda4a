"""``dpcov compare``: what differs between two releases. Free, and never touches data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dpcov.answers.comparison import TABLES, Comparison
from dpcov.answers.comparison_text import tabulate
from dpcov.answers.differences import Differences
from dpcov.cli.answer_files import Answer, Printed, read_release
from dpcov.cli.formulas import read_formula
from dpcov.cli.options import About, AnswerOut, Confidence, Json, Source
from dpcov.cli.terminal import guarded

__all__ = ["compare"]


def compare(
    first: Source,
    second: Annotated[
        Path,
        typer.Argument(help="The folder of the other, such as a later one.", show_default=False),
    ],
    columns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[COLUMN]…", help="Which columns.", show_default="all that both have"
        ),
    ] = None,
    formula: Annotated[
        str | None,
        typer.Option(
            "--regress", help="Also compare the coefficients of a regression: 'income ~ age + sex'."
        ),
    ] = None,
    about: About = None,
    confidence: Confidence = 0.95,
    fdr: Annotated[
        float, typer.Option(help="Share of false changes among those listed, at most.")
    ] = 0.1,
    out: AnswerOut = None,
    as_json: Json = False,
) -> None:
    """Print which correlations, covariances, deviations and means changed.

    Differences are second minus first. Columns that cannot be compared are
    left out, and why is said.

    Example: dpcov compare survey-2025/ survey-2026/
    """
    with guarded():
        before, after = (read_release(each, answer="compare") for each in (first, second))
        options: dict[str, Any] = {} if about is None else {"about": about.value}
        found = before.compare(
            after, columns=columns or None, confidence=confidence, fdr=fdr, **options
        )
        tables = {of: getattr(found, of) for of in TABLES}
        text = found.summary()
        for outcome, table in _coefficients(found, formula):
            name = "coefficients" if len(tables) == len(TABLES) else f"coefficients-{len(tables)}"
            tables[name] = table
            text += f"\n\nCoefficients for {outcome}:\n\n{tabulate(table)}"
        answer = Answer(
            text=text.replace("about='table'", "--about table"),
            tables={name: table.to_frame for name, table in tables.items()},
            facts=_facts(found),
        )
        answer.give(Printed(as_json=as_json, out=out, sources=[first, second]))


def _coefficients(found: Comparison, formula: str | None) -> list[tuple[str, Differences]]:
    if formula is None:
        return []
    outcomes, predictors = read_formula([formula], found.first.design)
    return [(name, found.coefficients(name, on=predictors)) for name in outcomes]


def _facts(found: Comparison) -> dict[str, Any]:
    return {
        "n_rows": [found.first.n_rows, found.second.n_rows],
        "about": found.about,
        "confidence": found.confidence,
        "fdr": found.fdr,
        "left_out": [each._asdict() for each in found.left_out],
        "notes": list(found.shared.notes),
    }
