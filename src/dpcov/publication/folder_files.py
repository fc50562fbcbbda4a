"""Which files a folder holds.

Owns their names, and which depend on which: tables and release come first, the texts about them
next, then the page, and the card, which lists the digests of all others, last.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcov.publication.card_file import CARD_FILE
from dpcov.publication.tables import table_names

__all__ = ["ALL_FILES", "PAGE_FILE", "RELEASE_FILE", "TEXT_FILES", "data_files", "files_of"]

RELEASE_FILE, PAGE_FILE = "release.npz", "page.html"
TEXT_FILES = ("README.md", "card.md")
_TABLES = (
    "associations",
    "categories",
    "columns",
    "components",
    "correlation",
    "covariance",
    "gaps",
    "group_means",
    "loadings",
    "pairs",
    "partial_correlations",
)
_KINDS = ("csv", "parquet")

ALL_FILES = (
    RELEASE_FILE,
    *(f"{table}.{kind}" for table in _TABLES for kind in _KINDS),
    *TEXT_FILES,
    PAGE_FILE,
    CARD_FILE,
)
"""What dpcov writes to a folder; the card comes last."""


def data_files(card: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the files with numbers that the folder of a card has, in the order of the card."""
    tables = (f"{table}.{kind}" for table in table_names(card) for kind in _KINDS)
    return tuple(sorted((*tables, RELEASE_FILE)))


def files_of(card: Mapping[str, Any]) -> tuple[str, ...]:
    """Return all files that the card lists, in its order."""
    return tuple(sorted((*data_files(card), *TEXT_FILES, PAGE_FILE)))
