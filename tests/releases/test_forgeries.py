"""Files with an intact digest that promise more than their noise pays for."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import dpcov
from designs import numbers
from dpcov import privacy
from dpcov.errors import CorruptFileError
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms.second_moment import calibrate_moments, release_gram
from dpcov.privacy import ApproxDP, gaussian_scale
from dpcov.releases import archive
from dpcov.sensitive.sums.gram import Gram
from either import release

ROWS = np.random.default_rng(0).normal(size=(9000, 3))
PEOPLE = np.column_stack([np.arange(9000) // 3, ROWS])
FEW = 300
MADE = {
    "mean": {},
    "mean, add-remove": {"neighbors": "add-remove"},
    "learned": {"row_norm": None},
    "learned, add-remove": {"row_norm": None, "neighbors": "add-remove"},
    "learned, units": {"row_norm": None, "privacy_unit": "x0", "rows_per_unit": 3},
    "scales stated": {"row_norm": None, "columns": {f"x{i}": {"scale": 1} for i in range(3)}},
    "all stated": {
        "row_norm": None,
        "columns": {f"x{i}": {"center": 0, "scale": 1} for i in range(3)},
    },
    "bounds": {"row_norm": None, "columns": {f"x{i}": (-40, 40) for i in range(3)}},
    # Of few rows, which would blur a search for limits.
    "bounds of answers": {"row_norm": None, "columns": {f"x{i}": (-4, 4) for i in range(3)}},
    "units": {"privacy_unit": "x0", "rows_per_unit": 3},
    "pairs": {"max_pairs": 3, "row_norm": None},
    "learned centers": {"max_pairs": 3, "row_norm": None, "center": "learned"},
    "pairs with variances": {"max_pairs": 2, "cell_bound": 2.0},
}


LOCAL = {
    "local": {"mechanism": "gaussian", "delta": 1e-6},
    "local cap": {"mechanism": "cap"},
}


def provenance(**changes):
    return lambda facts: facts["provenance"].update(changes)


def unit(name):
    def change(facts):
        facts["provenance"]["calibrated_for"]["privacy_unit"] = name
        facts["promise"] += f", for all rows of one {name!r}"

    return change


def noise(factor, *names):
    def change(facts):
        for name in names:
            facts["noise_scale"][name] *= factor

    return change


def event(called, **changes):
    def change(facts):
        for each in facts["provenance"]["events"]:
            if each["name"] == called:
                each.update({key: value(each[key]) for key, value in changes.items()})

    return change


def drop(name):
    def change(facts):
        events = facts["provenance"]["events"]
        facts["provenance"]["events"] = [each for each in events if each["name"] != name]

    return change


def becomes(called, **facts):
    """Put another event in the place of one."""

    def change(header):
        events = header["provenance"]["events"]
        header["provenance"]["events"] = [
            {"name": called} | facts if each["name"] == called else each for each in events
        ]

    return change


def state(**changes):
    return lambda facts: facts.update(changes)


def more_noise(**changes):
    return lambda facts: facts["noise_scale"].update(changes)


def more(*events):
    def change(facts):
        facts["provenance"]["events"] = [*events, *facts["provenance"]["events"]]

    return change


def gaussian(name, multiplier=1e3):
    return {"kind": "gaussian", "name": name, "multiplier": multiplier}


def before_moments(*events):
    def change(facts):
        facts["provenance"]["events"][-1:-1] = events

    return change


def learning(name, value, *parents):
    """Change a number of what was learned; None if it was not there."""

    def change(facts):
        part = facts["learned"]
        for parent in parents:
            part = part[parent]
        part[name] = value(part.get(name))

    return change


def after(last):
    return lambda facts: facts["provenance"]["events"].append(last)


def all_of(*changes):
    def change(facts):
        for each in changes:
            each(facts)

    return change


def backwards(facts):
    facts["provenance"]["events"].reverse()


LEARNING = ("observed", "range", "center", "limit", "mean", "scale", "beyond", "radius", "clipping")
TINY = 1e-9  # far beyond rounding, and less than any forger would take


FORGERIES = [
    ("plain", noise(0.99, "off_diagonal", "diagonal")),
    ("plain", noise(0.99, "off_diagonal")),
    ("plain", provenance(row_norm=3.1)),
    ("plain", provenance(rows_per_unit=2)),
    ("plain", provenance(person_column=3)),
    ("plain", provenance(person_column="who\nelse")),
    ("units", provenance(person_column="x0")),
    ("pairs", provenance(person_column=3)),
    ("plain", provenance(center="differences")),
    ("plain", provenance(center="private")),
    ("plain", noise(1 - TINY, "off_diagonal", "diagonal")),
    ("plain", noise(1 + TINY, "off_diagonal", "diagonal")),
    ("plain", provenance(events=[])),
    ("plain", provenance(events={})),
    ("plain", event("moments", multiplier=lambda m: m * 0.95)),
    ("plain", event("moments", multiplier=lambda m: m * (1 - TINY))),
    ("plain", event("moments", multiplier=lambda m: m * 1.1)),
    ("plain", event("moments", multiplier=lambda m: float("inf"))),
    ("plain", event("moments", multiplier=lambda m: float("nan"))),
    ("plain", event("moments", multiplier=str)),
    ("plain", becomes("moments", kind="selection", range=0.1, count=1)),
    ("plain", becomes("moments", kind="pure", epsilon=1e-9)),
    ("plain", becomes("moments", kind="laplace", scale=3.0)),
    ("plain", becomes("moments", kind="gaussian", multiplier=4.3, rho=0.01)),
    ("plain", event("moments", name=lambda name: "scales")),
    ("plain", more({"kind": "gaussian", "name": "moments", "multiplier": 1e9})),
    ("plain", more({"kind": "pure", "name": "radius", "epsilon": 1e-9})),
    # Less noise, and events that say so: they do not pay any more.
    (
        "plain",
        all_of(
            noise(1 - TINY, "off_diagonal", "diagonal"),
            event("moments", multiplier=lambda m: m * (1 - TINY)),
        ),
    ),
    ("mean", noise(0.99, "mean")),
    ("mean", provenance(constant=0)),
    ("mean", provenance(constant=1 << 21)),
    ("mean", provenance(constant=1 << 20)),
    ("mean", provenance(center="public")),
    ("mean, add-remove", noise(0.99, "off_diagonal", "diagonal")),
    ("mean, add-remove", provenance(constant=1 << 20)),
    ("learned", noise(0.99, "off_diagonal", "diagonal")),
    ("learned", drop("moments")),
    *(("learned", drop(name)) for name in LEARNING),
    *(("learned", event(name, multiplier=lambda m: m * 0.5)) for name in LEARNING),
    # Less would have been spent than the promise allows, and nothing is left over.
    *(("learned", event(name, multiplier=lambda m: m * 1.5)) for name in LEARNING),
    *(("learned", event(name, name=lambda name: "lengths")) for name in LEARNING),
    *(("scales stated", more(gaussian(name))) for name in LEARNING),
    *(("all stated", more(gaussian(name))) for name in LEARNING),
    ("learned", becomes("radius", kind="selection", range=0.1, count=1)),
    ("learned", becomes("radius", kind="pure", epsilon=1e-3)),
    ("learned", more(gaussian("range"))),
    ("learned", before_moments(gaussian("clipping"))),
    ("learned", after(gaussian("beyond"))),
    ("scales stated", drop("center")),
    ("all stated", drop("beyond")),
    ("plain", before_moments(gaussian("beyond"), gaussian("radius"), gaussian("clipping"))),
    ("learned", state(learned=None)),
    ("plain", state(learned={})),
    ("mean", state(learned={"beyond_error": 0.1})),
    *(
        ("learned", learning(name, lambda number, by=by: number * by))
        for name in ("beyond_error", "factor", "factor_error")
        for by in (0.5, 1 - 1e-5, 1 + 1e-5, 2)
    ),
    *(
        ("learned", learning(name, lambda number, by=by: number * by, "clipping"))
        for name in ("wanted", "share_error", "excess_error")
        for by in (0.5, 1 - 1e-5, 1 + 1e-5, 2)
    ),
    ("learned", learning("excess", lambda number: number + 1, "clipping")),
    ("learned", learning("excess", lambda number: float("nan"), "clipping")),
    ("learned", learning("share", lambda number: float("inf"), "clipping")),
    ("learned", learning("share", str, "clipping")),
    ("learned", learning("factor", lambda number: 1.0)),
    ("learned", learning("factor", lambda number: 3.0)),
    ("learned", learning("row_norm", lambda number: 3.0)),
    ("learned", learning("median", lambda number: 3.0, "clipping")),
    ("learned, units", provenance(rows_per_unit=2)),
    ("learned", backwards),
    ("learned", noise(1 - TINY, "off_diagonal", "diagonal")),
    ("plain", provenance(missing="drop")),
    ("mean", provenance(constant=1, bits=2000)),
    ("pairs", provenance(rows_per_unit=2)),
    ("units", provenance(rows_per_unit=4)),
    ("plain", noise(1 - TINY, "off_diagonal")),
    ("mean", noise(1 - TINY, "mean")),
    ("local", state(learned={})),
    ("local", provenance(events=[])),
    ("local", event("report", multiplier=lambda m: m * 0.95)),
    ("local", event("report", multiplier=lambda m: m * (1 + TINY))),
    ("local", event("report", name=lambda name: "moments")),
    ("local", becomes("report", kind="pure", epsilon=0.5)),
    ("local", more({"kind": "gaussian", "name": "report", "multiplier": 1e9})),
    ("local", noise(1 - TINY, "off_diagonal", "diagonal")),
    ("local cap", provenance(events=[])),
    ("local cap", event("report", epsilon=lambda epsilon: epsilon * 0.99)),
    ("local cap", event("report", epsilon=lambda epsilon: epsilon * (1 + TINY))),
    ("local cap", becomes("report", kind="gaussian", multiplier=100.0)),
    ("local cap", noise(0.99, "off_diagonal", "diagonal")),
    ("local", provenance(rows_per_unit=2)),
    ("local", provenance(center="differences")),
    ("local", unit("household")),
    ("plain", provenance(row_norm=1e-160)),
    ("plain", provenance(row_norm=1e21)),
    ("plain", state(n_rows=10**400)),
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
    ("local", more_noise(mean=9.0)),
    ("local", more_noise(signal=9.0)),
    ("local cap", more_noise(mean=9.0)),
    ("plain", more({"kind": "gaussian", "name": "radius", "multiplier": 1e9})),
    ("plain", more({"kind": "gaussian", "name": "audit", "multiplier": 1e9})),
    # They cost nothing and would pay, but no share of the door gives them.
    ("plain", more({"kind": "gaussian", "name": "scales", "multiplier": 1e99})),
    ("plain", more({"kind": "selection", "name": "radius", "range": 1e-99, "count": 1})),
    ("learned", event("radius", multiplier=lambda m: m * 1e9)),
    ("pairs", provenance(selection_scale=1e9)),
    ("pairs", provenance(events=[])),
    ("pairs", more({"kind": "selection", "name": "selection", "range": 1e-9, "count": 3})),
    ("pairs", event("values", multiplier=lambda m: m * (1 - TINY))),
    ("learned centers", drop("centers")),
    ("learned centers", drop("signs")),
    ("learned centers", event("signs", multiplier=lambda m: m * (1 + TINY))),
    ("learned centers", event("signs", multiplier=lambda m: m * (1 - TINY))),
    ("learned centers", event("centers", multiplier=lambda m: m * 0.99)),
    ("learned centers", state(mean_signs=None)),
    ("learned centers", state(mean_signs={"noise_scale": 1e-9})),
    ("learned centers", provenance(center="stated")),
    ("pairs", provenance(center="learned")),
    ("pairs with variances", provenance(selection_scale=0.0)),
    ("pairs with variances", event("selection", count=lambda count: 1)),
    ("pairs with variances", event("selection", range=lambda r: r * (1 - TINY))),
    ("pairs with variances", event("variances", multiplier=lambda m: m * (1 + TINY))),
    ("pairs with variances", becomes("selection", kind="gaussian", multiplier=1e9)),
    ("pairs with variances", drop("selection")),
    ("pairs with variances", drop("variances")),
    ("pairs with variances", backwards),
    ("pairs with variances", after({"kind": "gaussian", "name": "audit", "multiplier": 1e12})),
    ("pairs", provenance(row_norm=1e-160, cell_bound=1e-160)),
    ("pairs", state(noise_scale=1e200)),
]


def without_mean():
    """Return second moments about zero, which the door does not make."""
    calibration = calibrate_moments(
        promise=ApproxDP(1.0, 1e-6, "replace"), n_rows=len(ROWS), row_norm=3.0
    )
    gram = Gram.from_rows(ROWS, grid=calibration.grid)
    return release_gram(gram, calibration, design=numbers(3), stream=RandomStream.from_os())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    for name, options in MADE.items():
        table = PEOPLE if "privacy_unit" in options else ROWS
        table = table[:FEW] if name == "bounds of answers" else table
        made = release(table, **{"epsilon": 1.0, "delta": 1e-6, "row_norm": 3.0} | options)
        made.save(folder / f"{name}.npz")
    without_mean().save(folder / "plain.npz")
    for name, options in LOCAL.items():
        plan = dpcov.local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=1.0, **options)
        collector = dpcov.local.Collector(plan)
        collector.add(dpcov.local.randomize(np.array([0.1, 0.2]), plan))
        collector.release().save(folder / f"{name}.npz")
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


@pytest.mark.parametrize("name", [*MADE, *LOCAL])
def test_a_file_that_is_only_sealed_again_is_read(folder, tmp_path, name):
    forge(folder / f"{name}.npz", tmp_path / "same.npz", lambda facts: None)
    assert dpcov.Release.load(tmp_path / "same.npz") == dpcov.Release.load(folder / f"{name}.npz")


@pytest.mark.claim("P21")
@pytest.mark.parametrize("name", [*MADE, *LOCAL])
@pytest.mark.parametrize("share", [0.5, 1 - 1e-6])
def test_events_that_are_true_to_their_noise_must_pay(folder, tmp_path, name, share):
    """All is as the mechanism does it, but for a promise that is a little too strong."""

    def change(facts):
        promised = facts["provenance"]["calibrated_for"]
        promised["epsilon"] *= share
        facts["promise"] = facts["promise"].replace("(1,", f"({promised['epsilon']},")
        facts["promise"] = facts["promise"].replace("1-dif", f"{promised['epsilon']}-dif")

    forge(folder / f"{name}.npz", tmp_path / "forged.npz", change)
    with pytest.raises(CorruptFileError, match="its noise does not pay for its promise"):
        dpcov.Release.load(tmp_path / "forged.npz")


def test_differences_cannot_promise_add_remove(folder, tmp_path):
    def change(facts):
        facts["provenance"]["calibrated_for"]["neighbors"] = "add-remove"
        facts["promise"] = facts["promise"].replace("replace-one", "add-remove (n public)")

    forge(folder / "pairs.npz", tmp_path / "forged.npz", change)
    with pytest.raises(CorruptFileError, match="promise"):
        dpcov.Release.load(tmp_path / "forged.npz")


def subnormal(facts, arrays):
    """A promise of epsilon 4.6 whose noise is worth 11.7, if products are rounded."""
    smallest, delta = 2.0**-1074, 1e-6
    epsilon = 4.6
    multiplier = gaussian_scale(epsilon=epsilon, delta=delta) * (1 + 1e-8)
    made = facts["provenance"]
    made["row_norm"] = math.sqrt(1490) * 2.0**-537
    made["events"] = [{"kind": "gaussian", "name": "moments", "multiplier": multiplier}]
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


def assert_refused(file, change, forged):
    facts, arrays = unseal(file)
    change(facts, arrays)
    seal(forged, facts, arrays)
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(forged)


@pytest.mark.parametrize("change", [subnormal, unpaid_mean, huge_matrix, tiny_matrix])
def test_a_forged_array_is_refused(folder, tmp_path, change):
    assert_refused(folder / "plain.npz", change, tmp_path / "forged.npz")


def swapped_limits(facts, arrays):
    arrays["lower"], arrays["upper"] = arrays["upper"], arrays["lower"]


def limits_beside_the_center(facts, arrays):
    arrays["lower"] = arrays["upper"] - 1e-3


def limits_of_other_columns(facts, arrays):
    arrays["lower"] = arrays["lower"][:2]


def infinite_limits(facts, arrays):
    arrays["upper"] = np.full(3, np.inf)


def no_limits(facts, arrays):
    for name in VECTORS:
        arrays[name] = arrays[name][:0]


def a_share_that_is_none(facts, arrays):
    arrays["beyond"] = np.full(3, np.nan)


def an_unknown_code(facts, arrays):
    arrays["known_scale"] = np.array([1, 1, 3], dtype=np.int8)


def centers_that_were_not_seen(facts, arrays):
    arrays["known_center"] = np.array([1, 1, 2], dtype=np.int8)


def centers_and_scales_that_were_stated(facts, arrays):
    arrays["known_center"] = arrays["known_scale"] = np.zeros(3, dtype=np.int8)


def one_column_stated_but_for_its_range(facts, arrays):
    for name in ("known_center", "known_scale"):
        arrays[name] = np.array([1, 0, 1], dtype=np.int8)


def scales_that_were_stated(facts, arrays):
    arrays["known_scale"] = np.zeros(3, dtype=np.int8)


def moments_without_the_factor(facts, arrays):
    arrays["matrix"] = arrays["matrix"] / facts["learned"]["factor"]


def silence_about_learning(facts, arrays):
    """Events, limits and factor are dropped together, and the noise of the moments still pays."""
    factor = facts.pop("learned")["factor"]
    facts["learned"] = None
    facts["provenance"]["events"] = facts["provenance"]["events"][-1:]
    arrays["matrix"] = arrays["matrix"] / factor
    for name in ("off_diagonal", "diagonal"):
        facts["noise_scale"][name] /= factor
    no_limits(facts, arrays)


VECTORS = ("lower", "upper", "beyond", "known_range", "known_center", "known_scale")


@pytest.mark.claim("P21")
@pytest.mark.parametrize(
    "change",
    [
        swapped_limits,
        limits_beside_the_center,
        limits_of_other_columns,
        infinite_limits,
        no_limits,
        a_share_that_is_none,
        an_unknown_code,
        centers_that_were_not_seen,
        centers_and_scales_that_were_stated,
        one_column_stated_but_for_its_range,
        scales_that_were_stated,
        moments_without_the_factor,
        silence_about_learning,
    ],
)
def test_what_was_not_learned_so_is_refused(folder, tmp_path, change):
    assert_refused(folder / "learned.npz", change, tmp_path / "forged.npz")


def a_range_that_nobody_sought(facts, arrays):
    arrays["known_range"] = np.ones(3, dtype=np.int8)


def silence_about_limits(facts, arrays):
    for name in ("range", "limit"):
        drop(name)(facts)


def test_bounds_of_answers_are_limits_that_nobody_sought(folder, tmp_path):
    sought = {"range", "limit"}
    for name, expected in (("bounds of answers", set()), ("bounds", sought)):
        events = dpcov.Release.load(folder / f"{name}.npz").events
        assert {event.name for event in events} & sought == expected
    for name, change in (
        ("bounds of answers", a_range_that_nobody_sought),
        ("bounds", silence_about_limits),
    ):
        assert_refused(folder / f"{name}.npz", change, tmp_path / "forged.npz")


@pytest.mark.parametrize(("n_rows", "upper"), [(9000, 3), (FEW, 100)])
@pytest.mark.parametrize("heir", ["center", "mean", "scale"])
def test_a_step_cannot_take_what_the_search_for_limits_cost(tmp_path, n_rows, upper, heir):
    """Neither of many rows within narrow bounds, nor of few within wide ones."""
    facts = {f"x{place}": (-upper, upper) for place in range(3)}
    made = dpcov.release(ROWS[:n_rows], epsilon=1.0, delta=1e-6, columns=facts)
    cost = {event.name: event.multiplier**-2 for event in made.events}
    cost[heir] += cost.pop("range") + cost.pop("limit")
    events = tuple(privacy.Gaussian(name, each**-0.5 * (1 + 1e-9)) for name, each in cost.items())
    replace(made, provenance=replace(made.provenance, events=events)).save(tmp_path / "silent.npz")
    with pytest.raises(CorruptFileError, match="events"):
        dpcov.Release.load(tmp_path / "silent.npz")


@pytest.mark.parametrize("weight", [1e-9, 0.5, 1.2])
def test_the_weight_of_means_follows_from_public_facts(tmp_path, weight):
    made = dpcov.release_pairs(
        ROWS, epsilon=1.0, delta=1e-6, max_pairs=2, center="stated", row_norm=3.0, cell_bound=2.0
    )
    made.save(tmp_path / "true.npz")
    assert dpcov.Release.load(tmp_path / "true.npz") == made
    other = weight * made.variances.noise_scale / made.variances.mean_noise
    squared = privacy.squared_variance_sensitivity(
        privacy.Neighbors.REPLACE,
        squared_norm=Fraction(3) ** 2,
        cell_bound=Fraction(made.provenance.cell_bound),
        weight=Fraction(other),
    )
    (paid,) = (event for event in made.events if event.name == "variances")
    scale = paid.multiplier * math.sqrt(squared) / made.n_terms
    noisy = replace(made.variances, noise_scale=scale, mean_noise=scale / other)
    replace(made, variances=noisy).save(tmp_path / "forged.npz")
    with pytest.raises(CorruptFileError, match="variances"):
        dpcov.Release.load(tmp_path / "forged.npz")


@pytest.mark.parametrize("name", ["mean", "local"])
def test_limits_that_nobody_learned_are_refused(folder, tmp_path, name):
    facts, arrays = unseal(folder / f"{name}.npz")
    _, learned = unseal(folder / "learned.npz")
    seal(tmp_path / "forged.npz", facts, arrays | {each: learned[each] for each in VECTORS})
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(tmp_path / "forged.npz")


def test_reports_of_devices_learned_nothing(folder, tmp_path):
    facts, arrays = unseal(folder / "local.npz")
    other, learned = unseal(folder / "learned.npz")
    facts["learned"] = other["learned"]
    arrays |= {each: learned[each][:2] for each in VECTORS}
    seal(tmp_path / "forged.npz", facts, arrays)
    with pytest.raises(CorruptFileError, match="not those of reports from devices"):
        dpcov.Release.load(tmp_path / "forged.npz")


def test_variances_that_are_not_stated_are_refused(folder, tmp_path):
    facts, arrays = unseal(folder / "pairs.npz")
    arrays["variances"] = ROWS.var(axis=0)
    seal(tmp_path / "forged.npz", facts, arrays)
    with pytest.raises(CorruptFileError, match="more than a release"):
        dpcov.Release.load(tmp_path / "forged.npz")
