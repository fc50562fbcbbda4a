"""People that are made up, who answer a study.

Owns their answers: normal numbers behind them, of which those of the first two questions are
correlated. Their reports are marked as simulated and promise nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from dpcov.local.plan import CollectionPlan
from dpcov.local.questions import ChoiceQuestion, NumberQuestion, Question
from dpcov.local.randomizer import simulate_reports
from dpcov.parameters import check_count, check_number

__all__ = ["answers", "simulate_people"]

_AT_A_TIME = 20_000

Floats = npt.NDArray[np.float64]


def simulate_people(
    plan: CollectionPlan, people: int, *, correlation: float, seed: int
) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield the reports of made-up people, some thousands at a time."""
    people = check_count("people", people, low=1)
    check_number("correlation", correlation, low=-1.0, high=1.0, open_low=False, open_high=False)
    seed = check_count("seed", seed, low=0)
    for number, start in enumerate(range(0, people, _AT_A_TIME)):
        size = min(_AT_A_TIME, people - start)
        rng = np.random.default_rng([seed, number])
        rows = answers(plan, size, correlation=correlation, rng=rng)
        yield simulate_reports(rows, plan, seed=int(rng.integers(1 << 62)))


def answers(
    plan: CollectionPlan, people: int, *, correlation: float, rng: np.random.Generator
) -> Floats:
    """Return the rows of made-up people."""
    count = plan.n_columns if plan.study is None else len(plan.study.questions)
    latent = rng.standard_normal((people, count))
    if count > 1:
        rest = math.sqrt(1 - correlation**2)
        latent[:, 1] = correlation * latent[:, 0] + rest * latent[:, 1]
    if plan.study is None:
        # Rows that are mostly within the bound.
        return np.array(plan.center) + np.array(plan.scale) * latent * (
            plan.row_norm / math.sqrt(2 * count)
        )
    pairs = zip(plan.study.questions, latent.T, strict=True)
    return np.column_stack([_cells(question, ndtr(z)) for question, z in pairs])


def _cells(question: Question, share: Floats) -> Floats:
    """Return the cells of answers that lie at given shares of all answers."""
    if isinstance(question, NumberQuestion):
        # Most answers are in the middle of the range, none beyond it.
        middle, half = (question.low + question.high) / 2, (question.high - question.low) / 2
        spread = np.clip(2.0 * share - 1.0, -1.0, 1.0)
        steps = np.round((half * spread) / question.step) * question.step
        return np.asarray(np.clip(middle + steps, question.low, question.high)[:, None])
    if isinstance(question, ChoiceQuestion):
        chosen = np.minimum((share * len(question.choices)).astype(int), len(question.choices) - 1)
        columns = [
            (chosen == place).astype(np.float64)
            for place, choice in enumerate(question.choices)
            if choice.column is not None
        ]
        return np.column_stack(columns)
    point = np.minimum((share * len(question.points)).astype(int), len(question.points) - 1)
    return np.asarray((point + 1.0)[:, None])
