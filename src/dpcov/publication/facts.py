"""What a card says of a release, as rows of a table: a label and a text.

Owns the labels. A view of the card: nothing is computed here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dpcov.digits import in_digits_of, quoted
from dpcov.privacy import Gaussian, event_from_dict

__all__ = ["Fact", "provenance", "what_was_released"]

Fact = tuple[str, str]

_SCALED = {
    "stated": "columns scaled by public facts; clipping and noise are in these units",
    "learned and paid for": (
        "columns scaled by scales that were learned and paid for; clipping and noise are in "
        "these units"
    ),
}
_VARIANCES = {
    "not released": "not released: all numbers are correlations",
    "stated": "public, as stated",
}
_CENTER = {
    "public": "public, as stated",
    "stated": "public, as stated",
    "private": "a mean that was released and paid for",
    "learned": "learned and paid for",
    "differences": "none needed: differences of rows",
}
_MISSING = {
    "pairwise": "each pair by the rows in which both are there",
    "complete": "complete rows alone are used",
    "refuse": "refused",
    "center": "read as the center",
}
_POWERS = {"covariance": 2, "variance": 2, "mean": 1}
"""How many scales a noise in working units is multiplied by."""
_FEW = 3
_CONSTANTS = {
    "max_pairs": "pairs asked for",
    "mean_constant": "constant of each row, on the grid",
}


def what_was_released(card: Mapping[str, Any]) -> list[Fact]:
    """Return rows, columns, clipping and noise of a release."""
    data, released, reading = card["data"], card["released"], card["reading"]
    facts = [
        ("rows", f"{data['n_rows']:,}"),
        ("columns", _columns(data)),
        ("released", released["in_words"]),
    ]
    if data["weights"] is not None:
        facts.append(("weights", data["weights"]["in_words"]))
    elif data["n_terms"] != data["n_rows"]:
        facts.append(("terms in each average", f"{data['n_terms']:,}"))
    if released["variances"] in _VARIANCES:
        facts.append(("variances", _VARIANCES[released["variances"]]))
    if reading["scales"] in _SCALED:
        facts.append(("units", _SCALED[reading["scales"]]))
    facts += _clipping(reading)
    facts += [
        (f"noise of a {noise['of']}", _noise(noise, data["columns"]))
        for noise in card["mechanism"]["noise"]
    ]
    return facts


def _columns(data: Mapping[str, Any]) -> str:
    levels = sum(column["level"] is not None for column in data["columns"])
    if not levels:
        return f"{data['n_columns']:,}"
    return (
        f"{data['n_columns']:,}, of which categories {data['n_categories']:,} ({levels:,} levels)"
    )


def _noise(noise: Mapping[str, Any], columns: Sequence[Mapping[str, Any]]) -> str:
    """Say how large a noise is, in the columns' own units too if it was added in others."""
    said = f"{noise['law']}, {noise['measure']} {noise['value']:.3g}"
    power = _POWERS.get(noise["of"], 0)
    if noise["units"] != "working" or not power:
        return said
    # Shares have no unit of their own, unless there is nothing else.
    numbers = [column for column in columns if column["level"] is None]
    columns = numbers or columns
    by_scale = sorted(columns, key=lambda column: float(column["scale"]))
    apart = power == 2 and noise["of"] == "covariance" and len(columns) > 1
    ends = (by_scale[:2], by_scale[-2:]) if apart else (by_scale[:1], by_scale[-1:])
    return (
        f"{said} in working units; in own units {' to '.join(_own(noise, power, e) for e in ends)}"
    )


def _own(noise: Mapping[str, Any], power: int, columns: Sequence[Mapping[str, Any]]) -> str:
    scales = [float(column["scale"]) for column in columns] * (power // len(columns))
    names = " and ".join(quoted(column["name"]) for column in columns)
    value = float(f"{noise['value'] * math.prod(scales):.3g}")
    return f"{in_digits_of(value / 10, value)} ({names})"


def _clipping(reading: Mapping[str, Any]) -> list[Fact]:
    behind = " behind variances" if reading["signs_only"] else ""
    facts = []
    if reading["row_norm"] is not None:
        paid = ", learned and paid for" if reading["row_norm_is"] != "stated" else ""
        facts.append((f"rows{behind} clipped to norm", f"{reading['row_norm']:.6g}{paid}"))
    if reading["cell_bound"] is not None:
        facts.append((f"cells{behind} clipped to", f"{reading['cell_bound']:.6g}"))
    return facts


def provenance(card: Mapping[str, Any]) -> list[Fact]:
    """Return how a release was made: mechanism, grid, constants and events."""
    reading, mechanism = card["reading"], card["mechanism"]
    facts = [
        ("dpcov version", card["library"]["version"]),
        ("mechanism", mechanism["name"]),
        ("noise calibrated for", card["guarantee"]["calibrated_for"]),
        ("center", _CENTER[reading["center"]]),
        ("missing cells", _MISSING[reading["missing_cells"]]),
        (
            "rows of each privacy unit used, at most",
            _rows_per_unit(card["guarantee"]["privacy_unit"]),
        ),
        *_clipping(reading),
    ]
    if reading["grid_bits"] is not None:
        facts.append(("grid", f"{reading['row_norm']:g} / 2^{reading['grid_bits']}"))
    facts += _constants(mechanism["constants"])
    if (collection := card["collection"]) is not None:
        facts += [
            ("collection plan", collection["plan"]),
            ("reports", f"{collection['reports']:,}{'' if collection['final'] else ', interim'}"),
            ("digest of the reports", collection["digest"]),
        ]
    return [*facts, ("what cost privacy", _events(mechanism["events"]))]


def _rows_per_unit(unit: Mapping[str, Any]) -> str:
    chosen = "" if unit["column"] is None else ", chosen at random"
    return f"{unit['rows_per_unit']}{chosen}"


def _events(events: Sequence[Mapping[str, Any]]) -> str:
    """Say which steps cost how much; what each did, if there are few."""
    named = []
    for facts in events:
        share = f"{100 * facts['share']:.0f} %"
        event = event_from_dict({key: value for key, value in facts.items() if key != "share"})
        plain = len(events) > _FEW and isinstance(event, Gaussian)
        named.append(
            f"{event.name} {share}" if plain else f"{event.name} {share}: {event.in_words}"
        )
    if len(events) <= _FEW:
        return "; ".join(named)
    return f"{', '.join(named)}; unless said, Gaussian noise, of sizes that the card has"


def _constants(constants: Mapping[str, Any]) -> list[Fact]:
    facts = [
        (label, f"{constants[name]:.6g}")
        for name, label in _CONSTANTS.items()
        if constants[name] is not None
    ]
    if constants["cap"] is not None:
        text = ", ".join(f"{name} {value:.6g}" for name, value in constants["cap"].items())
        facts.append(("constants of a report", text))
    return facts
