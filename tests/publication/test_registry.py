"""The draft for OpenDP's registry of deployments.

The registry's own schema is not part of this project: its file, in YAML, is looked for at the
path in DPCOV_REGISTRY_SCHEMA and in shared/registry beside the project. What it demands stands
here, too.
"""

import json
import os
from pathlib import Path

import jsonschema
import pytest

from dpcov.errors import ParameterError
from dpcov.publication import make_card, registry_entry
from dpcov.publication.registry import FILL_IN, TO_FILL_IN
from publication import releases
from publication.releases import ALL, estimate_of

REAL = [make for make in ALL if make is not releases.simulated]
BESIDE = Path(__file__).parents[3] / "shared" / "registry" / "deployments-schema.yaml"
SCHEMA = Path(os.environ.get("DPCOV_REGISTRY_SCHEMA", BESIDE))

# The fields that an entry may have, part by part; those that it must have end in a star.
FIELDS = {
    "": "url_slug* status* tier* deployment*",
    "deployment": "basic* dp_variant privacy_loss deployment_model accounting implementation "
    "administrative",
    "deployment.basic": "name* data_curators* description* intended_use* data_product_type* "
    "data_product_region* publication_date* data_product_sector",
    "deployment.dp_variant": "variant_name data_domain unprotected_quantities",
    "deployment.privacy_loss": "privacy_unit privacy_unit_details privacy_parameters "
    "privacy_parameters_details",
    "deployment.privacy_loss.privacy_parameters": "epsilon delta rho",
    "deployment.deployment_model": "model_name model_name_details actors release_type "
    "release_type_details data_source_type data_source_type_details access_type "
    "access_type_details",
    "deployment.accounting": "post_processing composition",
    "deployment.implementation": "preprocessing_and_hyperparameter_tuning mechanisms justification",
    "deployment.administrative": "sources notes registry_authors*",
}


def card_of(release, **identity):
    return make_card(release, estimate_of(release), **identity)


def part_of(entry, path):
    for step in filter(None, path.split(".")):
        entry = entry[step]
    return entry


@pytest.mark.parametrize("make", REAL)
def test_an_entry_has_the_fields_of_the_registry_and_no_others(make):
    entry = registry_entry(card_of(make()))
    for path, listed in FIELDS.items():
        names = {name.removesuffix("*") for name in listed.split()}
        needed = {name.removesuffix("*") for name in listed.split() if name.endswith("*")}
        assert needed <= part_of(entry, path).keys() <= names, path


@pytest.mark.parametrize("make", REAL)
def test_an_entry_keeps_to_the_schema_of_the_registry(make):
    yaml = pytest.importorskip("yaml")
    if not SCHEMA.is_file():
        pytest.skip("the schema of the registry is not at hand")
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    checker = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
    read = yaml.safe_load(json.dumps(registry_entry(card_of(make(), name="A", curator="B"))))
    assert [error.message for error in checker.iter_errors(read)] == []
    del read["status"]
    assert [error.message for error in checker.iter_errors(read)]


def test_the_values_of_an_entry_are_of_the_kinds_that_the_registry_takes():
    entry = registry_entry(card_of(releases.dense(), name="My survey, 2026", curator="Us"))
    assert (entry["url_slug"], entry["status"], entry["tier"]) == ("my-survey-2026", "Draft", 2)
    basic = entry["deployment"]["basic"]
    assert basic["data_curators"] == ["Us"]
    assert basic["data_product_type"] == "Summary statistics"
    assert entry["deployment"]["administrative"]["registry_authors"] == [FILL_IN]


def test_an_entry_has_the_numbers_of_the_card():
    card = card_of(releases.dense())
    deployment = registry_entry(card)["deployment"]
    assert deployment["privacy_loss"]["privacy_parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert deployment["dp_variant"]["variant_name"] == "Approximate DP"
    assert deployment["deployment_model"]["model_name"] == "Central"
    assert card["estimate"]["detectable_in_words"] in deployment["accounting"]["post_processing"]
    assert card["digest"] in deployment["administrative"]["notes"]


def test_a_name_without_plain_letters_has_an_address_from_the_digest():
    card = card_of(releases.dense(), name="収入")
    assert registry_entry(card)["url_slug"] == f"dpcov-{card['digest'][7:19]}"


def test_a_simulation_has_no_place_in_the_registry():
    with pytest.raises(ParameterError, match="promises nothing"):
        registry_entry(card_of(releases.simulated()))


@pytest.mark.parametrize("make", REAL)
def test_an_entry_leaves_open_what_a_card_cannot_know(make):
    entry = registry_entry(card_of(make()))
    for path in TO_FILL_IN:
        parents, _, last = path.rpartition(".")
        assert part_of(entry, parents).get(last, FILL_IN) in (FILL_IN, [FILL_IN]), path
