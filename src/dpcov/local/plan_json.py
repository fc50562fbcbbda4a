"""Collection plans as text: JSON for people and programs, and the canonical form behind the id.

Owns the text, not its meaning. The id is the SHA-256 digest of the UTF-8 bytes of a JSON
object without spaces, with sorted keys, in which every real number is the string of the 16
lower-case hexadecimal digits of its IEEE 754 binary64 pattern, most significant first;
strings escape the quotation mark, the backslash and control characters alone (RFC 8785).
A number within the study is real or whole as it is written.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

from dpcov.columns.limits import MOST_BYTES, json_problem
from dpcov.errors import CollectionPlanError, ParameterError
from dpcov.local.integers import IntegerNoise
from dpcov.local.study import Study
from dpcov.privacy import Cap

if TYPE_CHECKING:
    from dpcov.local.plan import CollectionPlan

__all__ = ["canonical_form", "plan_from_json", "plan_id", "plan_to_json"]

_FORMAT, _VERSION = "dpcov collection plan", 2
_DEEPEST = 6  # a plan, its study, the questions, one of them, its choices, one of them
_KEYS = {
    "columns",
    "constants",
    "delta",
    "epsilon",
    "format",
    "id",
    "mechanism",
    "missing",
    "row_norm",
    "version",
}
_OPTIONAL = {"mean", "study"}


def plan_id(plan: CollectionPlan) -> str:
    """Return the digest of the plan's canonical form."""
    return hashlib.sha256(canonical_form(_facts(plan))).hexdigest()


def plan_to_json(plan: CollectionPlan) -> str:
    """Return the plan as JSON, with its id."""
    return json.dumps(_facts(plan) | {"id": plan.id}, ensure_ascii=False, indent=1)


def plan_from_json(text: str) -> CollectionPlan:
    """Read a collection plan, or refuse with `CollectionPlanError`."""
    from dpcov.local.plan import CollectionPlan

    facts = _parse(text)
    problem = None
    try:
        plan = CollectionPlan(
            columns=[column["name"] for column in facts["columns"]],
            center=[column["center"] for column in facts["columns"]],
            scale=[column["scale"] for column in facts["columns"]],
            row_norm=facts["row_norm"],
            epsilon=facts["epsilon"],
            delta=facts["delta"],
            mechanism=facts["mechanism"],
            missing=facts["missing"],
            constants=_constants(facts["mechanism"], facts["constants"]),
            mean=facts.get("mean", False),
            study=Study.from_dict(facts["study"]) if "study" in facts else None,
        )
    except ParameterError as error:
        problem = str(error)
    except (TypeError, KeyError):
        problem = "It has parts of the wrong kind."
    if problem is not None:
        raise CollectionPlanError(f"The text cannot be read as a collection plan. {problem}")
    if facts["id"] != plan.id or any(
        set(c) != {"name", "center", "scale"} for c in facts["columns"]
    ):
        raise CollectionPlanError(
            "The text cannot be read as a collection plan. Its id is not that of its contents."
        )
    return plan


def canonical_form(facts: dict[str, Any]) -> bytes:
    """Return the bytes that the id is the digest of.

    Examples
    --------
    >>> canonical_form({"b": 1.0, "a": [2, None, "ü"]}).decode()
    '{"a":[2,null,"ü"],"b":"3ff0000000000000"}'
    """
    text = json.dumps(
        _with_hexadecimal(facts), ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    return text.encode()


def _with_hexadecimal(value: Any) -> Any:
    if isinstance(value, float):
        return struct.pack(">d", value).hex()
    if isinstance(value, dict):
        return {key: _with_hexadecimal(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_with_hexadecimal(part) for part in value]
    return value


def _facts(plan: CollectionPlan) -> dict[str, Any]:
    if plan.mechanism == "cap":
        constants: dict[str, Any] = {"threshold": plan.cap.threshold, "coin": plan.cap.coin}
    else:
        noise = plan.noise
        constants = {
            "bits": noise.bits,
            "off_diagonal": noise.off_diagonal,
            "diagonal": noise.diagonal,
        }
    centers, scales = plan.center or (), plan.scale or ()
    # Parts that a plan may have or not: without them it keeps the id that it had before.
    more: dict[str, Any] = {"mean": True} if plan.mean else {}
    if plan.study is not None:
        more["study"] = plan.study.to_dict()
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "columns": [
            {"name": name, "center": center, "scale": scale}
            for name, center, scale in zip(plan.columns, centers, scales, strict=True)
        ],
        "row_norm": plan.row_norm,
        "epsilon": plan.epsilon,
        "delta": plan.delta,
        "mechanism": plan.mechanism,
        "missing": plan.missing,
        "constants": constants,
    } | more


def _constants(mechanism: object, facts: dict[str, Any]) -> Cap | IntegerNoise:
    return Cap(**facts) if mechanism == "cap" else IntegerNoise(**facts)


def _parse(text: object) -> dict[str, Any]:
    if not isinstance(text, str) or len(text) > MOST_BYTES:
        raise CollectionPlanError(
            f"A collection plan is a string of JSON, of at most {MOST_BYTES >> 20} MiB."
        )
    if problem := json_problem(text, most_deep=_DEEPEST):
        raise CollectionPlanError(f"The text cannot be read as a collection plan. {problem}")
    try:
        facts = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse)
    except (ValueError, RecursionError):
        facts = None
    if not isinstance(facts, dict) or facts.get("format") != _FORMAT:
        raise CollectionPlanError("The text is not a collection plan.")
    version = facts.get("version")
    if type(version) is int and version != _VERSION:
        raise CollectionPlanError(
            f"The plan has version {version}, and this version of dpcov reads {_VERSION} alone. "
            "Read it with the version of dpcov that wrote it."
        )
    if type(version) is not int or set(facts) - _OPTIONAL != _KEYS:
        raise CollectionPlanError("The plan has missing or unknown parts.")
    return facts


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    facts = dict(pairs)
    if len(facts) != len(pairs):
        raise ValueError("a key stands twice")
    return facts


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not a number of JSON")
