"""Write local.json: what a client or a collector in another language must reproduce.

    python tests/vectors/make_local.py

The file is checked by tests/local/test_vectors.py against an implementation that shares no
code with dpcov.
"""

import json
from pathlib import Path

import numpy as np

from dpcov import local
from dpcov.local import expansion, integers
from dpcov.local.cap import lift_rows
from dpcov.local.plan_json import _facts, canonical_form
from dpcov.local.randomizer import _whole_rows

SIZES = (2, 10, 1000)


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
        "decisions": list(decisions()),
        "packings": list(packings()),
    }
    path = Path(__file__).with_name("local.json")
    path.write_text(json.dumps(vectors, ensure_ascii=False, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
