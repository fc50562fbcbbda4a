"""The release card and the folder's data dictionary in plain language, as Markdown.

Owns how text becomes Markdown; the words are in ``templates``. Both are made from the card alone,
so that all say the same. Names and descriptions are untrusted text: whatever a template prints
is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from dpcov.errors import MissingExtraError
from dpcov.publication.citation import cite
from dpcov.publication.columns import category_rows, column_rows, has_gaps, headings, n_numbers
from dpcov.publication.dictionary import describe_absent, describe_files

__all__ = ["card_to_markdown", "readme_to_markdown"]

_MOST_LEVELS = 40  # of a category, in a line
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
    text: str = _template("card.md.j2").render(
        card=card,
        paragraphs=[part for part in paragraphs if _plain(part)],
        columns=column_rows(card),
        categories=category_rows(card, most_levels=_MOST_LEVELS),
        has_gaps=has_gaps(card),
        n_numbers=n_numbers(card),
        headings=headings(card),
        citation=cite(card),
    )
    return text


def readme_to_markdown(card: Mapping[str, Any]) -> str:
    """Return what each file of a card's folder is, and each column in it."""
    text: str = _template("readme.md.j2").render(
        card=card,
        files=describe_files(card),
        absent=describe_absent(card),
        citation=cite(card),
    )
    return text


@cache
def _template(name: str) -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ModuleNotFoundError:
        raise MissingExtraError(
            "A card in plain language needs jinja2: pip install 'dpcov[publication]'"
        ) from None
    environment = Environment(  # noqa: S701  # not HTML: finalize escapes, for Markdown
        loader=PackageLoader("dpcov.publication"),
        finalize=lambda value: value if isinstance(value, _AsWritten) else _plain(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "sentence": _sentence,
        "shown": _shown,
        "as_written": _AsWritten,
        "code": _code,
    }
    return environment.get_template(name)


class _AsWritten(str):
    """Words of dpcov's own, in which Markdown is meant."""

    __slots__ = ()


def _shown(text: str) -> str:
    """Return the text, or nothing if nothing of it can be seen."""
    return text if _plain(text) else ""


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


def _plain(text: str) -> str:
    """Return text in one line in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", _in_one_line(text))


def _code(text: str) -> _AsWritten:
    """Return text as code, in which nothing is markup and nothing may be escaped.

    A fence is longer than any in the text.
    """
    inner = _in_one_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", inner)), default=0))
    room = " " if "`" in inner else ""
    return _AsWritten(f"{fence}{room}{inner}{room}{fence}")


def _in_one_line(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(printable.split())
