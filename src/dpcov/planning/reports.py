"""What reports of the local model will show.

Owns the outlook of a collection plan for rows of the usual length.
"""

from __future__ import annotations

import math

from dpcov.detection import dense_detectable
from dpcov.local import CollectionPlan
from dpcov.mechanisms.outlook import Outlook, typical_row_norm
from dpcov.privacy import ApproxDP, PureDP

__all__ = ["reports_outlook"]


def reports_outlook(
    mechanism: str, promise: ApproxDP | PureDP, n_people: int, n_columns: int
) -> Outlook:
    """Return what reports of some people will show; columns vary by 1."""
    reports = CollectionPlan(
        columns=[f"x{place}" for place in range(n_columns)],
        row_norm=typical_row_norm(n_columns),
        epsilon=promise.epsilon,
        mechanism=mechanism,
        delta=promise.delta if mechanism == "gaussian" and isinstance(promise, ApproxDP) else None,
    )
    noise = reports.noise_scale(n_people)
    privacy = math.sqrt(noise.off_diagonal**2 + 2 * noise.signal)
    half, most = (
        dense_detectable(n_columns=n_columns, n_rows=n_people, noise_scale=privacy, power=power)
        for power in (0.5, 0.9)
    )
    return Outlook(mechanism, privacy, half, most)
