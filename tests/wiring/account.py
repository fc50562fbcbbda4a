"""An accountant of its own: what steps cost together, by formulas that are written here."""

import math
from functools import lru_cache

import numpy as np
from scipy import optimize
from scipy.special import ndtr

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)


def gaussian_delta(epsilon, mu):
    """δ(ε) of a Gaussian pair of distance μ (Balle and Wang 2018), for any real ε."""
    return ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu)


@lru_cache(maxsize=4096)
def exact_delta(epsilon, mu, ranges):
    """δ(ε) of Gaussian steps of joint distance μ and of choices with losses of known ranges.

    The loss of the pair that bounds a choice has the density e^(l/2) √E/(2(E − 1)) on
    [−η, η], E = e^η (P13); δ is the mean over it of the Gaussian's δ(ε − l).
    """
    losses, masses = np.zeros(1), np.ones(1)
    for width in ranges:
        nodes = width * _NODES
        density = np.exp(nodes / 2) / (4 * math.sinh(width / 2))
        losses = np.add.outer(losses, nodes).ravel()
        masses = np.multiply.outer(masses, width * _WEIGHTS * density).ravel()
    return float((masses * gaussian_delta(epsilon - losses, mu)).sum())


@lru_cache(maxsize=4096)
def zcdp_delta(epsilon, rho):
    """δ(ε) of ρ-zCDP: the smallest over orders (Canonne, Kamath and Steinke 2020, Cor. 13)."""

    def log_delta(t):
        excess = math.exp(t)
        order = 1 + excess
        return (
            excess * (order * rho - epsilon) + order * math.log(excess / order) - math.log(excess)
        )

    found = optimize.minimize_scalar(log_delta, bounds=(-10, 15), method="bounded")
    return math.exp(found.fun)


def total_delta(costs, epsilon, *, pairs):
    """Add up costs: (kind, distance or range, how many rounds)."""
    squared = sum(value**2 for kind, value, _ in costs if kind != "selection")
    chosen = [(value, count) for kind, value, count in costs if kind == "selection"]
    if pairs:
        return zcdp_delta(
            epsilon, squared / 2 + sum(count * value**2 / 8 for value, count in chosen)
        )
    ranges = tuple(value for value, count in chosen for _ in range(count))
    return exact_delta(epsilon, math.sqrt(squared), ranges)
