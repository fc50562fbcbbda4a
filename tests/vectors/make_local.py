"""Write local.json: what a client or a collector in another language must reproduce.

    python tests/vectors/make_local.py

The file is checked by tests/local/test_vectors.py against an implementation that shares no
code with dpcov.
"""

import hashlib
import json
import math
import struct
from pathlib import Path

import mpmath
import numpy as np

from dpcov import local
from dpcov.local import expansion, integers
from dpcov.local.cap import draw_seed, lift_rows
from dpcov.local.plan_json import _facts, canonical_form
from dpcov.local.randomizer import _one_row, _whole_rows
from dpcov.local.report import encode_reports
from dpcov.privacy import Cap, calibrate_cap, cap_epsilon

SIZES = (2, 10, 1000)
DIGITS = 40


def seeds(count):
    return np.random.default_rng(1).integers(0, 256, (count, 16), dtype=np.uint8)


def expansions():
    for size in SIZES:
        for seed in [np.zeros(16, np.uint8), *seeds(2)]:
            yield {
                "n_columns": size,
                "seed": seed.tobytes().hex(),
                "words": [
                    f"{word:016x}" for word in expansion.expand_words(seed[None], size + 1)[0]
                ],
                "integers": expansion.expand_integers(seed[None], size)[0].astype(int).tolist(),
            }


def plans():
    names = [f"x{i}" for i in range(10)]
    yield local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0)
    yield local.CollectionPlan(
        columns=["Größe", 'a "b"\\\n', "☃"],
        row_norm=0.1,
        epsilon=0.3,
        center=[1e-7, -0.0, 170.5],
        scale=[1.0, 1e22, 12.25],
        missing="refuse",
    )
    yield local.CollectionPlan(columns=names, row_norm=3.0, epsilon=1.0)
    yield local.CollectionPlan(
        columns=names, row_norm=3.0, epsilon=1.0, delta=1e-6, mechanism="gaussian"
    )


def plan_vectors():
    for plan in plans():
        yield {
            "json": plan.to_json(),
            "canonical": canonical_form(_facts(plan)).decode(),
            "id": plan.id,
        }


STUDIES = (
    {
        "title": "Sleep and work",
        "about": "Who asks, and why.\n\nA second paragraph: what you agree to.",
        "contact": "study@example.org",
        "minimum": 1000,
        "count_is_public": True,
        "questions": [
            {
                "kind": "number",
                "text": "How old are you?",
                "column": "age",
                "low": 18,
                "high": 110,
                "step": 1,
                "unit": "years",
            },
            {
                "kind": "scale",
                "text": "How often do you sleep badly?",
                "column": "bad_sleep",
                "points": ["never", "seldom", "sometimes", "often", "always"],
            },
            {
                "kind": "choice",
                "text": "Do you smoke?",
                "choices": [
                    {"label": "no", "column": None},
                    {"label": "yes", "column": "smokes"},
                    {"label": "formerly", "column": "smoked"},
                ],
            },
        ],
    },
    {
        "title": 'Größe "☃" \\ 😀',
        "about": "",
        "contact": "",
        "minimum": 1,
        "count_is_public": False,
        "questions": [
            # Reals as they are written: 1000.0 is not 1000.
            {
                "kind": "number",
                "text": "Δ?",
                "column": "Δ",
                "low": -0.5,
                "high": 1000.0,
                "step": 0.25,
                "unit": "",
            }
        ],
    },
)


def columns_of(question):
    if question["kind"] == "choice":
        return [choice["column"] for choice in question["choices"] if choice["column"] is not None]
    return [question["column"]]


def study_vectors():
    """Plans with a study: canonical form and id by hand, from the text that is published."""
    for study in STUDIES:
        columns = [name for question in study["questions"] for name in columns_of(question)]
        plan = local.CollectionPlan(columns=columns, row_norm=2.0, epsilon=2.0)
        facts = json.loads(plan.to_json()) | {"study": study}
        del facts["id"]
        canonical = json.dumps(
            with_patterns(facts), ensure_ascii=False, sort_keys=True, separators=(",", ":")
        )
        facts["id"] = hashlib.sha256(canonical.encode()).hexdigest()
        text = json.dumps(facts, ensure_ascii=False, indent=1)
        yield {"json": text, "canonical": canonical, "id": facts["id"]}


def with_patterns(value):
    """Return a value of JSON with each real as the hexadecimal digits of its pattern."""
    if isinstance(value, float):
        return struct.pack(">d", value + 0.0).hex()
    if isinstance(value, list):
        return [with_patterns(part) for part in value]
    if isinstance(value, dict):
        return {key: with_patterns(part) for key, part in value.items()}
    return value


def decisions():
    for size in SIZES:
        plan = local.CollectionPlan(
            columns=[f"x{i}" for i in range(size)], row_norm=1.0, epsilon=1.0
        )
        for row in (np.zeros(size), np.full(size, 0.6 / size**0.5), 3.0 * np.eye(size)[0]):
            whole = _whole_rows(row[None], plan)
            unit = lift_rows(whole, plan.bits)
            for seed in seeds(20):
                score = float((expansion.expand_normals(seed[None], size + 1) @ unit[0])[0])
                yield {
                    "n_columns": size,
                    "row": row.tolist() if size < 100 else [float(row[0]), float(row[-1])],
                    "whole": [int(whole[0, 0]), int(whole[0, -1])],
                    "seed": seed.tobytes().hex(),
                    "score": score,
                    "inside": abs(score) > plan.cap.threshold,
                }


def words_of_normals():
    """The ends, every power of two, both sides of where AS 241 changes its formula, and others."""
    yield from (0, 1, 2, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1)
    yield from (2**k for k in range(2, 63))
    for border in (0.075, math.exp(-25)):
        place = int(border * 2**64)
        yield from (place + step * 2**k for k in (0, 8, 16, 24) for step in (-3, -1, 1, 3))
    random = np.random.default_rng(2)
    yield from (int(word) for word in random.integers(0, 2**64, 100, dtype=np.uint64))
    yield from (int(random.integers(0, 2**k)) for k in range(20, 63))


def normals():
    """Return words with the numbers that they stand for, by Newton's method in many digits."""
    for word in words_of_normals():
        with mpmath.workdps(DIGITS + 10):
            tail = (mpmath.mpf(word % 2**63) + 0.5) / 2**64
            z = mpmath.mpf(0) if tail > 0.4 else mpmath.sqrt(-2 * mpmath.log(2 * tail))
            step = mpmath.mpf(1)
            while abs(step) > mpmath.mpf(10) ** -DIGITS:
                step = (mpmath.ncdf(-z) - tail) / mpmath.npdf(z)
                z += step
            z = -z if word >> 63 else z
            yield {"word": f"{word:016x}", "normal": mpmath.nstr(z, DIGITS, strip_zeros=False)}


def rows():
    """Rows that fit, rows that are clipped, rows beyond all integers, and gaps."""
    facts = {"center": [1.5, 0.0, -2e3], "scale": [0.3, 7.0, 1e3], "row_norm": 2.5}
    far = [1e10 * (i % 7 - 3) for i in range(100)]
    for row, changes in (
        ([1.5, 0.0, -2000.0], {}),
        ([1.6, 0.1, -1999.5], {}),
        ([1.4, -3.3, None], {}),
        ([2.9, 9.0, 100.0], {}),
        ([1e3, -4e5, 3e8], {}),
        ([1e200, -3e199, None], {}),
        ([1.7e308, -1.7e308, 1.0], {}),
        ([1.7e308, 0.1, 1.0], {"scale": [1e-100, 7.0, 1e3]}),
        ([1.5000000001, 5e-324, -2000.0], {"row_norm": 1e-20}),
        ([1e100, -1e99, 0.0], {"row_norm": 1e20}),
        ([None, None, None], {}),
        (far, {"center": None, "scale": None}),
        ([0.1] * 100, {"center": None, "scale": None, "row_norm": 0.3}),
        ([1.6, 0.1, -1999.5], {"mean": True}),
        ([2.9, 9.0, 100.0], {"mean": True}),
        ([None, None, None], {"mean": True}),
    ):
        plan = local.CollectionPlan(
            columns=[f"x{i}" for i in range(len(row))], epsilon=1.0, **{**facts, **changes}
        )
        whole = _whole_rows(_one_row(row, plan), plan)
        yield {
            "plan": plan.to_json(),
            "row": row,
            "whole": whole[0].astype(int).tolist(),
            "unit": lift_rows(whole, plan.bits, mean=plan.mean)[0].tolist(),
        }


def payments():
    for n_columns in (1, 50, 1000, 65536):
        for epsilon in (1e-6, 0.01, 0.3, 1.0, 2.0, 5.0, 20.0):
            yield payment(calibrate_cap(epsilon=epsilon, n_columns=n_columns), n_columns, epsilon)
    # A coin that hardly leans: seeds on the same side of two rows cost the most.
    yield payment(Cap(2.9999999685147527, 11595537), 65536, 1e-7)


def payment(cap, n_columns, epsilon):
    return {
        "n_columns": n_columns,
        "epsilon": epsilon,
        "threshold": cap.threshold,
        "coin": cap.coin,
        "inside": cap.inside,
        "tries": cap.steady_tries,
        "paid": cap_epsilon(cap, n_columns=n_columns),
    }


def listed_seed(name, place):
    """Seed number `place` of the list of a name."""
    return hashlib.sha256(f"{name} {place}".encode()).digest()[:16]


class ListedWords:
    """What a device draws, from a list: a coin, then the seeds of a name."""

    def __init__(self, toss, name):
        self._toss, self._name, self._place = toss, name, 0

    def words(self, count):
        if count == 1:
            return np.array([self._toss << 32], dtype=np.uint64)
        places = range(self._place, self._place + count // 2)
        self._place += count // 2
        return np.frombuffer(b"".join(listed_seed(self._name, i) for i in places), "<u8")


def reports():
    for mean in (False, True):
        plan = local.CollectionPlan(
            columns=["a", "b", "c"], row_norm=1.5, epsilon=2.0, center=[0.0, 1.0, 2.0], mean=mean
        )
        yield from reports_of(plan)


def reports_of(plan):
    report_id = hashlib.sha256(b"report id").digest()[:16]
    tosses = (0, plan.cap.coin - 1, plan.cap.coin, 2**32 - 1)
    for row in ([0.4, 1.2, 1.1], [None, -50.0, 2.0], [0.0, 1.0, 2.0]):
        for name, toss in enumerate(tosses):
            whole = _whole_rows(_one_row(row, plan), plan)
            unit = lift_rows(whole, plan.bits, mean=plan.mean)[0]
            seed = draw_seed(unit, plan.cap, ListedWords(toss, name))
            ids = np.frombuffer(report_id, np.uint8)[None]
            report = encode_reports(plan, ids, seed[None], simulated=False)
            yield {
                "plan": plan.to_json(),
                "row": row,
                "report_id": report_id.hex(),
                "toss": toss,
                "seeds": str(name),
                "report": report.tobytes().hex(),
            }


def packings():
    for noise in (integers.IntegerNoise(4, 1000, 1500), integers.IntegerNoise(12, 10**8, 10**8)):
        entries = [0, 1, -1, 255, -256, 20000, noise.largest, -noise.largest, noise.largest + 5]
        yield {
            "bits": noise.bits,
            "diagonal": noise.diagonal,
            "off_diagonal": noise.off_diagonal,
            "entries": entries,
            "payload": integers.pack(np.array(entries), noise).hex(),
        }


def main():
    vectors = {
        "key": expansion.KEY.hex(),
        "table_sha256": expansion.TABLE_SHA256,
        "threshold": 1.2548828125,
        "expansions": list(expansions()),
        "plans": list(plan_vectors()),
        "studies": list(study_vectors()),
        "decisions": list(decisions()),
        "packings": list(packings()),
        "normals": list(normals()),
        "rows": list(rows()),
        "payments": list(payments()),
        "reports": list(reports()),
    }
    path = Path(__file__).with_name("local.json")
    path.write_text(json.dumps(vectors, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
