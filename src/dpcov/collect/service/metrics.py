"""What a service counts, for Prometheus.

Owns the names. Nothing in it is about one request: no addresses, no report ids, no times.
"""

from __future__ import annotations

import os

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    disable_created_metrics,
    generate_latest,
    multiprocess,
)

__all__ = ["Metrics"]

_DURATIONS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
_SIZES = (1, 2, 5, 10, 20, 50, 100, 1000, 10_000, 100_000, 1_000_000)


class Metrics:
    """Counters of one process; several share a folder if the operator's server has many."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call] # when counting began is nobody's business
        self._registry = CollectorRegistry()
        self.answers = Counter(
            "dpcov_answers",
            "Answers to uploads, by what they say",
            ["answer"],
            registry=self._registry,
        )
        self.reports = Counter(
            "dpcov_reports_accepted",
            "Reports in uploads that were accepted, repeated ones with them",
            registry=self._registry,
        )
        self.commits = Histogram(
            "dpcov_commit_seconds",
            "How long commits took",
            buckets=_DURATIONS,
            registry=self._registry,
        )
        self.together = Histogram(
            "dpcov_commit_reports",
            "How many reports commits had",
            buckets=_SIZES,
            registry=self._registry,
        )

    def observe_commit(self, reports: int, seconds: float) -> None:
        """Count a commit."""
        self.commits.observe(seconds)
        self.together.observe(reports)

    def text(self) -> bytes:
        """Return all counters, of all processes of the server."""
        registry = self._registry
        if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
