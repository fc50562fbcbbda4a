"""Which characters a name may have: those that are seen, and stay on their line.

Owns one question. A line break in a name is how rows of a broken file become a name, and
control characters can make a terminal or a page show something else than what is there.
"""

from __future__ import annotations

import unicodedata

__all__ = ["has_hidden_characters"]

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # Persian and Hindi are written with them


def has_hidden_characters(name: str) -> bool:
    r"""Return whether a name has line breaks, control characters or half characters.

    Examples
    --------
    >>> has_hidden_characters("Größe (cm)"), has_hidden_characters("age\n36")
    (False, True)
    """
    if name.isprintable():
        return False
    return any(
        unicodedata.category(character) in _HIDDEN and character not in _JOINERS
        for character in name
    )
