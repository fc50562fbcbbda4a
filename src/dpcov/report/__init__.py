"""A release and its estimate as one HTML page. Costs no privacy; never sees raw rows.

Needs the extra ``report``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.errors import MissingExtraError

if TYPE_CHECKING:
    from dpcov.report.html import render_report, write_report

__all__ = ["render_report", "write_report"]


def __getattr__(name: str) -> Any:
    # Loaded when used: the package itself can be imported without jinja2 and matplotlib.
    if name not in __all__:
        raise AttributeError(f"module 'dpcov.report' has no attribute {name!r}")
    try:
        from dpcov.report import html
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"jinja2", "matplotlib"}:
            raise
        raise MissingExtraError(
            "Reports need jinja2 and matplotlib: pip install 'dpcov[report]'"
        ) from None
    value = getattr(html, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
