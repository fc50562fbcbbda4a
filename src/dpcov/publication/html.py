"""The page: one HTML file with everything in it.

Owns the page and the order of what is on it. The page holds one script of ours, which sorts and
searches its tables, and asks for nothing from any network; its content security policy forbids
every other script and every request, whatever a column is called.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files as package_files
from os import PathLike
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from dpcov.errors import ParameterError
from dpcov.parameters import check_number
from dpcov.plot.look import check_estimate, shown_name
from dpcov.postprocess import AnyEstimate
from dpcov.publication.card import card_to_json, make_card
from dpcov.publication.category_views import (
    association_rows,
    gap_sentences,
    groups,
    level_pairs,
)
from dpcov.publication.citation import cite
from dpcov.publication.columns import category_rows, column_rows, has_gaps, headings, n_numbers
from dpcov.publication.facts import provenance, what_was_released
from dpcov.publication.findings import pair_rows
from dpcov.publication.pictures import Picture, draw_all, frames_of
from dpcov.publication.series import Table
from dpcov.publication.structure_views import component_rows, partial_rows
from dpcov.publication.tables import tables_to_show
from dpcov.releases import AnyRelease
from dpcov.releases.tails import GAPS_MARKED, MARKED
from dpcov.version import __version__

__all__ = ["page_differs", "render_page", "write_card_page", "write_page"]

_TITLE = "Private covariance"
_MOST_PAIRS = 3600  # all pairs of 85 columns
_PRINTED = 60  # of them on paper
_OPEN_GROUPS = 6  # categories whose means are shown at once
_SVG = re.compile(r"<svg.*?</svg>", re.DOTALL)
_MOST_GAPS = 30  # findings about missing cells
_MOST_COMPONENTS = 8
_MOST_PARTIALS = 12  # pairs given all other columns


def write_page(
    release: AnyRelease,
    estimate: AnyEstimate,
    path: str | PathLike[str],
    *,
    title: str = _TITLE,
    description: str = "",
    fdr: float = 0.1,
    card: Mapping[str, Any] | None = None,
) -> None:
    """Write a page about a release and its estimate: one HTML file that needs nothing else.

    It says what is promised, what was released, what was found and what could not have
    been seen, with all plots. It shows nothing that is not computed from the release, so
    it is as safe to publish as the release is.

    Parameters
    ----------
    release : Release or PairsRelease
        What was released.
    estimate : Estimate or PairsEstimate
        What was made of it.
    path : path
        The file; an existing one is replaced.
    title : str
        The heading.
    description : str
        What the data are about; an empty line starts a paragraph. Shown as text.
    fdr : float, default 0.1
        The expected share of false pairs among those that are listed, at most.
    card : mapping, optional
        What `make_card` returned for this release: shown as JSON that can be unfolded.

    Examples
    --------
    >>> import numpy as np, dpcov, tempfile, pathlib
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder, "page.html")
    ...     dpcov.publication.write_page(release, release.estimate(), page, title="Four answers")
    ...     "<h1>Four answers</h1>" in page.read_text(encoding="utf-8")
    True
    """
    page = render_page(release, estimate, title=title, description=description, fdr=fdr, card=card)
    _write(page, path)


def write_card_page(
    card: Mapping[str, Any],
    estimate: AnyEstimate,
    tables: Mapping[str, Table],
    path: str | PathLike[str],
) -> None:
    """Write the page of a card and of tables that were just made from this estimate."""
    _write(_render(card, estimate, tables, shown_card=_json(card)), path)


def _write(page: str, path: str | PathLike[str]) -> None:
    Path(path).write_bytes(_encoded(page))


def _encoded(page: str) -> bytes:
    # A title may hold half a surrogate pair, which UTF-8 has no bytes for.
    return page.encode("utf-8", "xmlcharrefreplace")


def render_page(
    release: AnyRelease,
    estimate: AnyEstimate,
    *,
    title: str = _TITLE,
    description: str = "",
    fdr: float = 0.1,
    card: Mapping[str, Any] | None = None,
) -> str:
    """Return the page that `write_page` writes.

    Parameters
    ----------
    release, estimate : Release and Estimate, or PairsRelease and PairsEstimate
        What is shown.
    title, description : str
        Shown at the top.
    fdr : float, default 0.1
        The false discovery rate of the related pairs.
    card : mapping, optional
        The card of a folder; by default it is made.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(5000, 2))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=3, seed=0)
    >>> "Nothing is promised" in render_page(release, release.estimate())
    True
    """
    check_estimate(estimate)
    fdr = check_number("fdr", fdr, low=0.0, high=1.0)
    made = make_card(release, estimate, name=title, description=description, fdr=fdr)
    tables = tables_to_show(made, estimate, fdr)
    if card is None:
        return _render(made, estimate, tables)
    _check_card(card, made)
    words = card["identity"] | {"name": title, "description": description}
    shown = {**card, "identity": words, "related": made["related"]}
    return _render(shown, estimate, tables, shown_card=_json(card))


def page_differs(
    page: str, card: Mapping[str, Any], estimate: AnyEstimate, tables: Mapping[str, Table]
) -> bool:
    """Return whether a page is not that of a card and its tables; pictures are not compared."""
    frames = frames_of(estimate, card["related"]["fdr"])
    expected = _render(card, estimate, tables, shown_card=_json(card), pictures=frames)
    return _SVG.sub("<svg></svg>", page) != _encoded(expected).decode()


def _render(
    card: Mapping[str, Any],
    estimate: AnyEstimate,
    tables: Mapping[str, Table],
    *,
    shown_card: str | None = None,
    pictures: Mapping[str, Picture] | None = None,
) -> str:
    """Return the page: a view of the card and its tables, with the pictures of the estimate."""
    identity, script, pairs = card["identity"], _script(), tables["pairs"]
    page: str = _template().render(
        title=identity["name"] or _TITLE,
        paragraphs=[part for part in identity["description"].split("\n\n") if part.strip()],
        card=card,
        released=what_was_released(card),
        columns=column_rows(card),
        headings=headings(card),
        provenance=provenance(card),
        pairs=pair_rows(pairs, _MOST_PAIRS),
        n_pairs=card["related"]["n_released"],
        marked=MARKED,
        gaps_marked=GAPS_MARKED,
        printed=_PRINTED,
        open_groups=_OPEN_GROUPS,
        n_numbers=n_numbers(card),
        **_categories(card, tables),
        components=component_rows(tables, _MOST_COMPONENTS),
        partials=partial_rows(tables, _MOST_PARTIALS),
        has_covariances="released_covariance" in pairs,
        pictures=draw_all(estimate, card["related"]["fdr"]) if pictures is None else pictures,
        has_noise_floor=estimate.noise_floor is not None,
        citation=cite(card),
        script=Markup(script),  # noqa: S704  # our own
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        shown_card=shown_card,
        version=__version__,
    )
    return page


def _categories(card: Mapping[str, Any], tables: Mapping[str, Table]) -> dict[str, Any]:
    """Return what the page shows of categories and gaps; nothing where there are none."""
    related, gaps = tables.get("associations"), tables.get("gaps")
    return {
        "categories": category_rows(card),
        "has_gaps": has_gaps(card),
        "associations": [] if related is None else association_rows(related, _MOST_PAIRS),
        "groups": groups(card, tables),
        "level_pairs": level_pairs(card, tables["pairs"]),
        "gap_sentences": [] if gaps is None else gap_sentences(gaps, _MOST_GAPS),
    }


def _script() -> str:
    return (
        package_files("dpcov.publication").joinpath("templates/page.js").read_text(encoding="utf-8")
    )


def _check_card(card: Mapping[str, Any], made: Mapping[str, Any]) -> None:
    """Refuse a card that says something else of the release, or of the estimate."""
    own = ("identity", "related", "files", "digest")  # a curator's words and choices
    same = {part: value for part, value in made.items() if part not in own}
    if any(card.get(part) != value for part, value in same.items()):
        raise ParameterError(
            "card must be what make_card returned for this release and this estimate. Leave it "
            "out for a page without it."
        )


@cache
def _template() -> Any:
    environment = Environment(
        loader=PackageLoader("dpcov.publication"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown_name": shown_name, "breakable": _breakable}
    return environment.get_template("page.html.j2")


def _breakable(name: str, longest: int) -> Markup:
    """Return a name that fits, and may be broken after what joins its words."""
    words = re.split(r"(?<=[_.:/-])(?=\w)", shown_name(name, longest))
    return Markup("<wbr>").join(words)


def _json(card: Mapping[str, Any]) -> str:
    return card_to_json(card).rstrip()
