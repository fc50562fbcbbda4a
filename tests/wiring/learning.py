"""The audit of learning: what its steps spend, and whether sums stay in bounds.

It knows the sensitivities by hand and asks the library for none of them.
"""

from dataclasses import replace
from itertools import combinations, pairwise
from unittest.mock import patch

import numpy as np

from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning import budget, learn, steps
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.tuning import DEFAULT
from dpcov.privacy import ApproxDP, gaussian_scale
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.tables import open_table

N_OTHERS, N_GAPS = 40, 12
OTHERS = np.random.default_rng(5).normal(2.0, 3.0, size=(N_OTHERS, 3))
SEX, ANSWER = ("f", "m", "x"), ("no", "yes")
# Tables of other columns than three complete numbers: all have three columns.
DESIGNS = {
    "gaps": (Field("a"), Field("b"), Field("c", may_be_missing=False)),
    "categories": (
        Field("a", may_be_missing=False),
        Field("sex", SEX, may_be_missing=False),
        Field("answer", ANSWER, may_be_missing=False),
    ),
    "both": (Field("a"), Field("sex", SEX), Field("answer", ANSWER, may_be_missing=False)),
    "categories alone": (Field("sex", SEX), Field("answer", ANSWER), Field("more", SEX)),
}
ROUNDING = 1e-9
EPSILON = 2000.0  # so little noise that quantiles of so few rows are not all medians
# How many times noise is drawn for each step.
DRAWS = {
    "observed": 1, "range": 9, "center": 14, "limit": 7, "mean": 1, "scale": 1, "beyond": 1,
    "levels": 1, "radius": 7, "clipping": 1,
}  # fmt: skip
# Which steps have something to learn: bounds are wide, and ranges within them are learned, too.
LENGTHS = ["radius", "clipping"]
NUMBERS = ["range", "center", "limit", "mean", "scale", "beyond"]
STEPS = {kind: [*NUMBERS, *LENGTHS] for kind in ("nothing", "bounds", "some")} | {
    "all": ["beyond", *LENGTHS],
    "gaps": ["observed", *NUMBERS, *LENGTHS],
    "categories": [*NUMBERS, "levels", *LENGTHS],
    "both": ["observed", *NUMBERS, "levels", *LENGTHS],
    "categories alone": ["observed", "levels", *LENGTHS],
}
LOOSE = "at most"
SURE = replace(DEFAULT, seen=0.0)  # what is seen to vary does not follow from the number of rows
NAN, INF = np.nan, np.inf


def stated(kind):
    """Return what is stated of three columns, or which ones there are."""
    if kind in DESIGNS:
        return Stated.of([None] * 3, Design(DESIGNS[kind]))
    facts = {
        "nothing": {},
        "bounds": {"lower": [-50.0, 0.0, 1.0], "upper": [50.0, 60.0, 9.0]},
        "some": {
            "lower": [-50.0, -INF, -INF],
            "upper": [50.0, INF, 70.0],
            "center": [NAN, 2.0, NAN],
            "scale": [NAN, 3.0, 4.0],
        },
        "all": {"center": [1.0, 2.0, 3.0], "scale": [3.0, 3.0, 3.0]},
    }[kind]
    plain = Stated.nothing(3)
    return replace(plain, **{name: np.array(values) for name, values in facts.items()})


def others(kind):
    """Return the rows of everybody else; as many cells are missing wherever some may be."""
    rows = OTHERS.copy()
    generator = np.random.default_rng(6)
    for place, field in enumerate(DESIGNS.get(kind, ())):
        if field.levels is not None:
            rows[:, place] = generator.integers(0, len(field.levels), size=N_OTHERS)
        if field.may_be_missing:
            rows[generator.permutation(N_OTHERS)[:N_GAPS], place] = NAN
    return rows


def candidates(kind):
    """Return rows that one person may have; the first has no cell."""
    if kind in DESIGNS:
        # Beside levels there are cells that are none: they are missing.
        cells = [(-1e300, 0.0), (1e300, 1.0), (0.0, 2.0), (2.0, 1.0), (NAN, 0.0), (7.0, NAN)]
        cells += [(INF, -1.0), (3.0, 0.5), (1e9, 1e300), (40.0, 0.0)]
        rows = [np.full(3, NAN)]
        for number, level in cells:
            row = [number if each.levels is None else level for each in DESIGNS[kind]]
            rows.append(np.array(row))
        return rows
    some = [-1e300, -1e3, -7.0, 0.0, 2.0, 3.0, 40.0, 1e300]
    rows = [np.full(3, cell) for cell in some]
    rows += [np.array([NAN, 5.0, -5.0]), np.array([INF, 1e-320, -0.0]), np.array([1e9, 0, -1e9])]
    return [np.full(3, NAN), *rows]


def run(watch, options, row, answers=None, tuning=DEFAULT):
    """Learn from a table in which one person has `row` as often as allowed, or none."""
    watch.begin(answers)
    rows_per_unit = options.get("rows_per_unit", 1)
    kind = options.get("stated", "nothing")
    facts = stated(kind)
    promise = ApproxDP(EPSILON, 1e-6, options.get("neighbors", "replace"))
    split = budget.split_budget(
        promise,
        facts,
        rows_per_unit=rows_per_unit,
        shares=options.get("shares"),
    )
    own = [] if row is None else [row] * rows_per_unit
    lesson = learn.learn(
        open_table(np.array([*others(kind), *own])),
        facts,
        split,
        missing=Missing.PAIRWISE if kind in DESIGNS else Missing.CENTER,
        engine=SerialEngine(),
        stream=RandomStream.from_seed(1),
        tuning=tuning,
    )
    return replace(lesson, events=(*lesson.events, split.event("moments"))), watch.draws


def audit(watch, options):
    """Return what is wrong with learning under these options."""
    kind = options.get("stated", "nothing")
    rows = candidates(kind)
    lesson, draws = run(watch, options, rows[3])
    if kind not in DESIGNS:
        rows.append(lesson.reading.center)
    found = _audit_given(watch, options, rows, [draw.answer for draw in draws])
    # After other answers other questions are asked; some of them hardly ever come.
    generator = np.random.default_rng(3)
    for size in (0, 1 << 34, 1 << 62):
        sign = generator.choice([-1, 1], size=len(draws))
        answers = [draw.exact * 0 + size * each for draw, each in zip(draws, sign, strict=True)]
        found |= {what for what in _audit_given(watch, options, rows, answers) if LOOSE not in what}
        if size == 1 << 62:
            with patch.object(steps, "count_noise", lambda *_: 0.0):
                found |= _audit_nobody(watch, options, answers)
    return sorted(found)


def _audit_nobody(watch, options, answers):
    """Compare a person whose rows have no cells with nobody: sums are those of the others.

    After answers this large the number of rows, which differs, decides nothing but which tails
    ranges and limits leave, and what is seen to vary: here it does not decide that either. Where
    gaps are counted, a row without cells is a row like others, and it has a length.
    """
    kind = options.get("stated", "nothing")
    if any(field.may_be_missing for field in DESIGNS.get(kind, ())):
        return _audit_present(watch, options, answers)
    (_, with_one), (_, without) = (
        run(watch, options, row, answers, SURE) for row in (candidates(kind)[0], None)
    )
    found, start = set(), 0
    for step in STEPS[options.get("stated", "nothing")]:
        stop = start + DRAWS[step]
        pairs = zip(with_one[start:stop], without[start:stop], strict=True)
        alike = all(np.array_equal(one.exact, other.exact) for one, other in pairs)
        if not alike:
            found.add(f"{step}: a row without cells adds to it")
        start = stop
    return found


def _audit_present(watch, options, answers):
    """Compare every person with nobody: no step moves further than its event says."""
    try:
        made, without = run(watch, options, None, answers, SURE)
        rows = candidates(options["stated"])
        runs = [run(watch, options, row, answers, SURE)[1] for row in rows]
    except ParameterError as refusal:
        return {f"no outcome but: {refusal}"}
    if any([d.exact.size for d in draws] != [d.exact.size for d in without] for draws in runs):
        return {"the number of draws depends on whether somebody is there"}
    found, places = set(), _places(made.events[:-1])
    for draws in runs:
        for event, (start, stop) in zip(made.events, places, strict=False):
            share = _apart(draws[start:stop], without[start:stop]) * event.multiplier
            if share > 1 + ROUNDING:
                found.add(f"{event.name}: a person is {share:.4g} sensitivities from nobody")
    return found


def _places(events):
    """Return from where to where the draws of each step stand."""
    ends = np.cumsum([0, *(DRAWS[event.name] for event in events)]).tolist()
    return list(pairwise(ends))


def _apart(draws, others):
    """Return how far two tables are apart in a step, in units of its noise."""
    return float(
        sum(
            ((one.exact - two.exact).astype(float) ** 2).sum() / one.scales[0] ** 2
            for one, two in zip(draws, others, strict=True)
        )
        ** 0.5
    )


def _audit_given(watch, options, rows, answers):
    try:
        runs = [run(watch, options, row, answers) for row in rows]
    except ParameterError as refusal:  # what is learned is never refused
        return {f"no outcome but: {refusal}"}
    made, draws = runs[0]
    events = made.events
    found = set()
    if [event.name for event in events[:-1]] != STEPS[options.get("stated", "nothing")]:
        return {"the steps are not those that have something to learn"}
    if any(len(each) != sum(DRAWS[event.name] for event in events[:-1]) for _, each in runs):
        return {"the number of draws is not that of the steps"}
    if any([d.scales for d in each] != [d.scales for d in draws] for _, each in runs):
        found.add("the noise depends on the rows")
    if any(not same(again, made) for again, _ in runs):
        found.add("what is learned is not a function of what passed the door")
    whole = sum(1 / event.multiplier**2 for event in events)
    paid = 1 / gaussian_scale(epsilon=EPSILON, delta=1e-6) ** 2
    if not paid * (1 - 1e-6) <= whole <= paid * (1 + 1e-12):
        found.add("the events do not add up to the promise")
    return found | set(_moved([draws for _, draws in runs], events[:-1], options))


def _moved(runs, events, options):
    """Compare neighbors: squared distances of a step add up to no more than its event says.

    In either relation any row may take the place of another: one that adds nothing to the
    moments has cells, at the centers, where others are refused.
    """
    neighbors = list(combinations(range(len(runs)), 2))
    for event, (start, stop) in zip(events, _places(events), strict=True):
        furthest = max(_apart(runs[a][start:stop], runs[b][start:stop]) for a, b in neighbors)
        share = furthest * event.multiplier
        if share > 1 + ROUNDING:
            yield f"{event.name}: neighbors are {share:.4g} sensitivities apart"
        # Where bounds are stated, a cell of one column cannot be beyond them. Rows of nothing but
        # categories are about as long as each other.
        alike = event.name in LENGTHS and options.get("stated") == "categories alone"
        if share < 0.7 and not alike:
            yield f"{event.name}: neighbors are {LOOSE} {share:.4g} of it apart"


def same(one, two):
    """Whether two lessons are equal in all that is seen."""
    learned, other = one.learned, two.learned
    names = ("lower", "upper", "beyond", "beyond_error")
    names += ("known_range", "known_center", "known_scale")
    return (
        one.events == two.events
        and one.row_norm == two.row_norm
        and learned.clipping == other.clipping
        and all(np.array_equal(getattr(learned, n), getattr(other, n)) for n in names)
        and all(
            np.array_equal(getattr(one.reading, n), getattr(two.reading, n))
            for n in ("lower", "upper", "center", "scale", "observed")
        )
    )
