"""Files with an intact digest that promise more than their noise pays for."""

import json
import math

import numpy as np
import pytest

import dpcov
from dpcov.errors import CorruptFileError
from dpcov.privacy import gaussian_scale
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
    "pairs": {"mechanism": "pairs", "max_pairs": 3, "row_norm": None},
    "pairs with variances": {"mechanism": "pairs", "max_pairs": 2, "cell_bound": 2.0},
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


def state(**changes):
    return lambda facts: facts.update(changes)


def more_noise(**changes):
    return lambda facts: facts["noise_scale"].update(changes)


def before(first):
    return lambda facts: facts["provenance"]["steps"].insert(0, first)


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
    ("plain", provenance(row_norm=1e-160)),
    ("plain", provenance(row_norm=1e21)),
    ("plain", state(n_rows=10**400)),
    ("adaptive", provenance(trace=1e-160)),
    ("plain", noise(1e-310, "off_diagonal", "diagonal")),
    ("plain", provenance(audited="by everybody")),
    ("plain", state(raw_rows=[[1.0, 2.0]])),
    (
        "plain",
        more_noise(mean=9.0),
    ),
    (
        "plain",
        more_noise(signal=9.0),
    ),
    ("plain", before({"name": "radius", "rho": 1e-9, "kind": "gaussian"})),
    ("plain", before({"name": "audit", "rho": 1e-9, "kind": "gaussian"})),
    ("plain", before({"name": "scales", "rho": 1e-300, "kind": "gaussian"})),
    ("plain", before({"name": "radius", "rho": 1e-300, "kind": "selection"})),
    ("adaptive", drop("radius in these scales")),
    ("pairs", provenance(selection_scale=1e9)),
    ("pairs", provenance(row_norm=1e-160, cell_bound=1e-160)),
    ("pairs", state(noise_scale=1e200)),
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
    facts, arrays = unseal(path)
    change(facts)
    seal(target, facts, arrays)


def unseal(path):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    facts = json.loads(arrays.pop("header").tobytes())
    facts.pop("sha256")
    return facts, arrays


def seal(target, facts, arrays):
    """Write a file as dpcov does, with a right digest."""
    header = json.dumps(facts | {"sha256": archive._digest(facts, arrays)}, sort_keys=True)
    with target.open("wb") as file:
        archive._write_members(file, header.encode(), arrays)


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


def subnormal(facts, arrays):
    """A promise of epsilon 4.6 whose noise is worth 11.7, if products are rounded."""
    smallest, delta = 2.0**-1074, 1e-6
    epsilon = 4.6
    multiplier = gaussian_scale(epsilon=epsilon, delta=delta) * (1 + 1e-8)
    made = facts["provenance"]
    made["row_norm"] = math.sqrt(1490) * 2.0**-537
    made["steps"] = [{"name": "moments", "rho": 1 / (2 * multiplier**2), "kind": "gaussian"}]
    made["calibrated_for"] |= {"epsilon": epsilon, "delta": delta}
    facts["n_rows"] = 1000
    facts["noise_scale"] |= {"off_diagonal": smallest, "diagonal": smallest}
    facts["promise"] = "(4.6, 1e-06)-differential privacy, replace-one neighbors"
    arrays["matrix"] = np.eye(3) * 1e-320


def unpaid_mean(facts, arrays):
    arrays["mean"] = ROWS.mean(axis=0)


def huge_matrix(facts, arrays):
    arrays["matrix"] = np.eye(3) * 1e200


def tiny_matrix(facts, arrays):
    arrays["matrix"] = np.eye(3) * 1e-310


@pytest.mark.parametrize("change", [subnormal, unpaid_mean, huge_matrix, tiny_matrix])
def test_a_forged_array_is_refused(folder, tmp_path, change):
    facts, arrays = unseal(folder / "plain.npz")
    change(facts, arrays)
    seal(tmp_path / "forged.npz", facts, arrays)
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(tmp_path / "forged.npz")


def test_variances_that_are_not_stated_are_refused(folder, tmp_path):
    facts, arrays = unseal(folder / "pairs.npz")
    arrays["variances"] = ROWS.var(axis=0)
    seal(tmp_path / "forged.npz", facts, arrays)
    with pytest.raises(CorruptFileError, match="not the file that dpcov writes"):
        dpcov.Release.load(tmp_path / "forged.npz")
