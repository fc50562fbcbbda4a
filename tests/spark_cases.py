"""A table and what is asked of it, for the tests of Spark's frames and of files that it reads."""

import numpy as np
import pyarrow as pa

N_ROWS = 400
GENERATOR = np.random.default_rng(0)
ROWS = GENERATOR.normal(size=(N_ROWS, 3))
GAPS = GENERATOR.random(N_ROWS) < 0.1
TABLE = pa.table(
    {
        "a": pa.array(ROWS[:, 0], mask=GAPS),
        "b.c": ROWS[:, 1],
        "d`": ROWS[:, 2],
        "sex": pa.array(GENERATOR.choice(["f", "m"], N_ROWS)),
        "weight": GENERATOR.uniform(0.5, 2.0, N_ROWS),
        "who": [f"person {who}" for who in GENERATOR.integers(0, 250, N_ROWS)],
    }
)
NUMBERS = {"a": {}, "b.c": (-2, None), "d`": {"center": 0.0}}
BUDGET = {"epsilon": 20.0, "delta": 1e-6, "seed": 7}
UNITS = {"privacy_unit": "who", "missing": "center"}
PAIRS = {"columns": ["a", "b.c", "d`"], "max_pairs": 2, "missing": "center"}
CASES = {
    "moments": {"columns": NUMBERS, "row_norm": 3.0, "missing": "center"},
    "learned": {"columns": NUMBERS},
    "categories": {"columns": {**NUMBERS, "sex": {"levels": ["f", "m"]}}},
    "weights": {"columns": NUMBERS, "weight": "weight", "weight_bound": 2.0},
    "add-remove": {"columns": NUMBERS, "neighbors": "add-remove"},
    "units": {"columns": NUMBERS, "rows_per_unit": 2, **UNITS},
    "pairs": {**PAIRS, "center": "learned"},
    "differences": {**PAIRS, "center": "differences"},
    "differences of people": {**PAIRS, **UNITS, "rows_per_unit": 1, "center": "differences"},
    "no center": PAIRS,
}
HIDDEN = {"spark.io.encryption.enabled": "true"}
CELL = "987654321012"


def for_pairs(case):
    """Return the columns that a case reads: names alone rename all columns."""
    if "max_pairs" not in CASES[case]:
        return TABLE, CASES[case]
    kept = ["a", "b.c", "d`", *(["who"] if "privacy_unit" in CASES[case] else [])]
    return TABLE.select(kept), {**CASES[case], "columns": None}


def contents(made, tmp_path):
    made.save(tmp_path / "release.npz")
    return (tmp_path / "release.npz").read_bytes()
