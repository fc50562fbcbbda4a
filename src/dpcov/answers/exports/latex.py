r"""LaTeX: the table of correlations of a paper, or a table of pairs.

Owns its lines. It needs the package booktabs. Names are text, whatever is in them: each character
that means something to LaTeX is written as itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from dpcov.answers.exports.asked import Asked, one_line
from dpcov.answers.exports.correlation_table import UNTOLD, CorrelationTable, stars, without_zero
from dpcov.answers.exports.plain_text import comments, encoded
from dpcov.digits import in_digits_of
from dpcov.errors import ParameterError
from dpcov.releases import Release

__all__ = ["escape", "write_latex"]

_MOST_COLUMNS = 40
_MOST_PAIRS = 60
_LONGEST_NAME = 40
_WIDE = 10  # a table of more columns does not fit an upright page
_WRITTEN = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"{'}",
    "`": r"\textasciigrave{}",
    "-": "{-}",
    "[": "{[}",
    "]": "{]}",
    "…": r"\ldots{}",
    "ε": r"$\varepsilon$",
    "δ": r"$\delta$",
    **{each: f"\\{each}" for each in "&%$#_{}"},
}


def escape(text: str) -> str:
    r"""Return a text that LaTeX prints as it is.

    Examples
    --------
    >>> print(escape("50 % of R&D_costs"))
    50 \% of R\&D\_costs
    """
    return "".join(_WRITTEN.get(each, each) for each in one_line(text))


def write_latex(asked: Asked) -> dict[str, bytes]:
    """Return the file: correlations of all columns, or the pairs that were released."""
    table = CorrelationTable(asked)
    whole = isinstance(asked.release, Release)
    if whole and len(asked.places) > _MOST_COLUMNS:
        raise ParameterError(
            f"A table of {len(asked.places):,} columns fits on no page: name {_MOST_COLUMNS} at "
            "most, columns=, or export to 'xlsx'."
        )
    lines = _correlations(table) if whole else _pairs(table)
    head = [
        *asked.sentences,
        "Needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}; names that are not in Latin "
        "letters need XeLaTeX or LuaLaTeX.",
    ]
    text = "\n".join([comments("%", head), *lines])
    return {"correlations.tex": encoded(text + "\n")}


def _correlations(table: CorrelationTable) -> Iterator[str]:
    size = len(table.asked.places)
    if size > _WIDE:
        yield "% Wide: put it into \\begin{sidewaystable} of the package rotating."
    yield from _begin("Means, standard deviations, and correlations", f"lrr{'r' * (size - 1)}")
    numbers = " & ".join(str(number) for number in range(1, size))
    yield f"Variable & $M$ & $SD${' & ' if size > 1 else ''}{numbers} \\\\"
    yield r"\midrule"
    means, deviations = _with_errors(table.means, size), _with_errors(table.deviations, size)
    for row, name in enumerate(table.asked.names):
        cells = [_cell(table, row, column) for column in range(row)]
        cells += [""] * (size - 1 - row)
        yield (
            " & ".join([f"{row + 1}. {_name(name)}", means[row], deviations[row], *cells]) + r" \\"
        )
    yield from _end(table.notes)


def _cell(table: CorrelationTable, row: int, column: int) -> str:
    """Return a correlation; nothing for two levels of one category, which exclude each other."""
    at = table.places_of_pairs.get((row, column))
    if at is None:
        return ""
    pairs = table.pairs
    if not pairs.told[at]:
        return UNTOLD
    marks = stars(float(pairs.q_value[at]))
    return f"${without_zero(float(pairs.released[at]))}${_raised(marks)}"


def _pairs(table: CorrelationTable) -> Iterator[str]:
    pairs, names = table.pairs, table.asked.release.columns
    shown = min(len(pairs), _MOST_PAIRS)
    yield from _begin("Correlations of pairs", "llrrr")
    yield r"First & Second & $r$ & 95~\% interval & $q$ \\"
    yield r"\midrule"
    for at in range(shown):
        both = [_name(names[place]) for place in (pairs.first[at], pairs.second[at])]
        low, high = (without_zero(float(end[at])) for end in (pairs.low, pairs.high))
        q_value = float(pairs.q_value[at])
        value = f"${without_zero(float(pairs.released[at]))}${_raised(stars(q_value))}"
        cells = [value, f"$[{low}, {high}]$"] if pairs.told[at] else [UNTOLD, UNTOLD]
        small = "$<.001$" if q_value < 0.001 else f"{q_value:.3f}"
        yield " & ".join([*both, *cells, small]) + r" \\"
    left = len(pairs) - shown
    more = [f"The surest {shown} of {len(pairs):,} pairs."] if left else []
    yield from _end([*more, *table.notes])


def _name(name: str) -> str:
    """Return a name, no longer than a table has room for."""
    return escape(name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…")


def _begin(caption: str, columns: str) -> list[str]:
    return [
        r"\begin{table}",
        f"\\caption{{{caption}}}",
        r"\label{tab:correlations}",
        r"\centering",
        f"\\begin{{tabular}}{{{columns}}}",
        r"\toprule",
    ]


def _end(notes: Sequence[str]) -> list[str]:
    said = [escape(note).replace("{-}", "-") for note in notes]
    return [
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
        r"\begin{minipage}{\linewidth}\footnotesize\raggedright",
        r"\textit{Note.} " + "\n".join(said),
        r"\end{minipage}",
        r"\end{table}",
    ]


def _with_errors(found: tuple[np.ndarray, np.ndarray] | None, size: int) -> list[str]:
    """Return numbers to the digits that their errors leave."""
    if found is None:
        return [UNTOLD] * size
    both = zip(found[0].tolist(), found[1].tolist(), strict=True)
    return [
        UNTOLD if np.isnan(number) else f"${in_digits_of(error, number).replace(',', '{,}')}$"
        for number, error in both
    ]


def _raised(marks: str) -> str:
    return f"$^{{{marks}}}$" if marks else ""
