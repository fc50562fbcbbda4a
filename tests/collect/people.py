"""Plans and reports for tests of collections."""

import numpy as np

from dpcov import local
from dpcov.local.report import encode_reports

STUDY = local.Study(
    title="Sleep",
    questions=[
        local.NumberQuestion("How old are you?", "age", low=18, high=110, unit="years"),
        local.ScaleQuestion("Do you sleep badly?", "bad", ["never", "at times", "always"]),
    ],
    minimum=3,
    count_is_public=True,
)
PLAN = STUDY.plan(epsilon=4.0)
SECRET = local.Study(title="Sleep", questions=STUDY.questions, minimum=3).plan(epsilon=4.0)
PLAIN = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0)
GAUSSIAN = local.CollectionPlan(
    columns=["a", "b"], row_norm=1.0, epsilon=2.0, delta=1e-6, mechanism="gaussian"
)


def made_up(plan, n, seed=0):
    """Reports with any ids and seeds: what a server cannot tell from real ones."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 256, (n, 16), dtype=np.uint8)
    if plan.mechanism == "cap":
        payloads = rng.integers(0, 256, (n, plan.payload_bytes), dtype=np.uint8)
        return encode_reports(plan, ids, payloads, simulated=False)
    rows = rng.normal(size=(n, plan.n_columns))
    reports = [local.randomize(row, plan, seed=place) for place, row in enumerate(rows)]
    table = np.frombuffer(b"".join(reports), np.uint8).reshape(n, -1).copy()
    table[:, 1] &= 0x7F
    table[:, 18:34] = ids
    return table


def released(plan, reports, *, simulated=False):
    """What a collector makes of reports, in one go."""
    collector = local.Collector(plan, simulated=simulated)
    collector.add_many(np.ascontiguousarray(reports))
    return collector.release()
