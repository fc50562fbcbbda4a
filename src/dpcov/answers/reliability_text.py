"""Reliability in words: α and ω as papers write them, a table of items, and what to know of them.

Owns these texts. Numbers that cannot exceed one have no zero before the point, as is usual there.
"""

from __future__ import annotations

import math

import numpy as np

from dpcov.answers.reliability import Reliability
from dpcov.answers.sentences import caveats, whom
from dpcov.answers.text_table import align
from dpcov.digits import in_digits_of, name_some, percent

__all__ = ["HEADING", "item_lines", "sentences", "summarize"]

HEADING = ("", "mean", "sd", "item-rest r", "±", "α if dropped", "±")


def summarize(found: Reliability, confidence: float) -> str:
    """Return an analysis of items as a text."""
    title = f"Reliability of {len(found.columns)} items"
    return "\n".join(
        [title, "", align(HEADING, item_lines(found)), "", *sentences(found, confidence)]
    )


def item_lines(found: Reliability) -> list[list[str]]:
    """Return the lines of the table of items."""
    items = found.items
    numbers = [
        items.rest_correlations,
        items.rest_errors,
        found.alpha_if_dropped,
        found.shares.alpha_error[1:],
    ]
    errors = [error[np.isfinite(error)] for error in numbers[1::2]]
    steps = [float(np.median(each)) if len(each) else 1.0 for each in errors for _ in range(2)]
    lines = []
    for place, name in enumerate(found.columns):
        deviation = float(items.deviations[place])
        own = (float(items.means[place]), deviation)
        shares = zip(numbers, steps, strict=True)
        lines.append(
            [
                f"{name} (reversed)" if found.signs[place] < 0 else name,
                *(in_digits_of(deviation / 10, number) for number in own),
                *(_short(float(number[place]), step) for number, step in shares),
            ]
        )
    return lines


def sentences(found: Reliability, confidence: float) -> list[str]:
    """Return what to know of an analysis of items."""
    of = whom(found.block.release, found.columns, found.about, confidence)
    if not found.is_told:
        told = "The variance of the sum of the items does not stand out of the noise: α and ω "
        return [told + "are too noisy to tell.", of]
    alpha, omega = found.alpha_interval(confidence), found.omega_interval(confidence)
    said = [_coefficient("Cronbach's α", found.alpha, alpha, confidence)]
    if found.omega_fit.is_told:
        said.append(_coefficient("McDonald's ω", found.omega, omega, confidence))
    else:
        untold = np.array(found.columns)[~found.block.varies].tolist()
        said.append(
            f"The variance of {name_some(untold)} does not stand out of the noise: McDonald's ω "
            "cannot be told."
        )
    _, high = found.rest_interval(confidence)
    against = np.array(found.columns)[high < 0].tolist()
    if against:
        said.append(f"{name_some(against)} goes against the other items: is it to be reversed?")
    if found.omega_fit.is_told and found.omega_fit.is_bound:
        said.append(
            "One factor would leave less than nothing of an item (a Heywood case), so that ω is "
            "not to be relied on."
        )
    said.append(of)
    return said + caveats(found.block.release, found.columns)


def _coefficient(name: str, value: float, ends: tuple[float, float], confidence: float) -> str:
    width = ends[1] - ends[0]
    written = [_short(number, width / 4) for number in (value, *ends)]
    return f"{name} = {written[0]}, {percent(confidence)} CI [{written[1]}, {written[2]}]"


def _short(number: float, step: float) -> str:
    """Write a number of at most one to two decimals, or to three if it is that sure.

    Examples
    --------
    >>> _short(0.8312, 0.01), _short(-0.25, 0.001), _short(float("nan"), 0.1)
    ('.83', '-.250', '–')
    """
    if not math.isfinite(number):
        return "–"
    text = f"{number:.{2 if step >= 0.01 else 3}f}"
    sign, size = ("-", text[1:]) if text.startswith("-") else ("", text)
    return sign + size.removeprefix("0")
