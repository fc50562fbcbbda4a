"""What is printed about a ledger: accounts, what is left of them, and their lines.

Owns these words for the terminal and for machines.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.table import Table

import dpcov
from dpcov.cli.terminal import printable
from dpcov.errors import DpcovError
from dpcov.ledger import Account, Ledger
from dpcov.ledger.account import up
from dpcov.ledger.book import Book
from dpcov.ledger.numbers import event_from_text
from dpcov.privacy import Neighbors
from dpcov.privacy.counting import counted_cost, counted_epsilon

__all__ = ["ledger_for_machines", "show_ledger"]

_SHOWN = 20
Shape = tuple[int, int] | None


def show_ledger(console: Console, ledger: Ledger, shape: Shape) -> None:
    """Print every account, and the last lines."""
    book, lines = ledger.look()
    for account in book.accounts.values():
        _show_account(console, account, shape or _last_shape(book, account))
    for number, found in book.reservations.items():
        if found.state in ("reserved", "drawing"):
            console.print(_unfinished(number, found.state))
    console.print(_table(book, lines[-_SHOWN:]))
    refused = "1 refusal" if book.refusals == 1 else f"{book.refusals} refusals"
    console.print(f"{len(lines)} lines, {refused}.")
    console.print(f"The last hash is sha256:{lines[-1]['hash']}.")


def ledger_for_machines(ledger: Ledger, shape: Shape) -> dict[str, Any]:
    """Return every account for machines."""
    book, lines = ledger.look()
    return {
        "id": book.id,
        "lines": len(lines),
        "head": lines[-1]["hash"],
        "refusals": book.refusals,
        "unfinished": [
            {"line": number, "state": found.state, "request_id": found.request}
            for number, found in book.reservations.items()
            if found.state in ("reserved", "drawing")
        ],
        "accounts": [
            _account(account, shape or _last_shape(book, account))
            for account in book.accounts.values()
        ],
    }


def _account(account: Account, shape: Shape) -> dict[str, Any]:
    terms, limit = account.terms, account.limit
    return {
        "population": terms.population,
        "owner": terms.owner,
        "neighbors": terms.neighbors.value,
        "privacy_unit": terms.privacy_unit,
        "data_sets": list(terms.data_sets),
        "counting": None if account.counting is None else account.counting.value,
        "complete": account.complete,
        "limit": vars(limit),
        "releases": account.releases,
        "spent": None if math.isinf(account.spent) else account.spent,
        "left": account.left_epsilon,
        "left_would_show": _shown(account, shape),
    }


def _show_account(console: Console, account: Account, shape: Shape) -> None:
    terms, limit = account.terms, account.limit
    unit = "one row" if terms.privacy_unit is None else f"all rows of one {terms.privacy_unit!r}"
    console.print(f"{printable(terms.population)}, owner: {printable(terms.owner)}")
    domain = ", among complete tables" if account.complete else ""
    console.print(f"  protects {unit}, {terms.neighbors.value} neighbors{domain}")
    console.print(
        f"  limit    epsilon = {limit.epsilon:g}, delta = {limit.delta:g}{_aside(account)}"
    )
    many = "1 release" if account.releases == 1 else f"{account.releases} releases"
    console.print(f"  spent    epsilon = {up(account.spent)} by {many}{_open(account)}")
    console.print(f"  left     {_left(account, shape)}\n")


def _aside(account: Account) -> str:
    stated = account.limit.stated_delta
    if not stated:
        return ""
    used = float(account.stated)
    return f", of which {stated:g} is for stated promises; {used:.3g} of it is spent"


def _open(account: Account) -> str:
    early, waiting = account.stopped, account.charges - account.releases - account.stopped
    counts = ((early, "stopped early"), (waiting, "not finished"))
    return "".join(f", and {count} {what}" for count, what in counts if count > 0)


def _left(account: Account, shape: Shape) -> str:
    left = account.left_epsilon
    if not left:
        return "nothing"
    text = f"one release at epsilon = {left:.4g}, delta = {account.limit.noise_delta:g}"
    shown = _shown(account, shape)
    if shape is None:
        return text
    what = "no correlation" if shown is None else f"correlations from {shown:.2g} on"
    return f"{text}: with {shape[0]:,} rows and {shape[1]:,} columns it would show {what}"


def _shown(account: Account, shape: Shape) -> float | None:
    """Return the smallest correlation that what is left would show with probability one half."""
    left = account.left_epsilon
    if shape is None or not left or shape[1] < 2 or account.terms.neighbors is Neighbors.LOCAL:
        return None
    try:
        forecast = dpcov.plan(
            n=shape[0],
            p=shape[1],
            epsilon=left,
            delta=account.limit.noise_delta,
            neighbors=account.terms.neighbors.value,
        )
    except DpcovError:
        return None
    shown = forecast.outlook(forecast.recommended).shown_half
    return shown if shown <= 1 else None


def _last_shape(book: Book, account: Account) -> Shape:
    finished = [
        each.shape
        for each in book.reservations.values()
        if each.shape is not None and account.terms.population in each.accounts
    ]
    return finished[-1] if finished else None


def _unfinished(number: int, state: str) -> str:
    if state == "reserved":
        return (
            f"Line {number} is reserved, and no noise was drawn: a process is at work on it, or "
            "its owner can give it back."
        )
    return f"Line {number} is spent, and not finished: noise may have been drawn for it."


def _table(book: Book, lines: list[dict[str, Any]]) -> Table:
    table = Table()
    for heading in ("line", "time", "what", "alone"):
        table.add_column(heading, justify="right" if heading in ("line", "alone") else "left")
    for line in lines:
        table.add_row(
            str(line["number"]), line["time"][:16], printable(_what(line)), _alone(book, line)
        )
    return table


def _what(line: dict[str, Any]) -> str:
    kind = line["kind"]
    if kind in ("account", "limit"):
        who = line["population"] if kind == "account" else f"{line['account']}: {line['reason']}"
        return f"{kind} {who}"
    if kind in ("drawing", "release", "return", "stop"):
        return f"{kind} of line {line['reservation']}"
    if kind in ("reservation", "refusal"):
        return f"{kind}: {line['what']} {line['data_set']}"
    return f"{kind} {line['name']}" if kind == "entry" else str(kind)


def _alone(book: Book, line: dict[str, Any]) -> str:
    """Return the epsilon that a line would cost by itself, at its first account's delta."""
    accounts = line.get("accounts")
    if line["kind"] == "stop":
        accounts = book.reservations[line["reservation"]].accounts
    if "events" not in line or not accounts:
        return ""
    account = book.accounts[accounts[0]]
    try:
        costs = [counted_cost(account.counts, event_from_text(each)) for each in line["events"]]
        whole = sum(costs, Fraction(0))
        return up(counted_epsilon(account.counts, whole, delta=account.limit.noise_delta))
    except DpcovError:
        return "?"
