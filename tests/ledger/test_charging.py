"""What a release does with a ledger: in which order, and what is left when it fails."""

import copy
import pickle
import sqlite3

import numpy as np
import pytest
from sklearn.base import clone

import dpcov
from dpcov.errors import (
    AlteredLedgerError,
    BudgetError,
    LedgerError,
    MissingValueError,
    ParameterError,
    UnfinishedRequestError,
)
from dpcov.exact.randomness import RandomStream
from dpcov.ledger.charge import Charge
from dpcov.ledger.database import Session
from dpcov.privacy import ApproxDP, Gaussian
from ledger.ledgers import LIMIT, ONE, ROWS, WHO, kinds, new, tamper


@pytest.fixture
def ledger(tmp_path):
    return new(tmp_path / "budget.db")


def charge(ledger, request_id=None, **stated):
    return Charge(
        ledger,
        what="release",
        promise=ApproxDP(1.0, 1e-6, "replace"),
        complete=True,
        request_id=request_id,
        stated=stated,
    )


EVENT = Gaussian("moments", dpcov.privacy.gaussian_scale(epsilon=1.0, delta=1e-6))


@pytest.mark.claim("P41")
def test_a_release_is_reserved_then_drawn_then_recorded(ledger):
    dpcov.release(ROWS, **ONE, ledger=ledger)
    assert kinds(ledger) == ["ledger", "account", "reservation", "drawing", "release"]


@pytest.mark.claim("P41")
@pytest.mark.parametrize("row_norm", [4.0, None])
def test_a_release_of_moments_reserves_the_events_that_it_has(ledger, row_norm):
    options = {"row_norm": row_norm, "allow": {"small"}}
    made = dpcov.release(ROWS, epsilon=1.0, delta=1e-6, **options, ledger=ledger)
    with ledger.reading() as pages:
        assert pages.book.reservations[3].events == made.events


@pytest.mark.claim("P41")
@pytest.mark.parametrize("center", ["differences", "stated", "learned"])
def test_a_release_of_pairs_reserves_the_events_that_it_has(ledger, center):
    made = dpcov.release_pairs(
        ROWS, epsilon=1.0, delta=1e-6, max_pairs=2, center=center, ledger=ledger
    )
    with ledger.reading() as pages:
        assert pages.book.reservations[3].events == made.events


@pytest.mark.claim("P41")
def test_no_word_is_drawn_without_a_reservation(ledger):
    stream = RandomStream.from_os(before=charge(ledger).begin)
    with pytest.raises(AssertionError, match="drawn for no event"):
        stream.words(1)
    assert not stream.is_drawn


@pytest.mark.claim("P41")
def test_every_word_is_drawn_after_the_line_that_says_so(ledger, monkeypatch):
    seen, words = [], RandomStream._read

    def watched(self, keystream, count):
        if keystream is self._main:
            seen.append(kinds(ledger))
        return words(self, keystream, count)

    monkeypatch.setattr(RandomStream, "_read", watched)
    dpcov.release(ROWS, epsilon=1.0, delta=1e-6, ledger=ledger, allow={"small"})
    assert seen
    assert all(lines[2:] == ["reservation", "drawing"] for lines in seen)


@pytest.mark.claim("P41")
def test_noise_that_the_ledger_cannot_be_told_of_is_never_drawn(ledger, monkeypatch):
    def fail(self):
        raise LedgerError("The disk is full.")

    monkeypatch.setattr(Charge, "begin", fail)
    with pytest.raises(LedgerError, match=r"full\. Nothing was spent\."):
        dpcov.release(ROWS, **ONE, ledger=ledger)
    assert kinds(ledger)[2:] == ["reservation", "return"]


def test_a_table_that_is_refused_gives_its_reservation_back(ledger):
    rows = ROWS.copy()
    rows[7, 1] = np.nan
    with pytest.raises(MissingValueError, match="Nothing was spent"):
        dpcov.release(rows, **ONE, ledger=ledger)
    assert kinds(ledger)[2:] == ["reservation", "return"]
    assert ledger.account().cost == 0


def test_a_failure_after_noise_stays_spent(ledger, monkeypatch):
    monkeypatch.setattr("dpcov.mechanisms.dense.release_gram", _fail_after_noise)
    with pytest.raises(dpcov.errors.InputError, match="count the budget as spent"):
        dpcov.release(ROWS, **ONE, ledger=ledger)
    assert kinds(ledger)[2:] == ["reservation", "drawing"]
    assert ledger.account().spent == 1.0


def _fail_after_noise(*arguments, stream, **options):
    stream.begin("moments")
    stream.words(1)
    raise dpcov.errors.InputError("The table changed.")


def test_a_reservation_that_cannot_be_given_back_is_said(ledger, monkeypatch):
    def fail(self, drawn):
        raise LedgerError("gone")

    monkeypatch.setattr(Charge, "end_early", fail)
    rows = np.full_like(ROWS, np.nan)
    with pytest.raises(MissingValueError, match="its owner can give back") as caught:
        dpcov.release(rows, **ONE, ledger=ledger)
    assert caught.value.budget_spent == "nothing"


@pytest.mark.claim("P40")
def test_what_does_not_fit_is_refused_and_the_refusal_is_a_line(ledger):
    with pytest.raises(BudgetError, match=r"it would be epsilon = 4\. Nothing was spent\."):
        dpcov.release(ROWS, epsilon=4.0, delta=1e-6, row_norm=4.0, ledger=ledger)
    assert kinds(ledger)[2:] == ["refusal"]
    assert ledger.account().cost == 0


@pytest.mark.claim("P40")
def test_seven_releases_at_one_fit_into_three_and_an_eighth_does_not(ledger):
    for _ in range(7):
        dpcov.release(ROWS, **ONE, ledger=ledger)
    with pytest.raises(BudgetError):
        dpcov.release(ROWS, **ONE, ledger=ledger)
    assert ledger.account().spent == pytest.approx(2.8899, abs=1e-4)


@pytest.mark.claim("P40")
@pytest.mark.parametrize(
    "spend",
    [
        lambda ledger: dpcov.release(ROWS, **ONE, ledger=ledger),
        lambda ledger: dpcov.release(ROWS, epsilon=1.0, delta=1e-6, ledger=ledger, allow={"small"}),
        lambda ledger: dpcov.release_pairs(
            ROWS, epsilon=1.0, delta=1e-6, max_pairs=1, ledger=ledger
        ),
    ],
    ids=["moments", "learned", "pairs"],
)
def test_the_whole_limit_can_be_spent_at_once_and_then_nothing_more(tmp_path, spend):
    ledger = new(tmp_path / "budget.db", epsilon=1.0)
    spend(ledger)
    assert ledger.account().spent <= 1.0
    ledger.change_limit(by=WHO["owner"], reason="test", epsilon=ledger.account().spent)
    with pytest.raises(BudgetError):
        spend(ledger)


@pytest.mark.claim("P40")
def test_nothing_is_too_small_to_be_refused_after_exhaustion(tmp_path):
    ledger = new(tmp_path / "budget.db", epsilon=1.0)
    dpcov.release(ROWS, **ONE, ledger=ledger)
    with pytest.raises(BudgetError):
        ledger.enter("almost nothing", multiplier=1e100)
    with pytest.raises(BudgetError):
        ledger.enter("almost nothing", epsilon=1e-300)


def test_a_retry_returns_the_release_and_is_not_charged(ledger):
    first = dpcov.release(ROWS, **ONE, ledger=ledger, request_id="spring")
    assert dpcov.release(ROWS, **ONE, ledger=ledger, request_id="spring") == first
    assert dpcov.release("no such file.csv", **ONE, ledger=ledger, request_id="spring") == first
    assert kinds(ledger).count("reservation") == 1


def test_a_retry_of_pairs_returns_the_pairs(ledger):
    stated = {"epsilon": 1.0, "delta": 1e-6, "max_pairs": 2, "ledger": ledger}
    first = dpcov.release_pairs(ROWS, **stated, request_id="spring")
    assert dpcov.release_pairs(ROWS, **stated, request_id="spring") == first


@pytest.mark.parametrize("other", [{"epsilon": 1.1}, {"row_norm": 5.0}, {"missing": "center"}])
def test_a_request_id_stands_for_one_request(ledger, other):
    dpcov.release(ROWS, **ONE, ledger=ledger, request_id="spring")
    with pytest.raises(LedgerError, match="was used for another request"):
        dpcov.release(ROWS, **(ONE | other), ledger=ledger, request_id="spring")
    with pytest.raises(LedgerError, match="was used for another request"):
        dpcov.release_pairs(
            ROWS, epsilon=1.0, delta=1e-6, max_pairs=1, ledger=ledger, request_id="spring"
        )


@pytest.mark.claim("P41")
def test_a_request_that_may_have_drawn_is_not_repeated(ledger):
    begun = charge(ledger, "spring")
    begun.reserve([EVENT])
    begun.begin()
    with pytest.raises(UnfinishedRequestError, match="line 3 of the ledger is spent"):
        charge(ledger, "spring").find_finished()
    with pytest.raises(UnfinishedRequestError, match=r"Nothing more was spent\.$"):
        charge(ledger, "spring").reserve([EVENT])


@pytest.mark.claim("P41")
def test_a_request_that_drew_nothing_goes_on_without_a_second_charge(ledger):
    dead, alive = charge(ledger, "spring"), charge(ledger, "spring")
    dead.reserve([EVENT])
    alive.reserve([EVENT])
    alive.begin()
    with pytest.raises(LedgerError, match="noise may have been drawn"):
        dead.begin()
    assert kinds(ledger)[2:] == ["reservation", "drawing"]


@pytest.mark.claim("P41")
def test_what_was_given_back_is_never_drawn_for(ledger):
    slow = charge(ledger)
    slow.reserve([EVENT])
    ledger.give_back(3, by=WHO["owner"], reason="the machine is gone")
    with pytest.raises(LedgerError, match="was given back"):
        slow.begin()
    assert ledger.account().cost == 0


@pytest.mark.claim("P41")
def test_what_may_have_been_drawn_is_never_given_back(ledger):
    begun = charge(ledger)
    begun.reserve([EVENT])
    begun.begin()
    with pytest.raises(LedgerError, match="noise may have been drawn"):
        ledger.give_back(3, by=WHO["owner"], reason="it was a mistake")
    assert begun.end_early([]) is False
    assert begun.end_early([EVENT]) is True  # all of it is spent: nothing is left to give back
    assert ledger.account().spent == 1.0


def lose_answers(monkeypatch, *places):
    """Let the database commit, and its answer get lost, at these transactions."""
    run, counted = Session.run, [0]

    def losing(self, statement, *values):
        done = run(self, statement, *values)
        if statement == "COMMIT":
            counted[0] += 1
            if counted[0] in places:
                raise sqlite3.OperationalError("disk I/O error")
        return done

    monkeypatch.setattr(Session, "run", losing)
    monkeypatch.setattr("dpcov.ledger.charge._WAITS", (0.0, 0.0))


@pytest.mark.claim("P41")
def test_a_reservation_whose_answer_was_lost_is_given_back(ledger, monkeypatch):
    lose_answers(monkeypatch, 1)
    with pytest.raises(LedgerError, match="Nothing was spent"):
        dpcov.release(ROWS, **ONE, ledger=ledger)
    assert kinds(ledger)[2:] == ["reservation", "return"]


@pytest.mark.claim("P41")
def test_a_reservation_that_may_stand_is_said(ledger, monkeypatch):
    lose_answers(monkeypatch, 1, 2)
    with pytest.raises(LedgerError, match="its owner can give back") as caught:
        dpcov.release(ROWS, **ONE, ledger=ledger)
    assert caught.value.budget_spent == "nothing"


@pytest.mark.claim("P41")
def test_noise_whose_announcement_was_lost_is_not_drawn_and_counts(ledger, monkeypatch):
    lose_answers(monkeypatch, 2)
    with pytest.raises(LedgerError, match="may count more"):
        dpcov.release(ROWS, **ONE, ledger=ledger)
    assert kinds(ledger)[2:] == ["reservation", "drawing"]
    assert ledger.account().spent == 1.0


@pytest.mark.claim("P41")
def test_a_record_whose_answer_was_lost_is_written_once(ledger, monkeypatch):
    lose_answers(monkeypatch, 3)
    dpcov.release(ROWS, **ONE, ledger=ledger)
    assert kinds(ledger)[2:] == ["reservation", "drawing", "release"]


def test_a_record_that_cannot_be_written_counts_as_spent(ledger, monkeypatch):
    def fail(self, line):
        if '"kind":"release"' in line.text:
            raise LedgerError("The disk is full.")
        add(self, line)

    add = Session.add
    monkeypatch.setattr(Session, "add", fail)
    monkeypatch.setattr("dpcov.ledger.charge._WAITS", (0.0, 0.0))
    with pytest.raises(LedgerError, match="count the budget as spent"):
        dpcov.release(ROWS, **ONE, ledger=ledger)
    assert ledger.account().spent == 1.0


def test_only_the_owner_gives_back(ledger):
    charge(ledger).reserve([EVENT])
    with pytest.raises(LedgerError, match="Only the owner"):
        ledger.give_back(3, by="somebody", reason="why not")


def test_other_events_than_reserved_are_not_recorded(ledger):
    begun = charge(ledger)
    begun.reserve([EVENT])
    begun.begin()
    with pytest.raises(AssertionError, match="not what was paid for"):
        begun.record(b"file", [EVENT, EVENT], n_rows=1, n_columns=1)


def test_a_release_that_is_too_long_is_recorded_and_not_kept(ledger, monkeypatch):
    monkeypatch.setattr("dpcov.ledger.charge.LARGEST_KEPT", 10)
    dpcov.release(ROWS, **ONE, ledger=ledger, request_id="spring")
    with pytest.raises(LedgerError, match="too long to be kept there; its file has the sha256"):
        dpcov.release(ROWS, **ONE, ledger=ledger, request_id="spring")


def test_a_kept_release_that_was_altered_is_not_returned(ledger):
    dpcov.release(ROWS, **ONE, ledger=ledger, request_id="spring")
    tamper(ledger.address, "UPDATE dpcov_releases SET file = x'00'")
    with pytest.raises(AlteredLedgerError, match="keeps was altered"):
        dpcov.release(ROWS, **ONE, ledger=ledger, request_id="spring")


def test_a_simulation_is_not_charged(ledger):
    with pytest.raises(ParameterError, match=r"seed=\. Nothing was spent"):
        dpcov.release(ROWS, **ONE, seed=1, ledger=ledger)


def test_a_ledger_is_a_ledger(ledger):
    with pytest.raises(ParameterError, match=r"must be a dpcov\.Ledger"):
        dpcov.release(ROWS, **ONE, ledger=ledger.address)
    with pytest.raises(ParameterError, match="state ledger="):
        dpcov.release(ROWS, **ONE, request_id="spring")


def test_estimators_charge_a_ledger(ledger):
    model = dpcov.SparseCovariance(**ONE, ledger=ledger)
    clone(model).fit(ROWS)
    dpcov.PairsCovariance(epsilon=1.0, delta=1e-6, max_pairs=1, scales="none", ledger=ledger).fit(
        ROWS
    )
    assert ledger.account().releases == 2


def test_a_ledger_is_copied_as_an_address(ledger):
    for same in (copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))):
        assert same == ledger
        assert hash(same) == hash(ledger)


def test_two_accounts_are_charged_at_once_or_not_at_all(ledger):
    ledger.add_account(population="Panel 2027", owner="Data office", epsilon=1.5, delta=1e-6)
    both = dpcov.Ledger(ledger.address, accounts=["Panel 2026", "Panel 2027"])
    dpcov.release(ROWS, **ONE, ledger=both)
    with pytest.raises(BudgetError, match="Panel 2027"):
        dpcov.release(ROWS, **(ONE | {"epsilon": 1.3}), ledger=both)
    assert [both.account(name).spent for name in both.accounts] == [1.0, 1.0]


def test_a_ledger_with_several_accounts_asks_which(ledger):
    ledger.add_account(population="Panel 2027", owner="Data office", **LIMIT)
    with pytest.raises(LedgerError, match="name one or more of 'Panel 2026', 'Panel 2027'"):
        dpcov.Ledger(ledger.address)
