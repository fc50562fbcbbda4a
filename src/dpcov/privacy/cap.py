"""The cap mechanism of the local model: promise ⇄ constants, rounded toward privacy.

Owns the mathematics of a report that is a seed. A row is lifted to a unit vector u. A seed
s stands for a vector g_s of standard normals. A seed is *in the cap* of u when
|⟨g_s, u⟩| > t, which a share q = 2Φ(−t) of all seeds is. The device sends a uniform seed
of the cap with probability p₀, and a uniform seed outside of it otherwise. Draws no seed
and sees no data.

With λ = e^ε − 1 and p₀ = e^ε q / (1 + λq), the second moment of the reported g is
E[g gᵀ] = I + κ u uᵀ, with the gain

    κ = (p₀ − q) · 2tφ(t) / (q (1 − q)) = 2tφ(t) λ / (1 + λq),

so that (g gᵀ − I)/κ is unbiased for u uᵀ, with variance V = 1/κ² off the diagonal where
there is nothing to see. The threshold maximizes κ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from dpcov.bisection import bracket
from dpcov.errors import ParameterError
from dpcov.parameters import check_count, check_number

__all__ = ["COIN", "MAX_COLUMNS", "Cap", "calibrate_cap", "cap_epsilon", "cap_variation"]

COIN = 1 << 32
"""The probability p₀ is a multiple of 1 / COIN."""
MAX_COLUMNS = 1 << 16
"""The bound on the generator is proved for this many columns at most."""

_PAYMENT = 1e-9  # the share of epsilon that is paid for the generator and floating point
_THRESHOLD_STEP = 1 / 1024  # coarse, so that every machine finds the same threshold
_MIN_THRESHOLD, _MAX_THRESHOLD = 0.5, 3.0  # a device tries 1/q seeds: 370 at most
_MAX_EPSILON = 20.0

# The parts of the distance between the share of seeds in a cap, as a device decides it, and
# q. The proof is that of claim P14 in docs/privacy.md.
_GENERATOR = 2.0**-43  # the 2^128 vectors of the generator against independent ones
_WORD = 2.0**-62  # a 64-bit word against a real number, for each coordinate
_LONG_VECTOR = math.exp(-40.0)  # |g| beyond the length that the next lines allow for
_LONG = 40.0
_NORMAL_ERROR = 2.0**-48  # of a computed standard normal z, in units of max(1, |z|)
_UNIT_ERROR = 2.0**-50  # of the computed unit vector
_CHUNK = 64  # products are summed in chunks of this many coordinates
_ARITHMETIC = 2.0**-45  # of the logarithms below


@dataclass(frozen=True)
class Cap:
    """The constants of the cap mechanism. All of them are public.

    Parameters
    ----------
    threshold : float
        t, in standard deviations, from 0.5 to 3.
    coin : int
        p₀ · 2^32.

    Examples
    --------
    >>> cap = calibrate_cap(epsilon=1.0, n_columns=100)
    >>> cap.threshold, round(cap.inside, 4), round(cap.variance, 3)
    (1.2548828125, 0.2095, 3.018)
    """

    threshold: float
    coin: int

    def __post_init__(self) -> None:
        threshold = check_number(
            "threshold",
            self.threshold,
            low=_MIN_THRESHOLD,
            high=_MAX_THRESHOLD,
            open_low=False,
            open_high=False,
            advice="Beyond, a device would search for a seed for too long.",
        )
        object.__setattr__(self, "threshold", threshold)
        object.__setattr__(self, "coin", check_count("coin", self.coin, low=1, high=COIN - 1))
        if not self.gain > 0:
            raise ParameterError("coin must be larger than the share of seeds in the cap.")

    @property
    def inside(self) -> float:
        """q, the share of all seeds that are in a cap."""
        return math.erfc(self.threshold / math.sqrt(2))

    @property
    def probability(self) -> float:
        """p₀, the probability to send a seed of the cap."""
        return self.coin / COIN

    @property
    def gain(self) -> float:
        """κ: the reported vectors have second moment I + κ u uᵀ."""
        q, t = self.inside, self.threshold
        density = math.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
        return (self.probability - q) * 2 * t * density / (q * (1 - q))

    @property
    def variance(self) -> float:
        """V = 1/κ², of an entry off the diagonal where nothing is to be seen."""
        return 1 / self.gain**2

    @property
    def signal(self) -> float:
        """How the variance of an entry grows with u_i² + u_j², and on the diagonal with 4u_i².

        With s = u_i² the variance is (1 + κ(s_i + s_j) + κ(t² − 3 − κ) s_i s_j)/κ², with
        2 + 4κs_i + κ(t² − 3 − κ) s_i² in the place of the bracket on the diagonal. The last
        term is negative at the threshold of `calibrate_cap`, where κ ≥ t² − 1. Where it is not,
        s_i s_j ≤ (s_i + s_j)/4 and s_i² ≤ s_i bound it, since s_i + s_j ≤ 1.
        """
        excess = max(0.0, self.threshold**2 - 3 - self.gain)
        return (1 + excess / 4) / self.gain

    @property
    def steady_tries(self) -> int:
        """How many seeds a device looks at, always: one of them will do but for 2^-32."""
        return math.ceil(-32 * math.log(2) / math.log1p(-min(self.inside, 1 - self.inside)))


def calibrate_cap(*, epsilon: float, n_columns: int) -> Cap:
    """Return the constants with the least variance for a promise.

    Parameters
    ----------
    epsilon : float
        In (0, 20].
    n_columns : int
        At most 65,536.

    Notes
    -----
    Claim P14. The constants are chosen for ε (1 − 1e-9), or less where that does not do,
    the coin is rounded down, and `cap_epsilon` is seen to be at most ε: the remainder pays
    for the generator, for 64-bit words in the place of real numbers, and for floating
    point at the boundary.

    Examples
    --------
    >>> [round(calibrate_cap(epsilon=e, n_columns=10).variance, 3) for e in (0.5, 1.0, 2.0, 4.0)]
    [14.29, 3.018, 0.557, 0.087]
    """
    epsilon = check_number(
        "epsilon",
        epsilon,
        low=0.0,
        high=_MAX_EPSILON,
        open_high=False,
        advice="It states how much one report may expose a person.",
    )
    threshold = _best_threshold(epsilon)
    q = math.erfc(threshold / math.sqrt(2))
    paid = epsilon - max(_PAYMENT * epsilon, _surcharge(q, n_columns))
    odds = math.exp(max(0.0, paid)) * q / (1 - q)
    coin = math.floor(odds / (1 + odds) * COIN)
    refusal = (
        f"epsilon = {epsilon:g} is too small to pay for the generator at {n_columns} columns; "
        "raise epsilon or use mechanism='gaussian'."
    )
    if not coin > q * COIN:
        raise ParameterError(refusal)
    cap = Cap(threshold, min(coin, COIN - 1))
    if cap_epsilon(cap, n_columns=n_columns) > epsilon:
        raise ParameterError(refusal)
    return cap


def cap_epsilon(cap: Cap, *, n_columns: int) -> float:
    """Return the ε that the constants of a cap pay for, rounded up.

    Parameters
    ----------
    cap : Cap
        The constants.
    n_columns : int
        The number of columns of a report.

    Notes
    -----
    Claim P14. A seed s has probability p₀/(N q_x) when it is in the cap of x and
    (1 − p₀)/(N (1 − q_x)) when it is not, N = 2^128 and q_x being the share of seeds in
    the cap of x as the device decides it. With q_x within d of q for all x, two rows give a
    seed with probabilities whose ratio has a logarithm of at most

        log(p₀ (1 − q) / ((1 − p₀) q)) + d/(q − d) + d/(1 − q − d)

    when it is in the cap of one row alone, 2d/(q − d) when it is in both caps, and
    2d/(1 − q − d) when it is in neither. The last two matter where p₀ barely exceeds q.

    Examples
    --------
    >>> 1 - 1e-8 < cap_epsilon(calibrate_cap(epsilon=1.0, n_columns=1000), n_columns=1000) <= 1
    True
    """
    q = cap.inside
    odds = math.log(cap.coin / (COIN - cap.coin)) + math.log((1 - q) / q)
    distance = _checked_distance(n_columns)
    if distance >= min(q, 1 - q):
        return math.inf
    one_cap = odds + _surcharge(q, n_columns)
    same_side = 2 * distance / (min(q, 1 - q) - distance) + _ARITHMETIC
    return max(one_cap, same_side)


def cap_variation(cap: Cap, *, n_columns: int) -> float:
    """Return the largest total variation distance of the reports of two rows, rounded up.

    Parameters
    ----------
    cap : Cap
        The constants.
    n_columns : int
        The number of columns of a report.

    Notes
    -----
    Claim P50. It is p₀ − q where the caps of two rows share q² of all seeds, which is the least
    that they can, and which those of orthogonal rows do.

    Examples
    --------
    >>> round(cap_variation(calibrate_cap(epsilon=1.0, n_columns=100), n_columns=100), 4)
    0.2093
    """
    distance = _checked_distance(n_columns)
    paid = 4 * distance * cap.probability / cap.inside
    return min(1.0, cap.probability - cap.inside + paid + _ARITHMETIC)


def _surcharge(q: float, n_columns: int) -> float:
    """Return what the generator and floating point add to ε."""
    distance = _checked_distance(n_columns)
    if distance >= min(q, 1 - q):
        return math.inf
    return distance / (q - distance) + distance / (1 - q - distance) + _ARITHMETIC


def _checked_distance(n_columns: int) -> float:
    return _distance(check_count("n_columns", n_columns, low=1, high=MAX_COLUMNS) + 1)


def _distance(size: int) -> float:
    """Bound |q_x − q| over all rows, for vectors of `size` coordinates."""
    # P(χ² > d + 2√(dx) + 2x) ≤ e^−x (Laurent and Massart 2000).
    length = math.sqrt(size + 2 * math.sqrt(_LONG * size) + 2 * _LONG)
    sums = (_CHUNK + size / _CHUNK + 2) * 2.0**-53
    slip = _NORMAL_ERROR * (math.sqrt(size) + length) + (sums + _UNIT_ERROR) * length
    # The normal density is at most 0.4: moving both thresholds by `slip` costs 0.8 of it.
    return 0.8 * slip + _GENERATOR + size * _WORD + _LONG_VECTOR


def _best_threshold(epsilon: float) -> float:
    """Maximize κ: the derivative of log κ is 1/t − t + 2λφ(t)/(1 + λq), and falls in t."""
    rise = math.expm1(epsilon)

    def slope(t: float) -> float:
        density = math.exp(-0.5 * t * t) / math.sqrt(2 * math.pi)
        q = math.erfc(t / math.sqrt(2))
        return 1 / t - t + 2 * rise * density / (1 + rise * q)

    low, high = _MIN_THRESHOLD, _MAX_THRESHOLD
    if slope(high) > 0:
        return _MAX_THRESHOLD
    low, _ = bracket(lambda t: slope(t) <= 0, low, high, width=_THRESHOLD_STEP / 64)
    return round(low / _THRESHOLD_STEP) * _THRESHOLD_STEP
