"""A card in the field names of OpenDP's registry of deployments.

Owns the mapping. What dpcov knows nothing about is named, for the curator to fill in: nothing
is made up. Where the registry demands a text, `FILL_IN` stands in its place.

The names are those of the schema of github.com/opendp/deployments-registry-data, as it was in
July 2026. An entry of the registry is a YAML file, and JSON is YAML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dpcov.errors import ParameterError
from dpcov.privacy import event_from_dict

__all__ = ["FILL_IN", "TO_FILL_IN", "registry_entry"]

FILL_IN = "TO BE FILLED IN"
"""Stands where the registry demands a text that a card cannot know."""

TO_FILL_IN = (
    "deployment.basic.intended_use",
    "deployment.basic.data_product_region",
    "deployment.basic.data_product_sector",
    "deployment.deployment_model.actors",
    "deployment.deployment_model.release_type",
    "deployment.deployment_model.data_source_type",
    "deployment.implementation.justification",
    "deployment.administrative.sources",
    "deployment.administrative.registry_authors",
)
"""Fields of the registry that a card cannot know."""

# Name, promise, privacy unit and model are there; actors and reasons, of tier 3, are not.
_TIER = 2
_VARIANT = {"approximate": "Approximate DP", "pure": "Pure DP"}


def registry_entry(card: Mapping[str, Any]) -> dict[str, Any]:
    """Return a draft of an entry for OpenDP's registry of deployments.

    Parameters
    ----------
    card : mapping
        What `make_card` returned.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.random.default_rng(0).normal(size=(20_000, 4))
    >>> release = dpcov.release(rows, epsilon=1, delta=1e-6, row_norm=4)
    >>> card = dpcov.publication.make_card(release, release.estimate(), name="Four answers")
    >>> registry_entry(card)["deployment"]["privacy_loss"]["privacy_parameters"]
    {'epsilon': 1.0, 'delta': 1e-06}
    """
    if not card["guarantee"]["holds"]:
        raise ParameterError(
            "A simulation with a seed promises nothing: it has no place in a registry."
        )
    return {
        "url_slug": _slug(card),
        "status": "Draft",
        "tier": _TIER,
        "deployment": {
            "basic": _basic(card),
            "dp_variant": {
                "variant_name": _VARIANT[card["guarantee"]["variant"]],
                "data_domain": _domain(card),
                "unprotected_quantities": _list(card["guarantee"]["not_protected"]),
            },
            "privacy_loss": _privacy_loss(card),
            "deployment_model": {
                "model_name": card["model"].capitalize(),
                "access_type": "Non-interactive",
            },
            "accounting": _accounting(card),
            "implementation": _implementation(card),
            "administrative": {
                "notes": f"Drafted by dpcov from the release card with digest {card['digest']}.",
                "registry_authors": [FILL_IN],
            },
        },
    }


def _basic(card: Mapping[str, Any]) -> dict[str, Any]:
    identity = card["identity"]
    return {
        "name": identity["name"] or FILL_IN,
        "data_curators": [identity["curator"] or FILL_IN],
        "description": identity["description"] or FILL_IN,
        "intended_use": FILL_IN,
        "data_product_type": "Summary statistics",
        "data_product_region": FILL_IN,
        "publication_date": identity["date"],
    }


def _privacy_loss(card: Mapping[str, Any]) -> dict[str, Any]:
    guarantee = card["guarantee"]
    parameters = {"epsilon": guarantee["epsilon"]}
    if guarantee["variant"] == "approximate":
        parameters["delta"] = guarantee["delta"]
    return {
        "privacy_unit": guarantee["privacy_unit"]["is"],
        "privacy_unit_details": f"Neighbors: {guarantee['neighbors']['in_words']}.",
        "privacy_parameters": parameters,
        "privacy_parameters_details": guarantee["in_words"],
    }


def _implementation(card: Mapping[str, Any]) -> dict[str, Any]:
    mechanism = card["mechanism"]
    noise = [f"{n['of']}: {n['law']}, {n['measure']} {n['value']:.6g}" for n in mechanism["noise"]]
    return {
        "preprocessing_and_hyperparameter_tuning": _preprocessing(card),
        "mechanisms": _list(
            [
                f"{mechanism['name']} (dpcov {card['library']['version']})",
                *noise,
                f"sampler: {mechanism['sampler']}",
                f"floating point: {mechanism['floating_point']}",
                *card["known_limits"],
            ]
        ),
    }


def _accounting(card: Mapping[str, Any]) -> dict[str, str]:
    events = [_event(dict(event)) for event in card["mechanism"]["events"]]
    return {"post_processing": _estimate(card["estimate"]), "composition": _list(events)}


def _event(facts: dict[str, Any]) -> str:
    share = facts.pop("share")
    event = event_from_dict(facts)
    return f"{event.name}: {event.in_words}, {share:.1%} of the cost"


def _estimate(estimate: Mapping[str, Any] | None) -> str:
    if estimate is None:
        return "A rule of the curator's own, from the release alone."
    return (
        f"Thresholding ({estimate['rule']}), then positive semi-definite by method "
        f"{estimate['psd']!r}; both from the release alone. {estimate['detectable_in_words']}"
    )


def _preprocessing(card: Mapping[str, Any]) -> str:
    reading, learned = card["reading"], card["learned"]
    norm = "" if reading["row_norm"] is None else f" {reading['row_norm']:.6g}"
    return _list(
        [
            f"norm to which rows were clipped:{norm} {reading['row_norm_is']}",
            f"scales of the columns: {reading['scales']}",
            f"center: {reading['center']}",
            f"missing cells: {reading['missing_cells']}",
            *([] if learned is None else learned["in_words"]),
        ]
    )


def _domain(card: Mapping[str, Any]) -> str:
    data = card["data"]
    numbers, categories = data["n_columns"] - data["n_categories"], data["n_categories"]
    kinds = f"{numbers} numeric columns"
    if categories:
        kinds += f" and {categories} categories with public levels"
    return f"Tables of {data['n_rows']} rows and {kinds}."


def _list(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _slug(card: Mapping[str, Any]) -> str:
    """Return the name as part of an address; of the digest, where it has no plain letters."""
    words = re.findall(r"[a-z0-9]+", card["identity"]["name"].lower())
    return "-".join(words or ["dpcov", card["digest"].removeprefix("sha256:")[:12]])
