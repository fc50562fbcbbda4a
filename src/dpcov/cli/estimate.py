"""``dpcov estimate``: another estimate of a release. Free, and never touches data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import typer

import dpcov
from dpcov.cli.options import Fdr, Force, Json, Psd, Quiet
from dpcov.cli.publishing import Output, write_and_say
from dpcov.cli.summary import findings, promise
from dpcov.cli.terminal import guarded, new_console, print_json
from dpcov.errors import FolderError, ParameterError
from dpcov.ledger import Receipt
from dpcov.publication.card import make_card
from dpcov.publication.card_file import read_card, sha256_of
from dpcov.publication.category_views import listed_for_machines
from dpcov.publication.folder import Identity
from dpcov.publication.folder_files import RELEASE_FILE
from dpcov.publication.tables import tables_to_show
from dpcov.releases import AnyRelease

__all__ = ["estimate"]


class _Rule(str, Enum):
    AUTO = "auto"
    HARD = "hard"
    SOFT = "soft"
    SCAD = "scad"
    ADAPTIVE_LASSO = "adaptive-lasso"
    EMPIRICAL_BAYES = "empirical-bayes"
    LOW_RANK = "low-rank"


def estimate(
    file: Annotated[Path, typer.Argument(help="A release.npz, or its folder.", show_default=False)],
    rule: Annotated[
        _Rule | None, typer.Option(help="How entries are shrunk.", show_default="auto")
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            help="thinned, cai-liu, paper, or a number of standard deviations.",
            show_default="thinned",
        ),
    ] = None,
    gamma: Annotated[float | None, typer.Option(help="The paper's, for --threshold paper.")] = None,
    dense: Annotated[
        bool, typer.Option("--dense", help="Let estimates without zeros compete.")
    ] = False,
    psd: Annotated[Psd, typer.Option(help="How it is made positive semi-definite.")] = Psd.SPARSE,
    fdr: Fdr = 0.1,
    out: Annotated[
        Path | None, typer.Option(help="Write a folder like that of dpcov release.")
    ] = None,
    force: Force = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make another estimate of a release. Costs no privacy and never touches data.

    Example: dpcov estimate survey/release.npz --rule soft --threshold cai-liu
    """
    stated = {
        "rule": None if rule is None else rule.value,
        "threshold": None if threshold is None else _threshold(threshold),
        "gamma": gamma,
        "sparse": False if dense else None,
    }
    options: dict[str, Any] = {name: value for name, value in stated.items() if value is not None}
    with guarded():
        release = _load(file)
        if options.keys() - set(release.estimate_options):
            raise typer.BadParameter(
                "A release of pairs has --fdr and --psd only; its pairs are kept or not."
            )
        if "fdr" in release.estimate_options:
            options["fdr"] = fdr
        identity = _identity_beside(file)
        if out is not None:
            output = Output(
                out=out,
                identity=identity,
                sources=[file],
                fdr=fdr,
                force=force,
                as_json=as_json,
                quiet=quiet,
            )
            write_and_say(lambda: release.estimate(psd=psd.value, **options), output)
            return
        made = release.estimate(psd=psd.value, **options)
        card = make_card(release, made, **vars(identity), fdr=fdr)
        tables = tables_to_show(card, made, fdr)
        if quiet:
            return
        if as_json:
            print_json({"estimate": card["estimate"], **listed_for_machines(tables)})
            return
        console = new_console()
        console.print(promise(card))
        console.print(repr(made))
        console.print(findings(card, tables))


def _load(file: Path) -> AnyRelease:
    return dpcov.Release.load(file / RELEASE_FILE if file.is_dir() else file)


def _threshold(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text  # the library knows the names


def _identity_beside(file: Path) -> Identity:
    """Return the identity in the card beside a release, if there is one."""
    try:
        card = read_card(file if file.is_dir() else file.parent)
        stated = card["identity"]
        words = {name: str(stated[name]) for name in ("name", "curator", "description", "date")}
        return Identity(**words, receipt=_receipt_beside(file, card))
    except (FolderError, KeyError):
        return Identity()


def _receipt_beside(file: Path, card: Mapping[str, Any]) -> Receipt | None:
    """Return what the card says of a ledger, if it is the card of this release."""
    digest = sha256_of(file / RELEASE_FILE if file.is_dir() else file)
    if card.get("ledger") is None or card["files"].get(RELEASE_FILE) != f"sha256:{digest}":
        return None
    try:
        return Receipt.from_card(card["ledger"])
    except (ParameterError, KeyError, TypeError, AttributeError):
        return None
