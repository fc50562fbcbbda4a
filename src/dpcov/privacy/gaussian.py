"""The Gaussian mechanism: promise ⇄ noise scale, rounded toward privacy.

Owns the analytic formula of Balle and Wang (2018) and its inverses. Every returned
number is on the safe side: a scale is never too small, a delta or an epsilon never too
small. Adds no noise and sees no data.

With sensitivity Δ, noise sd σΔ, h = 1/σ, a = h/2 − ε/h and b = −h/2 − ε/h,

    δ(ε, σ) = Φ(a) − e^ε Φ(b).

The two terms nearly cancel when δ is small, and e^ε overflows. Because
e^ε φ(b) = φ(a), both problems vanish with the Mills ratio m(t) = Φ(−t)/φ(t):

    δ = φ(a) (m(−a) − m(−b)) for a ≤ 0,    δ = Φ(a) − φ(a) m(−b) for a > 0.
"""

from __future__ import annotations

import math
from functools import lru_cache

from dpcov.bisection import smallest_safe
from dpcov.errors import ParameterError
from dpcov.parameters import check_number

__all__ = ["gaussian_delta", "gaussian_epsilon", "gaussian_scale"]

# Relative error allowed to each special function and to the arithmetic around it, in
# units of 2^-53. Measured against 60 digits: at most 10 (tests/privacy/test_gaussian.py).
_ALLOWED_ULPS = 64
_UNIT = _ALLOWED_ULPS * 2.0**-53

_TINY_DELTA = 1e-300
_LARGEST_EPSILON = 1e6
_HUGE = 1e300
_NO_SCALE = "No finite noise scale keeps this promise; raise epsilon or delta."
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def gaussian_scale(*, epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the smallest noise sd that gives (epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon : float
        Positive.
    delta : float
        In [1e-300, 1).
    sensitivity : float, default 1
        ℓ₂ sensitivity of what is released.

    Returns
    -------
    float
        A noise standard deviation, rounded up.

    Notes
    -----
    Claim P3. The returned scale is an end of a bracket at which an upper bound of δ
    (the computed value plus its largest possible rounding error) was seen to be at most
    `delta`. A root finder that stops anywhere in its bracket may return a scale for
    which the promise is false.

    References
    ----------
    Balle and Wang (2018), Improving the Gaussian mechanism for differential privacy.

    Examples
    --------
    >>> round(gaussian_scale(epsilon=1.0, delta=1e-5), 3)
    3.731
    """
    multiplier = _smallest_multiplier(_checked_epsilon(epsilon), _checked_delta(delta))
    sensitivity = _checked_positive("sensitivity", sensitivity)
    scale = multiplier * sensitivity
    if math.isinf(scale):
        raise ParameterError(f"{_NO_SCALE} The sensitivity is {sensitivity:g}.")
    return math.nextafter(scale, math.inf)


@lru_cache(maxsize=128)
def _smallest_multiplier(epsilon: float, delta: float) -> float:
    log_delta = math.log(delta)

    def is_safe(scale: float) -> bool:
        return _log_delta_bound(epsilon, scale) <= log_delta

    return smallest_safe(is_safe, start=1.0, otherwise=_NO_SCALE)


def gaussian_delta(*, epsilon: float, scale: float, sensitivity: float = 1.0) -> float:
    """Return the delta that noise of a given sd pays for at a given epsilon.

    Parameters
    ----------
    epsilon : float
        Non-negative.
    scale : float
        Standard deviation of the noise.
    sensitivity : float, default 1
        ℓ₂ sensitivity of what is released.

    Returns
    -------
    float
        Rounded up, and at least 1e-300: the Gaussian mechanism has no pure promise.

    Examples
    --------
    The calibration that is proved for epsilon < 1 only, at sensitivity √2:

    >>> scale = math.sqrt(2 * math.log(1.25 / 1e-5))
    >>> f"{gaussian_delta(epsilon=1.0, scale=scale, sensitivity=math.sqrt(2)):.2e}"
    '3.74e-05'
    """
    epsilon = check_number(
        "epsilon", epsilon, low=0.0, high=_LARGEST_EPSILON, open_low=False, open_high=False
    )
    multiplier = _noise_multiplier(scale, sensitivity)
    # The last rounding of exp is inside the allowance. Floats end near 1e-308, delta never.
    return min(1.0, max(_TINY_DELTA, math.exp(_log_delta_bound(epsilon, multiplier))))


def gaussian_epsilon(*, delta: float, scale: float, sensitivity: float = 1.0) -> float:
    """Return the epsilon that noise of a given sd pays for at a given delta.

    Parameters
    ----------
    delta : float
        In [1e-300, 1).
    scale : float
        Standard deviation of the noise.
    sensitivity : float, default 1
        ℓ₂ sensitivity of what is released.

    Returns
    -------
    float
        The smallest epsilon, rounded up; 0 when `delta` alone pays for the noise.

    Examples
    --------
    >>> round(gaussian_epsilon(delta=1e-5, scale=3.7306), 3)
    1.0
    """
    log_delta = math.log(_checked_delta(delta))
    multiplier = _noise_multiplier(scale, sensitivity)

    def is_safe(epsilon: float) -> bool:
        return _log_delta_bound(epsilon, multiplier) <= log_delta

    if is_safe(0.0):
        return 0.0
    return smallest_safe(is_safe, start=1.0, otherwise="scale is too small for any epsilon.")


def _log_delta_bound(epsilon: float, multiplier: float) -> float:
    """Upper bound of log δ(ε, σ): the computed value plus its possible rounding error."""
    from scipy.special import ndtr  # lazily: scipy.special is slower to import than dpcov

    half_step = 0.5 / multiplier if multiplier > 0 else math.inf
    a = half_step - epsilon * multiplier
    minus_b = half_step + epsilon * multiplier
    if not (a * minus_b < _HUGE):
        return 0.0  # hardly any noise: delta is at most 1, and that is all that floats can say
    # a and b are off by at most 2^-52 |b|, which moves log φ(a) by |a| times that.
    density_slip = _UNIT * (1.0 + abs(a) * minus_b)
    log_density = -0.5 * a * a - _LOG_SQRT_2PI
    if a > 0:
        upper = float(ndtr(a)) * (1.0 + _UNIT * (1.0 + minus_b))
        lower = math.exp(log_density - density_slip) * _mills_ratio(minus_b, minus_b, -1)
        return _log_difference(upper, lower)
    upper, lower = _mills_ratio(-a, minus_b, +1), _mills_ratio(minus_b, minus_b, -1)
    return log_density + density_slip + _log_difference(upper, lower)


def _mills_ratio(t: float, size: float, direction: int) -> float:
    """Bound Φ(−t)/φ(t) from above (+1) or below (−1), for t ≥ 0 off by at most 2^-52 `size`.

    |m'/m| = 1/m − t < 1/(1 + t) + 1/2 for t ≥ 0, so an error in t costs little when t
    is large: that keeps the bound tight where the two ratios nearly cancel.
    """
    from scipy.special import erfcx

    slip = _UNIT * (1.0 + size / (1.0 + t))
    return math.sqrt(math.pi / 2) * float(erfcx(t / math.sqrt(2))) * (1.0 + direction * slip)


def _log_difference(upper: float, lower: float) -> float:
    return math.log(upper - lower) if upper > lower else -math.inf


def _noise_multiplier(scale: float, sensitivity: float) -> float:
    # Rounded down: a smaller multiplier promises less.
    ratio = _checked_positive("scale", scale) / _checked_positive("sensitivity", sensitivity)
    return math.nextafter(ratio, 0.0)


def _checked_epsilon(value: float) -> float:
    return check_number("epsilon", value, low=0.0, high=_LARGEST_EPSILON, open_high=False)


def _checked_delta(value: float) -> float:
    return check_number(
        "delta",
        value,
        low=_TINY_DELTA,
        high=1.0,
        open_low=False,
        advice="The Gaussian mechanism has no pure promise.",
    )


def _checked_positive(name: str, value: float) -> float:
    return check_number(name, value, low=0.0, high=math.inf)
