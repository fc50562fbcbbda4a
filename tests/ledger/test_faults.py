"""Whatever kills a release, its noise is paid for; whoever races for a budget, it is not overspent.

`make test-faults` does it at every line, at hundreds of random moments, and with a thousand
attempts, on PostgreSQL too; here it is a part of that.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import dpcov
from databases import SERVER
from dpcov.errors import BudgetError
from dpcov.ledger.account import Account
from dpcov.privacy.counting import counted_cost
from ledger.ledgers import ONE, ROWS, new

ALL = bool(os.environ.get("DPCOV_TEST_FAULTS"))
DRIVER = Path(__file__).parent / "fault_driver.py"
KINDS = ["moments", "learned", "pairs"]
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108


@pytest.fixture
def place():
    """Give a folder in memory, if there is one: these tests wait for a disk most of the time."""
    kept = SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=kept) as folder:
        yield folder


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request, place):
    if request.param == "postgresql" and not SERVER:
        pytest.skip("no PostgreSQL: make test-postgres starts one")
    return place if request.param == "sqlite" else SERVER


def run(task, where, place, *numbers):
    command = [sys.executable, str(DRIVER), task, str(where), str(place), *map(str, numbers)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode == 0, done.stderr
    print(f"{task} {numbers}: {done.stdout}")
    return json.loads(done.stdout)


@pytest.mark.claim("P41")
@pytest.mark.parametrize(("kind", "stride"), [(0, 1), (1, 7), (2, 7)], ids=KINDS)
def test_a_release_that_dies_at_any_line_has_paid_for_its_noise(place, kind, stride):
    found = run("lines", place, place, 3, stride if ALL else (97, 211, 211)[kind], kind)
    assert found["unpaid"] == []
    assert found["deaths"] > (200 if ALL else 5)
    assert set(found["left"]) >= {"nothing", "reserved", "drawing"}
    assert 0 < found["drawn"] < found["deaths"]


@pytest.mark.claim("P41")
def test_charging_after_the_noise_would_be_found(place):
    assert run("lines", place, place, 360, 150, "late")["unpaid"]


@pytest.mark.claim("P41")
def test_a_release_that_is_killed_at_any_moment_has_paid_for_its_noise(where, place):
    found = run("kills", where, place, 300 if ALL else 10)
    assert found["unpaid"] == []
    assert found["deaths"] == (300 if ALL else 10)


@pytest.mark.claim("P41")
def test_the_last_of_a_budget_is_granted_once(where, place):
    found = run("race", where, place, 50, 20 if ALL else 2)
    assert found["failed"] == 0
    assert not found["overspent"]
    assert found["granted"] == found["fits"]
    assert found["refused"] == found["attempts"] - found["fits"]


@pytest.mark.claim("P41")
def test_comparing_outside_of_the_transaction_would_be_found(where, place):
    assert run("race", where, place, 12, 8, "outside")["overspent"]


@pytest.mark.claim("P40")
def test_adding_up_floats_would_be_found(tmp_path, monkeypatch):
    ledger = new(tmp_path / "budget.db", epsilon=1.0)
    dpcov.release(ROWS, **ONE, ledger=ledger)
    with pytest.raises(BudgetError):
        ledger.enter("almost nothing", multiplier=1e100)
    charged = Account.charged

    def in_floats(self, events):
        more = sum(float(counted_cost(self.counts, event)) for event in events)
        return replace(charged(self, events), cost=Fraction(float(self.cost) + more))

    budget = Account.budget.fget
    rounded = property(lambda self: Fraction(float(budget(self))))
    monkeypatch.setattr(Account, "budget", rounded)
    monkeypatch.setattr(Account, "charged", in_floats)
    ledger.enter("almost nothing", multiplier=1e100)  # taken, and so the test above would fail
