"""Files of tables with gaps and categories that lie about their columns."""

import numpy as np
import pandas as pd
import pytest

import dpcov
from designs import public_levels
from dpcov.errors import CorruptFileError
from releases.test_forgeries import all_of, drop, event, gaussian, more, provenance, seal, unseal

N_ROWS = 5000


def table():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(N_ROWS, 2))
    rows[generator.random((N_ROWS, 2)) < 0.2] = np.nan
    sex, answer = (generator.integers(-1, size, N_ROWS) for size in (3, 2))
    return pd.DataFrame(rows, columns=["a", "b"]).assign(
        sex=pd.Categorical.from_codes(sex, ["f", "m", "x"]),
        answer=pd.Categorical.from_codes(answer, ["no", "yes"]),
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    made = {
        "fields": dpcov.release(table(), epsilon=1.0, delta=1e-6, columns=public_levels(table())),
        "gaps": dpcov.release(table()[["a", "b"]], epsilon=1.0, delta=1e-6),
        "plain": dpcov.release(
            table()[["a", "b"]].fillna(0), epsilon=1.0, delta=1e-6, missing="refuse"
        ),
        "norm": dpcov.release(
            table()[["a", "b"]], epsilon=1.0, delta=1e-6, row_norm=2.0, missing="pairwise"
        ),
    }
    for name, release in made.items():
        release.save(folder / f"{name}.npz")
        assert dpcov.Release.load(folder / f"{name}.npz") == release
    return folder


def field(place, **changes):
    return lambda facts, arrays: facts["fields"][place].update(changes)


def facts_only(change):
    return lambda facts, arrays: change(facts)


def array(name, change):
    def forge(facts, arrays):
        arrays[name] = np.asarray(change(arrays[name]), dtype=arrays[name].dtype)

    return forge


def at(place, value):
    def change(vector):
        vector = vector.copy()
        vector[place] = value
        return vector

    return change


def no_fields(facts, arrays):
    facts["fields"] = None


def plain_fields(facts, arrays):
    facts["fields"] = [
        {"name": name, "levels": None, "may_be_missing": False} for name in facts["columns"]
    ]


def renamed_level(facts, arrays):
    facts["fields"][2]["levels"] = ["f", "m", "y"]


def renamed_everywhere_but_twice(facts, arrays):
    facts["fields"][2]["levels"] = ["f", "m", "f"]
    facts["columns"][4] = "sex=f"


def a_level_less(facts, arrays):
    facts["fields"][2]["levels"] = ["f", "m"]
    del facts["columns"][4]


def levels_as_numbers(facts, arrays):
    """All levels are said to be columns of their own."""
    names = facts["columns"]
    facts["fields"] = [
        {"name": name, "levels": None, "may_be_missing": place < 4}
        for place, name in enumerate(names)
    ]


def numbers_as_a_category(facts, arrays):
    facts["fields"] = [{"name": "n", "levels": ["a", "b"], "may_be_missing": True}]
    facts["columns"] = ["n=a", "n=b"]


def fields_in_another_order(facts, arrays):
    facts["fields"].reverse()


def values_alone(facts, arrays):
    size = len(facts["columns"])
    arrays["matrix"], arrays["mean"] = arrays["matrix"][:size, :size], arrays["mean"][:size]


def asymmetric(facts, arrays):
    arrays["matrix"][0, -1] += 1.0


def silent_gaps(facts, arrays):
    """What was counted is dropped, with its event."""
    values_alone(facts, arrays)
    for each in facts["fields"]:
        each["may_be_missing"] = False
    arrays["observed"] = arrays["observed"][:0]
    drop("observed")(facts)


FORGERIES = {
    "no fields": ("fields", no_fields),
    "no fields of numbers": ("gaps", no_fields),
    "fields that say nothing": ("fields", plain_fields),
    "fields of a plain table": ("plain", plain_fields),
    "a level of another name": ("fields", renamed_level),
    "a level twice": ("fields", renamed_everywhere_but_twice),
    "a level less": ("fields", a_level_less),
    "levels as numbers": ("fields", levels_as_numbers),
    "numbers as a category": ("gaps", numbers_as_a_category),
    "no levels": ("fields", field(2, levels=[])),
    "levels that are no texts": ("fields", field(2, levels=[1, 2, 3])),
    "levels that are one text": ("fields", field(2, levels="fmx")),
    "a gap that is not there": ("fields", field(0, may_be_missing=False)),
    "a gap that is one": ("fields", field(0, may_be_missing=1)),
    "a name that is no text": ("fields", field(0, name=7)),
    "a fact that no field has": ("fields", field(0, may_be_weighted=True)),
    "fields in another order": ("fields", fields_in_another_order),
    "moments of the values alone": ("fields", values_alone),
    "moments that are not symmetric": ("fields", asymmetric),
    "gaps that nobody mentions": ("gaps", silent_gaps),
    "shares of fewer columns": ("fields", array("observed", lambda shares: shares[1:])),
    "shares of more columns": ("fields", array("observed", lambda shares: [*shares, 0.5])),
    "shares of a plain table": ("plain", array("observed", lambda shares: [1.0])),
    "a share above one": ("fields", array("observed", at(0, 1.01))),
    "a share of zero": ("fields", array("observed", at(0, 0.0))),
    "a negative share": ("fields", array("observed", at(1, -0.2))),
    "a share that is none": ("fields", array("observed", at(1, np.nan))),
    "a mean of more columns": ("fields", array("mean", lambda mean: [*mean, 0.0])),
    "a level beyond one": ("fields", array("upper", at(3, 2.0))),
    "a level below zero": ("fields", array("lower", at(3, -1.0))),
    "cells beyond a level": ("fields", array("beyond", at(3, 0.1))),
    "a level whose center was stated": ("fields", array("known_center", at(3, 0))),
    "a level whose scale was not seen": ("fields", array("known_scale", at(3, 2))),
    "a level whose range was learned": ("fields", array("known_range", at(3, 1))),
    "a share of a level below zero": ("fields", array("center", at(2, -0.1))),
    "shares of levels that are more than all": ("fields", array("center", at(2, 0.9))),
    "levels of two scales": ("fields", array("scale", at(2, 0.5))),
    "no count of cells": ("fields", facts_only(drop("observed"))),
    "no count of levels": ("fields", facts_only(drop("levels"))),
    "a count of levels that nobody has": ("gaps", facts_only(more(gaussian("levels")))),
    "a count of gaps that nobody has": ("plain", facts_only(more(gaussian("observed")))),
    "counts for less": (
        "fields",
        facts_only(
            all_of(
                event("observed", multiplier=lambda m: m * 0.5),
                event("levels", multiplier=lambda m: m * 0.5),
            )
        ),
    ),
    "another rule for gaps": ("gaps", facts_only(provenance(missing="center"))),
    "gaps where they are refused": ("gaps", facts_only(provenance(missing="refuse"))),
    "learned shares without learning": ("norm", array("observed", at(0, 0.5))),
}


@pytest.mark.claim("P21")
@pytest.mark.claim("P28")
@pytest.mark.parametrize("lie", FORGERIES)
def test_a_file_that_lies_about_its_columns_is_refused(files, tmp_path, lie):
    name, change = FORGERIES[lie]
    facts, arrays = unseal(files / f"{name}.npz")
    change(facts, arrays)
    seal(tmp_path / "forged.npz", facts, arrays)
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(tmp_path / "forged.npz")


@pytest.mark.parametrize("other", ["gaps", "plain", "norm"])
@pytest.mark.parametrize("key", ["fields", "columns", "learned", "noise_scale"])
def test_a_fact_of_another_file_is_refused(files, tmp_path, key, other):
    facts, arrays = unseal(files / "fields.npz")
    stranger, _ = unseal(files / f"{other}.npz")
    seal(tmp_path / "forged.npz", facts | {key: stranger[key]}, arrays)
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(tmp_path / "forged.npz")


def test_a_file_that_is_only_sealed_again_is_read(files, tmp_path):
    seal(tmp_path / "same.npz", *unseal(files / "fields.npz"))
    assert dpcov.Release.load(tmp_path / "same.npz") == dpcov.Release.load(files / "fields.npz")
