"""What a caller may state about pairs: refused in time, charged, and told apart."""

import numpy as np
import pandas as pd
import pytest

import dpcov
from designs import public_levels
from dpcov.errors import InputError, LedgerError
from dpcov.mechanisms.door import NOTHING_SPENT

ROWS = np.random.default_rng(0).normal(size=(500, 3))
STATED = {"epsilon": 1.0, "delta": 1e-6, "max_pairs": 2, "center": 0.0, "scales": "none"}


@pytest.fixture
def ledger(tmp_path):
    facts = {"population": "Panel 2026", "owner": "Data office", "epsilon": 3.0, "delta": 1e-6}
    return dpcov.Ledger.create(tmp_path / "budget.db", **facts)


def test_a_category_is_refused_for_nothing():
    table = pd.DataFrame(ROWS, columns=["a", "b", "c"])
    table["kind"] = pd.Categorical.from_codes(np.arange(len(ROWS)) % 2, ["x", "y"])
    with pytest.raises(InputError, match="A category has no sign") as refusal:
        dpcov.release_pairs(
            table, epsilon=1.0, delta=1e-6, max_pairs=2, columns=public_levels(table)
        )
    assert str(refusal.value).endswith(NOTHING_SPENT)


@pytest.mark.claim("P41")
def test_pairs_are_charged_before_noise_is_drawn(ledger):
    made = dpcov.release_pairs(ROWS, **STATED, ledger=ledger)
    with ledger.reading() as pages:
        assert pages.book.reservations[3].events == made.events


@pytest.mark.parametrize("name", ["center", "scales"])
def test_one_number_of_many_makes_another_request(ledger, name):
    rows, numbers = np.ones((20, 1100)), np.ones(1100)
    stated = STATED | {"ledger": ledger, "request_id": "spring", "allow": {"small"}}
    dpcov.release_pairs(rows, **stated | {name: numbers})
    numbers[550] = 2.0  # in the middle, which numpy does not show
    with pytest.raises(LedgerError, match="was used for another request"):
        dpcov.release_pairs(rows, **stated | {name: numbers})
