"""Tumult Analytics: one sum for each cell and product, each with its share of ρ. Needs Java."""

from __future__ import annotations

import os
import sys
import tempfile

import numpy as np
import pandas as pd

os.environ["PYSPARK_PYTHON"] = sys.executable  # Spark's workers must find the same packages

from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, QueryBuilder, RhoZCDPBudget, Session

from benchmarks.comparison.noisy_sums import correlations, products
from benchmarks.comparison.question import Array, Method, Question

__all__ = ["METHODS"]


def _rho(epsilon: float, delta: float) -> float:
    """Return the largest ρ that pays for (ε, δ), by Canonne, Kamath and Steinke (2020)."""
    order = 1 + np.geomspace(1e-2, 1e4, 20_000)
    low, high = 0.0, epsilon
    for _ in range(60):
        rho = (low + high) / 2
        spent = (order - 1) * (order * rho - epsilon) - np.log(order - 1)
        is_paid = np.min(spent + order * np.log1p(-1 / order)) <= np.log(delta)
        low, high = (rho, high) if is_paid else (low, rho)
    return low


def _query(question: Question) -> Array:
    cells = question.scaled
    values = products(cells)
    names = [f"sum{place}" for place in range(values.shape[1])]
    options = SparkSession.builder.config("spark.sql.shuffle.partitions", "2")
    spark = options.config("spark.sql.warehouse.dir", tempfile.mkdtemp()).getOrCreate()
    frame = spark.createDataFrame(pd.DataFrame(values, columns=names))
    rho = _rho(question.epsilon, question.delta)
    session = Session.from_dataframe(
        RhoZCDPBudget(rho), "people", frame, protected_change=AddOneRow()
    )
    share = RhoZCDPBudget(rho / len(names))
    sums = [
        session.evaluate(QueryBuilder("people").sum(name, -1, 1), share).toPandas().iloc[0, 0]
        for name in names
    ]
    return correlations(np.array(sums, dtype=np.float64), *cells.shape)


METHODS: dict[str, Method] = {"one sum each": _query}
