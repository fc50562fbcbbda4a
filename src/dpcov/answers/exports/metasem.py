"""metaSEM: correlations and covariances with the covariances of their errors, and an R file.

Owns the files. metaSEM weighs by the covariance of the errors itself, not n times it, and stacks
by columns of the lower triangle: vechs of correlations, vech of covariances.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpcov.answers.exports.asked import Asked
from dpcov.answers.exports.lavaan import three_factors
from dpcov.answers.exports.pd_moments import moments_of
from dpcov.answers.exports.plain_text import comments, fill_in, matrix_csv, names_csv
from dpcov.answers.exports.stacked_errors import (
    MOST_COLUMNS,
    errors_of_correlations,
    errors_of_moments,
    lower_triangle,
)
from dpcov.errors import ParameterError

__all__ = ["write_metasem"]


def write_metasem(asked: Asked) -> dict[str, bytes]:
    """Return the files, by name."""
    moments, variables = moments_of(asked), asked.variables
    if not 2 <= len(variables) <= MOST_COLUMNS:
        raise ParameterError(
            f"metaSEM needs 2 columns at least, and the errors of all entries together, which are "
            f"written for {MOST_COLUMNS} columns at most: name those of the model, columns=."
        )
    about = [
        *asked.sentences,
        *moments.sentences,
        "Errors are those of the release: privacy noise, clipping, and sampling of rows that are "
        "about Gaussian.",
    ]
    parts = {
        "ABOUT": comments("#", about),
        "ROWS": str(moments.n_rows),
        "EXAMPLE": "\n".join(three_factors(variables)),
    }
    of_correlations = errors_of_correlations(asked, moments)
    of_covariances = errors_of_moments(asked, means=False)
    return {
        "model.R": fill_in("metasem.R", parts),
        "correlation.csv": matrix_csv(variables, moments.correlation),
        "acov.csv": matrix_csv(_stacked(variables, diagonal=False), of_correlations),
        "covariance.csv": matrix_csv(variables, moments.covariance),
        "acov_covariance.csv": matrix_csv(_stacked(variables, diagonal=True), of_covariances),
        "names.csv": names_csv(asked),
    }


def _stacked(variables: Sequence[str], *, diagonal: bool) -> list[str]:
    rows, columns = lower_triangle(len(variables), diagonal=diagonal)
    pairs = zip(rows.tolist(), columns.tolist(), strict=True)
    return [f"{variables[row]} {variables[column]}" for row, column in pairs]
