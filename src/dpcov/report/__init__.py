"""A release and its estimate for readers: one HTML page, a card, a folder to publish.

Costs no privacy; never sees raw rows. The page and the folder need the extra ``report``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpcov.errors import MissingExtraError

if TYPE_CHECKING:
    from dpcov.report.card import card_schema, make_card
    from dpcov.report.card_text import card_to_markdown
    from dpcov.report.folder import write_folder
    from dpcov.report.html import render_report, write_report
    from dpcov.report.registry import registry_entry
    from dpcov.report.signing import sign_folder
    from dpcov.report.verification import verify_folder

__all__ = [
    "card_schema",
    "card_to_markdown",
    "make_card",
    "registry_entry",
    "render_report",
    "sign_folder",
    "verify_folder",
    "write_folder",
    "write_report",
]

_HOME = {
    "card_schema": "dpcov.report.card",
    "card_to_markdown": "dpcov.report.card_text",
    "make_card": "dpcov.report.card",
    "registry_entry": "dpcov.report.registry",
    "render_report": "dpcov.report.html",
    "sign_folder": "dpcov.report.signing",
    "verify_folder": "dpcov.report.verification",
    "write_folder": "dpcov.report.folder",
    "write_report": "dpcov.report.html",
}


def __getattr__(name: str) -> Any:
    # Loaded when used: the package itself can be imported without jinja2 and matplotlib.
    if name not in _HOME:
        raise AttributeError(f"module 'dpcov.report' has no attribute {name!r}")
    try:
        value = getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"jinja2", "matplotlib"}:
            raise
        raise MissingExtraError(
            "Reports need jinja2 and matplotlib: pip install 'dpcov[report]'"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
