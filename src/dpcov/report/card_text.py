"""The release card in plain language, as Markdown.

Owns the wording of ``card.md``. It is made from the card alone, so that both say the same.
Names and descriptions are untrusted text: nothing in them is markup.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["card_to_markdown"]

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|!~&$])")
_READ = {
    "public": "Covariances are about centers that were stated, or about zero.",
    "private": "The mean was released with the covariances, and paid for.",
    "differences": "Only differences of rows were used, so no center was needed.",
}
_EXAMPLE = 0.01
_MISSING = {
    "refuse": "A table with a missing cell would have been refused.",
    "center": "Missing cells were read as the center of their column.",
}


def card_to_markdown(card: Mapping[str, Any]) -> str:
    """Return a card in plain language.

    Parameters
    ----------
    card : mapping
        What `make_card` returned.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> card = dpcov.report.make_card(release, release.estimate(), name="Four answers")
    >>> print(dpcov.report.card_to_markdown(card).splitlines()[0])
    # Four answers
    """
    parts = [
        *_heading(card),
        *_promise(card),
        *_how(card),
        *_estimate(card),
        "## What is not protected\n",
        *(f"- {_sentence(item)}" for item in card["guarantee"]["not_protected"]),
        "",
        "## Known limits\n",
        *(f"- {_plain(item)}" for item in card["known_limits"]),
        "",
        *_files(card),
    ]
    return "\n".join(parts)


def _heading(card: Mapping[str, Any]) -> Iterator[str]:
    identity = card["identity"]
    yield f"# {_plain(identity['name']) or 'A private covariance'}\n"
    for paragraph in identity["description"].split("\n\n"):
        if paragraph.strip():
            yield f"{_plain(paragraph)}\n"
    curator = _plain(identity["curator"])
    by = f" by {curator}" if curator else ""
    data = card["data"]
    yield (
        f"Made{by} on {identity['date']} with dpcov {_plain(card['library']['version'])}, from "
        f"{data['n_rows']:,} {'reports' if card['model'] == 'local' else 'rows'} and "
        f"{data['n_columns']:,} columns.\n"
    )


def _promise(card: Mapping[str, Any]) -> Iterator[str]:
    guarantee = card["guarantee"]
    if not guarantee["holds"]:
        yield "## Nothing is promised to anybody\n"
        yield (
            "**This is a simulation with a seed. Do not publish it as a private release.** Whoever "
            "knows the seed can take the noise away and see the exact numbers.\n"
        )
        return
    yield "## What is promised\n"
    yield f"**{_sentence(guarantee['statement'])}**\n"
    yield f"{_plain(guarantee['in_words'])}\n"
    unit = guarantee["privacy_unit"]
    more = ""
    if unit["column"] is None and card["model"] == "central":
        more = " Somebody with several rows is protected less."
    yield f"What is protected: {_plain(unit['is'])}.{more}\n"
    yield "### What an attacker can learn about one person\n"
    yield from _can_learn(guarantee)
    yield "\n### What an attacker cannot learn about one person\n"
    yield from _cannot_learn(card["model"], guarantee)


def _can_learn(guarantee: Mapping[str, Any]) -> Iterator[str]:
    factor, delta = guarantee["factor"], guarantee["delta"]
    stated = f"e^ε = {_up(factor)}" if factor is not None else f"e^{guarantee['epsilon']:g}"
    more = f", and a chance of δ = {delta:g} on top" if delta else ""
    example = "any"
    if factor is not None and _EXAMPLE * factor + delta < 1:
        example = f"at most {_percent(_EXAMPLE * factor + delta)}"
    yield (
        "- Whatever they conclude about somebody, they conclude it at most "
        f"{stated} times as often as they would had that person's data been others{more}. What "
        f"had a chance of {_percent(_EXAMPLE)} has {example}."
    )
    attack = guarantee["attack"]
    yield (
        "- Even if they know everything about everybody else: when they accept "
        f"{_percent(attack['false_alarm'])} false alarms, they detect one person with probability "
        f"at most {_percent(attack['power'])}. Blind guessing detects "
        f"{_percent(attack['false_alarm'])}."
    )
    yield (
        "- What is true of people in general. That can be used against somebody who is not in the "
        "data at all."
    )


def _cannot_learn(model: str, guarantee: Mapping[str, Any]) -> Iterator[str]:
    yield "- What the person answered, beyond these odds, however clever or patient they are."
    if guarantee["neighbors"]["relation"] == "add-remove":
        yield "- Whether the person is in the data, beyond these odds."
    if model == "local":
        yield "- The same holds for whoever collected the reports: no row left a device."
    yield (
        "- More by computing on: everything that is made from this release has the same promise.\n"
    )


def _how(card: Mapping[str, Any]) -> Iterator[str]:
    reading, mechanism = card["reading"], card["mechanism"]
    yield "## How it was made\n"
    norm = reading["row_norm"]
    if norm is not None:
        how = {"stated": "a bound that was stated"}.get(
            reading["row_norm_is"], "a bound that was learned and paid for"
        )
        yield f"- Rows were shortened to a norm of at most {norm:.6g}, {how}."
    if reading["scales"] != "none":
        stated = reading["scales"] == "stated"
        how = "facts that were stated" if stated else "scales that were learned and paid for"
        yield f"- Columns were scaled by {how}; the norm and the noise are in these units."
    if reading["signs_only"]:
        yield "- Only the signs of cells were used for correlations."
    yield f"- {_READ[reading['center']]} {_MISSING[reading['missing_cells']]}"
    for noise in mechanism["noise"]:
        yield (
            f"- Noise of a {_plain(noise['of'])}: {_plain(noise['law'])}, {noise['measure']} "
            f"{noise['value']:.3g}."
        )
    yield f"- Where it comes from: {_plain(mechanism['sampler'])}."
    yield f"- {_plain(mechanism['floating_point'])}"
    if len(mechanism["events"]) > 1:
        shares = ", ".join(
            f"{_plain(event['name'])} {event['share']:.0%}" for event in mechanism["events"]
        )
        yield f"- The budget went to: {shares}."
    yield ""


def _estimate(card: Mapping[str, Any]) -> Iterator[str]:
    estimate, size = card["estimate"], card["data"]["n_columns"]
    yield "## What can be seen in it\n"
    if estimate is None:
        yield (
            "The estimate was made with a rule of the curator's own and cannot be computed again "
            "from the release.\n"
        )
        return
    yield (
        f"The estimate keeps {estimate['pairs_kept']:,} of {size * (size - 1) // 2:,} pairs of "
        "columns as related. It was computed from the release alone and costs no privacy. "
        "Values and standard errors in `edges.csv` are those of the release, which has noise and "
        "is not shrunk; `covariance.csv` and the column `estimate` hold the estimate, which is "
        "shrunk as far as the noise asks for."
    )
    smallest = estimate["smallest_detectable_correlation"]
    if smallest is None:
        yield "No correlation, however strong, would have been seen with probability one half.\n"
        return
    yield (
        f"A correlation of {smallest:.2g} would have been seen with probability one half; a pair "
        "that is not listed may well be related.\n"
    )


def _files(card: Mapping[str, Any]) -> Iterator[str]:
    if not card["files"]:
        return
    yield "## Files\n"
    yield from (f"- `{name}` {digest}" for name, digest in card["files"].items())
    yield ""


def _sentence(text: str) -> str:
    text = _plain(text)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _plain(text: str) -> str:
    """Return text in one line in which nothing is markup."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return _MARKUP.sub(r"\\\1", " ".join(printable.split()))


def _up(value: float) -> str:
    """Write a bound with three digits, rounded up."""
    step = 10.0 ** (math.floor(math.log10(value)) - 2)
    return f"{math.ceil(value / step - 1e-9) * step:.3g}"


def _percent(share: float) -> str:
    return f"{math.ceil(1000 * share - 1e-9) / 10:g} %"
