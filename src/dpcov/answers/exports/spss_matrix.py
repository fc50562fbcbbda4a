"""SPSS: a syntax file with matrix data, for FACTOR, REGRESSION and RELIABILITY.

Owns the file. Lines are short, since older versions cut long ones, and numbers have points
whatever the language of the program is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpcov.answers.exports.asked import Asked, one_line
from dpcov.answers.exports.pd_moments import moments_of
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
    vectors = {"N": [float(moments.n_rows)] * size, "STDDEV": moments.deviations.tolist()}
    if moments.mean is not None:
        vectors["MEAN"] = moments.mean.tolist()
    rows = [*vectors.items()]
    rows += [("CORR", row[: place + 1]) for place, row in enumerate(moments.correlation.tolist())]
    said = [
        *asked.sentences,
        *moments.sentences,
        "Errors that SPSS computes from N do not count privacy noise, and are too small",
    ]
    lines = [
        *_comments(said),
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
        "* For example:",
        "* FACTOR /MATRIX=IN(COR=*) /EXTRACTION=ML /ROTATION=VARIMAX.",
        f"* REGRESSION /MATRIX=IN(*) /DEPENDENT={variables[0]} /METHOD=ENTER.",
    ]
    return {"matrix.sps": _MARK + encoded("\n".join(lines) + "\n")}


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
