"""What is said when the packages of an extra are missing.

Owns the way from a failed import to a sentence. A room with names that need an extra says
which packages, and the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from dpcov.errors import MissingExtraError

__all__ = ["naming_extra"]


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
