"""What scikit-learn does around a fit that the promise does not cover.

Owns what can be seen of it from inside ``fit``: which of scikit-learn's own functions are being
executed. A search or a cross-validation fits again and again on the same people, and a step of a
pipeline that comes before has learned from them without noise. Code of others that does the same
cannot be seen.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

from dpcov.errors import UncoveredStepWarning

__all__ = ["warn_of_surroundings"]

_MODEL_SELECTION = "sklearn.model_selection"
_PIPELINE = "sklearn.pipeline"


def warn_of_surroundings(name: str) -> None:
    """Warn if scikit-learn fits several times, or fitted another step before."""
    again, learned = False, list[str]()
    for frame in _frames():
        module = str(frame.f_globals.get("__name__", ""))
        again = again or module.startswith(_MODEL_SELECTION)
        if module == _PIPELINE and frame.f_code.co_name in ("fit", "_fit", "fit_transform"):
            learned = _steps_before(frame.f_locals.get("self")) or learned
    if again:
        _warn(
            f"{name} is fitted by a search or a cross-validation. Each fit is one more release of "
            "the same people: epsilons add up, and so do deltas, and scores are computed without "
            "noise. The promise of one release does not cover that. Compare options on "
            "estimates of one release instead, which costs nothing."
        )
    if learned:
        _warn(
            f"{name} comes after {', '.join(learned)} in a pipeline. What these learned from the "
            "rows has no noise and is not covered by the promise. Give fit the rows as they are: "
            "dpcov learns centers and scales itself, and pays for them."
        )


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _steps_before(pipeline: Any) -> list[str]:
    """Return the kinds of the steps before the last one that learn from rows."""
    steps = [step for _, step in getattr(pipeline, "steps", [])][:-1]
    return [type(step).__name__ for step in steps if _learns(step)]


def _learns(step: Any) -> bool:
    """Return whether a step learns: scikit-learn marks those that do not as stateless."""
    if step is None or isinstance(step, str):  # "passthrough"
        return False
    from sklearn.utils import get_tags

    return bool(get_tags(step).requires_fit)


def _warn(message: str) -> None:
    warnings.warn(message, UncoveredStepWarning, stacklevel=4)
