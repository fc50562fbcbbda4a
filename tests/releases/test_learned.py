"""What was learned: checked values."""

import dataclasses

import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.releases.learned import Clipping, Known, Learned

CLIPPING = {
    "wanted": 0.04,
    "share": 0.05,
    "share_error": 0.01,
    "excess": -0.02,
    "excess_error": 0.1,
}


def learned(**changed):
    known = np.array([Known.LEARNED, Known.STATED], dtype=np.int8)
    facts = {
        "lower": np.array([0.0, -4.0]),
        "upper": np.array([9.0, 4.0]),
        "beyond": np.array([0.01, -0.02]),
        "beyond_error": 0.01,
        "known_range": known,
        "known_center": known,
        "known_scale": known,
        "clipping": Clipping(**CLIPPING),
    }
    return Learned(**(facts | changed))


def test_what_was_learned_is_read_only():
    for name in ("lower", "upper", "beyond", "known_range", "known_center", "known_scale"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(learned(), name)[0] = 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        learned().clipping.share = 0.0


@pytest.mark.parametrize(
    "bad",
    [
        {"lower": np.array([9.0, -4.0])},
        {"lower": np.array([np.nan, -4.0])},
        {"lower": np.array([1e-300, -4.0])},
        {"upper": np.array([9.0])},
        {"upper": np.array([[9.0, 4.0]])},
        {"upper": np.array([9.0, 4.0], dtype=np.float32)},
        {"beyond": np.array([np.nan, 0.0])},
        {"beyond": np.array([0.1])},
        {"upper": np.array([np.inf, 4.0])},
        {"beyond_error": -1e-9},
        {"beyond_error": None},
        {"known_range": np.array([0], dtype=np.int8)},
        {"known_scale": np.array([0, 3], dtype=np.int8)},
        {"known_scale": np.array([0, 1])},
        {"known_center": np.array([2, 0], dtype=np.int8)},
        {"known_center": np.zeros(2, np.int8), "known_scale": np.zeros(2, np.int8)},
        {"clipping": None},
        {"clipping": CLIPPING},
    ],
)
def test_impossible_facts_are_refused(bad):
    with pytest.raises(ParameterError):
        learned(**bad)


@pytest.mark.parametrize("name", ["share", "excess"])
@pytest.mark.parametrize("number", [0.0, -3.0, 1e60])
def test_a_noisy_number_may_be_negative_or_large(name, number):
    assert getattr(Clipping(**(CLIPPING | {name: number})), name) == number


@pytest.mark.parametrize(
    "bad",
    [{name: number} for name in CLIPPING for number in (np.nan, np.inf, 1e71)]
    + [
        {"wanted": 0.0},
        {"wanted": 1.0},
        {"share_error": 0.0},
        {"excess_error": -1.0},
        {"share_error": 1e-80},
    ],
)
def test_impossible_numbers_of_clipping_are_refused(bad):
    with pytest.raises(ParameterError):
        Clipping(**(CLIPPING | bad))


def test_a_noisy_excess_gives_way_to_what_is_usual():
    usual = 0.3 * CLIPPING["wanted"] * 4.0
    vague = Clipping(**(CLIPPING | {"excess_error": 1e6})).likely_excess(2.0)
    assert vague == pytest.approx((usual, 0.25 * CLIPPING["wanted"] * 4.0))
    exact = Clipping(**(CLIPPING | {"excess": 0.01, "excess_error": 1e-6})).likely_excess(2.0)
    assert exact == pytest.approx((0.01, 1e-6), rel=1e-3)


def test_no_excess_is_negative():
    assert (
        Clipping(**(CLIPPING | {"excess": -9.0, "excess_error": 1e-3})).likely_excess(2.0)[0] == 0
    )
