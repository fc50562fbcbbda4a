"""What is stated of a release by another tool, as an event."""

from __future__ import annotations

from collections.abc import Callable

from dpcov.errors import ParameterError
from dpcov.ledger.numbers import ordinary
from dpcov.privacy import Approximate, Concentrated, Event, Gaussian, Pure

__all__ = ["stated_event"]


def stated_event(
    name: str,
    epsilon: float | None,
    delta: float | None,
    rho: float | None,
    multiplier: float | None,
) -> Event:
    """Return the event of what was stated, and only once."""
    ways: dict[str, Callable[[float], Event]] = {
        "rho": lambda number: Concentrated(name, number),
        "multiplier": lambda number: Gaussian(name, number),
        "epsilon": lambda number: (
            Pure(name, number)
            if delta is None
            else Approximate(name, number, ordinary("delta", delta))
        ),
    }
    values = {"rho": rho, "multiplier": multiplier, "epsilon": epsilon}
    stated = [way for way, value in values.items() if value is not None]
    if len(stated) != 1 or (delta is not None and stated != ["epsilon"]):
        raise ParameterError(
            "State what was promised once: epsilon, or epsilon and delta, or rho, or the "
            "multiplier of Gaussian noise."
        )
    return ways[stated[0]](ordinary(stated[0], values[stated[0]]))
