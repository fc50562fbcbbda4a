"""The audit of learning: what its steps spend, and whether sums stay in bounds.

It knows the sensitivities by hand and asks the library for none of them.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np

from dpcov.columns.missing import Missing
from dpcov.errors import ParameterError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.learning import budget, learn
from dpcov.mechanisms.learning.stated import Stated
from dpcov.privacy import ApproxDP, gaussian_scale
from dpcov.sensitive.engines.serial import SerialEngine
from dpcov.sensitive.tables import open_table

OTHERS = np.random.default_rng(5).normal(2.0, 3.0, size=(40, 3))
ROUNDING = 1e-9
EPSILON = 60.0  # so little noise that quantiles of so few rows are not all medians
# How many times noise is drawn for each step.
DRAWS = {
    "range": 9, "center": 14, "limit": 7, "mean": 1, "scale": 1, "beyond": 1, "radius": 7,
    "clipping": 1,
}  # fmt: skip
# Which steps have something to learn: bounds are wide, and ranges within them are learned, too.
STEPS = {kind: list(DRAWS) for kind in ("nothing", "bounds", "some")} | {
    "all": ["beyond", "radius", "clipping"]
}
LOOSE = "at most"
NAN, INF = np.nan, np.inf


def stated(kind):
    """Return what is stated of three columns."""
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
    return Stated(
        **{
            name: np.array(facts.get(name, getattr(plain, name)))
            for name in ("lower", "upper", "center", "scale")
        }
    )


def candidates():
    """Return rows that one person may have; the first adds nothing."""
    some = [-1e300, -1e3, -7.0, 0.0, 2.0, 3.0, 40.0, 1e300]
    rows = [np.full(3, cell) for cell in some]
    rows += [np.array([NAN, 5.0, -5.0]), np.array([INF, 1e-320, -0.0]), np.array([1e9, 0, -1e9])]
    return [np.full(3, NAN), *rows]


def run(watch, options, row, answers=None):
    """Learn from a table in which one person has `row` as often as allowed, or none."""
    watch.begin(answers)
    rows_per_unit = options.get("rows_per_unit", 1)
    facts = stated(options.get("stated", "nothing"))
    promise = ApproxDP(EPSILON, 1e-6, options.get("neighbors", "replace"))
    split = budget.split_budget(
        promise,
        facts,
        rows_per_unit=rows_per_unit,
        shares=options.get("shares"),
    )
    own = [] if row is None else [row] * rows_per_unit
    lesson = learn.learn(
        open_table(np.array([*OTHERS, *own])),
        facts,
        split,
        missing=Missing.CENTER,
        engine=SerialEngine(),
        stream=RandomStream.from_seed(1),
    )
    return replace(lesson, events=(*lesson.events, split.event("moments"))), watch.draws


def audit(watch, options):
    """Return what is wrong with learning under these options."""
    rows = candidates()
    lesson, draws = run(watch, options, rows[3])
    rows.append(lesson.reading.center)
    found = _audit_given(watch, options, rows, [draw.answer for draw in draws])
    # After other answers other questions are asked; some of them hardly ever come.
    generator = np.random.default_rng(3)
    for size in (0, 1 << 34, 1 << 62):
        sign = generator.choice([-1, 1], size=len(draws))
        answers = [draw.exact * 0 + size * each for draw, each in zip(draws, sign, strict=True)]
        found |= {what for what in _audit_given(watch, options, rows, answers) if LOOSE not in what}
        if size == 1 << 62:
            found |= _audit_nobody(watch, options, answers)
    return sorted(found)


def _audit_nobody(watch, options, answers):
    """Compare a person whose rows have no cells with nobody: sums are those of the others.

    After answers this large the number of rows, which differs, decides nothing but which tails
    ranges and limits leave.
    """
    (_, with_one), (_, without) = (
        run(watch, options, row, answers) for row in (candidates()[0], None)
    )
    found, start = set(), 0
    for step in STEPS[options.get("stated", "nothing")]:
        stop = start + DRAWS[step]
        pairs = zip(with_one[start:stop], without[start:stop], strict=True)
        alike = all(np.array_equal(one.exact, other.exact) for one, other in pairs)
        if not alike and step not in ("range", "limit"):
            found.add(f"{step}: a row without cells adds to it")
        start = stop
    return found


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
    start = 0
    for event in events:
        stop = start + DRAWS[event.name]
        furthest = max(
            sum(
                float(((one.exact - two.exact).astype(float) ** 2).sum()) / one.scales[0] ** 2
                for one, two in zip(runs[a][start:stop], runs[b][start:stop], strict=True)
            )
            for a, b in neighbors
        )
        share = furthest**0.5 * event.multiplier
        if share > 1 + ROUNDING:
            yield f"{event.name}: neighbors are {share:.4g} sensitivities apart"
        if share < 0.7:  # where bounds are stated, a cell of one column cannot be beyond them
            yield f"{event.name}: neighbors are {LOOSE} {share:.4g} of it apart"
        start = stop


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
            for n in ("lower", "upper", "center", "scale")
        )
    )
