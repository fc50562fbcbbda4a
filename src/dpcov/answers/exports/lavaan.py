"""lavaan: matrices, and an R file that runs a structural equation model on them.

Owns the files. Errors are those of the release, with privacy noise, as lavaan's NACOV: n times the
covariance of means and covariances. Models are fitted by maximum likelihood, and errors follow
from NACOV. To fit by NACOV as well, with weighted least squares, makes loadings too small wherever
a model does not fit perfectly. Beyond a number of columns NACOV is too large to be written; the R
file then says that lavaan's errors are too small.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from dpcov.answers.exports.asked import Asked
from dpcov.answers.exports.legal_names import FACTOR
from dpcov.answers.exports.pd_moments import moments_of
from dpcov.answers.exports.plain_text import comments, fill_in, matrix_csv, names_csv, table_csv
from dpcov.answers.exports.stacked_errors import MOST_COLUMNS, errors_of_moments, lower_triangle

__all__ = ["three_factors", "write_lavaan"]

_SHOWN = 3  # columns of the placeholder
_FILES = {
    "covariance.csv": "the covariances, in the columns' own units",
    "mean.csv": "the means; an empty cell where one is suppressed",
    "rows.csv": "about how many rows have both cells of a pair",
    "nacov.csv": "the errors of all of these together: n times the covariance of means and\n"
    "#                   covariances, means first, then the lower triangle column by column",
    "names.csv": 'what each variable is called in the table: read it with na.strings = ""',
}


def write_lavaan(asked: Asked) -> dict[str, bytes]:
    """Return the files, by name."""
    moments, variables = moments_of(asked), asked.variables
    has_mean = moments.mean is not None
    written = {"covariance.csv": matrix_csv(variables, moments.covariance)}
    if moments.mean is not None:
        cells = ["" if mean != mean else repr(mean) for mean in moments.mean.tolist()]
        written["mean.csv"] = table_csv(["", "mean"], zip(variables, cells, strict=True))
    if moments.rows is not None:
        written["rows.csv"] = matrix_csv(variables, moments.rows)
    has_errors = len(variables) <= MOST_COLUMNS
    if has_errors:
        errors = moments.n_rows * errors_of_moments(asked, means=has_mean)
        written["nacov.csv"] = matrix_csv(_stacked(variables, has_mean), errors)
    about = [*asked.sentences, *moments.sentences, _errors_in_words(has_errors)]
    parts = {
        "ABOUT": comments("#", about),
        "ROWS": str(moments.n_rows),
        "MOST": str(MOST_COLUMNS),
        "UNTOLD": f"c({', '.join(map(repr, moments.untold))})",
        "PLACEHOLDER": _placeholder(variables[:_SHOWN]),
        "FILES": _files(written),
        "EXAMPLE": comments("#", three_factors(variables)),
    }
    return {"model.R": fill_in("lavaan.R", parts), **written, "names.csv": names_csv(asked)}


def three_factors(variables: Sequence[str]) -> list[str]:
    """Return lines of a model in which three factors share the columns, in their order.

    Examples
    --------
    >>> three_factors(["a", "b", "c", "d", "e", "g"])
    ['  factor1 =~ a + b', '  factor2 =~ c + d', '  factor3 =~ e + g']
    """
    size = max(1, len(variables) // 3)
    ends = (0, size, 2 * size, len(variables))
    parts = [variables[low:high] for low, high in pairwise(ends)]
    return [
        f"  {FACTOR}{number} =~ {' + '.join(part)}"
        for number, part in enumerate(parts, start=1)
        if part
    ]


def _stacked(variables: Sequence[str], has_mean: bool) -> list[str]:
    """Return the names of what lavaan stacks, as lavaan writes them."""
    means = [f"{name}~1" for name in variables] if has_mean else []
    rows, columns = lower_triangle(len(variables))
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return [*means, *(f"{variables[column]}~~{variables[row]}" for row, column in pairs)]


def _placeholder(variables: Sequence[str]) -> str:
    if len(variables) == 1:
        return f"  {variables[0]} ~~ {variables[0]}"
    lines = (
        f"  {name} ~~ {' + '.join(variables[place + 1 :])}" for place, name in enumerate(variables)
    )
    return "\n".join(list(lines)[:-1])


def _errors_in_words(has_errors: bool) -> str:
    if has_errors:
        return (
            "Errors are those of the release: privacy noise, clipping, and sampling of rows that "
            "are about Gaussian."
        )
    return (
        f"Errors together are not written for more than {MOST_COLUMNS} columns: lavaan's own do "
        "not count privacy noise, and are too small. Export the columns of a model alone."
    )


def _files(written: Mapping[str, bytes]) -> str:
    """Return what is in the files, as comments."""
    lines = (f"{name:<15} {_FILES[name]}" for name in (*written, "names.csv"))
    return comments("#  ", lines)
