"""What the files of releases say, kind by kind.

Owns the meaning of the archives' headers. A file is read back only if the promise it
states is the one that its noise pays for.
"""

from __future__ import annotations

from dataclasses import asdict
from os import PathLike
from typing import Any

import numpy as np

from dpcov.columns import Units
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.errors import CorruptFileError
from dpcov.privacy import ApproxDP, Cap, Event, PureDP, event_from_dict, event_to_dict
from dpcov.releases.archive import Arrays, Facts, Format, read_archive, write_archive
from dpcov.releases.learned import Clipping, Learned
from dpcov.releases.noise_scale import NoiseScale
from dpcov.releases.pairs import PAIRS, MeanSigns, PairsProvenance, PairsRelease
from dpcov.releases.pairwise import pairwise_moments
from dpcov.releases.payment import check_moments_are_paid, check_pairs_are_paid
from dpcov.releases.provenance import Collected, Provenance
from dpcov.releases.published import Published
from dpcov.releases.release import Release
from dpcov.releases.variances import Variances
from dpcov.releases.weights import Weights
from dpcov.releases.working import WorkingMoments

__all__ = ["MOMENTS", "PAIRS_FORMAT", "read_release", "write_moments", "write_pairs"]


def write_moments(release: Release, path: str | PathLike[str]) -> None:
    """Write a release of all second moments to `path`."""
    write_archive(path, MOMENTS, release)


def write_pairs(release: PairsRelease, path: str | PathLike[str]) -> None:
    """Write a release of pairs to `path`."""
    write_archive(path, PAIRS_FORMAT, release)


def read_release(path: str | PathLike[str]) -> Any:
    """Read the release at `path`, or say what is wrong with the file."""
    return read_archive(path, (MOMENTS, PAIRS_FORMAT))


def _moment_facts(release: Release) -> Facts:
    made = release.provenance
    return {
        "n_rows": release.n_rows,
        "columns": list(release.columns),
        "noise_scale": {
            "off_diagonal": release.noise_scale.off_diagonal,
            "diagonal": release.noise_scale.diagonal,
            "signal": release.noise_scale.signal,
            "mean": release.noise_scale.mean,
        },
        "promise": str(release.promise),
        "simulated": release.simulated,
        "provenance": {
            "version": made.version,
            "mechanism": made.mechanism,
            "row_norm": made.row_norm,
            "bits": made.bits,
            "calibrated_for": _promise_facts(made.calibrated_for),
            "cap": _cap_facts(made.cap),
            "center": made.center,
            "constant": made.constant,
            "missing": made.missing,
            "rows_per_unit": made.rows_per_unit,
            "events": [event_to_dict(event) for event in made.events],
            **_collected_facts(made.collected),
            **_left_out_facts(made.left_out),
            **_person_facts(made.person_column),
        },
        "learned": _learned_facts(release),
        "weights": None if release.weights is None else asdict(release.weights),
        "fields": None if release.working is None else _field_facts(release.design),
    }


def _learned_facts(release: Release) -> Facts | None:
    learned = release.learned
    if learned is None:
        return None
    return {
        "beyond_error": learned.beyond_error,
        "clipping": asdict(learned.clipping),
        "factor": release.factor,
        "factor_error": release.factor_error,
    }


def _learned_arrays(learned: Learned | None) -> dict[str, Any]:
    if learned is None:
        return {name: np.empty(0, dtype=kind) for name, kind in _LEARNED.items()}
    return {name: getattr(learned, name) for name in _LEARNED}


def _learned_of(facts: Facts | None, arrays: Arrays) -> Facts:
    """Return what a release takes of what was learned."""
    if facts is None:
        if any(arrays[name].size for name in _LEARNED):
            raise CorruptFileError("it states limits that nobody learned")
        return {}
    stated = dict(facts)
    clipping = Clipping(**stated.pop("clipping"))
    vectors = {
        name: arrays[name].astype(np.dtype(kind).newbyteorder("="), copy=False)
        for name, kind in _LEARNED.items()
    }
    learned = Learned(clipping=clipping, beyond_error=stated.pop("beyond_error"), **vectors)
    return {"learned": learned, **stated}


def _moment_arrays(release: Release) -> Arrays:
    matrix, mean = release.raw
    return {
        "matrix": matrix,
        "mean": np.empty(0) if mean is None else mean,
        "observed": np.empty(0) if release.working is None else release.working.observed,
        **_unit_arrays(release),
        **_learned_arrays(release.learned),
    }


def _unit_arrays(release: Published) -> dict[str, Any]:
    return {"center": release.units.center, "scale": release.units.scale}


def _units_of(arrays: Arrays) -> Units:
    center, scale = (arrays[name].astype(np.float64, copy=False) for name in ("center", "scale"))
    return Units(center, scale)


def _rebuild_moments(facts: Facts, arrays: Arrays) -> Release:
    made = dict(facts["provenance"])
    if not isinstance(facts["columns"], list):
        raise CorruptFileError("its columns are not a list")
    promise, cap = _promise_of(made.pop("calibrated_for")), made.pop("cap")
    cap = None if cap is None else Cap(**cap)
    events = _events_of(made.pop("events"))
    left_out = _names_of(made.pop("left_out", []))
    collected = Collected(**made.pop("collected")) if "collected" in made else None
    matrix, mean, observed = (
        arrays[name].astype(np.float64, copy=False) for name in ("matrix", "mean", "observed")
    )
    noise_scale, n_rows = NoiseScale(**facts["noise_scale"]), facts["n_rows"]
    units, working = _units_of(arrays), None
    weights = None if facts["weights"] is None else Weights(**facts["weights"])
    if facts["fields"] is None:
        has_mean = made["constant"] or facts["weights"] is not None
        if observed.size:
            raise CorruptFileError("it states gaps of columns that have none")
    else:
        has_mean = True
        working = WorkingMoments(
            design=_design_of(facts["fields"]), matrix=matrix, mean=mean, observed=observed
        )
        n_terms = n_rows if weights is None else weights.effective_rows(n_rows)
        pairwise = pairwise_moments(working, noise_scale, n_rows=n_terms, units=units)
        matrix, mean = pairwise.matrix.copy(), pairwise.mean.copy()
    release = Release(
        matrix=matrix,
        mean=mean if has_mean else None,
        working=working,
        weights=weights,
        noise_scale=noise_scale,
        n_rows=n_rows,
        columns=tuple(facts["columns"]),
        provenance=Provenance(
            calibrated_for=promise,
            cap=cap,
            events=events,
            collected=collected,
            left_out=left_out,
            **made,
        ),
        simulated=facts["simulated"],
        units=units,
        **_learned_of(facts["learned"], arrays),
    )
    if facts["promise"] != str(release.promise):
        raise CorruptFileError("its promise is not that of its origin")
    check_moments_are_paid(release)
    return release


def _design_of(facts: Any) -> Design:
    """Return the design of fields that a file lists; one without levels and gaps has no list."""
    design = Design(
        tuple(
            Field(
                name=_text(each["name"]),
                levels=None if each["levels"] is None else tuple(map(_text, each["levels"])),
                may_be_missing=each["may_be_missing"] is True,
            )
            for each in facts
        )
    )
    if design.is_plain or _field_facts(design) != facts:
        raise CorruptFileError("its columns are not those of its origin")
    return design


def _field_facts(design: Design) -> list[Facts]:
    return [
        {
            "name": field.name,
            "levels": None if field.levels is None else list(field.levels),
            "may_be_missing": field.may_be_missing,
        }
        for field in design.fields
    ]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise CorruptFileError("its columns are not those of its origin")
    return value


def _pair_facts(release: PairsRelease) -> Facts:
    made, means, variances = release.provenance, release.mean_signs, release.variances
    return {
        "n_rows": release.n_rows,
        "n_terms": release.n_terms,
        "columns": list(release.columns),
        "noise_scale": release.noise_scale,
        "mean_signs": None if means is None else {"noise_scale": means.noise_scale},
        "variances": (
            None
            if variances is None
            else {"noise_scale": variances.noise_scale, "mean_noise": variances.mean_noise}
        ),
        "promise": str(release.promise),
        "simulated": release.simulated,
        "provenance": {
            "version": made.version,
            "mechanism": made.mechanism,
            "calibrated_for": _promise_facts(made.calibrated_for),
            "center": made.center,
            "max_pairs": made.max_pairs,
            "selection_scale": made.selection_scale,
            "row_norm": made.row_norm,
            "cell_bound": made.cell_bound,
            "missing": made.missing,
            "rows_per_unit": made.rows_per_unit,
            "events": [event_to_dict(event) for event in made.events],
            **_left_out_facts(made.left_out),
            **_person_facts(made.person_column),
        },
    }


def _pair_arrays(release: PairsRelease) -> Arrays:
    means, variances = release.mean_signs, release.variances
    return _unit_arrays(release) | {
        "pairs": release.pairs,
        "co_movement": release.co_movement,
        "mean_signs": np.empty(0) if means is None else means.values,
        "variances": np.empty(0) if variances is None else variances.values,
        "means": (np.empty(0) if variances is None or variances.means is None else variances.means),
    }


def _rebuild_pairs(facts: Facts, arrays: Arrays) -> PairsRelease:
    made = dict(facts["provenance"])
    if not isinstance(facts["columns"], list):
        raise CorruptFileError("its columns are not a list")
    promise = _promise_of(made.pop("calibrated_for"))
    if not isinstance(promise, ApproxDP):
        raise CorruptFileError("its promise is not that of its origin")
    events = _events_of(made.pop("events"))
    left_out = _names_of(made.pop("left_out", []))
    means, stated = facts["mean_signs"], facts["variances"]
    release = PairsRelease(
        pairs=arrays["pairs"].astype(np.int32, copy=False),
        co_movement=arrays["co_movement"].astype(np.float64, copy=False),
        noise_scale=facts["noise_scale"],
        n_terms=facts["n_terms"],
        mean_signs=(
            None
            if means is None
            else MeanSigns(arrays["mean_signs"].astype(np.float64, copy=False), **means)
        ),
        variances=None if stated is None else _variances_of(stated, arrays),
        n_rows=facts["n_rows"],
        columns=tuple(facts["columns"]),
        provenance=PairsProvenance(
            calibrated_for=promise, events=events, left_out=left_out, **made
        ),
        simulated=facts["simulated"],
        units=_units_of(arrays),
    )
    if facts["promise"] != str(release.promise) or release.provenance.mechanism != PAIRS:
        raise CorruptFileError("its promise is not that of its origin")
    check_pairs_are_paid(release, promise)
    return release


def _variances_of(facts: Facts, arrays: Arrays) -> Variances:
    values, means = (arrays[name].astype(np.float64, copy=False) for name in ("variances", "means"))
    return Variances(values, means=means if facts["mean_noise"] else None, **facts)


def _events_of(facts: Any) -> tuple[Event, ...]:
    if not isinstance(facts, list):
        raise CorruptFileError("its events are not a list")
    return tuple(event_from_dict(each) for each in facts)


def _left_out_facts(names: tuple[str, ...]) -> Facts:
    return {"left_out": list(names)} if names else {}


def _names_of(facts: Any) -> tuple[str, ...]:
    if not isinstance(facts, list):
        raise CorruptFileError("its columns are not a list")
    return tuple(map(_text, facts))


def _cap_facts(cap: Cap | None) -> Facts | None:
    return None if cap is None else {"threshold": cap.threshold, "coin": cap.coin}


def _collected_facts(collected: Collected | None) -> Facts:
    return {} if collected is None else {"collected": asdict(collected)}


def _person_facts(person_column: str | None) -> Facts:
    return {} if person_column is None else {"person_column": person_column}


def _promise_facts(promise: ApproxDP | PureDP) -> Facts:
    facts: Facts = {"epsilon": promise.epsilon, "neighbors": promise.neighbors.value}
    if isinstance(promise, ApproxDP):
        facts |= {"delta": promise.delta, "privacy_unit": promise.privacy_unit}
    return facts


def _promise_of(facts: Facts) -> ApproxDP | PureDP:
    return ApproxDP(**facts) if "delta" in facts else PureDP(**facts)


_UNITS = {"center": "<f8", "scale": "<f8"}
_LEARNED = {
    "lower": "<f8",
    "upper": "<f8",
    "beyond": "<f8",
    "known_range": "|i1",
    "known_center": "|i1",
    "known_scale": "|i1",
}
# Schema 1 listed costs of steps instead of events, schema 2 knew nothing of learning, schema 3
# nothing of categories and gaps; none was published. So it is of pairs, whose schema 2 had
# variances about centers.
MOMENTS = Format(
    "dpcov second-moment release",
    4,
    {"matrix": "<f8", "mean": "<f8", "observed": "<f8"} | _UNITS | _LEARNED,
    _rebuild_moments,
    lambda release: (_moment_facts(release), _moment_arrays(release)),
)
PAIRS_FORMAT = Format(
    "dpcov pairs release",
    3,
    {
        "pairs": "<i4",
        "co_movement": "<f8",
        "mean_signs": "<f8",
        "variances": "<f8",
        "means": "<f8",
    }
    | _UNITS,
    _rebuild_pairs,
    lambda release: (_pair_facts(release), _pair_arrays(release)),
)
