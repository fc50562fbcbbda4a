"""SPSS: a syntax file with matrix data, for FACTOR, REGRESSION and RELIABILITY.

Owns the file. Lines are short, since older versions cut long ones, and numbers have points
whatever the language of the program is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dpcov.answers.exports.asked import Asked, one_line
from dpcov.answers.exports.pd_moments import Moments, moments_of
from dpcov.answers.exports.plain_text import encoded

__all__ = ["write_spss_matrix"]

_LONGEST_LABEL = 255  # bytes
_NUMBERS_IN_LINE = 6
_LONGEST_LINE = 100
_MARK = b"\xef\xbb\xbf"
"""By it SPSS knows that a file is in UTF-8."""


def write_spss_matrix(asked: Asked) -> dict[str, bytes]:
    """Return the file."""
    moments, variables = moments_of(asked), asked.variables
    size = len(variables)
    rows_of = np.full(size, moments.n_rows) if moments.rows is None else moments.rows.diagonal()
    vectors = {"N": rows_of.tolist(), "STDDEV": moments.deviations.tolist()}
    if moments.mean is not None and not moments.suppressed:
        vectors["MEAN"] = moments.mean.tolist()
    rows = [*vectors.items()]
    rows += [("CORR", row[: place + 1]) for place, row in enumerate(moments.correlation.tolist())]
    said = [
        *asked.sentences,
        *moments.sentences,
        *_without_means(moments),
        "Errors that SPSS computes from N do not count privacy noise, and are too small",
    ]
    lines = [
        *_comments(said),
        *_rows_of_pairs(moments),
        "",
        "PRESERVE.",
        "SET DECIMAL=DOT.",
        "MATRIX DATA VARIABLES=ROWTYPE_",
        *(f"  {name}" for name in variables),
        "  /FORMAT=FREE LOWER DIAGONAL.",
        "BEGIN DATA",
        *(line for kind, numbers in rows for line in _row(kind, numbers)),
        "END DATA.",
        "RESTORE.",
        "VARIABLE LABELS",
        *_labels(variables, asked.names),
        "",
        *_examples(variables),
    ]
    return {"matrix.sps": _MARK + encoded("\n".join(lines) + "\n")}


def _without_means(moments: Moments) -> list[str]:
    if moments.mean is None or not moments.suppressed:
        return []
    return [
        "There are no MEAN rows, since SPSS takes no empty cell in them: export the other columns "
        "alone, and their means are there"
    ]


def _rows_of_pairs(moments: Moments) -> Iterator[str]:
    """Yield comments with the number of rows behind the pairs of columns that have gaps."""
    if moments.rows is None:
        return
    yield "* About how many rows have both cells of a pair, with each column in the order of N."
    yield "* Pairs of two columns that are not listed have all rows."
    numbers = moments.rows.tolist()
    for place, name in enumerate(moments.asked.variables):
        if numbers[place][place] < moments.n_rows:
            yield from _comments([f"{name}: {' '.join(map(str, numbers[place]))}"])


def _examples(variables: Sequence[str]) -> Iterator[str]:
    """Yield commands as comments: PSPP has no MATRIX in REGRESSION, and runs the last of them."""
    yield "* For example:"
    yield "* FACTOR /MATRIX=IN(COR=*) /EXTRACTION=PAF /ROTATION=VARIMAX."
    if len(variables) < 2:
        return
    yield f"* REGRESSION MATRIX=IN(*) /DEPENDENT={variables[0]} /METHOD=ENTER."
    yield "* The same slopes in SPSS and in PSPP, whose REGRESSION reads no matrix:"
    yield "* MATRIX."
    yield "* MGET."
    yield "* COMPUTE s = MDIAG(SD) * CR * MDIAG(SD)."
    yield "* COMPUTE y = 1."
    yield f"* COMPUTE x = {{2:{len(variables)}}}."
    yield "* COMPUTE slopes = INV(s(x, x)) * s(x, y)."
    yield "* PRINT slopes."
    yield "* END MATRIX."


def _row(kind: str, numbers: Sequence[float]) -> Iterator[str]:
    for start in range(0, len(numbers), _NUMBERS_IN_LINE):
        part = " ".join(f"{number:.12g}" for number in numbers[start : start + _NUMBERS_IN_LINE])
        yield f"{kind} {part}" if start == 0 else f"  {part}"


def _comments(sentences: Sequence[str]) -> Iterator[str]:
    """Yield comments, one for each line: a comment ends where a line ends with a point."""
    for sentence in sentences:
        line = "*"
        for word in sentence.split():
            if len(line) + len(word) >= _LONGEST_LINE:
                yield f"{line.rstrip('.')}."
                line = "*"
            line += f" {word}"
        yield f"{line.rstrip('.')}."


def _labels(variables: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    for place, (variable, name) in enumerate(zip(variables, names, strict=True)):
        label = encoded(one_line(name))[:_LONGEST_LABEL].decode("utf-8", "ignore")
        end = "." if place == len(names) - 1 else ""
        quoted = label.replace('"', '""')
        slash = "/" if place else ""
        yield f'  {slash}{variable} "{quoted}"{end}'
