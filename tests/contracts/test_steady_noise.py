"""Noise in tests is the same in every run, and unlike within one."""

import secrets

import numpy as np
import pytest

import dpcov
from dpcov.exact import randomness
from steady_noise import NOISE, remembered


def noisy():
    stated = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 1.0, "allow": {"small"}}
    return dpcov.release(np.eye(3), **stated).matrix.tolist()


def named(name):
    with NOISE.named(name):
        return noisy()


def test_the_noise_of_a_name_is_the_same_again():
    assert named("a") == named("a") != named("b")


def test_the_noise_within_a_test_is_another_each_time():
    assert noisy() != noisy()


def test_the_first_noise_of_this_test_is_that_of_its_name(request):
    assert noisy() == named(request.node.nodeid)


@pytest.fixture(scope="module", params=[0, 1])
def of_a_fixture(request):
    return noisy(), f"{request.node.nodeid}, of_a_fixture, {request.param_index}"


def test_the_noise_of_a_fixture_is_that_of_the_fixture(of_a_fixture):
    made, name = of_a_fixture
    assert made == named(name)


def test_what_is_remembered_does_not_depend_on_who_asks():
    first, second = (remembered(noisy) for _ in range(2))
    noisy()
    with NOISE.named("another test"):
        assert first() == second() == first()


def test_without_the_tests_the_system_is_asked(monkeypatch):
    monkeypatch.setattr(randomness, "secrets", secrets)
    assert named("a") != named("a")
