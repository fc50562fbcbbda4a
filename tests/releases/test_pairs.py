import json
import pickle

import numpy as np
import pytest

import dpcov
from dpcov.errors import CorruptFileError, ParameterError
from dpcov.releases import archive

ROWS = np.random.default_rng(0).normal(size=(400, 6))
OPTIONS = {"epsilon": 1.0, "delta": 1e-5, "max_pairs": 4}


@pytest.fixture(params=[{}, {"row_norm": 3.0}, {"scales": 2.0}, {"center": 0.0}], ids=str)
def release(request):
    return dpcov.release_pairs(ROWS, **OPTIONS, **request.param)


@pytest.fixture
def path(tmp_path, release):
    release.save(tmp_path / "pairs.npz")
    return tmp_path / "pairs.npz"


def rewrite(path, change):
    """Change a file as a program that knows the format."""
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    facts = json.loads(arrays.pop("header").tobytes())
    facts.pop("sha256")
    change(facts, arrays)
    facts["sha256"] = archive._digest(facts, arrays)
    header = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    np.savez(path, header=header, **arrays)


def test_what_is_saved_is_what_is_loaded(path, release):
    loaded = dpcov.Release.load(path)
    assert loaded == release
    assert loaded.promise == release.promise


def test_equal_releases_give_equal_files(tmp_path, path):
    dpcov.Release.load(path).save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_a_pickle_comes_back_checked(release):
    assert pickle.loads(pickle.dumps(release)) == release


def test_a_release_of_pairs_cannot_be_changed(release):
    with pytest.raises(ValueError, match="read-only"):
        release.co_movement[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        release.pairs[0] = 1


def scale_noise(facts, arrays):
    facts["noise_scale"] *= 0.99


def scale_selection(facts, arrays):
    facts["provenance"]["selection_scale"] *= 0.99


def select_without_noise(facts, arrays):
    facts["provenance"]["selection_scale"] = 0.0


def forget_the_events(facts, arrays):
    facts["provenance"]["events"] = []


def events_of(facts):
    return {each["name"]: each for each in facts["provenance"]["events"]}


def more_noise_in_an_event(facts, arrays):
    events_of(facts)["values"]["multiplier"] *= 1 + 1e-9


def less_noise_in_an_event(facts, arrays):
    """The noise is what the event says, and does not pay."""
    events_of(facts)["values"]["multiplier"] *= 0.8
    facts["noise_scale"] *= 0.8


def a_billionth_less_noise(facts, arrays):
    facts["noise_scale"] *= 1 - 1e-9


def fewer_choices(facts, arrays):
    events_of(facts)["selection"]["count"] = 3


def a_choice_of_less_range(facts, arrays):
    events_of(facts)["selection"]["range"] *= 1 - 1e-9


def another_event(facts, arrays):
    events_of(facts)["values"]["name"] = "moments"


def an_event_more(facts, arrays):
    facts["provenance"]["events"].append({"kind": "pure", "name": "report", "epsilon": 1e-9})


def one_term_fewer(facts, arrays):
    facts["n_terms"] -= 1


def as_many_terms_as_rows(facts, arrays):
    facts["n_terms"] = 399 if facts["n_terms"] == 400 else 400


def to_the_local_model(facts, arrays):
    facts["provenance"]["calibrated_for"]["neighbors"] = "local"
    facts["promise"] = str(dpcov.privacy.ApproxDP(1.0, 1e-5, "local"))


def bound_without_norm(facts, arrays):
    facts["provenance"] |= {"cell_bound": 1.0, "row_norm": None}


def strengthen(facts, arrays):
    facts["provenance"]["calibrated_for"]["epsilon"] = 0.5
    facts["promise"] = facts["promise"].replace("(1,", "(0.5,")


def fewer_pairs(facts, arrays):
    facts["provenance"]["max_pairs"] = 2


def swap_a_pair(facts, arrays):
    arrays["pairs"] = arrays["pairs"][:, ::-1].copy()


def repeat_a_pair(facts, arrays):
    arrays["pairs"][1] = arrays["pairs"][0]


def foreign_pair(facts, arrays):
    arrays["pairs"][-1] = [4, 6]


def not_a_number(facts, arrays):
    arrays["co_movement"][0] = np.nan


def other_mechanism(facts, arrays):
    facts["provenance"]["mechanism"] = "another"


def add_remove(facts, arrays):
    """Only differences of rows keep no such promise."""
    facts["provenance"]["center"] = "differences"
    facts["provenance"]["calibrated_for"]["neighbors"] = "add-remove"
    facts["promise"] = str(dpcov.privacy.ApproxDP(1.0, 1e-5, "add-remove"))


@pytest.mark.parametrize(
    "change",
    [
        scale_noise,
        scale_selection,
        select_without_noise,
        forget_the_events,
        more_noise_in_an_event,
        less_noise_in_an_event,
        a_billionth_less_noise,
        fewer_choices,
        a_choice_of_less_range,
        another_event,
        an_event_more,
        one_term_fewer,
        as_many_terms_as_rows,
        to_the_local_model,
        bound_without_norm,
        strengthen,
        fewer_pairs,
        swap_a_pair,
        repeat_a_pair,
        foreign_pair,
        not_a_number,
        other_mechanism,
        add_remove,
    ],
)
def test_a_sealed_file_that_makes_no_sense_is_refused(path, change):
    rewrite(path, change)
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


def test_less_noise_on_the_variances_is_refused(tmp_path):
    path = tmp_path / "pairs.npz"
    dpcov.release_pairs(ROWS, **OPTIONS, row_norm=3.0).save(path)

    def quieter(facts, arrays):
        facts["variances"]["noise_scale"] *= 0.9

    rewrite(path, quieter)
    with pytest.raises(CorruptFileError, match="noise is not that of its events"):
        dpcov.Release.load(path)


def less_noise_of_means(facts, arrays):
    facts["variances"]["mean_noise"] *= 0.9


def more_noise_of_means(facts, arrays):
    """As if cells had weighed less, which would have been cheaper."""
    facts["variances"]["mean_noise"] *= 1.1


def no_means(facts, arrays):
    facts["variances"]["mean_noise"] = 0.0
    arrays["means"] = np.empty(0)


def means_without_noise(facts, arrays):
    facts["variances"]["mean_noise"] = 0.0


def fewer_means(facts, arrays):
    arrays["means"] = arrays["means"][:-1]


def means_that_are_no_numbers(facts, arrays):
    arrays["means"] = np.full(6, np.nan)


@pytest.mark.parametrize(
    "change",
    [
        less_noise_of_means,
        more_noise_of_means,
        no_means,
        means_without_noise,
        fewer_means,
        means_that_are_no_numbers,
    ],
)
def test_other_means_behind_variances_are_refused(tmp_path, change):
    path = tmp_path / "pairs.npz"
    release = dpcov.release_pairs(ROWS, **OPTIONS, row_norm=3.0, center="stated")
    release.save(path)
    assert dpcov.Release.load(path) == release
    rewrite(path, change)
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


def test_differences_have_no_means(tmp_path):
    path = tmp_path / "pairs.npz"
    dpcov.release_pairs(ROWS, **OPTIONS, row_norm=3.0, center="differences").save(path)

    def add_means(facts, arrays):
        facts["variances"]["mean_noise"] = facts["variances"]["noise_scale"]
        arrays["means"] = np.ones(6)

    rewrite(path, add_means)
    with pytest.raises(CorruptFileError, match="variances are not those"):
        dpcov.Release.load(path)


def test_variances_that_nobody_paid_for_are_refused(tmp_path):
    path = tmp_path / "pairs.npz"
    dpcov.release_pairs(ROWS, **OPTIONS).save(path)

    def smuggle(facts, arrays):
        facts["variances"] = {"noise_scale": 1e-9, "mean_noise": 0.0}
        arrays["variances"] = np.ones(6)

    rewrite(path, smuggle)
    with pytest.raises(CorruptFileError, match="variances are not those"):
        dpcov.Release.load(path)


@pytest.mark.parametrize("kept", [0, 100, 0.5, 0.99])
def test_a_truncated_file_is_refused(path, kept):
    content = path.read_bytes()
    path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


def test_public_variances_must_be_positive():
    with pytest.raises(ParameterError, match="positive"):
        dpcov.releases.Variances(np.array([1.0, -1.0]), 0.0)


@pytest.mark.parametrize(
    ("noise", "means", "mean_noise"),
    [(0.0, np.ones(2), 0.1), (0.5, np.ones(2), 0.0), (0.5, None, 0.1), (0.5, np.ones(3), 0.1)],
)
def test_means_belong_to_noisy_variances_and_have_noise(noise, means, mean_noise):
    with pytest.raises(ParameterError, match="Means"):
        dpcov.releases.Variances(np.ones(2), noise, means, mean_noise)


def test_means_beside_stated_variances_are_refused(tmp_path):
    path = tmp_path / "pairs.npz"
    dpcov.release_pairs(ROWS, **OPTIONS, scales=2.0, center=0.0).save(path)

    def smuggle(facts, arrays):
        facts["variances"]["mean_noise"] = 1e-9
        arrays["means"] = ROWS.mean(axis=0)

    rewrite(path, smuggle)
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


def test_a_cell_bound_beyond_the_row_norm_is_refused(tmp_path):
    path = tmp_path / "pairs.npz"
    dpcov.release_pairs(ROWS, **OPTIONS, row_norm=3.0).save(path)
    rewrite(path, lambda facts, arrays: facts["provenance"].update(cell_bound=3.1))
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)
