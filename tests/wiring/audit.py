"""The audit of one combination of options: what is spent, and whether sums stay in bounds."""

from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations, product
from unittest.mock import patch

import numpy as np

import dpcov
from dpcov.errors import InputError, ParameterError
from dpcov.privacy import Gaussian, Selection
from dpcov.sensitive.sums import cell_counts, rows, signs
from dpcov.sensitive.tables import working
from wiring import account, reading
from wiring.choices import (
    ALWAYS,
    SIZE,
    candidates,
    function,
    handed_over,
    keywords,
    rows_that_count,
)
from wiring.watching import HUGE, EndlessError

SLACK = 0.02  # the share of delta that may stay unspent: 64 cells, and scales of 32 bits
ROUNDING = 1e-9
# Answers far below, at, or far above zero; the first or the last places of a selection; among
# the rows of others, or of nobody else.
RARE = list(product((-1, 0, 1), (False, True), (False, True)))


class RefusedError(Exception):
    """The library does not take these options together."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a release, and with which options."""

    kind: str
    what: str
    options: dict


def release(watch, options, row, answers=None, *, alone=False):
    """Return the release and what passed the door."""
    watch.begin(answers)
    try:
        with _nobody_is_let_in(row):
            made = function(options)(handed_over(row, options, alone=alone), **keywords(options))
    except (ParameterError, InputError) as refusal:
        raise RefusedError(str(refusal)) from None
    return made, watch.draws


@contextmanager
def _nobody_is_let_in(row):
    """Let a row without cells be read where tables with gaps are refused.

    It stands for a person who is not in the table; no table has it. Where gaps are counted, such
    a row is one like others, and nobody's is zero in all working cells.
    """
    if not np.isnan(row).all():
        yield
        return
    with (
        patch.object(rows, "check_complete"),
        patch.object(cell_counts, "check_complete"),
        patch.object(signs, "_check_missing_cells"),
        patch.object(working.Reading, "_read_tile", _read_nobody),
    ):
        yield


_READ_TILE = working.Reading._read_tile


def _read_nobody(self, block, out):
    is_marked = _READ_TILE(self, block, out)
    out[np.isnan(block).all(axis=1)] = 0.0
    return is_marked


def audit(watch, options):
    """Watch releases of neighboring tables, and compare with what the options mean."""
    made, draws = release(watch, options, candidates(options)[1])
    people = candidates(options, made)
    pairs = isinstance(made, dpcov.PairsRelease)
    expected = reading.steps(options, n_rows=rows_that_count(options), size=SIZE, pairs=pairs)
    answers = [draw.answer for draw in draws]
    runs = [release(watch, options, row, answers) for row in people]
    groups = [_grouped(run, expected) for run in (draws, *(run for _, run in runs))]
    found = [
        *_promised(made, options),
        *(
            [("steps", "the steps are not those of the options")]
            if None in groups
            else [
                *_spent(made, expected, groups[0], pairs),
                *_moved(expected, groups[1:], options),
            ]
        ),
    ]
    found += _leaked([(made, draws), *runs])
    return [Problem(kind, what, options) for kind, what in found]


def audit_rare(watch, options, rare=RARE):
    """Watch releases of neighboring tables after answers that hardly ever come.

    Where something may hang on an answer, or on there being nothing to add up, the exact
    answers of a common table do not show it.
    """
    options = options | {"allow": {"mismatch"}}  # counts that stop a release are wiring/learning's
    nothing, *_, everything = candidates(options)[:5]
    made, draws = release(watch, options, nothing)
    pairs = isinstance(made, dpcov.PairsRelease)
    expected = reading.steps(options, n_rows=rows_that_count(options), size=SIZE, pairs=pairs)
    found = set()
    for sign, last, alone in rare:
        answers = [draw.extreme(sign, last) for draw in draws]
        try:
            runs = [
                release(watch, options, row, answers, alone=alone) for row in (nothing, everything)
            ]
        except (RefusedError, EndlessError) as failure:
            found.add(f"no release but {type(failure).__name__}: {failure}")
            continue
        groups = [_grouped(run, expected) for _, run in runs]
        if None in groups:
            found.add("the steps depend on the rows or on the answers")
            continue
        found |= {what for kind, what in _moved(expected, groups, options) if kind == "far"}
        found |= {what for _, what in _leaked(runs)}
    return [Problem("rare", what, options) for what in sorted(found)]


def audit_means(watch, options):
    """Watch releases about learned centers whose mean signs come out as large as they can be."""
    rows, found = candidates(options), set()
    _, draws = release(watch, options, rows[1])
    expected = reading.steps(options, n_rows=rows_that_count(options), size=SIZE, pairs=True)
    for means in product((-1, 1), repeat=SIZE):
        answers = [draw.answer for draw in draws]
        answers[reading.CENTER_ANSWERS] = np.array(means) * HUGE
        runs = [release(watch, options, row, answers) for row in rows]
        groups = [_grouped(run, expected) for _, run in runs]
        found |= {what for kind, what in _moved(expected, groups, options) if kind == "far"}
        found |= {what for _, what in _leaked(runs)}
    return [Problem("means", what, options) for what in sorted(found)]


def _leaked(runs):
    """Compare runs that were given the same answers: nothing that is seen may differ."""
    (made, draws), *others = runs
    if any(again != made for again, _ in others):
        yield "leak", "the release is not a function of what passed the door"
    if any([draw.scales for draw in run] != [draw.scales for draw in draws] for _, run in others):
        yield "leak", "the noise depends on the rows"


def _grouped(draws, expected):
    """Return the draws of each step, or None if they are not the steps that are expected."""
    left, groups = list(draws), []
    for step in expected:
        sizes = [step.size] * step.draws
        if step.kind == "moments":
            sizes = [step.size, step.size * (step.size - 1) // 2]
        group, left = left[: len(sizes)], left[len(sizes) :]
        kind = "selection" if step.kind == "selection" else "gaussian"
        found = [draw.count if draw.kind == "selection" else len(draw.exact) for draw in group]
        if found != sizes or any(draw.kind != kind or not draw.is_whole for draw in group):
            return None
        groups.append(group)
    return None if left else groups


def _promised(made, options):
    """Compare what the release says of itself with what was asked for."""
    promise = made.provenance.calibrated_for
    stated = (promise.epsilon, promise.delta, promise.neighbors.value, promise.privacy_unit)
    unit = keywords(options).get("privacy_unit")
    if stated != (ALWAYS["epsilon"], ALWAYS["delta"], options["neighbors"], unit):
        yield "promise", "the promise is not the one that was asked for"
    if promise.complete is not (options["missing"] == "refuse"):
        yield "promise", "the promise holds among other tables than it says"
    if made.provenance.rows_per_unit != (options["rows_per_unit"] or 1):
        yield "promise", "the release states another number of rows for each person"


def _spent(made, expected, groups, pairs):
    """Add up the costs and compare with the promise, and with what the release lists."""
    costs = [
        (step.kind, reading.spent(step, [draw.scales[0] for draw in group]), max(1, group[0].count))
        for step, group in zip(expected, groups, strict=True)
    ]
    share = account.total_delta(costs, ALWAYS["epsilon"], pairs=pairs) / ALWAYS["delta"]
    if share > 1 + ROUNDING:
        yield "overspent", f"delta is {share:.4g} times what is promised"
    if share < 1 - SLACK:
        yield "wasted", f"only {share:.4g} of the promised delta is spent"
    names = [step.name for step in expected]
    if [event.name for event in made.events] != names or not all(
        _says(event, *cost) for event, cost in zip(made.events, costs, strict=True)
    ):
        yield "listed", "the events that the release lists are not what was done"


def _says(event, kind, value, count):
    """Whether an event states a distance or a range, and no less than was spent."""
    if kind == "selection":
        stated = event.range if isinstance(event, Selection) and event.count == count else None
    else:
        stated = 1 / event.multiplier if isinstance(event, Gaussian) else None
    # Scales are rounded up, to 32 bits: never less is said than was done, and hardly more.
    return stated is not None and -1e-14 * value <= stated - value <= 1e-8 * value


def _moved(expected, runs, options):
    """Compare all neighbors: any two candidates, or each with the row that adds nothing."""
    neighbors = list(combinations(range(len(runs)), 2))
    if options["neighbors"] == "add-remove":
        neighbors = [(0, place) for place in range(1, len(runs))]
    for place, step in enumerate(expected):
        exact = [[draw.exact for draw in run[place]] for run in runs]
        scales = [draw.scales[0] for draw in runs[0][place]]
        furthest = max(reading.moved(step, exact[a], exact[b], scales) for a, b in neighbors)
        if furthest > 1 + ROUNDING:
            yield "far", f"{step.name}: neighbors are {furthest:.6g} sensitivities apart"
        if furthest < step.nearly * (1 - ROUNDING):
            yield "loose", f"{step.name}: neighbors are at most {furthest:.4g} of it apart"
