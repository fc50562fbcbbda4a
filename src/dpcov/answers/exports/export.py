"""``dpcov.answers.export``: a release for another program.

Owns the order of the steps: what is asked for, the files of the format, the folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from dpcov.answers.exports.asked import ask
from dpcov.answers.exports.folder import check_free, write_export
from dpcov.answers.exports.registry import FORMATS
from dpcov.errors import ParameterError
from dpcov.parameters import check_choice
from dpcov.releases import AnyRelease
from dpcov.version import __version__
from dpcov.writing import locate_target

__all__ = ["export"]


def export(
    release: AnyRelease,
    to: str,
    out: str | os.PathLike[str],
    *,
    columns: Sequence[str] | None = None,
    citation: str = "",
    force: bool = False,
) -> Path:
    """Write a release into a folder that another program reads. Costs no privacy.

    Parameters
    ----------
    release : Release or PairsRelease
        What was released. Of the strongest pairs there is no whole matrix: they can be exported
        to ``"r"`` only.
    to : {"lavaan", "spss-matrix", "r"}
        For what. ``"lavaan"``: an R file with matrices, errors that count privacy noise, and a
        place for a model. ``"spss-matrix"``: matrix data. ``"r"``: a function that reads
        published folders.
    out : path
        The folder. It must not exist, unless `force` is stated.
    columns : list of str, optional
        Which columns: numbers, levels of categories, or categories as a whole, which become
        contrasts with their first level. All columns, if not stated.
    citation : str, optional
        How the release is cited. It stands in the files.
    force : bool, default False
        Replace a folder that this function wrote, and nobody changed since.

    Returns
    -------
    pathlib.Path
        The folder.

    Raises
    ------
    FolderError
        The folder cannot be written or replaced.

    Notes
    -----
    Models get D R D. R has the released correlations, not thresholded or shrunk, since that would
    bias a model; where it has no inverse, it is the nearest that has one. D has the published
    standard deviations. NACOV is that of this very matrix. Each file says which it is.

    Examples
    --------
    >>> import numpy as np, dpcov, tempfile, pathlib
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = dpcov.answers.export(release, "lavaan", pathlib.Path(place, "model"))
    ...     sorted(file.name for file in folder.iterdir())
    ['covariance.csv', 'export.json', 'mean.csv', 'model.R', 'nacov.csv', 'names.csv']
    """
    to = check_choice("to", to, tuple(FORMATS))
    if to == "r" and columns is not None:
        raise ParameterError("The reader for R reads all columns of a folder: state no columns.")
    # Before anything is computed.
    check_free(locate_target(out), force=force)
    asked = ask(release, columns, citation=citation)
    files = FORMATS[to](asked)
    facts = {
        "format": "dpcov export",
        "to": to,
        "dpcov": __version__,
        "promise": str(release.promise),
    }
    return write_export(out, files, facts, force=force)
