"""``dpcov ledger``: accounts of what was promised about the same people.

Owns the commands. What they print of an account is `dpcov.cli.account_view`'s.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

import dpcov
from dpcov.cli.account_view import ledger_for_machines, show_ledger
from dpcov.cli.options import Json
from dpcov.cli.terminal import FAILED, guarded, new_console, print_json, tell
from dpcov.ledger.comparison import compare_with_card
from dpcov.privacy import Neighbors
from dpcov.publication.card_file import read_card, sha256_of
from dpcov.publication.folder_files import RELEASE_FILE

__all__ = ["ledger"]

ledger = typer.Typer(
    help="Accounts of what was promised about the same people, kept on the disk.",
    no_args_is_help=True,
)


class _Counting(str, Enum):
    GAUSSIAN = "gaussian"
    ZCDP = "zcdp"


Address = Annotated[
    str, typer.Argument(help="A file, or postgresql://USER@HOST/DATABASE.", show_default=False)
]
Population = Annotated[str, typer.Option(help="Who the people are: the account's name.")]
Owner = Annotated[str, typer.Option(help="Who answers for the account, and may change its limit.")]
Limit = Annotated[float, typer.Option(help="The limit of all that is charged to it.")]
Relation = Annotated[Neighbors, typer.Option(help="Which tables its promises compare.")]
Unit = Annotated[
    str | None,
    typer.Option(
        "--privacy-unit",
        help="The column that says whose row it is.",
        show_default="each row is a person",
    ),
]
DataSets = Annotated[
    list[str] | None,
    typer.Option("--data-set", help="The only data sets of these people.", show_default="any"),
]
Counted = Annotated[
    _Counting | None,
    typer.Option(
        "--counting",
        help="Exactly for Gaussian noise, or for selections and other tools as well.",
        show_default="the first charge decides",
    ),
]
StatedDelta = Annotated[
    float,
    typer.Option(help="The part of delta for promises of other tools, stated as (epsilon, delta)."),
]
Account = Annotated[str | None, typer.Option(help="Which account.", show_default="the only one")]
Accounts = Annotated[
    list[str] | None,
    typer.Option("--account", help="Which accounts, all at once.", show_default="the only one"),
]
By = Annotated[str, typer.Option("--owner", help="The owner, as the account names them.")]
Reason = Annotated[str, typer.Option(help="Why. It is kept.")]


@ledger.command()
def create(
    address: Address,
    population: Population,
    owner: Owner,
    epsilon: Limit,
    delta: Limit,
    neighbors: Relation = Neighbors.REPLACE,
    privacy_unit: Unit = None,
    data_sets: DataSets = None,
    counting: Counted = None,
    stated_delta: StatedDelta = 0.0,
) -> None:
    """Make a ledger where there is none, with one account.

    Example: dpcov ledger create budget.db --population "Panel 2026"
    --epsilon 3 --delta 1e-6 --owner "Data office"
    """
    with guarded():
        made = dpcov.Ledger.create(
            address,
            population=population,
            owner=owner,
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors.value,
            privacy_unit=privacy_unit,
            data_sets=data_sets or (),
            counting=None if counting is None else counting.value,
            stated_delta=stated_delta,
        )
        show_ledger(new_console(), made, None)


@ledger.command()
def add(
    address: Address,
    population: Population,
    owner: Owner,
    epsilon: Limit,
    delta: Limit,
    neighbors: Relation = Neighbors.REPLACE,
    privacy_unit: Unit = None,
    data_sets: DataSets = None,
    counting: Counted = None,
    stated_delta: StatedDelta = 0.0,
) -> None:
    """Open another account in the same ledger, so that both can be charged at once.

    Example: dpcov ledger add budget.db --population "Panel 2027"
    --epsilon 3 --delta 1e-6 --owner "Data office"
    """
    with guarded():
        dpcov.Ledger.open(address).add_account(
            population=population,
            owner=owner,
            epsilon=epsilon,
            delta=delta,
            neighbors=neighbors.value,
            privacy_unit=privacy_unit,
            data_sets=data_sets or (),
            counting=None if counting is None else counting.value,
            stated_delta=stated_delta,
        )
        show_ledger(new_console(), dpcov.Ledger.open(address), None)


@ledger.command()
def show(
    address: Address,
    rows: Annotated[
        int | None, typer.Option(help="Rows of a next release.", show_default="as in the last")
    ] = None,
    columns: Annotated[
        int | None, typer.Option(help="Columns of a next release.", show_default="as in the last")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print what is spent, what is left, and what it would show.

    Example: dpcov ledger show budget.db
    """
    if (rows is None) != (columns is None):
        raise typer.BadParameter("--rows and --columns are stated together.")
    shape = None if rows is None or columns is None else (rows, columns)
    with guarded():
        opened = dpcov.Ledger.open(address)
        if as_json:
            print_json(ledger_for_machines(opened, shape))
        else:
            show_ledger(new_console(), opened, shape)


@ledger.command()
def verify(
    address: Address,
    folders: Annotated[
        list[Path] | None,
        typer.Option("--folder", help="A published folder, whose card the ledger must know."),
    ] = None,
    head: Annotated[
        str | None, typer.Option(help="A hash from elsewhere, which some line must have.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Check every line and every sum, and compare the cards of published folders.

    Exit code 0: all is as it was written; 1: it is not.

    Example: dpcov ledger verify budget.db --folder survey/
    """
    with guarded():
        opened = dpcov.Ledger.open(address)
        last = opened.verify()
        lines = opened.lines()
        problems = []
        for folder in folders or ():
            said = read_card(folder).get("ledger")
            digest = sha256_of(folder / RELEASE_FILE)
            problems += [f"{folder}: {each}" for each in compare_with_card(opened, said, digest)]
        if head is not None and head.removeprefix("sha256:") not in {
            line["hash"] for line in lines
        }:
            problems.append("no line has the stated hash: the ledger is another one, or older")
        for problem in problems:
            tell(problem)
        if as_json:
            print_json({"holds": not problems, "head": last, "problems": problems})
        if problems:
            raise typer.Exit(FAILED)
        if not as_json:
            console = new_console()
            console.print(f"{len(lines)} lines, each follows from those before.")
            console.print("All charges were within their limits when they were made.")
            if folders:
                console.print(f"In it is what the cards say of {', '.join(map(str, folders))}.")
            console.print(f"The last hash is sha256:{last}. Keep a copy elsewhere.")


@ledger.command()
def limit(
    address: Address,
    owner: By,
    reason: Reason,
    account: Account = None,
    epsilon: Annotated[float | None, typer.Option(help="The new limit.")] = None,
    delta: Annotated[float | None, typer.Option(help="The new limit.")] = None,
    stated_delta: Annotated[
        float | None, typer.Option(help="The part of delta for stated promises.")
    ] = None,
) -> None:
    """Change the limit of an account. Only its owner may, and the reason is kept.

    Example: dpcov ledger limit budget.db --epsilon 4 --owner "Data office" --reason "Wave 4"
    """
    with guarded():
        opened = dpcov.Ledger.open(address)
        opened.change_limit(
            by=owner,
            reason=reason,
            population=account,
            epsilon=epsilon,
            delta=delta,
            stated_delta=stated_delta,
        )
        show_ledger(new_console(), opened, None)


@ledger.command()
def enter(
    address: Address,
    name: Annotated[str, typer.Option(help="What it is.")],
    account: Accounts = None,
    epsilon: Annotated[float | None, typer.Option(help="Of a promise.")] = None,
    delta: Annotated[float | None, typer.Option(help="Of a promise that is not pure.")] = None,
    rho: Annotated[float | None, typer.Option(help="Of a promise of zCDP.")] = None,
    multiplier: Annotated[
        float | None, typer.Option(help="Of Gaussian noise: its sd over the sensitivity.")
    ] = None,
    neighbors: Annotated[
        Neighbors | None, typer.Option(help="Which tables it compares.", show_default="as account")
    ] = None,
    privacy_unit: Unit = None,
    data_set: Annotated[str, typer.Option(help="Of which data set it is.")] = "",
    made: Annotated[
        bool, typer.Option("--made", help="It is out already: enter it even if it does not fit.")
    ] = False,
) -> None:
    """Enter what another tool releases, or a collection of reports, about the same people.

    Do it before the release is made: what does not fit is refused.

    Example: dpcov ledger enter budget.db --name "Counts, other tool" --epsilon 0.5
    """
    with guarded():
        opened = dpcov.Ledger(address, accounts=account or None, data_set=data_set)
        number = opened.enter(
            name,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            multiplier=multiplier,
            neighbors=None if neighbors is None else neighbors.value,
            privacy_unit=privacy_unit,
            made=made,
        )
        console = new_console()
        console.print(f"Entered as line {number}.")
        show_ledger(console, opened, None)


@ledger.command("give-back")
def give_back(
    address: Address,
    line: Annotated[int, typer.Argument(help="The line of the reservation.", show_default=False)],
    owner: By,
    reason: Reason,
) -> None:
    """Give back a reservation for which no noise was drawn. Only the owner may.

    Example: dpcov ledger give-back budget.db 7 --owner "Data office" --reason "Machine lost"
    """
    with guarded():
        opened = dpcov.Ledger.open(address)
        opened.give_back(line, by=owner, reason=reason)
        show_ledger(new_console(), opened, None)
