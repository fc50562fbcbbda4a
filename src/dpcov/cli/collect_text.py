"""What `dpcov collect` says of a collection.

Owns these sentences.
"""

from __future__ import annotations

from dpcov.collect.collection import Collection
from dpcov.collect.store import State, database_option

__all__ = ["describe_serving", "describe_state"]


def describe_state(collection: Collection, state: State) -> str:
    """Say how many reports there are, and what can be done next."""
    plan, minimum = collection.plan, collection.minimum
    where = database_option(collection.name)
    title = "" if plan.study is None else f" “{plan.study.title}”"
    marked = " made-up" if collection.simulated else ""
    lines = [
        f"Collection{title} in {collection.name}: plan {plan.id[:16]}…, {plan.promise}.",
        f"{state.reports:,}{marked} report{'' if state.reports == 1 else 's'}; "
        f"{'closed' if state.closed else 'open'}.",
    ]
    if state.reports < minimum:
        lines.append(f"A release needs {minimum:,} people, {minimum - state.reports:,} more.")
    elif state.closed:
        lines.append(f"To release it: dpcov collect release --out FOLDER{where}")
    else:
        lines.append(f"To end it, which is final: dpcov collect close{where}")
    return "\n".join(lines)


def describe_serving(collection: Collection, state: State, where: str) -> str:
    """Say what is served, and where."""
    lines = [f"Serving {where} (Ctrl-C ends it)", describe_state(collection, state)]
    if state.closed:
        lines.append("It is closed: no report is taken any more, but known ones are confirmed.")
    return "\n".join(lines)
