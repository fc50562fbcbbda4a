"""A fit in words: the table of its coefficients, and what to know of it.

Owns these texts. Terminal, notebook and files show the same.
"""

from __future__ import annotations

from dpcov.answers.fit import Fit
from dpcov.answers.sentences import caveats, compared_levels, whom
from dpcov.answers.text_table import align
from dpcov.digits import in_digits_of, name_some, percent, probability_text, with_error
from dpcov.releases import PairsRelease

__all__ = ["HEADING", "lines_of", "sentences", "summarize"]

HEADING = ("", "coefficient", "std. error", "z", "p", "from", "to", "beta")
_UNTOLD = "cannot be told"


def summarize(fit: Fit, confidence: float) -> str:
    """Return a fit as a text."""
    title = f"{fit.outcome} ~ {' + '.join(fit.predictors)}"
    table = align(HEADING, lines_of(fit, confidence))
    return "\n".join([title, "", table, "", *sentences(fit, confidence)])


def lines_of(fit: Fit, confidence: float) -> list[list[str]]:
    """Return the lines of the table of coefficients."""
    low, high = fit.interval(confidence)
    z_values, p_values = fit.z_values, fit.p_values
    lines = []
    for place, name in enumerate(fit.names):
        value, error = float(fit.coefficients[place]), float(fit.standard_errors[place])
        beta = f"{fit.standardized[place - 1]:+.3f}" if place else ""
        if name in fit.left_out:
            lines.append([name, "", "left out", *[""] * 5])
            continue
        if not fit.told[place]:
            lines.append([name, f"({value:.3g})", _UNTOLD, "", "", "", "", beta and f"({beta})"])
            continue
        numbers = [in_digits_of(error, each) for each in (value, error)]
        ends = [in_digits_of(error, float(each[place])) for each in (low, high)]
        tests = [f"{z_values[place]:.2f}", probability_text(float(p_values[place]))]
        lines.append([name, *numbers, *tests, *ends, beta])
    return lines


def sentences(fit: Fit, confidence: float) -> list[str]:
    """Return what to know of a fit."""
    columns = [fit.outcome, *fit.predictors]
    said = [_predicts(fit, confidence), whom(fit.release, columns, fit.about, confidence)]
    if fit.left_out:
        said.append(
            f"The variance of {name_some(fit.left_out)} does not stand out of the noise: left out, "
            "as if it were none."
        )
    untold = [
        name
        for name, told in zip(fit.predictors, fit.told[1:], strict=True)
        if not told and name not in fit.left_out
    ]
    if untold:
        said.append(
            f"The noise does not let tell the effects of {name_some(untold)} apart: their "
            "coefficients, in brackets, are regularized and should not be read one by one."
        )
    said += compared_levels(fit.terms.references)
    if _is_level(fit, fit.outcome):
        said.append(
            "The outcome is a share: this is a linear probability model, whose coefficients are "
            "differences of shares. A logistic regression cannot be had from second moments."
        )
    if isinstance(fit.release, PairsRelease):
        said += _of_pairs(fit.release)
    return said + caveats(fit.release, columns)


def _of_pairs(release: PairsRelease) -> list[str]:
    said = ["Correlations come from the signs of cells, as for Gaussian rows."]
    if release.variances is None:
        said.append("The release has no variances: all columns count as standardized.")
    if not release.has_mean:
        said.append("It has no means either: there is no intercept to be told.")
    return said


def _predicts(fit: Fit, confidence: float) -> str:
    if not fit.quality.is_told:
        return "The noise is too large to tell how much of the outcome is explained: no R²."
    low, high = fit.r_squared_interval(confidence)
    if low <= 0 and high >= 1:
        return "The noise is too large to tell how much of the outcome is explained."
    error, sure = fit.r_squared_error, percent(confidence)
    if high >= 1:
        left = "What is left is too small to tell from nothing."
    else:
        left = f"What is left has a standard deviation of {fit.residual_deviation:.4g}."
    # Noise put an R² at an end of its range beyond it: where it lies is not told, only how far off.
    if fit.r_squared >= 1:
        return f"R² is at least {in_digits_of(error, low)} ({sure}). {left}"
    if fit.r_squared <= 0:
        return f"R² is at most {in_digits_of(error, high)} ({sure}). {left}"
    ends = f"{in_digits_of(error, low)} to {in_digits_of(error, high)}"
    return f"R² {with_error(fit.r_squared, error)} ({sure}: {ends}). {left}"


def _is_level(fit: Fit, name: str) -> bool:
    design = fit.release.design
    return not bool(design.is_number[design.names.index(name)])
