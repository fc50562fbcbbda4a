"""A release and its estimate for readers: one HTML page, a card, a folder to publish.

Costs no privacy; never sees raw rows. The page and the folder need the extra ``publication``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpcov.errors import MissingExtraError

if TYPE_CHECKING:
    from dpcov.publication.card import card_schema, make_card
    from dpcov.publication.card_text import card_to_markdown
    from dpcov.publication.folder import write_folder
    from dpcov.publication.html import render_page, write_page
    from dpcov.publication.registry import registry_entry
    from dpcov.publication.signing import sign_folder
    from dpcov.publication.verification import verify_folder

__all__ = [
    "card_schema",
    "card_to_markdown",
    "make_card",
    "registry_entry",
    "render_page",
    "sign_folder",
    "verify_folder",
    "write_folder",
    "write_page",
]

_HOME = {
    "card_schema": "dpcov.publication.card",
    "card_to_markdown": "dpcov.publication.card_text",
    "make_card": "dpcov.publication.card",
    "registry_entry": "dpcov.publication.registry",
    "render_page": "dpcov.publication.html",
    "sign_folder": "dpcov.publication.signing",
    "verify_folder": "dpcov.publication.verification",
    "write_folder": "dpcov.publication.folder",
    "write_page": "dpcov.publication.html",
}


def __getattr__(name: str) -> Any:
    # Loaded when used: the package itself can be imported without jinja2 and matplotlib.
    if name not in _HOME:
        raise AttributeError(f"module 'dpcov.publication' has no attribute {name!r}")
    try:
        value = getattr(import_module(_HOME[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"jinja2", "matplotlib"}:
            raise
        raise MissingExtraError(
            "Pages need jinja2 and matplotlib: pip install 'dpcov[publication]'"
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
