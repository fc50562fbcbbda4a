"""The page: one HTML file with everything in it.

Owns the page and the order of what is on it. The page holds no script and asks for nothing
from any network, and its content security policy forbids both, whatever a column is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from dpcov.errors import ParameterError
from dpcov.parameters import check_number
from dpcov.plot.look import check_estimate, shown_name
from dpcov.postprocess import AnyEstimate
from dpcov.publication.card import card_to_json, make_card
from dpcov.publication.columns import HEADINGS, column_rows
from dpcov.publication.facts import provenance, what_was_released
from dpcov.publication.findings import find
from dpcov.publication.pictures import draw_all
from dpcov.releases import AnyRelease
from dpcov.version import __version__

__all__ = ["render_page", "write_card_page", "write_page"]

_TITLE = "Private covariance"


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
    card: Mapping[str, Any], estimate: AnyEstimate, path: str | PathLike[str], *, fdr: float
) -> None:
    """Write the page of a card that was just made from this estimate and its release."""
    identity = card["identity"]
    title, description = identity["name"] or _TITLE, identity["description"]
    _write(_render(card, estimate, title, description, fdr, shown_card=_json(card)), path)


def _write(page: str, path: str | PathLike[str]) -> None:
    # A title may hold half a surrogate pair, which UTF-8 has no bytes for.
    Path(path).write_text(page, encoding="utf-8", errors="xmlcharrefreplace")


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
    if card is None:
        return _render(made, estimate, title, description, fdr)
    _check_card(card, made)
    return _render(card, estimate, title, description, fdr, shown_card=_json(card))


def _render(
    card: Mapping[str, Any],
    estimate: AnyEstimate,
    title: str,
    description: str,
    fdr: float,
    *,
    shown_card: str | None = None,
) -> str:
    """Return the page: a view of the card, with the pairs and the pictures of the estimate."""
    findings = find(estimate, fdr)
    page: str = _template().render(
        title=title,
        paragraphs=[part for part in description.split("\n\n") if part.strip()],
        card=card,
        released=what_was_released(card),
        columns=column_rows(card),
        headings=HEADINGS,
        provenance=provenance(card),
        findings=findings,
        pictures=draw_all(estimate, findings),
        shown_card=shown_card,
        version=__version__,
    )
    return page


def _check_card(card: Mapping[str, Any], made: Mapping[str, Any]) -> None:
    """Refuse a card that says something else of the release, or of the estimate."""
    own = ("identity", "edges", "files", "digest")  # a curator's words and choices
    same = {part: value for part, value in made.items() if part not in own}
    if any(card.get(part) != value for part, value in same.items()):
        raise ParameterError(
            "card must be what make_card returned for this release and this estimate. Leave it "
            "out for a page without it."
        )


def _template() -> Any:
    environment = Environment(
        loader=PackageLoader("dpcov.publication"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shown_name"] = shown_name
    return environment.get_template("page.html.j2")


def _json(card: Mapping[str, Any]) -> str:
    return card_to_json(card).rstrip()
