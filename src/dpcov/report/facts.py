"""What a release says about itself, as rows of a table: a label and a text.

Owns the wording. Every number here is public: it was stated before the data were read, or
it is a property of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dpcov.privacy import ApproxDP, Event, Neighbors, Promise, PureDP
from dpcov.releases import PairsRelease, Release

__all__ = ["Fact", "odds", "provenance", "what_was_released"]

Fact = tuple[str, str]

_FALSE_ALARM = 0.05
_MOST_ITEMS = 8

_SIGNS = {"differences": "differences of rows", "public": "cells about a public center"}
_ABOUT = {
    "public": "about the stated centers",
    "private": "about a mean that was released with them",
    "differences": "of differences of rows",
}
# What the values of some fields mean.
_MEANING = {
    "center": {
        "public": "public, as stated",
        "private": "a mean that was released and paid for",
        "differences": "none needed: differences of rows",
    },
    "missing": {"refuse": "refused", "center": "read as the center"},
}
# What the fields of a provenance are called. A field that is not here is listed under its name.
_LABELS = {
    "version": "dpcov version",
    "calibrated_for": "noise calibrated for",
    "row_norm": "rows clipped to norm",
    "cell_bound": "cells clipped to",
    "bits": "grid",
    "cap": "constants of a report",
    "constant": "constant cell of a row, on the grid",
    "trace": "released mean of squared row norms",
    "missing": "missing cells",
    "rows_per_unit": "rows of each unit used, at most",
    "max_pairs": "pairs asked for",
    "selection_scale": "noise of the selection",
    "events": "what cost privacy",
}


def odds(promise: Promise) -> str | None:
    """Return what an attacker can gain, rounded up, or None if nothing is promised.

    Examples
    --------
    >>> odds(PureDP(1.0, "local")).endswith("at most 13.6 %. Blind guessing succeeds with 5 %.")
    True
    """
    if not isinstance(promise, (ApproxDP, PureDP)):
        return None
    what = "one person's row from another that it might have been"
    if promise.neighbors is Neighbors.LOCAL:
        what = "two rows that a person may have apart"
    elif isinstance(promise, ApproxDP) and promise.unit is not None:
        what = f"all rows of one {promise.unit!r} from others that they might have been"
    power = math.ceil(1000 * promise.attack_power(_FALSE_ALARM) - 1e-9) / 10
    return (
        f"Somebody who tries to tell {what}, knows everything else and accepts "
        f"{100 * _FALSE_ALARM:g} % false alarms succeeds with probability at most {power:g} %. "
        f"Blind guessing succeeds with {100 * _FALSE_ALARM:g} %."
    )


def what_was_released(release: Release | PairsRelease) -> list[Fact]:
    """Return rows, columns, clipping and noise of a release."""
    several = release.provenance.rows_per_unit > 1
    table = [
        ("rows" if several else "people (rows)", f"{release.n_rows:,}"),
        ("columns", f"{release.n_columns:,}"),
    ]
    if isinstance(release, PairsRelease):
        return table + _pairs_facts(release)
    return table + _moment_facts(release)


def _moment_facts(release: Release) -> list[Fact]:
    size, noise, made = release.n_columns, release.noise_scale, release.provenance
    stated = release.units.center.any() or made.center != "public"
    about = _ABOUT.get(made.center, made.center) if stated else "about zero"
    facts = [
        ("released", f"{size * (size + 1) // 2:,} second moments: averages of products {about}"),
        *_scaling(release),
        *_clipping(release),
    ]
    if release.n_terms != release.n_rows:
        facts.append(("terms in each average", f"{release.n_terms:,}"))
    facts.append(("noise of a covariance", f"standard deviation {noise.off_diagonal:.3g}"))
    facts.append(("noise of a variance", f"standard deviation {noise.diagonal:.3g}"))
    if noise.mean:
        facts.append(("noise of a mean", f"standard deviation {noise.mean:.3g}"))
    if noise.signal:
        more = f"{noise.signal:.3g} × the sum of the two variances, added to the variance"
        facts.append(("noise that grows with the signal", more))
    return facts


def _scaling(release: Release | PairsRelease) -> list[Fact]:
    """Say in which units clipping and noise are stated, if not in the columns' own."""
    if release.units.is_plain:
        return []
    learned = any(event.name == "scales" for event in release.events)
    how = "by scales that were learned and paid for" if learned else "by public facts"
    return [("units", f"columns scaled {how}; clipping and noise are in these units")]


def _clipping(release: Release) -> list[Fact]:
    made = release.provenance
    chosen = any(event.name.startswith("radius") for event in made.events)
    text = f"{made.row_norm:.6g}{', chosen privately and paid for' if chosen else ''}"
    if made.trace is None:
        return [("rows clipped to norm", text)]
    return [
        ("rows clipped to norm", text),
        ("rows brought to one length", "their mean squared norm was released apart"),
    ]


def _pairs_facts(release: PairsRelease) -> list[Fact]:
    size, made = release.n_columns, release.provenance
    facts = [
        (
            "released",
            f"{len(release.pairs):,} of {size * (size - 1) // 2:,} pairs: how often two columns "
            "move together, in signs",
        ),
        ("signs of", _SIGNS.get(made.center, made.center)),
        ("terms in each mean", f"{release.n_terms:,}"),
        ("noise of a mean co-movement", f"standard deviation {release.noise_scale:.3g}"),
    ]
    if made.selection_scale:
        facts.append(("noise of the selection", f"Gumbel, scale {made.selection_scale:.3g} counts"))
    if release.variances is None:
        facts.append(("variances", "not released: all numbers are correlations"))
    elif release.variances.noise_scale == 0:
        facts.append(("variances", "public, as stated"))
    else:
        scale = f"standard deviation {release.variances.noise_scale:.3g}"
        facts += _scaling(release)
        facts.append(("noise of a variance", scale))
        facts.append(("rows behind variances clipped to norm", f"{made.row_norm:g}"))
        facts.append(("cells behind variances clipped to", f"{made.cell_bound:g}"))
    return facts


def provenance(made: Any) -> list[Fact]:
    """Return every field of a provenance that is set.

    New fields need nothing here; `_LABELS` gives them a better name, and `_in_words` a
    better text.

    Examples
    --------
    >>> from dpcov.releases import Provenance
    >>> made = Provenance("0.1", "second moment", 2.0, 20, PureDP(1.0, "replace"))
    >>> provenance(made)[2:4]
    [('rows clipped to norm', '2'), ('grid', '2 / 2^20')]
    """
    facts = []
    for field in fields(made):
        value = getattr(made, field.name)
        if value is None or (isinstance(value, Sequence) and not len(value)):
            continue
        if field.name == "constant" and value == 0:  # there is none
            continue
        meaning = _MEANING.get(field.name, {})
        text = meaning.get(value, value) if isinstance(value, str) else _in_words(value)
        if field.name == "bits" and made.row_norm is not None:
            text = f"{made.row_norm:g} / 2^{value}"
        facts.append((_LABELS.get(field.name, field.name.replace("_", " ")), text))
    return facts


def _in_words(value: Any) -> str:
    """Return a public value as text, long sequences shortened."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Event):
        return f"{value.name}: {value.in_words}"
    if isinstance(value, (str, int, Promise)):
        return str(value)
    if is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_in_words(item)}" for name, item in value.items())
    if isinstance(value, (Sequence, np.ndarray)):
        items = [_in_words(item) for item in list(value)[:_MOST_ITEMS]]
        left = len(value) - len(items)
        return ", ".join(items) + (f" … and {left:,} more" if left else "")
    return str(value)
