"""Releases of every kind, for cards and folders."""

import warnings

import numpy as np

import dpcov
from dpcov.errors import NothingDetectableWarning
from dpcov.publication.category_tables import CATEGORY_TABLES
from dpcov.publication.folder_files import ALL_FILES
from either import release

PLAIN_FILES = tuple(name for name in ALL_FILES if name.partition(".")[0] not in CATEGORY_TABLES)
"""Of a folder without categories and gaps."""


def table(n_rows=4000, n_columns=5):
    rows = np.random.default_rng(0).normal(size=(n_rows, n_columns))
    rows[:, 1] += rows[:, 0]
    return rows


def dense(**options):
    stated = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 4.0} | options
    return release(table(), **stated)


def learned():
    return dense(row_norm=None)


def persons():
    rows = {f"x{place}": column for place, column in enumerate(table().T)}
    import pandas as pd

    frame = pd.DataFrame(rows).assign(patient=np.arange(4000) // 2)
    return dpcov.release(
        frame, epsilon=1.0, delta=1e-6, row_norm=4.0, privacy_unit="patient", rows_per_unit=2
    )


def panel(n_rows=5000, **options):
    """Return a release of a table with a column that is called like a person."""
    import pandas as pd

    frame = pd.DataFrame(table(n_rows, 3), columns=["a", "b", "c"])
    frame["pid"] = np.arange(n_rows) // 5
    stated = {"epsilon": 1.0, "delta": 1e-6, "columns": {"a": {}, "b": {}}} | options
    return dpcov.release(frame, **stated)


def facts():
    columns = {f"x{place}": {"lower": -4, "upper": 5} for place in range(5)}
    return dense(columns=columns, row_norm=None, neighbors="add-remove", missing="center")


def scaled():
    columns = {f"x{place}": {"center": 0.5, "scale": 2.0} for place in range(5)}
    return dense(columns=columns, row_norm=None)


def uneven():
    """Columns of every kind: a heavy tail, one that never varies, stated facts."""
    rows = table(20_000)
    rows[:, 2] = np.sign(rows[:, 2]) * np.exp(3 * np.abs(rows[:, 2]))
    rows[:, 3] = 0.0
    columns = {"a": {}, "b": {"lower": -3, "upper": 3}, "tail": {}, "never": {}}
    columns["known"] = {"center": 0.0, "scale": 0.5}
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(columns))
    return dpcov.release(frame, epsilon=8.0, delta=1e-6, columns=columns)


def pairs():
    return dense(max_pairs=3, row_norm=None)


def pairs_with_variances():
    return dense(max_pairs=3, row_norm=4.0, cell_bound=3.0)


def pairs_with_means():
    return dense(max_pairs=3, row_norm=4.0, cell_bound=3.0, center="learned")


def collected(mechanism="cap"):
    options = {"delta": 1e-6} if mechanism == "gaussian" else {}
    plan = dpcov.local.CollectionPlan(
        columns=["a", "b"], row_norm=1.0, epsilon=2.0, mechanism=mechanism, **options
    )
    collector = dpcov.local.Collector(plan)
    collector.add_many([dpcov.local.randomize([0.5, 0.2], plan) for _ in range(50)])
    return collector.release()


def collected_gaussian():
    return collected("gaussian")


def simulated():
    return dense(seed=1)


def hopeless():
    return dpcov.release(table(50), epsilon=0.01, delta=1e-6, row_norm=4.0, allow={"small"})


ALL = [
    dense,
    learned,
    persons,
    facts,
    scaled,
    uneven,
    pairs,
    pairs_with_variances,
    pairs_with_means,
    collected,
    collected_gaussian,
    simulated,
    hopeless,
]


def estimate_of(release):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingDetectableWarning)
        return release.estimate()
