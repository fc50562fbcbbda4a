"""Promises and the noise that pays for them. Pure mathematics: no data, no randomness.

Useful alone:

>>> from dpcov import privacy
>>> scale = privacy.gaussian_scale(epsilon=1.0, delta=1e-6, sensitivity=2.0)
>>> privacy.gaussian_delta(epsilon=1.0, scale=scale, sensitivity=2.0) <= 1e-6 * (1 + 1e-9)
True
"""

from dpcov.privacy.accounting import events_delta, events_epsilon
from dpcov.privacy.cap import Cap, calibrate_cap, cap_epsilon, cap_variation
from dpcov.privacy.composition import compose
from dpcov.privacy.events import (
    Approximate,
    Concentrated,
    Event,
    Gaussian,
    Pure,
    Selection,
    event_from_dict,
    event_to_dict,
)
from dpcov.privacy.gaussian import gaussian_delta, gaussian_epsilon, gaussian_scale
from dpcov.privacy.promise import ApproxDP, Neighbors, NoPromise, Promise, PureDP
from dpcov.privacy.sensitivity import (
    frobenius_sensitivity,
    sign_sensitivity,
    squared_moment_sensitivity,
    squared_unit_sensitivity,
    squared_variance_sensitivity,
)
from dpcov.privacy.shuffling import shuffled_delta, shuffled_epsilon

__all__ = [
    "ApproxDP",
    "Approximate",
    "Cap",
    "Concentrated",
    "Event",
    "Gaussian",
    "Neighbors",
    "NoPromise",
    "Promise",
    "Pure",
    "PureDP",
    "Selection",
    "calibrate_cap",
    "cap_epsilon",
    "cap_variation",
    "compose",
    "event_from_dict",
    "event_to_dict",
    "events_delta",
    "events_epsilon",
    "frobenius_sensitivity",
    "gaussian_delta",
    "gaussian_epsilon",
    "gaussian_scale",
    "shuffled_delta",
    "shuffled_epsilon",
    "sign_sensitivity",
    "squared_moment_sensitivity",
    "squared_unit_sensitivity",
    "squared_variance_sensitivity",
]
