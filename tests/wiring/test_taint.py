"""Exact counts of learning meet nothing but integers until noise is added to them.

Counts are handed out as arrays that can be shifted, added and multiplied by integers, and that
refuse to be compared, divided or looked at. Whoever decides or publishes something by them, and not
by the noisy numbers, is found.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import dpcov
from designs import public_levels
from dpcov.mechanisms.learning import noisy, steps
from dpcov.mechanisms.learning.quantiles import Payment
from dpcov.sensitive.sums.cell_counts import CellCounts
from dpcov.sensitive.sums.field_counts import FieldCounts

_SLOT = FieldCounts.__dict__["weights"]
_ALLOWED = {np.add, np.subtract, np.multiply, np.left_shift}


class Exact(np.ndarray):
    """Integers that rows have gone into, before noise."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if ufunc not in _ALLOWED or method != "__call__":
            raise AssertionError(f"exact counts met {ufunc.__name__}")
        plain = [np.asarray(each).view(np.ndarray) for each in inputs]
        if "out" in options:  # counts that are added to in their place
            options["out"] = tuple(each.view(np.ndarray) for each in options["out"])
        return getattr(ufunc, method)(*plain, **options).view(Exact)

    def __array_function__(self, function, types, arguments, options):
        raise AssertionError(f"exact counts met {function.__name__}")

    def __float__(self):
        raise AssertionError("exact counts met float")

    def __bool__(self):
        raise AssertionError("exact counts met bool")


@pytest.fixture
def sealed(monkeypatch):
    """Hand out exact counts, and let only the noise open them."""

    def marked(function):
        return lambda self, *given: np.asarray(function(self, *given)).view(Exact)

    for name in ("between", "observed", "sums"):
        monkeypatch.setattr(CellCounts, name, marked(getattr(CellCounts, name)))
    monkeypatch.setattr(FieldCounts, "levels", property(marked(FieldCounts.levels.fget)))
    monkeypatch.setattr(FieldCounts, "weights", _Marked())
    added = noisy.add_noise
    monkeypatch.setattr(
        noisy, "add_noise", lambda sums, *given: added(sums.view(np.ndarray), *given)
    )


class _Marked:
    """The sums of weights, which are a slot of their class."""

    def __get__(self, owner, kind=None):
        return _SLOT.__get__(owner, kind).view(Exact)

    def __set__(self, owner, value):
        _SLOT.__set__(owner, value)


def _release():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 3000).astype(float),
            "income": np.exp(rng.normal(size=3000)),
            "sex": pd.Categorical.from_codes(rng.integers(0, 2, 3000), ["f", "m"]),
            "w": rng.gamma(2.0, 0.5, 3000),
        }
    )
    table.loc[rng.random(3000) < 0.2, "income"] = np.nan
    stated = {"weight": "w", "weight_bound": 5.0, "columns": public_levels(table, "w")}
    return dpcov.release(table, epsilon=1.0, delta=1e-6, seed=1, **stated)


@pytest.mark.claim("P26")
@pytest.mark.claim("P27")
def test_nothing_is_decided_by_exact_counts(sealed, monkeypatch):
    plain = FieldCounts.observed

    def observed(self, places):
        with pytest.MonkeyPatch.context() as opened:
            opened.setattr(FieldCounts, "levels", property(lambda held: np.asarray(held._levels)))
            opened.setattr(CellCounts, "observed", _plain_observed)
            return plain(self, places).view(Exact)

    monkeypatch.setattr(FieldCounts, "observed", observed)

    assert _release().weights is not None


def _plain_observed(self, columns):
    zeros = np.zeros(len(columns), dtype=np.int64)
    ends = zeros + self.ruler.n_bins - 1
    start = columns * self.ruler.n_bins
    low = np.searchsorted(self._bins, start + zeros)
    high = np.searchsorted(self._bins, start + ends, side="right")
    return self._below[high] - self._below[np.minimum(low, high)]


@pytest.mark.claim("P27")
def test_a_mean_weight_that_is_taken_exactly_is_found(sealed, monkeypatch):
    monkeypatch.setattr(steps.Payment, "noise", lambda *_, **__: _NoNoise())
    with pytest.raises(AssertionError, match="exact counts met"):
        _release()


class _NoNoise:
    sd = 1.0
    scale, bits = 1, 0

    def on(self, sums, stream):
        return sums


@pytest.mark.claim("P27")
def test_weights_of_several_rows_of_a_person_are_paid_for():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": rng.normal(size=4000), "b": rng.normal(size=4000), "w": rng.random(4000)}
    )
    table["who"] = np.repeat(np.arange(1000), 4)
    release = dpcov.release(
        table,
        epsilon=1.0,
        delta=1e-6,
        weight="w",
        weight_bound=1.0,
        privacy_unit="who",
        rows_per_unit=4,
        seed=1,
    )
    [event] = [each for each in release.events if each.name == "weights"]
    noise = Payment(multiplier=event.multiplier, rows_per_unit=4).noise(
        low=0, high=1 << 20, columns=2, n_rows=4000
    )

    assert release.weights is not None
    assert release.weights.error == pytest.approx(noise.sd / (1 << 20) / 4000)
    assert release.weights.error == pytest.approx(4 * 2**0.5 * event.multiplier / 4000, rel=1e-6)


@pytest.mark.claim("P28")
@pytest.mark.parametrize("stated", [{}, {"weight": "w", "weight_bound": 1.0}])
def test_rows_that_leave_traces_are_paid_for_in_both_relations(stated):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(3000, 3)), columns=["a", "b", "c"])
    if stated:
        table["w"] = rng.random(3000)
    scales = {
        name: dpcov.release(
            table, epsilon=1.0, delta=1e-6, neighbors=name, seed=1, **stated
        ).noise_scale.off_diagonal
        for name in ("replace", "add-remove")
    }

    assert scales["add-remove"] == scales["replace"]
