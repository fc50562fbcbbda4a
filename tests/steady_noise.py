"""Noise that is the same in every run, also of releases that have no seed.

A release without a seed asks the operating system for its key. In tests, the key follows from the
name of the test or fixture that asks, and from how often it asked before: what is true of noise in
all but one of ten thousand cases fails always or never. Another process asks the system, and so do
the tests of the key itself (tests/exact/test_randomness.py).
"""

import hashlib
import os
import secrets
from contextlib import contextmanager
from functools import cache, wraps

import pytest

from dpcov.exact import randomness


class SteadyKeys:
    """Stands where `RandomStream` looks for `secrets`."""

    def __init__(self):
        self._process, self._asking = os.getpid(), []

    @contextmanager
    def named(self, name):
        """Let keys follow from a name, until the end."""
        self._asking.append([name, 0])
        try:
            yield
        finally:
            self._asking.pop()

    def token_bytes(self, count):
        """Return a key: the next one of the innermost name."""
        if not self._asking or os.getpid() != self._process:
            return secrets.token_bytes(count)
        asking = self._asking[-1]
        asking[1] += 1
        return hashlib.shake_256(f"{asking[0]}, {asking[1]}".encode()).digest(count)


NOISE = SteadyKeys()


class SteadyNoise:
    """A plugin of pytest: every stream of this process has its key from here."""

    def __init__(self):
        randomness.secrets = NOISE

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef, request):
        """Name the noise of a fixture after it, not after the test that happens to need it."""
        place = getattr(request, "param_index", 0)
        with NOISE.named(f"{request.node.nodeid}, {fixturedef.argname}, {place}"):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        """Name the noise of a test after it."""
        with NOISE.named(item.nodeid):
            return (yield)


def remembered(function):
    """Remember what a function returns; its noise does not depend on who calls it first."""

    @cache
    @wraps(function)
    def call(*given, **stated):
        told = [getattr(each, "__name__", each) for each in given]
        with NOISE.named(f"{function.__module__}.{function.__name__} {told} {stated}"):
            return function(*given, **stated)

    return call
