"""Every draw of missing="complete", for neighboring tables; and bugs that this finds.

A table goes through the whole dense mechanism. Sensitivities are those of events, and exact sums
those that reach the noise door.
"""

from itertools import combinations

import numpy as np
import pytest

from dpcov.columns.fields import Field
from dpcov.columns.missing import Missing
from dpcov.errors import DpcovError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.dense import DenseOptions, release_dense
from dpcov.mechanisms.learning import stated
from dpcov.privacy import ApproxDP
from dpcov.sensitive.engines.serial import SerialEngine
from wiring.learning import DRAWS, OTHERS, ROUNDING
from wiring.planting import plant
from wiring.watching import Watch

pytestmark = [pytest.mark.claim("P26"), pytest.mark.claim("P27")]

SEX = ("f", "m", "x")
TABLES = {
    "numbers": (Field("a"), Field("b"), Field("c", may_be_missing=False)),
    "both": (Field("a"), Field("sex", SEX), Field("b", may_be_missing=False)),
    "categories": (Field("sex", SEX), Field("more", SEX), Field("yet", SEX)),
}
BOUND = 3.0
NAN, INF = np.nan, np.inf
# Cells of one person, as numbers and as levels, and the weight.
PEOPLE = [
    ([NAN, NAN, NAN], [NAN, NAN, NAN], BOUND),
    ([NAN, 1.0, 1.0], [NAN, 1.0, 1.0], BOUND),
    ([1.0, 1.0, NAN], [1.0, 1.0, -1.0], BOUND),
    ([1e300, INF, 1.0], [2.0, 0.5, 1.0], BOUND),
    ([1e300, 1e300, 1e300], [0.0, 0.0, 0.0], BOUND),
    ([-1e300, -1e300, -1e300], [1.0, 1.0, 1.0], 1e9),
    ([-7.0, -7.0, -7.0], [2.0, 2.0, 2.0], BOUND),
    ([2.0, 2.0, 2.0], [0.0, 1.0, 2.0], 0.5),
    ([40.0, 0.0, -9.0], [1.0, 2.0, 0.0], BOUND),
    ([0.0, 0.0, 0.0], [1.0, 1.0, 2.0], 0.0),
    ([3.0, 3.0, 3.0], [0.0, 0.0, 1.0], NAN),
]
OPTIONS = [
    (kind, neighbors, rows, bound)
    for kind in TABLES
    for neighbors in ("replace", "add-remove")
    for rows, bound in ((1, None), (3, None), (1, BOUND), (3, BOUND))
]


class Table:
    """Rows in memory, of stated fields."""

    def __init__(self, rows, fields):
        self._rows, self.fields, self.n_rows = rows, fields, len(rows)
        self.columns = tuple(field.name for field in fields)

    def blocks(self, size):
        for start in range(0, self.n_rows, size):
            yield self._rows[start : start + size]

    def split(self, parts):
        return None


def release(watch, options, person, answers=None, allow=("mismatch",), **about):
    """Release a table in which one person has some rows; return the events and all draws."""
    kind, neighbors, rows, bound = options
    fields = TABLES[kind]
    numbers, levels, weight = person
    is_number = [field.levels is None for field in fields]
    table = OTHERS.copy()
    codes = np.arange(OTHERS.size).reshape(OTHERS.shape) * 7 % 11 % len(SEX)
    table[:, np.logical_not(is_number)] = codes[:, np.logical_not(is_number)]
    table[::4, 1] = NAN
    own = np.where(is_number, numbers, levels)
    table = np.vstack([table, *[own] * rows])
    if bound is not None:
        weights = np.linspace(0.1, bound, len(OTHERS))
        table = np.column_stack([table, [*weights, *[weight] * rows]])
        fields = (*fields, Field("weight"))
    asked = DenseOptions(
        promise=ApproxDP(2000.0, 1e-6, neighbors),
        facts=None,
        row_norm=None,
        shares=None,
        rows_per_unit=rows,
        missing=Missing.COMPLETE,
        weight_bound=bound,
        allow=frozenset(allow),
    )
    watch.begin(answers)
    made = release_dense(
        asked.rows(Table(table, fields)),
        asked,
        engine=SerialEngine(),
        stream=RandomStream.from_seed(1),
        **about,
    )
    return made.events, watch.draws


def audit(watch, options):
    """Return which steps neighbors move further than their events say."""
    _, draws = release(watch, options, PEOPLE[6])
    generator, found = np.random.default_rng(3), set()
    far = [draw.exact * 0 + (1 << 34) * generator.choice([-1, 1]) for draw in draws]
    for answers in ([draw.answer for draw in draws], far):
        runs = [release(watch, options, person, answers) for person in PEOPLE]
        events, draws = runs[0]
        if any([d.scales for d in each] != [d.scales for d in draws] for _, each in runs):
            return {"the noise depends on the rows"}
        if any(made != events for made, _ in runs):
            return {"the events depend on the rows"}
        start = 0
        for event in events:
            left = len(draws) - start
            size = left if event.name == "moments" else DRAWS.get(event.name, 1)
            for (_, one), (_, two) in combinations(runs, 2):
                pairs = zip(one[start : start + size], two[start : start + size], strict=True)
                moved = sum(
                    float((((a.exact - b.exact) / a.scales[0]) ** 2).sum()) for a, b in pairs
                )
                if moved**0.5 * event.multiplier > 1 + ROUNDING:
                    found.add(event.name)
            start += size
        assert start == len(draws)
    return found


@pytest.fixture
def watch(monkeypatch):
    monkeypatch.setattr(stated, "ruler_bits", lambda n_columns: 5)  # faster
    return Watch().stand(monkeypatch)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, o)))
def test_every_step_pays_for_how_far_a_person_moves_it(watch, options):
    assert audit(watch, options) == set()


COMPLETE = "sensitive.tables.complete:only_complete"
COUNT = "mechanisms.learning.steps:find_observed"
# What is planted, where, and the step that is then moved too far.
BUGS = {
    "weights beyond their bound": (
        "exact.weighing:weight_shares",
        "np.clip(shares, 0.0, 1.0, out=shares)",
        "np.clip(shares, 0.0, 2.0, out=shares)",
        "weights",
    ),
    "complete rows counted twice": (
        COUNT,
        "noise.on(counts.observed(places), stream)",
        "noise.on(2 * counts.observed(places), stream)",
        "observed",
    ),
    "several rows of a person paid as one": (
        "mechanisms.learning.quantiles:Payment.noise",
        "rows=self.rows_per_unit",
        "rows=1",
        "observed",
    ),
    "two sums of weights paid as one": (
        "mechanisms.learning.steps:find_weights",
        "columns=2",
        "columns=1",
        "weights",
    ),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(watch, monkeypatch, bug):
    where, old, new, step = BUGS[bug]
    plant(monkeypatch, where, old, new)
    assert step in audit(watch, ("numbers", "replace", 3, BOUND))


def stops(watch, options, share, **about):
    """Return how the releases of neighbors end, given the same count of complete rows."""
    _, draws = release(watch, options, PEOPLE[6])
    answers = [draw.exact.copy() for draw in draws[:2]]
    answers[1][:] = (answers[1] * share).astype(np.int64)
    ends = set()
    for person in PEOPLE:
        seen = []
        try:
            release(watch, options, person, answers, accept=seen.append, **about)
        except DpcovError as stop:
            seen.append((type(stop), str(stop)))
        ends.add(tuple(seen))
    return ends


@pytest.mark.parametrize("share", [0.0, 0.01, 0.4, 0.97])
def test_whether_and_how_it_ends_follows_from_the_noisy_count(watch, share):
    options = ("numbers", "replace", 1, None)
    assert len(stops(watch, options, share, allow=())) == 1
    ends = stops(watch, options, share)
    assert len(ends) == 1


def test_an_exact_count_that_is_looked_at_is_found(watch, monkeypatch):
    plant(
        monkeypatch,
        "mechanisms.learning.learn:learn_columns",
        "int(likely * counts.n_rows)",
        "int(counts.observed(stated.places_counted)[0])",
    )
    assert len(stops(watch, ("numbers", "replace", 1, None), 0.4)) == 2
