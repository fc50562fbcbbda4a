"""Releases as plain facts and arrays, whatever classes hold them: the way in and the way out.

The words here are neutral, so that files of golden results outlive names of the library. Whoever
renames or merges classes changes this module, and no file.
"""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from dpcov.columns import Units
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.privacy import ApproxDP, Cap, PureDP, event_from_dict, event_to_dict
from dpcov.releases import PairsRelease, Release
from dpcov.releases.learned import Clipping, Learned
from dpcov.releases.noise_scale import NoiseScale
from dpcov.releases.pairs import MeanSigns, PairsProvenance
from dpcov.releases.pairwise import pairwise_moments
from dpcov.releases.provenance import Provenance
from dpcov.releases.variances import Variances
from dpcov.releases.weights import Weights
from dpcov.releases.working import WorkingMoments

FOLDER = Path(__file__).parent
_LIMITS = ("lower", "upper", "beyond", "known_range", "known_center", "known_scale")


def facts_of(release):
    """Return all that a release holds, as what JSON can hold."""
    made = release.provenance
    facts = {
        "kind": "pairs" if isinstance(release, PairsRelease) else "dense",
        "n_rows": release.n_rows,
        "columns": list(release.columns),
        "center": release.units.center.tolist(),
        "scale": release.units.scale.tolist(),
        "guarantee": _guarantee_facts(made.calibrated_for),
        "events": [event_to_dict(event) for event in made.events],
        "missing": str(made.missing.value),
        "rows_per_unit": made.rows_per_unit,
        "mechanism": made.mechanism,
        "row_norm": made.row_norm,
    }
    return facts | (_pairs_facts if facts["kind"] == "pairs" else _dense_facts)(release)


def _dense_facts(release):
    made, learned, working = release.provenance, release.learned, release.working
    matrix, mean = release.raw
    return {
        "bits": made.bits,
        "mean_constant": made.constant,
        "mean_is": made.center,
        "cap": None if made.cap is None else [made.cap.threshold, made.cap.coin],
        "noise": asdict(release.noise_scale),
        "matrix": matrix.tolist(),
        "mean": None if mean is None else mean.tolist(),
        "weights": None if release.weights is None else asdict(release.weights),
        "factor": [release.factor, release.factor_error],
        "limits": None if learned is None else _limit_facts(learned),
        "fields": None if working is None else _field_facts(working),
    }


def _limit_facts(learned):
    return {
        **{name: getattr(learned, name).tolist() for name in _LIMITS},
        "beyond_error": learned.beyond_error,
        "clipping": asdict(learned.clipping),
    }


def _field_facts(working):
    return {
        "observed": working.observed.tolist(),
        "columns": [[f.name, f.levels, f.may_be_missing] for f in working.design.fields],
    }


def _pairs_facts(release):
    made, signs, variances = release.provenance, release.mean_signs, release.variances
    return {
        "n_terms": release.n_terms,
        "pairs": release.pairs.tolist(),
        "co_movement": release.co_movement.tolist(),
        "noise": release.noise_scale,
        "mean_is": made.center,
        "max_pairs": made.max_pairs,
        "selection_scale": made.selection_scale,
        "cell_bound": made.cell_bound,
        "mean_signs": None if signs is None else [signs.values.tolist(), signs.noise_scale],
        "variances": None
        if variances is None
        else {
            "values": variances.values.tolist(),
            "noise": variances.noise_scale,
            "means": None if variances.means is None else variances.means.tolist(),
            "mean_noise": variances.mean_noise,
        },
    }


def _guarantee_facts(promise):
    facts = {"epsilon": promise.epsilon, "neighbors": promise.neighbors.value}
    if isinstance(promise, ApproxDP):
        facts |= {"delta": promise.delta, "unit": promise.privacy_unit}
    return facts


def write_release(name, release):
    """Freeze what a release holds, with 8 digits of each number."""
    text = json.dumps(facts_of(release))
    short = json.loads(text, parse_float=lambda digits: float(f"{float(digits):.8g}"))
    write_json(FOLDER / "released" / f"{name}.json", short)


def write_json(path, facts):
    """Write one fact a line."""
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in facts.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def read_release(name):
    """Return the release whose facts are in a file."""
    facts = json.loads((FOLDER / "released" / f"{name}.json").read_text(encoding="utf-8"))
    return (_pairs_release if facts["kind"] == "pairs" else _dense_release)(facts)


def _dense_release(facts):
    units, noise = _units(facts), NoiseScale(**facts["noise"])
    matrix, mean = np.array(facts["matrix"]), facts["mean"]
    mean = None if mean is None else np.array(mean)
    weights = None if facts["weights"] is None else Weights(**facts["weights"])
    working = None
    if facts["fields"] is not None:
        fields = [
            Field(name, None if levels is None else tuple(levels), gaps)
            for name, levels, gaps in facts["fields"]["columns"]
        ]
        observed = np.array(facts["fields"]["observed"])
        working = WorkingMoments(
            design=Design(tuple(fields)), matrix=matrix, mean=mean, observed=observed
        )
        n_terms = facts["n_rows"] if weights is None else weights.effective_rows(facts["n_rows"])
        found = pairwise_moments(working, noise, n_rows=n_terms, units=units)
        matrix, mean = found.matrix.copy(), found.mean.copy()
    factor, factor_error = facts["factor"]
    return Release(
        matrix=matrix,
        mean=mean,
        working=working,
        weights=weights,
        noise_scale=noise,
        n_rows=facts["n_rows"],
        columns=tuple(facts["columns"]),
        units=units,
        simulated=False,
        learned=None if facts["limits"] is None else _learned(facts["limits"]),
        factor=factor,
        factor_error=factor_error,
        provenance=Provenance(
            **_made(facts),
            bits=facts["bits"],
            constant=facts["mean_constant"],
            cap=None if facts["cap"] is None else Cap(*facts["cap"]),
        ),
    )


def _learned(facts):
    arrays = {
        name: np.array(facts[name], dtype=np.int8 if name.startswith("known") else np.float64)
        for name in _LIMITS
    }
    clipping = Clipping(**facts["clipping"])
    return Learned(**arrays, beyond_error=facts["beyond_error"], clipping=clipping)


def _pairs_release(facts):
    signs, stated = facts["mean_signs"], facts["variances"]
    return PairsRelease(
        pairs=np.array(facts["pairs"], dtype=np.int32).reshape(-1, 2),
        co_movement=np.array(facts["co_movement"]),
        noise_scale=facts["noise"],
        n_terms=facts["n_terms"],
        mean_signs=None if signs is None else MeanSigns(np.array(signs[0]), signs[1]),
        variances=None
        if stated is None
        else Variances(
            np.array(stated["values"]),
            stated["noise"],
            None if stated["means"] is None else np.array(stated["means"]),
            stated["mean_noise"],
        ),
        n_rows=facts["n_rows"],
        columns=tuple(facts["columns"]),
        units=_units(facts),
        simulated=False,
        provenance=PairsProvenance(
            **_made(facts),
            max_pairs=facts["max_pairs"],
            selection_scale=facts["selection_scale"],
            cell_bound=facts["cell_bound"],
        ),
    )


def _made(facts):
    """Return what both kinds of release say of how they were made."""
    stated = dict(facts["guarantee"])
    unit = stated.pop("unit", None)
    promise = ApproxDP(**stated, privacy_unit=unit) if "delta" in stated else PureDP(**stated)
    return {
        "version": "golden",
        "mechanism": facts["mechanism"],
        "calibrated_for": promise,
        "center": facts["mean_is"],
        "row_norm": facts["row_norm"],
        "events": tuple(event_from_dict(each) for each in facts["events"]),
        "missing": facts["missing"],
        "rows_per_unit": facts["rows_per_unit"],
    }


def _units(facts):
    return Units(np.array(facts["center"]), np.array(facts["scale"]))
