"""The plots of a page, as SVG that stands in the page.

Owns their size. They have no background, and what is neutral in
them takes the colour of the text around it: they read on white, on black and on paper.
Names stay text, so that the reader's machine finds letters that ours has no font for.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from markupsafe import Markup
from matplotlib import style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dpcov import plot
from dpcov.plot.look import NEGATIVE, POSITIVE, number_places, related_pairs
from dpcov.postprocess import AnyEstimate
from dpcov.publication import alternatives
from dpcov.publication.structure import partials_of

__all__ = ["Picture", "draw_all", "frames_of"]

# Stands for "the colour of the text"; no plot uses it for anything else.
_TEXT = "#010203"
_STYLE: Any = {
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "text.color": _TEXT,
    "axes.labelcolor": _TEXT,
    "axes.edgecolor": _TEXT,
    "axes.titlecolor": _TEXT,
    "axes.titlesize": 10,
    "xtick.color": _TEXT,
    "ytick.color": _TEXT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "dpcov",  # the same estimate is the same page
}
# The page has lighter versions of these for dark screens.
_COLORS = {_TEXT: "currentColor", NEGATIVE: "var(--negative)", POSITIVE: "var(--positive)"}
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink"
_STRONGEST = 25
# How large a network is, for so many pairs at most.
_NETWORK = ((1, (5.2, 2.0)), (3, (5.2, 2.6)), (6, (5.2, 3.4)), (15, (5.2, 4.4)))
_ENLARGED = 1.2


@dataclass(frozen=True)
class Picture:
    """A plot in a page.

    Parameters
    ----------
    svg : Markup
        The element, with its alternative text.
    alt : str
        What it shows, for readers who do not see it.
    """

    svg: Markup
    alt: str


def draw_all(estimate: AnyEstimate, fdr: float) -> dict[str, Picture]:
    """Draw what there is to draw; keys are the names of the plots."""
    return {
        name: _picture(name, plan.draw, plan.size, plan.alt)
        for name, plan in _plans(estimate, fdr).items()
    }


def frames_of(estimate: AnyEstimate, fdr: float) -> dict[str, Picture]:
    """Return which pictures there are, without drawing them."""
    return {name: Picture(Markup("<svg></svg>"), "") for name in _plans(estimate, fdr)}


@dataclass(frozen=True)
class _Plan:
    """How a picture is drawn, how large, and what it shows in words."""

    draw: Callable[[Axes], Axes]
    size: tuple[float, float]
    alt: str


def _plans(estimate: AnyEstimate, fdr: float) -> dict[str, _Plan]:
    # Levels have their own tables; a picture of them alone is better than none.
    numbers = len(number_places(estimate))
    levels = numbers < 2
    related = related_pairs(estimate, fdr, levels=levels)
    found = int(related.told.sum())  # others are counted in the titles
    rows = min(found, _STRONGEST)
    tall = min(1.0, 0.2 + (len(estimate.columns) if levels else numbers) / 12)
    result = {}
    if estimate.n_pairs:
        result["heatmap"] = _Plan(
            lambda ax: plot.heatmap(estimate, ax, levels=levels),
            (5.2, 2.0 + 2.4 * tall),
            alternatives.heatmap(estimate, levels=levels or numbers == len(estimate.columns)),
        )
    if found:
        result["network"] = _Plan(
            lambda ax: plot.network(estimate, ax, fdr=fdr, levels=levels),
            _network_size(found),
            alternatives.network(related),
        )
        result["intervals"] = _Plan(
            lambda ax: plot.intervals(estimate, ax, fdr=fdr, most=_STRONGEST, levels=levels),
            (5.2, 0.9 + 0.17 * max(rows, 3)),
            alternatives.intervals(related),
        )
    partials = partials_of(estimate, fdr)
    if partials is not None:
        lines = int((partials.told & (partials.q_values <= fdr)).sum())
        if lines:
            result["partial"] = _Plan(
                lambda ax: plot.network(partials, ax, fdr=fdr),
                _network_size(lines),
                alternatives.partial(partials, fdr),
            )
    result["spectrum"] = _Plan(
        lambda ax: plot.spectrum(estimate, ax), (5.2, 2.8), alternatives.spectrum(estimate)
    )
    if estimate.risk_curve is not None:
        result["risk"] = _Plan(
            lambda ax: plot.risk(estimate, ax), (5.2, 3.4), alternatives.risk(estimate)
        )
    return result


def _network_size(pairs: int) -> tuple[float, float]:
    return next((size for most, size in _NETWORK if pairs <= most), (6.2, 5.4))


def _picture(
    name: str, draw: Callable[[Axes], Axes], size: tuple[float, float], alt: str
) -> Picture:
    file = io.BytesIO()
    with style.context(["default", _STYLE]), warnings.catch_warnings():
        # The page has fallback fonts; only the measuring is done with a font of ours.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        # Tight: a wide network leaves much of its figure empty.
        figure.savefig(
            file, format="svg", metadata=nothing, dpi=150, bbox_inches="tight", pad_inches=0.05
        )
    return Picture(Markup(_inline(name, file.getvalue(), alt)), alt)  # noqa: S704


def _inline(name: str, svg: bytes, alt: str) -> str:
    """Make an SVG file an element of a page: text colour, own ids, alternative text."""
    ElementTree.register_namespace("", _SVG)
    ElementTree.register_namespace("xlink", _XLINK)
    root = ElementTree.fromstring(svg)  # noqa: S314
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", svg.decode()))
    for element in root.iter():
        _adapt(element, name, used)
    wide = float(root.attrib.pop("width").removesuffix("pt"))
    root.attrib.pop("height")
    # Somewhat larger than made, so that it can also be read when a phone shrinks it.
    look = f"--wide: {wide * 4 / 3 * _ENLARGED:.0f}px"
    root.attrib |= {"role": "img", "aria-label": alt, "style": look}
    return ElementTree.tostring(root, encoding="unicode")


def _adapt(element: ElementTree.Element, name: str, used: set[str]) -> None:
    # Several pictures share a page: an id that nothing refers to goes, the others get a name.
    for key, value in list(element.attrib.items()):
        if key == "id" and value not in used:
            del element.attrib[key]
        elif key == "id":
            element.attrib[key] = f"{name}-{value}"
        elif key == f"{{{_XLINK}}}href" and value.startswith("#"):
            element.attrib[key] = f"#{name}-{value[1:]}"
        elif key in {"style", "clip-path", "fill", "stroke"}:
            for color, variable in _COLORS.items():
                value = value.replace(color.lower(), variable)
            element.attrib[key] = value.replace("url(#", f"url(#{name}-")
