"""Intervals about categories and gaps cover, and do not if noise is larger than stated."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest

from dpcov.postprocess.categories import Categories
from dpcov.postprocess.gaps import find_gaps
from postprocess.categorical import limited, release_of, survey, truth_of

RUNS = 40


def quieter(release, share):
    """Return the release as one that states less noise than it has."""
    noise = release.noise_scale
    less = replace(noise, off_diagonal=noise.off_diagonal * share, mean=noise.mean * share)
    return replace(release, noise_scale=less)


def answers(release, about):
    """Yield every answer that has an interval, with its kind."""
    categories = Categories(release)
    for line in (*categories.shares(about=about), *categories.means(about=about)):
        yield type(line).__name__, line
    for line in categories.associations(about=about):
        yield line.measure, line
    for line in find_gaps(release, fdr=1.0, confidence=0.95, about=about):
        yield f"gaps: {line.measure}", line


@pytest.fixture(scope="module")
def covered():
    """Return for each kind of answer, and share of the noise that is stated, what was covered."""
    found = defaultdict(list)
    for seed in range(RUNS):
        rows = survey(5000, seed=seed)
        release = release_of(rows, seed=seed, epsilon=2.0)
        frame = limited(rows, release)
        known = {}
        for stated in (1.0, 0.5):
            for kind, line in answers(quieter(release, stated), "table"):
                if not np.isnan(line.low):
                    key = kind, line[:3], getattr(line, "pooled", ())
                    if key not in known:
                        known[key] = truth_of(line, frame)
                    hit = line.low - 1e-9 <= known[key] <= line.high + 1e-9
                    found[kind, stated].append(hit)
    return {key: np.mean(hits) for key, hits in found.items()}


EXACT = ["LevelShare", "GroupMean", "gaps: difference of means", "gaps: correlation of gaps"]
# They cannot be below zero, and where they are nearly that, one of two errors is impossible.
BOUNDED = ["V", "η²", "gaps: V"]


@pytest.mark.parametrize("kind", EXACT)
def test_intervals_cover_what_they_are_about(covered, kind):
    assert 0.925 < covered[kind, 1.0] < 0.975


@pytest.mark.parametrize("kind", BOUNDED)
def test_intervals_of_what_cannot_be_negative_cover_it(covered, kind):
    assert 0.935 < covered[kind, 1.0] < 0.995


@pytest.mark.parametrize("kind", EXACT + BOUNDED)
def test_intervals_do_not_cover_if_noise_is_twice_what_is_stated(covered, kind):
    assert covered[kind, 0.5] < 0.85
