"""What a ledger is told of a collection: once, whoever asks first.

Owns the name of the entry. Every person who reports spends the plan's promise, so that all people
of an account are charged with it when the collection begins.
"""

from __future__ import annotations

from dpcov.ledger import Ledger
from dpcov.local.plan import CollectionPlan

__all__ = ["tell_ledger"]


def tell_ledger(
    address: str, accounts: list[str] | None, plan: CollectionPlan, *, made: bool
) -> int | None:
    """Enter the promise of a collection, unless it is entered; return the line, or None.

    With `made` reports are out already: it is entered even if it does not fit.
    """
    ledger = Ledger(address, accounts=accounts or None)
    name = f"collection of plan {plan.id}"
    if any(line.get("name") == name for line in ledger.lines()):
        return None
    return ledger.enter(name, epsilon=plan.epsilon, delta=plan.delta, neighbors="local", made=made)
