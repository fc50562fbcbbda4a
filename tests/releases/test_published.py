"""What every release answers about itself."""

from dataclasses import MISSING, fields, replace

import numpy as np
import pytest

import dpcov
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.errors import ParameterError
from dpcov.releases.published import Published
from publication import releases
from steady_noise import remembered

KINDS = [
    releases.dense,
    releases.learned,
    releases.pairs,
    releases.pairs_with_variances,
    releases.pairs_with_means,
]


@remembered
def made(make):
    return make()


@pytest.mark.parametrize("kind", [dpcov.Release, dpcov.PairsRelease])
def test_a_release_is_made_with_names_alone(kind):
    assert issubclass(kind, Published)
    assert all(field.kw_only for field in fields(kind))


@pytest.mark.parametrize("kind", [dpcov.Release, dpcov.PairsRelease])
def test_no_field_has_a_default_that_its_type_forbids(kind):
    defaults = {field.name: field.type for field in fields(kind) if field.default is None}
    assert all("None" in stated for stated in defaults.values())
    others = {field.default for field in fields(kind)} - {None, MISSING}
    assert all(isinstance(default, float) for default in others)


@pytest.mark.parametrize("make", KINDS)
def test_units_of_another_number_of_columns_are_refused(make):
    for units in (None, dpcov.Units.plain(2)):
        with pytest.raises(ParameterError, match="one center and scale for each column"):
            replace(made(make), units=units)


@pytest.mark.parametrize("make", KINDS)
def test_a_release_that_differs_in_any_field_is_another(make):
    release = made(make)
    others = [
        {"n_rows": release.n_rows + 2},
        {"simulated": True},
        {"units": dpcov.Units(np.ones(5), np.ones(5))},
        {"columns": tuple("abcde")},
    ]
    if getattr(release, "working", None) is not None:
        design = Design(tuple(map(Field, "abcde")))
        others[-1]["working"] = replace(release.working, design=design)
        others.append({"working": replace(release.working, observed=np.full(5, 0.5))})
    assert all(replace(release, **changes) != release for changes in others)
    assert replace(release) == release


def test_a_release_with_a_mean_differs_from_one_without():
    release = made(releases.dense)
    assert replace(release, mean=np.zeros(5)) != release
    assert release != replace(release, mean=np.zeros(5))


def test_a_release_that_learned_something_else_is_another():
    release = made(releases.learned)
    learned = release.learned
    other = replace(learned, beyond=learned.beyond + 1e-9)
    assert replace(learned) == learned != other
    assert replace(release, learned=replace(learned)) == release != replace(release, learned=other)
    assert release != replace(release, learned=None)


def test_a_release_says_whether_it_has_a_mean():
    assert [made(make).has_mean for make in KINDS] == [True, True, False, False, True]


def test_a_release_says_where_its_variances_come_from():
    stated = releases.dense(max_pairs=3, row_norm=None, scales=np.full(5, 2.0))
    found = [made(make).variances_are for make in KINDS] + [stated.variances_are]
    assert found == ["released", "released", "not released", "released", "released", "stated"]


def test_a_release_counts_what_it_holds():
    # Of five columns, and of five whose gaps are counted.
    assert [made(make).n_released for make in KINDS] == [15, 55, 3, 3, 3]


def test_the_noise_of_everything_that_was_released_is_listed():
    listed = [[fact.of for fact in made(make).noise_facts] for make in KINDS]
    assert listed[0] == listed[1] == ["covariance", "variance", "mean"]
    assert listed[2] == ["selection", "mean co-movement"]
    assert listed[3] == ["selection", "mean co-movement", "variance"]
    assert listed[4] == ["selection", "mean sign", "mean co-movement", "variance", "mean"]


def test_a_release_names_the_options_of_its_estimate():
    assert made(releases.dense).estimate_options == ("rule", "threshold", "gamma", "sparse", "psd")
    assert made(releases.pairs).estimate_options == ("fdr", "psd")
