"""The attack on floating-point noise (Mironov 2012), against dpcov and against a control.

A float near 0 has finer low bits than a float near 1. Noise that is added in floating
point leaves a residue below 2^-53 when the true value is 0 and none when it is 1: one
look at the low bits of the output tells the two tables apart.
"""

import numpy as np
import pytest

import dpcov
from dpcov.exact.randomness import RandomStream
from dpcov.mechanisms import second_moment
from dpcov.mechanisms.second_moment import calibrate_moments
from dpcov.privacy import ApproxDP
from dpcov.sensitive.sums.gram import Gram

ROUNDS = 1000
ABSENT = np.zeros((2, 2))
PRESENT = np.array([[1.0, 0.0], [0.0, 0.0]])  # one person more, with a row of norm 1
SCALE = 3.73


def residue_rate(outputs):
    """How often an output is not a multiple of 2^-53."""
    scaled = np.asarray(outputs) * 2.0**53
    return float(np.mean(scaled != np.rint(scaled)))


def float_mechanism(table, generator):
    return (table.T @ table)[0, 0] + SCALE * generator.standard_normal()


def dpcov_mechanism(table, generator):
    seed = int(generator.integers(2**63))
    stated = {"epsilon": 1.0, "delta": 1e-5, "row_norm": 1.0, "allow": {"small"}}
    release = dpcov.release(table, **stated, seed=seed)
    return release.matrix[0, 0]


def through_the_noise_door(table, seed):
    """Return a noisy product as it leaves the door, before a mean is taken out of it."""
    calibration = calibrate_moments(
        promise=ApproxDP(1.0, 1e-5, "replace"), n_rows=len(table), row_norm=1.0, with_mean=True
    )
    sums = Gram.from_rows(table, grid=calibration.grid).triangle
    return second_moment._noisy_average(sums, calibration, RandomStream.from_seed(seed))[0, 0]


def attack(mechanism, rounds=ROUNDS):
    """Return the residue rates of the two neighboring tables."""
    generator = np.random.default_rng(0)
    return [
        residue_rate([mechanism(table, generator) for _ in range(rounds)])
        for table in (ABSENT, PRESENT)
    ]


def test_the_attack_succeeds_against_floating_point_noise():
    absent, present = attack(float_mechanism)
    assert absent > 0.04
    assert present == 0.0


@pytest.mark.claim("P4")
def test_the_attack_finds_nothing_in_a_release():
    assert attack(dpcov_mechanism) == [0.0, 0.0]


@pytest.mark.claim("P5")
@pytest.mark.parametrize("table", [ABSENT, PRESENT])
def test_every_output_lies_on_the_public_grid(table):
    outputs = np.array([through_the_noise_door(table, seed) for seed in range(300)])
    steps = outputs * 2.0**41  # two rows, 20 bits
    assert (steps == np.rint(steps)).all()
    assert (steps % 2).sum() > 0, "the finest step is used"
