"""Files with an intact digest that promise more than their noise pays for."""

import json

import numpy as np
import pytest

import dpcov
from dpcov.errors import CorruptFileError
from dpcov.releases import archive

ROWS = np.random.default_rng(0).normal(size=(9000, 3))
PEOPLE = np.column_stack([np.arange(9000) // 3, ROWS])
MADE = {
    "plain": {},
    "mean": {"center": "private"},
    "mean, add-remove": {"center": "private", "neighbors": "add-remove"},
    "differences": {"center": "differences"},
    "adaptive": {
        "row_norm": dpcov.PrivateRadius(0.3),
        "scales": "private",
        "heavy_tails": True,
    },
    "units": {"unit": "x0", "rows_per_unit": 3},
}


def provenance(**changes):
    return lambda facts: facts["provenance"].update(changes)


def unit(name):
    def change(facts):
        facts["provenance"]["calibrated_for"]["unit"] = name
        facts["promise"] += f", for all rows of one {name!r}"

    return change


def noise(factor, *names):
    def change(facts):
        for name in names:
            facts["noise_scale"][name] *= factor

    return change


def step(called, **changes):
    def change(facts):
        for each in facts["provenance"]["steps"]:
            if each["name"] == called:
                each.update({key: value(each[key]) for key, value in changes.items()})

    return change


def drop(name):
    def change(facts):
        steps = facts["provenance"]["steps"]
        facts["provenance"]["steps"] = [each for each in steps if each["name"] != name]

    return change


FORGERIES = [
    ("plain", noise(0.99, "off_diagonal", "diagonal")),
    ("plain", noise(0.99, "off_diagonal")),
    ("plain", provenance(row_norm=3.1)),
    ("plain", provenance(rows_per_unit=2)),
    ("plain", provenance(center="differences")),
    ("plain", provenance(center="private")),
    ("plain", provenance(steps=[])),
    ("plain", step("moments", rho=lambda rho: rho * 1.1)),
    ("plain", step("moments", kind=lambda kind: "selection")),
    ("plain", step("moments", name=lambda name: "scales")),
    ("mean", noise(0.99, "mean")),
    ("mean", provenance(constant=0)),
    ("mean", provenance(constant=1 << 21)),
    ("mean", provenance(constant=1 << 20)),
    ("mean", provenance(center="public")),
    ("mean, add-remove", noise(0.99, "off_diagonal", "diagonal")),
    ("mean, add-remove", provenance(constant=1 << 20)),
    ("differences", noise(0.99, "off_diagonal", "diagonal")),
    ("adaptive", noise(0.99, "off_diagonal", "diagonal")),
    ("adaptive", provenance(trace=100.0)),
    ("adaptive", drop("moments")),
    ("adaptive", step("scales", rho=lambda rho: rho * 2)),
    ("adaptive", step("trace", rho=lambda rho: rho * 20)),
    ("adaptive", step("radius", rho=lambda rho: rho * 20)),
    ("adaptive", step("radius in these scales", rho=lambda rho: rho * 20)),
    ("adaptive", drop("trace")),
    ("plain", provenance(trace=1e-12)),
    ("plain", provenance(missing="drop")),
    ("mean", provenance(constant=1, bits=2000)),
    ("mean", provenance(trace=1e-12)),
    ("differences", provenance(rows_per_unit=2)),
    ("units", provenance(rows_per_unit=4)),
    ("local", provenance(rows_per_unit=2)),
    ("local", provenance(center="differences")),
    ("local", provenance(trace=1.0)),
    ("local", unit("household")),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    for name, options in MADE.items():
        table = PEOPLE if "unit" in options else ROWS
        release = dpcov.release(table, **{"epsilon": 1.0, "delta": 1e-6, "row_norm": 3.0} | options)
        release.save(folder / f"{name}.npz")
    plan = dpcov.local.Plan(
        columns=["a", "b"], row_norm=1.0, epsilon=1.0, mechanism="gaussian", delta=1e-6
    )
    collector = dpcov.local.Collector(plan)
    collector.add(dpcov.local.randomize(np.array([0.1, 0.2]), plan))
    collector.release().save(folder / "local.npz")
    return folder


def forge(path, target, change):
    with np.load(path) as file:
        arrays = dict(file)
    facts = json.loads(arrays.pop("header").tobytes())
    facts.pop("sha256")
    change(facts)
    facts["sha256"] = archive._digest(facts, arrays)
    np.savez(target, header=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)


@pytest.mark.parametrize(("name", "change"), FORGERIES)
def test_a_forged_file_is_refused(folder, tmp_path, name, change):
    forge(folder / f"{name}.npz", tmp_path / "forged.npz", change)
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(tmp_path / "forged.npz")


@pytest.mark.parametrize("name", [*MADE, "local"])
def test_a_file_that_is_only_sealed_again_is_read(folder, tmp_path, name):
    forge(folder / f"{name}.npz", tmp_path / "same.npz", lambda facts: None)
    assert dpcov.Release.load(tmp_path / "same.npz") == dpcov.Release.load(folder / f"{name}.npz")


def test_differences_cannot_promise_add_remove(folder, tmp_path):
    def change(facts):
        facts["provenance"]["calibrated_for"]["neighbors"] = "add-remove"
        facts["promise"] = facts["promise"].replace("replace-one", "add-remove (n public)")

    forge(folder / "differences.npz", tmp_path / "forged.npz", change)
    with pytest.raises(CorruptFileError, match="promise"):
        dpcov.Release.load(tmp_path / "forged.npz")
