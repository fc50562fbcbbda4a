"""A card in the field names of OpenDP's registry of deployments.

Owns the mapping. A field that dpcov knows nothing about is left out and named, for the
curator to fill in: nothing is made up.

The names are those of the template in github.com/opendp/deployments-registry-data, as it was
in 2026. An entry of the registry is a YAML file, and JSON is YAML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dpcov.errors import ParameterError
from dpcov.privacy import event_from_dict

__all__ = ["TO_FILL_IN", "registry_entry"]

TO_FILL_IN = (
    "deployment.basic.data_curators[].data_curator_type",
    "deployment.basic.intended_use",
    "deployment.basic.data_product_region",
    "deployment.basic.data_product_sector",
    "deployment.deployment_model.trust_assumptions",
    "deployment.deployment_model.actors",
    "deployment.deployment_model.release_type",
    "deployment.deployment_model.data_source_type",
    "deployment.implementation.justification",
    "deployment.administrative.evidence_sources",
    "deployment.administrative.registry_authors",
    "deployment.administrative.tier",
)
"""Fields of the registry that a card cannot know."""

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
        "url_slug": _slug(card["identity"]["name"]),
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
            "implementation": _implementation(card),
            "administrative": {"status": "Draft"},
        },
    }


def _basic(card: Mapping[str, Any]) -> dict[str, Any]:
    identity = card["identity"]
    return {
        "name": identity["name"],
        "data_curators": [{"data_curator_name": identity["curator"]}],
        "description": identity["description"],
        "data_product_type": "Summary statistics",
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
    events = [_event(dict(event)) for event in mechanism["events"]]
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
        "composition": _list(events),
        **_estimate(card["estimate"]),
    }


def _event(facts: dict[str, Any]) -> str:
    share = facts.pop("share")
    event = event_from_dict(facts)
    return f"{event.name}: {event.in_words}, {share:.1%} of the cost"


def _estimate(estimate: Mapping[str, Any] | None) -> dict[str, str]:
    if estimate is None:
        return {"post_processing": "A rule of the curator's own, from the release alone."}
    return {
        "post_processing": (
            f"Thresholding ({estimate['rule']}), then positive semi-definite by method "
            f"{estimate['psd']!r}; both from the release alone."
        ),
        "utility": estimate["detectable_in_words"],
    }


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
    return f"Tables of {data['n_rows']} rows and {data['n_columns']} numeric columns."


def _list(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _slug(name: str) -> str:
    return "-".join(re.findall(r"[a-z0-9]+", name.lower()))
