"""Plans with a study, as texts: the id is computed here from the text, as docs/protocol.md says."""

import hashlib
import json
import struct
from pathlib import Path

from dpcov import local

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "local.json").read_text("utf-8"))
SLEEP = VECTORS["studies"][0]["json"]  # a number, a scale of five, a choice of three
STUDY = json.loads(SLEEP)["study"]
LONG = "Donaudampfschifffahrtsgesellschaftskapitänswitwenrentenauszahlungsstelle"


def plan_text(plan, study=None):
    """Return the text of a plan with a study."""
    facts = json.loads(plan.to_json())
    del facts["id"]
    if study is not None:
        facts["study"] = study
    form = json.dumps(_patterns(facts), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return json.dumps(facts | {"id": hashlib.sha256(form.encode()).hexdigest()})


def _patterns(value):
    if isinstance(value, float):
        return struct.pack(">d", value + 0.0).hex()
    if isinstance(value, dict):
        return {key: _patterns(part) for key, part in value.items()}
    return [_patterns(part) for part in value] if isinstance(value, list) else value


def sleep_plan(**changes):
    """Return the plan behind `SLEEP`, with other facts."""
    facts = {"columns": ["age", "bad_sleep", "smokes", "smoked"], "row_norm": 2.0, "epsilon": 2.0}
    return local.CollectionPlan(**(facts | changes))


def long_study():
    """Return the study with words that fit no phone."""
    study = json.loads(json.dumps(STUDY))
    study["title"] = study["about"] = LONG
    study["contact"] = f"{LONG}@example.org"
    study["questions"][0] |= {"text": LONG, "unit": LONG}
    study["questions"][1]["points"][0] = LONG
    return study
