"""``dpcov regress``, ``partial``, ``components``, ``factors``, ``reliability``: from one release.

Owns these commands. They are free and never touch data: the library computes, and its summaries
are what is printed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from dpcov.cli.answer_files import Answer, Printed, read_release
from dpcov.cli.formulas import read_formula
from dpcov.cli.options import About, AnswerOut, Confidence, Json, Source, Whom
from dpcov.cli.terminal import guarded
from dpcov.errors import ParameterError

__all__ = ["components", "factors", "partial", "regress", "reliability"]

Chosen = Annotated[
    list[str] | None,
    typer.Argument(metavar="[COLUMN]…", help="Which columns.", show_default="all"),
]
Rotation = Annotated[
    str | None, typer.Option(help="How loadings are turned: varimax or promax.", show_default=False)
]


def regress(
    source: Source,
    formula: Annotated[
        list[str],
        typer.Argument(
            metavar="OUTCOME ~ PREDICTOR + …",
            help="Names as in the table; a category as a whole, or one level as sex=f; . for all "
            "other columns. Names with signs stand between backquotes.",
            show_default=False,
        ),
    ],
    about: About = None,
    confidence: Confidence = 0.95,
    references: Annotated[
        list[str] | None,
        typer.Option(
            "--reference",
            help="With which level the others of a category are compared, such as sex=m. May be "
            "given several times.",
            show_default="the first",
        ),
    ] = None,
    out: AnswerOut = None,
    as_json: Json = False,
) -> None:
    """Print a linear regression that is computed from a release.

    Errors count the privacy noise. Several outcomes: a + b ~ c.

    Example: dpcov regress survey/ 'income ~ age + education + sex'
    """
    with guarded():
        release = read_release(source, answer="regress")
        outcomes, predictors = read_formula(formula, release.design)
        fits = release.regress(
            outcomes, on=predictors, references=_references(references or []), **_stated(about)
        )
        tables = {"coefficients": lambda: _named(fits.to_frame(confidence))}
        facts = _facts(release, about, confidence) | {
            "fits": [
                {
                    "outcome": fit.outcome,
                    "predictors": list(fit.predictors),
                    "references": dict(fit.terms.references),
                    "r_squared": fit.r_squared,
                    "r_squared_error": fit.r_squared_error,
                    "residual_deviation": fit.residual_deviation,
                }
                for fit in fits.fits
            ],
        }
        answer = Answer(text=fits.summary(confidence), tables=tables, facts=facts)
        answer.give(Printed(as_json=as_json, out=out, sources=[source]))


def partial(
    source: Source,
    columns: Chosen = None,
    about: About = None,
    confidence: Confidence = 0.95,
    out: AnswerOut = None,
    as_json: Json = False,
) -> None:
    """Print partial correlations: of each two columns, given all others.

    Example: dpcov partial survey/ age income health
    """
    with guarded():
        release = read_release(source, answer="partial_correlations")
        stated = _stated(about, confidence=confidence)
        found = release.partial_correlations(columns or None, **stated)
        answer = Answer(
            text=found.summary(),
            tables={"partial_correlations": lambda: _named(found.to_frame())},
            facts=_facts(release, about, confidence),
        )
        answer.give(Printed(as_json=as_json, out=out, sources=[source]))


def components(
    source: Source,
    columns: Chosen = None,
    number: Annotated[
        int | None,
        typer.Option(
            "--number", "-n", help="How many.", show_default="those that stand out of the noise"
        ),
    ] = None,
    rotation: Rotation = None,
    about: About = None,
    confidence: Confidence = 0.95,
    out: AnswerOut = None,
    as_json: Json = False,
) -> None:
    """Print principal components: eigenvalues with intervals, and loadings.

    Example: dpcov components survey/ -n 3 --rotation varimax
    """
    with guarded():
        release = read_release(source, answer="components")
        stated = _stated(about, rotation=rotation, columns=columns or None)
        numbers = [] if number is None else [number]
        found = release.components(*numbers, **stated)
        answer = Answer(
            text=found.summary(confidence),
            tables={
                "eigenvalues": lambda: _named(found.eigenvalues_frame(confidence)),
                "loadings": lambda: _named(found.to_frame()),
            },
            facts=_facts(release, about, confidence),
        )
        answer.give(Printed(as_json=as_json, out=out, sources=[source]))


def factors(
    source: Source,
    number: Annotated[int, typer.Option("--number", "-n", help="How many.", show_default=False)],
    columns: Chosen = None,
    rotation: Rotation = None,
    about: About = None,
    confidence: Confidence = 0.95,
    out: AnswerOut = None,
    as_json: Json = False,
) -> None:
    """Print a factor analysis: loadings with errors, and how well the factors fit.

    Example: dpcov factors survey/ item1 item2 item3 item4 item5 -n 2
    """
    with guarded():
        release = read_release(source, answer="factors")
        stated = _stated(about, rotation=rotation, columns=columns or None)
        found = release.factors(number, **stated)
        answer = Answer(
            text=found.summary(confidence),
            tables={"loadings": lambda: _named(found.to_frame())},
            facts=_facts(release, about, confidence) | {"quality": vars(found.quality)},
        )
        answer.give(Printed(as_json=as_json, out=out, sources=[source]))


def reliability(
    source: Source,
    items: Annotated[
        list[str],
        typer.Argument(metavar="ITEM…", help="The items of the scale.", show_default=False),
    ],
    reverse: Annotated[
        list[str] | None,
        typer.Option(
            help="An item that is worded the other way. May be given several times.",
            show_default=False,
        ),
    ] = None,
    about: About = None,
    confidence: Confidence = 0.95,
    out: AnswerOut = None,
    as_json: Json = False,
) -> None:
    """Print how reliable a scale of several items is: Cronbach's alpha and omega.

    Example: dpcov reliability survey/ item1 item2 item3 --reverse item3
    """
    with guarded():
        release = read_release(source, answer="reliability")
        stated = _stated(about, reverse=reverse, confidence=confidence)
        found = release.reliability(items, **stated)
        measures = ("alpha", "alpha_error", "omega", "omega_error")
        answer = Answer(
            text=found.summary(),
            tables={"items": lambda: _named(found.to_frame())},
            facts=_facts(release, about, confidence)
            | {name: float(getattr(found, name)) for name in measures},
        )
        answer.give(Printed(as_json=as_json, out=out, sources=[source]))


def _facts(release: Any, about: Whom | None, confidence: float) -> dict[str, Any]:
    """Return what machines should know of every answer."""
    whom = Whom.POPULATION if about is None else about
    return {"n_rows": release.n_rows, "about": whom.value, "confidence": confidence}


def _named(frame: Any) -> Any:
    """Return a data frame whose names of lines are columns, unless they are only numbers."""
    if frame.index.nlevels == 1 and frame.index.name is None:
        if frame.index.inferred_type == "integer":
            return frame
        frame = frame.rename_axis("name")
    return frame.reset_index()


def _stated(about: Any = None, **options: Any) -> dict[str, Any]:
    """Return the options that were stated: the library knows what holds otherwise."""
    if about is not None:
        options["about"] = about.value
    return {name: value for name, value in options.items() if value is not None}


def _references(stated: Sequence[str]) -> dict[str, str]:
    found = {}
    for each in stated:
        name, sign, level = each.partition("=")
        if not sign:
            raise ParameterError(f"--reference is a category and a level, sex=m; got {each!r}.")
        found[name] = level
    return found
