"""Factors in words: loadings, fit, and what to know of them.

Owns these texts. Terminal, notebook and files show the same.
"""

from __future__ import annotations

import numpy as np

from dpcov.answers.factors import Factors
from dpcov.answers.sentences import caveats, whom
from dpcov.answers.text_table import align
from dpcov.digits import in_digits_of, name_some, probability_text, with_error

__all__ = ["loading_table", "sentences", "summarize"]

_METHODS = {"minres": "minimum residual", "ml": "maximum likelihood"}


def summarize(found: Factors, confidence: float) -> str:
    """Return a factor analysis as a text."""
    how = _METHODS[found.method]
    if found.rotation:
        how += f", rotated by {found.rotation}"
    count = "1 factor" if found.n_factors == 1 else f"{found.n_factors} factors"
    title = f"{count} of {len(found.columns)} columns, by {how}"
    heading, lines = loading_table(found)
    shares = ", ".join(
        f"{name} {100 * share:.1f} %"
        for name, share in zip(found.names, found.explained.tolist(), strict=True)
    )
    parts = [title, "", align(heading, lines), "", f"Share of all variance: {shares}."]
    return "\n".join([*parts, *sentences(found, confidence)])


def loading_table(found: Factors) -> tuple[list[str], list[list[str]]]:
    """Return the heading and the lines of the table of loadings."""
    heading = [""]
    for name in found.names:
        heading += [name, "±"]
    heading += ["communality", "uniqueness", "±"]
    lines = []
    for row, column in enumerate(found.columns):
        line = [column]
        for value, error in zip(
            found.loadings[row].tolist(), found.loading_errors[row].tolist(), strict=True
        ):
            line += [in_digits_of(error, value), in_digits_of(error, error)]
        error = float(found.uniqueness_errors[row])
        numbers = (float(found.communalities[row]), float(found.uniquenesses[row]))
        line += [in_digits_of(error, number) for number in numbers]
        line.append("Heywood" if found.heywood[row] else in_digits_of(error, error))
        lines.append(line)
    return heading, lines


def sentences(found: Factors, confidence: float) -> list[str]:
    """Return what to know of a factor analysis."""
    said = [*_fit(found), whom(found.block.release, found.columns, found.about, confidence)]
    if found.rotation == "promax" and found.n_factors > 1:
        said.append(f"Factors are correlated: {_correlations(found)}.")
    if found.heywood.any():
        names = name_some(np.array(found.columns)[found.heywood].tolist())
        said.append(
            f"Heywood case: the fit would leave less than nothing of {names}, and was held at "
            "0.5 %. Too many factors, or too much noise, are the usual reasons."
        )
    if found.n_factors > found.above:
        stand = "1 component stands" if found.above == 1 else f"{found.above} components stand"
        said.append(
            f"Only {stand} above what noise and sampling give to unrelated columns: factors "
            "beyond that may be noise."
        )
    return said + caveats(found.block.release, found.columns)


def _fit(found: Factors) -> list[str]:
    quality = found.quality
    if not quality.is_tested:
        if quality.freedom:
            return ["The fit is not tested for so many columns: name fewer of them."]
        return ["There are no more correlations than loadings: any correlations would fit."]
    chance = probability_text(quality.p_value)
    chance = f"p {chance}" if chance.startswith("<") else f"p = {chance}"
    test = f"χ² = {quality.statistic:.1f}, {quality.freedom} degrees of freedom, {chance}"
    verdict = (
        "residuals are larger than noise and sampling explain: more factors may be needed"
        if quality.p_value < 0.05
        else "residuals are no larger than noise and sampling explain"
    )
    ends = f"{quality.rmsea_low:.3f} to {quality.rmsea_high:.3f}"
    return [
        f"{test}: {verdict}.",
        f"Without what noise adds: RMSEA {quality.rmsea:.3f} (90 %: {ends}), "
        f"SRMR {quality.srmr:.3f}.",
    ]


def _correlations(found: Factors) -> str:
    first, second = np.triu_indices(found.n_factors, 1)
    texts = []
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        value, error = float(found.correlations[i, j]), float(found.correlation_errors[i, j])
        texts.append(f"{found.names[i]} and {found.names[j]} {with_error(value, error)}")
    return name_some(texts)
