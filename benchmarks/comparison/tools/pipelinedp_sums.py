"""PipelineDP: one partition for each cell and product, to each of which a person adds once."""

from __future__ import annotations

import numpy as np
import pipeline_dp

from benchmarks.comparison.noisy_sums import correlations, products
from benchmarks.comparison.question import Array, Method, Question

__all__ = ["METHODS"]


def _aggregate(question: Question) -> Array:
    cells = question.scaled
    values = products(cells)
    n_sums = values.shape[1]
    triples = ((row, place, v) for row, some in enumerate(values) for place, v in enumerate(some))
    accountant = pipeline_dp.NaiveBudgetAccountant(question.epsilon, question.delta)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    found = engine.aggregate(
        triples,
        pipeline_dp.AggregateParams(
            metrics=[pipeline_dp.Metrics.SUM],
            noise_kind=pipeline_dp.NoiseKind.GAUSSIAN,
            max_partitions_contributed=n_sums,
            max_contributions_per_partition=1,
            min_sum_per_partition=-1,
            max_sum_per_partition=1,
        ),
        pipeline_dp.DataExtractors(
            privacy_id_extractor=lambda triple: triple[0],
            partition_extractor=lambda triple: triple[1],
            value_extractor=lambda triple: triple[2],
        ),
        public_partitions=list(range(n_sums)),
    )
    accountant.compute_budgets()
    sums = {place: metrics.sum for place, metrics in found}
    return correlations(np.array([sums[place] for place in range(n_sums)]), *cells.shape)


METHODS: dict[str, Method] = {"sums by partition": _aggregate}
