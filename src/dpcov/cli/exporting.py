"""``dpcov export``: a release in the form that other programs read. Free."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from dpcov.cli.answer_files import read_moments
from dpcov.cli.options import Keys, Quiet, Source
from dpcov.cli.terminal import guarded, tell
from dpcov.postprocess import Estimate
from dpcov.publication.card_file import read_card
from dpcov.publication.recomputation import recompute
from dpcov.releases import Release
from dpcov.writing import check_apart

__all__ = ["export"]


def export(
    source: Source,
    to: Annotated[
        str,
        typer.Option(
            help="Which program: lavaan, metasem, r, spss-matrix, latex or xlsx.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder to write.")],
    keys: Keys = None,
    quiet: Quiet = False,
) -> None:
    """Write a release for other programs.

    Example: dpcov export survey/ --to lavaan --out survey-lavaan/
    """
    with guarded():
        release = read_moments(source, keys or [])
        check_apart(out, [source])
        exports = import_module("dpcov.answers.exports")
        exports.export_folder(release, _estimate(release, source), to, out)
        if not quiet:
            tell(f"written to {out}")


def _estimate(release: Release, source: Path) -> Estimate:
    """Return the estimate that the folder shows, or the usual one of a file alone."""
    if source.is_dir():
        made = recompute(release, read_card(source)).estimate
        if isinstance(made, Estimate):
            return made
    return release.estimate()
