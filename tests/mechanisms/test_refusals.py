"""Whatever can be refused without a row is refused before the table is looked at, for nothing."""

import inspect

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.errors import DpcovError, EngineError, MissingValueError
from dpcov.mechanisms import dense
from dpcov.mechanisms.door import NOISE_DRAWN, NOTHING_SPENT, refused_for_free


class Untouchable:
    """A table that fails the test when anything of it is asked for."""

    def __getattribute__(self, name):
        pytest.fail(f"the table was touched: {name}")

    def __len__(self):
        pytest.fail("the table was touched")

    __iter__ = __getitem__ = __array__ = __fspath__ = __len__


STATED = {
    dpcov.release: {"epsilon": 1.0, "delta": 1e-6},
    dpcov.release_pairs: {"epsilon": 1.0, "delta": 1e-6, "max_pairs": 3},
}
BOTH = {
    "epsilon": [0, -1, "1", None, np.nan, True, [1.0]],
    "delta": [0, 1, -1e-6, "x", None],
    "neighbors": ["local", "swap", None],
    "columns": [
        "no-such-file.toml",
        "columns.txt",
        5,
        {},
        {"a": {"lower": 1, "upper": 0}},
        {"a": (1, 2, 3)},
        {"a": {"center": 9, "upper": 1}},
        {"a": "wide"},
        {"a": {"width": 1}},
        {"a\n": {}},
        {"a": {"levels": ["f"]}},
        {"a": {"levels": ["f", "m"], "lower": 0}},
        {"a": {"missing": [-9], "complete": True}},
        {"a": {"unit": "fortnights"}},
        ["a", "a"],
        ["a", 1],
    ],
    "row_norm": [0, -1.0, "private", np.inf, True, [1.0], 1e30],
    "shares": [5, {"noise": 1}, {"moments": -1}, {"values": "half"}],
    "missing": ["drop", "", True],
    "header": ["yes", 1],
    "missing_codes": [[None], [np.nan], 3j, [True], {}],
    "csv": [";", {"delimiter": "ab"}, {"decimal": ","}, {"quote": "'"}],
    "engine": ["ray", 3],
    "progress": ["yes", 3],
    "seed": [-1, "x", 1.5],
    "privacy_unit": ["who", 3],
    "rows_per_unit": [2],
    "ledger": ["budget.db", 3],
    "request_id": ["spring", 3],
    "allow": ["small", ["tiny"], 3],
}
UNIT = {"privacy_unit": "who", "rows_per_unit": 2}
MORE = {
    dpcov.release: [
        {"weight": "w"},
        {"weight": "w", "weight_bound": 0},
        {"weight": 5, "weight_bound": 2.0},
        {"weight_bound": 2.0},
        {"privacy_unit": "who", "rows_per_unit": 0},
        {"privacy_unit": "who", "rows_per_unit": 1.5},
        UNIT | {"columns": {"who": (0, 1)}},
        {"epsilon": 1e-15, "delta": 1e-300},
        {"columns": {"a": {"levels": ["f", "m"]}}, "shares": {"levels": 0.95}},
    ],
    dpcov.release_pairs: [
        {"max_pairs": 0},
        {"max_pairs": "all"},
        {"max_pairs": None},
        {"columns": ["a", "b", "c"], "max_pairs": 4},
        {"columns": ["who", "a", "b"], "max_pairs": 2, "center": 0.0, **UNIT},
        {"columns": {"a": {}}, "max_pairs": 1},
        {"center": "private"},
        {"center": "mean"},
        {"center": np.nan},
        {"center": [[1.0], [2.0, 3.0]]},
        {"center": [0.0, 1.0], "columns": ["a", "b", "c"]},
        {"center": 1.0, "columns": {"a": {}, "b": {}, "c": {}}},
        {"center": "public"},
        {"center": "stated", "columns": {"a": {}, "b": {}, "c": {}}},
        {"scales": "private"},
        {"scales": -1.0},
        {"scales": 2.0, "cell_bound": 1.0},
        {"cell_bound": 1.0},
        {"cell_bound": 2.0, "row_norm": 1.0},
        {"center": "differences", "neighbors": "add-remove"},
        {"center": "learned", "neighbors": "add-remove"},
        {"center": "differences", **UNIT},
        {"epsilon": 1e-12, "delta": 1e-300, "neighbors": "add-remove"},
        {"shares": {"centers": 0}},
        {"shares": {"signs": "half"}, "center": "learned"},
    ],
}
CASES = [
    pytest.param(make, {name: value}, id=f"{make.__name__}, {name} {value!r}".replace("\n", " "))
    for make in STATED
    for name, values in BOTH.items()
    for value in values
    if not (make is dpcov.release and value == {"values": "half"})
] + [
    pytest.param(make, options, id=f"{make.__name__}, {options!r}")
    for make, cases in MORE.items()
    for options in cases
]


@pytest.mark.parametrize(("make", "options"), CASES)
def test_a_refusal_that_needs_no_row_comes_before_the_table(make, options):
    with pytest.raises(DpcovError) as refusal:
        make(Untouchable(), **STATED[make] | options)
    assert str(refusal.value).endswith(NOTHING_SPENT)


@pytest.mark.parametrize("make", STATED)
def test_every_option_has_a_refusal(make):
    """All but those that any number or table fits."""
    tried = {name for case in CASES if case.values[0] is make for name in case.values[1]}
    assert tried == set(inspect.signature(make).parameters) - {"table"}


@pytest.mark.parametrize("make", STATED)
def test_without_a_reason_to_refuse_the_table_is_touched(make):
    """A control: what is tried above goes as far as the table if nothing is wrong."""
    with pytest.raises(pytest.fail.Exception, match="touched"):
        make(Untouchable(), **STATED[make])


@pytest.mark.parametrize("make", STATED)
def test_a_refusal_of_rows_says_that_nothing_was_spent_too(make):
    rows = np.ones((5000, 3))
    rows[7, 1] = np.nan
    for table, options in (
        (rows, {"missing": "refuse"}),
        (rows, {"row_norm": 1.0, "missing": "refuse"}),
        (rows, {"row_norm": 1.0}),
        (pd.DataFrame({"a": ["x", "y"], "b": [1.0, 2.0]}), {}),
        ("no-such-file.csv", {}),
    ):
        with pytest.raises(DpcovError) as refusal:
            make(table, **STATED[make] | options)
        assert str(refusal.value).count(NOTHING_SPENT) == 1


def test_a_failure_after_noise_was_drawn_says_so_and_not_that_nothing_was_spent(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(5000, 3))

    def fail(*args, **keywords):
        raise EngineError("Workers died.")

    monkeypatch.setattr(dense, "release_gram", fail)
    with pytest.raises(EngineError) as before:
        dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=4.0)
    with pytest.raises(EngineError) as after:
        dpcov.release(rows, epsilon=1.0, delta=1e-6)  # a row norm was learned
    monkeypatch.undo()
    monkeypatch.setattr(dense, "lengthen", fail)
    with pytest.raises(EngineError) as at_the_end:
        dpcov.release(rows, epsilon=1.0, delta=1e-6)
    assert str(before.value) == f"Workers died. {NOTHING_SPENT}"
    assert after.value.budget_spent.startswith("observed, range, center,")
    assert str(after.value).endswith("The rest of the budget was not used.")
    assert str(at_the_end.value) == f"Workers died. {NOISE_DRAWN}"


def test_an_error_keeps_its_kind_and_says_it_once():
    with pytest.raises(MissingValueError, match=r"^A cell\. Nothing was spent\.$"):  # noqa: SIM117
        with refused_for_free(), refused_for_free():
            raise MissingValueError("A cell.")
    with pytest.raises(ImportError, match="Nothing was spent") as refusal, refused_for_free():
        raise dpcov.errors.MissingExtraError("needs dask.")
    assert refusal.value.msg == str(refusal.value)
