"""Every option of both functions, the values that are tried, and the tables they are tried on.

A new option must be given values here: `test_wiring` compares the names with the signatures.
"""

import inspect
from functools import cache
from itertools import product

import numpy as np

import dpcov

SIZE = 4  # columns: small enough to reason about, and corners of a cube are orthogonal
ROWS = 2000  # enough to learn from, with several rows of each person too
PEOPLE_ROWS = 3  # how many rows of one person count, with privacy_unit=
FAR = 1e6
NAMES = [f"x{i + 1}" for i in range(SIZE)]
CENTER, SCALE = np.array([3.0, -1.0, 0.5, 10.0]), np.array([2.0, 0.5, 1.0, 4.0])
FACTS = {
    name: {"center": center, "scale": scale}
    for name, center, scale in zip(NAMES, CENTER, SCALE, strict=True)
}
# Their middle and half their distance are the same centers and scales.
BOUNDED = {
    name: (center - scale, center + scale)
    for name, center, scale in zip(NAMES, CENTER, SCALE, strict=True)
}
# As a person states them: far apart.
WIDE = {
    name: (center - 40 * scale, center + 40 * scale)
    for name, center, scale in zip(NAMES, CENTER, SCALE, strict=True)
}
# With a row norm, what is not stated are a center of 0, or the one bound, and a scale of 1.
PARTLY = {"x1": {"center": 3.0}, "x2": {"scale": 0.5}, "x3": {}, "x4": (6.0, None)}
PARTLY_UNITS = np.array([3.0, 0.0, 0.0, 6.0]), np.array([1.0, 0.5, 1.0, 1.0])

# What decides which noisy steps there are and how far a person moves them: all combinations.
CORE = {
    "max_pairs": [None, 2, 6],  # without it, all covariances are released
    "neighbors": ["replace", "add-remove"],
    "row_norm": [None, 1.0],
    "center": [None, "stated", 0.25, "learned", "differences"],
    "scales": [None, tuple(SCALE), "none"],
    "cell_bound": [None, 0.5**0.5],
    "rows_per_unit": [None, PEOPLE_ROWS],
}
# The rest: combinations of the above are tried again with some of these, in turn.
SIDES = {
    "columns": [None, "names", FACTS, BOUNDED, WIDE, PARTLY],
    "missing": ["refuse", "center", "pairwise"],
    "shares": [
        None,
        {"center": 0.2, "radius": 0.01},
        {"selection": 1, "values": 3},
        {"centers": 2, "signs": 1},
    ],
    "engine": [None, None, None, "dask"],  # which is slow, and adds the same numbers up
    "table": ["array", "stream"],
}
# Stated the same in all of them. A seed lets differences pair the same rows in every run.
# Whether a file has a header, how it is written, and which codes mean that a cell is missing are
# matters of reading, not of noise. Weights are not audited here: `test_taint.py` looks at them. A
# ledger takes no seed: that the noise with one is that of the events is tests/ledger's to see.
ALWAYS = {"epsilon": 4.0, "delta": 1e-6, "seed": 7, "progress": False, "header": None}
ALWAYS |= {"csv": None, "missing_codes": None, "ledger": None, "request_id": None, "allow": ()}
WEIGHTS = {"weight", "weight_bound"}
NOT_OPTIONS = {"table", "privacy_unit"}  # the table, and a name that goes with rows_per_unit
OWN = {"table"}  # how the table is handed over is a choice of this test
E1, E2 = np.eye(SIZE)[:2]
ORTHOGONAL = -E1 / 16 + (1 - 16**-2) ** 0.5 * E2  # to E1, together with the constant


def function(options):
    """Return which function takes these options."""
    return dpcov.release if options["max_pairs"] is None else dpcov.release_pairs


def is_meant(options):
    """Whether no option is stated that the function does not have."""
    known = set(inspect.signature(function(options)).parameters) | OWN
    return all(value is None for name, value in options.items() if name not in known)


def learns(options):
    """Whether facts of columns and a row norm are learned."""
    return options["max_pairs"] is None and options["row_norm"] is None


def core_choices():
    """Yield all combinations of the core, with everything else at its default.

    Where something is learned, what is stated of columns and missing cells decide as well.
    """
    plain = {name: values[0] for name, values in SIDES.items()}
    for values in product(*CORE.values()):
        options = dict(zip(CORE, values, strict=True)) | plain
        if is_meant(options) and learns(options):
            for columns, missing in product(SIDES["columns"], SIDES["missing"]):
                yield options | {"columns": columns, "missing": missing}
        elif is_meant(options):
            yield options


def side_choices():
    """Return all combinations of the rest, but the plain one; each value comes soon."""
    rest = [dict(zip(SIDES, values, strict=True)) for values in product(*SIDES.values())][1:]
    return [rest[place] for place in np.random.default_rng(0).permutation(len(rest))]


def keywords(options):
    """Return what is passed to the function."""
    known = inspect.signature(function(options)).parameters
    passed = {name: value for name, value in options.items() if name in known} | ALWAYS
    passed.pop("table")
    passed["allow"] = options.get("allow", ())
    several = options["rows_per_unit"] is not None
    if options["columns"] == "names":
        stream = options["table"] == "stream"
        passed["columns"] = ["whose", *NAMES] if several and not stream else NAMES
    if several:
        plain = options["table"] == "array" and options["columns"] is None
        passed["privacy_unit"] = "x0" if plain else "whose"
    if isinstance(options["scales"], tuple):
        passed["scales"] = np.array(options["scales"])
    return passed


def units(options):
    """Return the centers and scales of working units: what a row of zeros means.

    Where they are learned, those that make the rows of others what they are.
    """
    if learns(options):
        return CENTER, SCALE
    if options["columns"] == WIDE:
        return CENTER, 40 * SCALE
    if options["columns"] == PARTLY:
        return PARTLY_UNITS
    if isinstance(options["columns"], dict):
        return CENTER, SCALE
    center = options["center"] if isinstance(options["center"], float) else 0.0
    # Scales are standard deviations to publish, and no units.
    return np.full(SIZE, center), np.ones(SIZE)


@cache
def others():
    """Return the rows of everybody else, in working units: of all lengths.

    Columns 0 and 1 agree in sign, 0 and 3 disagree: sums of either sign for the pairs.
    """
    generator = np.random.default_rng(5)
    rows = generator.normal(size=(ROWS, SIZE))
    rows[:, 1], rows[:, 3] = abs(rows[:, 1]), -abs(rows[:, 3])
    rows[:, [1, 3]] *= np.sign(rows[:, [0]])
    lengths = np.exp2(generator.uniform(-2, 2, size=ROWS))
    return rows * (lengths / np.sqrt((rows**2).sum(axis=1)))[:, None]


def learns_centers(options):
    """Whether signs are about centers that are learned: stated, or the rule for no center.

    There are so many rows here that differences are taken where they can be had.
    """
    if options["max_pairs"] is None or options["center"] is not None:
        return options["center"] == "learned"
    return options["neighbors"] != "replace" or options["rows_per_unit"] is not None


def candidates(options, made=None):
    """Return rows that a person may have; the first adds nothing.

    Among them are those that are furthest apart, for each of the steps that there may be. Where
    the rows are read as an earlier release learned, that is `made`.
    """
    if learns(options):
        rows = _candidates_to_learn_from(made)
    else:
        center, scale = units(options)
        rows = [center + scale * row for row in _working_candidates(options)]
    if options["missing"] != "refuse":
        rows += [np.array([FAR, np.nan, 0, 0]), np.array([np.nan, FAR, np.inf, 0])]
    return rows


def _candidates_to_learn_from(made):
    """Return rows in own units: without cells, far to each side, at zero, and as they are read."""
    sides = np.array([1.0, -1.0, 1.0, -1.0])
    far = 4 * FAR  # beyond 2^20: on one side or the other of every window but the first
    rows = [np.full(SIZE, np.nan), np.full(SIZE, far), np.full(SIZE, -far), np.zeros(SIZE)]
    rows.append(far * sides)
    if made is not None:
        center, scale = made.units.center, made.units.scale
        long = 1.005 * made.provenance.row_norm
        rows += [center + scale * long * row for row in (0 * E1, E1, ORTHOGONAL)]
    return rows


def _working_candidates(options):
    e1, e2, e3, e4 = np.eye(SIZE)
    # About a center that is learned, a row of zeros adds something; one without cells does not.
    without = learns_centers(options)
    rows = [
        np.full(SIZE, np.nan) if without else 0 * e1,
        FAR * e1,
        FAR * e2,
        1.005 * e1,  # half a percent too long
        FAR * (e1 + e2 + e3 + e4),
    ]
    if options["max_pairs"] is not None or isinstance(options["columns"], dict):
        rows.append(FAR * (e1 - e2 + e3 - e4))
        rows.append(-FAR * (e1 + e2 + e3 + e4))  # below all centers that are learned
    if options["max_pairs"] is None:
        rows.append(FAR * ORTHOGONAL)
    if options["cell_bound"] is not None:
        rows += [FAR * (e1 + e2), FAR * (e3 + e4)]
    return rows


def places(options):
    """Return which rows are the person's: with units, more than count, not side by side."""
    return [90] if options["rows_per_unit"] is None else [2, 50, 90, 200, 333]


def rows_that_count(options):
    """Return how many rows are used: all but those of a person who has too many."""
    return ROWS - max(0, len(places(options)) - (options["rows_per_unit"] or 1))


def table(row, options, *, alone=False):
    """Return everybody's rows and whose they are, the person's among them.

    If the person is alone, the rows of everybody else add nothing.
    """
    facts = (row, *units(options))
    gaps = {"refuse": 0, "center": 2, "pairwise": ROWS // 4}[options["missing"]]
    return _table(*(tuple(fact.tolist()) for fact in facts), tuple(places(options)), gaps, alone)


@cache
def _table(row, center, scale, places, gaps, alone):
    rows, whose = others() * (not alone), np.arange(1.0, ROWS + 1)
    # In one column no cell is missing, in the others as many, not all in the same rows.
    for place in range(1, SIZE):
        rows[7 * place : 7 * place + gaps, place] = np.nan
    rows = np.array(center) + np.array(scale) * rows
    rows[list(places)], whose[list(places)] = row, 0
    return rows, whose


def handed_over(row, options, *, alone=False):
    """Return the table as the kind of object that the options ask for."""
    rows, whose = table(row, options, alone=alone)
    several = options["rows_per_unit"] is not None
    if options["table"] == "stream" or isinstance(options["columns"], dict):
        import pandas as pd
        import pyarrow as pa

        frame = pd.DataFrame(rows, columns=NAMES)
        if several:
            frame.insert(1, "whose", whose)
        if options["table"] == "stream":
            return pa.Table.from_pandas(frame, preserve_index=False).to_reader(64)
        return frame
    return np.column_stack([whose, rows]) if several else rows
