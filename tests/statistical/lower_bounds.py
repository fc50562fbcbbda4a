"""A lower bound on ε from how far apart the outputs for two neighboring tables are.

If a test raises its alarm with probability f on one table and t on the other, no (ε, δ)-private
mechanism has ε < log((t − δ)/f). Exact binomial bounds on f and t give a lower bound that is
wrong with a probability below 2e-7. A large δ makes it sharp with few runs.
"""

import numpy as np
from scipy import stats

CONFIDENCE = 1 - 1e-7


def epsilon_lower_bound(hits, misses, *, delta):
    """Return the bound, from a statistic that is larger on the first table than on the second.

    The threshold is chosen on one half of the runs and judged on the other.
    """
    half = len(hits) // 2
    shares = np.linspace(0.01, 0.5, 50)
    candidates = np.quantile(misses[:half], 1 - shares), np.quantile(hits[:half], shares)
    candidates = np.concatenate(candidates)
    bounds = [_bound(hits[:half] > c, misses[:half] > c, delta) for c in candidates]
    best = candidates[int(np.argmax(bounds))]
    return _bound(hits[half:] > best, misses[half:] > best, delta)


def _bound(hits, alarms, delta):
    two_sided = 2 * CONFIDENCE - 1  # one-sided bounds
    power = stats.binomtest(int(hits.sum()), len(hits)).proportion_ci(two_sided).low
    alarm = stats.binomtest(int(alarms.sum()), len(alarms)).proportion_ci(two_sided).high
    return float(np.log(max(power - delta, 1e-300) / alarm))
