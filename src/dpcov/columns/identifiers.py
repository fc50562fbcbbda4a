"""Identifiers: columns that tell whose row it is, and whose moments say nothing.

A column is one by its name alone, and no cell is read for it. The name is cut into words, at
punctuation, blanks and capital letters, and only whole words count: `person_id`, `testId` and
`ID` are identifiers; `paid`, `covid` and `width` are not.
"""

from __future__ import annotations

import re
from itertools import product

__all__ = ["USING_ALL", "is_identifier"]

USING_ALL = (
    'state columns={"*": {}} in Python; in a file of facts the line under [columns] is "*" = {}'
)
"""How a caller uses all columns of a table, identifiers with the others."""

_WORD = re.compile(r"[^\W\d_]+\d*|\d+")
_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")

_WHO = _WORD.findall("""
    account case client customer donor employee household member owner participant passport patient
    person policy record resp respondent row school serial student sub subj subject user voter
    worker
""")
_NUMBER = ("id", "ids", "no", "nr", "num", "number", "code", "key", "hash", "name", "names")
_WORDS = {
    *_WORD.findall("""
        id ids uid uids uuid guid pid oid eid hhid ssn nin nino mrn imei imsi iban seqn
        idno idnr idnum idnumber idcode idkey idhash idname objectid androidid deviceid
        name names surname forename firstname lastname middlename fullname nickname login
        email emails phone phones telephone tel fax address addresses
        phoneno phonenumber mobilenumber cellnumber cardnumber rowindex
    """),
    *map("".join, product(_WHO, _NUMBER)),
    *map("".join, product(["id"], _WHO)),
}
_ALONE = {"index", "row", "rows"}
_ASKS = {"any", "count", "has", "have", "is", "n", "of", "with", "without"}


def is_identifier(name: str) -> bool:
    """Return whether a column is an identifier by its name.

    Its last word decides, or its last two, or all of them as one. Numbers at its end count for
    nothing, and a name that asks or counts is none.

    Examples
    --------
    >>> [is_identifier(name) for name in ("person_id", "idcode", "testId", "id_2", "SSN", "e-mail")]
    [True, True, True, True, True, True]
    >>> [is_identifier(name) for name in ("paid", "covid", "width", "id_card_type", "has_phone")]
    [False, False, False, False, False]
    """
    words = [word.lower() for part in _WORD.findall(name) for word in _CASE.split(part)]
    while len(words) > 1 and words[-1].isdecimal():
        words.pop()
    if not words or not _ASKS.isdisjoint(words[:-1]):
        return False
    # Of two letters of their own, as in pi_d, nothing is made.
    joined = {each for each in ("".join(words[-2:]), "".join(words)) if len(each) > 3}
    is_one = not {words[-1], *joined}.isdisjoint(_WORDS)
    return is_one or (len(words) == 1 and words[0] in _ALONE)
