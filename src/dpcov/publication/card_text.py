"""The release card in plain language, as Markdown: ``templates/card.md.j2``.

Owns how text becomes Markdown. It is made from the card alone, so that both say the same.
Names and descriptions are untrusted text: whatever the template prints is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from dpcov.errors import MissingExtraError
from dpcov.multiplicity import count_pairs
from dpcov.publication.columns import HEADINGS, column_rows

__all__ = ["card_to_markdown"]

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|!~&$])")


def card_to_markdown(card: Mapping[str, Any]) -> str:
    """Return a card in plain language. Needs jinja2, of the extra ``publication``.

    Parameters
    ----------
    card : mapping
        What `make_card` returned.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> card = dpcov.publication.make_card(release, release.estimate(), name="Four answers")
    >>> print(dpcov.publication.card_to_markdown(card).splitlines()[0])
    # Four answers
    """
    paragraphs = card["identity"]["description"].split("\n\n")
    text: str = _template().render(
        card=card,
        paragraphs=[part for part in paragraphs if _plain(part)],
        columns=column_rows(card),
        headings=HEADINGS,
        n_pairs=count_pairs(card["data"]["n_columns"]),
    )
    return text


@cache
def _template() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError:
        raise MissingExtraError(
            "A card in plain language needs jinja2: pip install 'dpcov[publication]'"
        ) from None
    environment = Environment(  # noqa: S701  # not HTML: finalize escapes, for Markdown
        loader=PackageLoader("dpcov.publication"),
        finalize=lambda value: _plain(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"sentence": _sentence, "shown": _shown}
    return environment.get_template("card.md.j2")


def _shown(text: str) -> str:
    """Return the text, or nothing if nothing of it can be seen."""
    return text if _plain(text) else ""


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _plain(text: str) -> str:
    """Return text in one line in which nothing is markup."""
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return _MARKUP.sub(r"\\\1", " ".join(printable.split()))
