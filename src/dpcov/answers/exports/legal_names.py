"""Names that every program takes: R, lavaan and SPSS alike.

Owns one rule for all of them: letters of ASCII, digits and underscores, a letter first, 60
characters at most, no word that one of them reserves, and no two that differ in case alone.
What a column is really called stands beside it, in a label or in a file of names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

__all__ = ["FACTOR", "legal_names"]

FACTOR = "factor"
"""What latent variables of examples are called, with a number: no column is."""

_LONGEST = 60
_RESERVED = {
    # R
    *("if", "else", "repeat", "while", "function", "for", "next", "break", "in"),
    *("true", "false", "null", "inf", "nan", "na", "t", "f", "c"),
    # lavaan's modifiers
    *("start", "equal", "label", "efa", "value", "rv"),
    # SPSS
    *("all", "and", "by", "eq", "ge", "gt", "le", "lt", "ne", "not", "or", "to", "with"),
    *("rowtype", "varname"),
}


def legal_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return a legal name for each, all different.

    Examples
    --------
    >>> legal_names(["Größe (cm)", "2nd wave", "sex=f", "Sex f", "年龄"])
    ('Grosse_cm', 'v2nd_wave', 'sex_f', 'Sex_f_2', 'v')
    """
    taken: set[str] = set()
    found = []
    for name in names:
        plain = _plain(name)
        number, chosen = 1, plain
        while chosen.lower() in taken:
            number += 1
            suffix = f"_{number}"
            chosen = plain[: _LONGEST - len(suffix)] + suffix
        taken.add(chosen.lower())
        found.append(chosen)
    return tuple(found)


def _plain(name: str) -> str:
    spelled = name.replace("ß", "ss").replace("ø", "o").replace("Ø", "O")
    parts = unicodedata.normalize("NFKD", spelled)
    letters = "".join(each for each in parts if not unicodedata.combining(each))
    plain = re.sub(r"[^A-Za-z0-9]+", "_", letters).strip("_")[:_LONGEST].rstrip("_")
    is_ours = re.fullmatch(rf"{FACTOR}\d*", plain, flags=re.IGNORECASE)
    if not plain[:1].isalpha() or plain.lower() in _RESERVED or is_ours:
        plain = f"v{plain}"[:_LONGEST].rstrip("_")
    return plain
