"""What is said when the packages of an extra are missing.

Owns the way from a failed import to a sentence. A room with names that need an extra says
which packages, and the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from types import ModuleType
from typing import Any

from dpcov.errors import MissingExtraError

__all__ = ["load_pandas", "naming_extra"]


def naming_extra(
    load: Callable[[str], Any], packages: Collection[str], sentence: str
) -> Callable[[str], Any]:
    """Return a loader of names that raises the sentence when one of the packages is missing.

    Anything else that is missing is a fault of the installation, and stays what it is.
    """

    def load_or_say(name: str) -> Any:
        try:
            return load(name)
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in packages:
                raise
            raise MissingExtraError(sentence) from None

    return load_or_say


def load_pandas() -> ModuleType:
    """Import pandas, or say how to install it."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise MissingExtraError("Data frames need pandas: pip install 'dpcov[frames]'") from None
    return pd
