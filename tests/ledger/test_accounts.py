"""Who an account is about, what it takes, and which numbers it refuses."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcov
from dpcov.errors import AlteredLedgerError, BudgetError, LedgerError, ParameterError
from dpcov.ledger.account import Account, Limit, Terms, up
from dpcov.ledger.numbers import (
    event_from_text,
    event_to_text,
    number_from_text,
    number_to_text,
)
from dpcov.privacy import Approximate, Concentrated, Gaussian, Pure, Selection
from dpcov.privacy.counting import Counting
from ledger.ledgers import LIMIT, ONE, ROWS, WHO, kinds, new

NO_NUMBERS = [0, -1.0, math.nan, math.inf, -math.inf, 1e-320, 5e-324, "1", None, True, 10**400]


@pytest.fixture
def ledger(tmp_path):
    return new(tmp_path / "budget.db")


def account(**stated):
    terms = Terms.of(
        population="p",
        owner="o",
        neighbors="replace",
        privacy_unit=None,
        counting=None,
        data_sets=(),
    )
    return Account(terms, Limit.of(**({"epsilon": 1.0, "delta": 1e-6} | stated)))


def test_an_account_is_printed_with_numbers_that_can_be_read(ledger):
    ledger.enter("counts", epsilon=0.1)
    found = ledger.account()
    assert repr(found) == (
        f"Account({found.terms.population!r}, limit=({found.limit.epsilon:g}, "
        f"{found.limit.delta:g}), spent={up(found.spent)}, charges=1, releases=1)"
    )


@pytest.mark.parametrize("number", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("name", ["epsilon", "rho", "multiplier"])
def test_what_is_no_ordinary_number_is_not_entered(ledger, name, number):
    with pytest.raises(ParameterError):
        ledger.enter("counts", **{name: number})
    assert len(kinds(ledger)) == 2


@pytest.mark.parametrize("number", NO_NUMBERS, ids=repr)
@pytest.mark.parametrize("name", ["epsilon", "delta"])
def test_what_is_no_ordinary_number_is_no_limit(tmp_path, name, number):
    with pytest.raises(ParameterError):
        new(tmp_path / "other.db", **{name: number})
    assert not (tmp_path / "other.db").exists()


@pytest.mark.parametrize("number", [-1.0, math.nan, math.inf, 1e-320, "1", True, 1e-6, 2e-6])
def test_what_is_no_share_of_delta_is_not_set_aside(tmp_path, number):
    with pytest.raises(ParameterError):
        new(tmp_path / "other.db", stated_delta=number)


@pytest.mark.claim("P40")
def test_subnormal_spends_are_refused_after_exhaustion(tmp_path):
    ledger = new(tmp_path / "budget.db", epsilon=1.0)
    dpcov.release(ROWS, **ONE, ledger=ledger)
    with pytest.raises(ParameterError, match="normal number"):
        ledger.enter("almost nothing", epsilon=1e-320)


@given(st.floats(min_value=2.2250738585072014e-308, allow_nan=False, allow_infinity=False))
def test_a_number_has_one_text(number):
    assert number_from_text(number_to_text(number)) == number
    assert Fraction(number_to_text(number)) == Fraction(number)


@pytest.mark.parametrize(
    "text", ["", "1.0", "01", "2/4", "-1", "1/0", "1e3", "1/3", " 1", 1, None, "9" * 400]
)
def test_other_texts_are_no_numbers(text):
    with pytest.raises(AlteredLedgerError):
        number_from_text(text)


@pytest.mark.parametrize(
    "event",
    [
        Gaussian("a", 0.1),
        Selection("b", 0.3, 7),
        Pure("c", 1.0),
        Approximate("d", 1.0, 1e-9),
        Concentrated("e", 0.05),
    ],
)
def test_events_are_read_as_they_were_written(event):
    assert event_from_text(event_to_text(event)) == event


@pytest.mark.claim("P40")
@given(st.lists(st.floats(20.0, 1e6), min_size=1, max_size=30))
def test_sums_are_exact_whatever_the_order(multipliers):
    forward, backward = account(), account()
    for number in multipliers:
        forward = forward.charged([Gaussian("moments", number)])
    for number in reversed(multipliers):
        backward = backward.charged([Gaussian("moments", number)])
    assert forward.cost == backward.cost
    assert forward.cost == sum(1 / Fraction(number) ** 2 for number in multipliers)


@pytest.mark.claim("P40")
def test_very_many_different_charges_are_rounded_up_and_stay_short():
    charged, exact = account(), Fraction(0)
    for number in range(1, 300):
        charged = charged.charged([Gaussian("moments", 20 + 1 / (number + 0.3))])
        exact += 1 / Fraction(20 + 1 / (number + 0.3)) ** 2
    assert exact <= charged.cost < exact * (1 + Fraction(1, 2**1000))
    assert charged.cost.denominator.bit_length() < 10_000


def test_what_was_given_back_leaves_nothing_behind():
    event = [Gaussian("moments", 20.0)]
    after = account().charged(event).given_back(event)
    assert after == account()


@pytest.mark.claim("P40")
def test_the_first_charge_decides_how_costs_are_counted_and_no_later_one():
    assert account().charged([Gaussian("a", 20.0)]).counting is Counting.GAUSSIAN
    pairs = account().charged([Selection("a", 0.01, 5), Gaussian("b", 20.0)])
    assert pairs.counting is Counting.ZCDP
    assert pairs.charged([Gaussian("b", 20.0)]).counting is Counting.ZCDP


@pytest.mark.claim("P40")
def test_stated_deltas_come_out_of_what_was_set_aside(ledger):
    with pytest.raises(BudgetError, match="has set 0 of its delta aside"):
        ledger.enter("counts", epsilon=0.1, delta=1e-9)
    ledger.change_limit(by=WHO["owner"], reason="other tools", stated_delta=1.5e-9)
    ledger.enter("counts", epsilon=0.1, delta=1e-9)
    with pytest.raises(BudgetError, match="this needs more"):
        ledger.enter("counts", epsilon=0.1, delta=1e-9)
    assert ledger.account().releases == 1


@pytest.mark.claim("P40")
def test_what_is_set_aside_is_not_spent_on_noise(tmp_path):
    ledger = new(tmp_path / "budget.db", epsilon=1.0, stated_delta=1e-7)
    with pytest.raises(BudgetError):
        dpcov.release(ROWS, **ONE, ledger=ledger)


def test_other_tools_are_entered_by_rho_if_the_account_counts_it(tmp_path):
    ledger = new(tmp_path / "budget.db", counting="zcdp")
    ledger.enter("tables", rho=0.05)
    assert ledger.account().cost == Fraction(0.05)
    gaussian = new(tmp_path / "other.db", counting="gaussian")
    with pytest.raises(ParameterError, match="state its multiplier"):
        gaussian.enter("tables", rho=0.05)
    gaussian.enter("tables", multiplier=5.0)
    assert kinds(gaussian)[2:] == ["refusal", "entry"]


def test_what_is_out_already_is_entered_though_it_does_not_fit(ledger):
    ledger.enter("leaked tables", epsilon=20.0, made=True)
    assert ledger.account().spent > LIMIT["epsilon"]
    with pytest.raises(BudgetError):
        dpcov.release(ROWS, **ONE, ledger=ledger)


def test_more_than_means_something_is_infinite(ledger):
    ledger.enter("everything", epsilon=1e6, made=True)
    assert ledger.account().spent == math.inf
    with pytest.raises(BudgetError, match="more than 1e6"):
        dpcov.release(ROWS, **ONE, ledger=ledger)


@pytest.mark.parametrize(
    "stated", [{}, {"epsilon": 1.0, "rho": 1.0}, {"delta": 1e-9}, {"rho": 1.0, "delta": 1e-9}]
)
def test_what_was_promised_is_stated_once(ledger, stated):
    with pytest.raises(ParameterError, match="once"):
        ledger.enter("counts", **stated)


@pytest.mark.parametrize(
    ("account", "asked", "said"),
    [
        ({}, {"neighbors": "add-remove"}, "is about 'replace' neighbors"),
        ({"neighbors": "add-remove"}, {}, "is about 'add-remove' neighbors"),
        ({"privacy_unit": "person"}, {}, "protects all rows of one 'person'"),
        ({"data_sets": ["wave 1"]}, {}, "data sets 'wave 1'"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path, account, asked, said):
    ledger = new(tmp_path / "budget.db", **account)
    with pytest.raises(LedgerError, match=said) as caught:
        dpcov.release("not opened.csv", **ONE, **asked, ledger=ledger)
    assert str(caught.value).endswith("Nothing was spent.")
    assert kinds(ledger)[2:] == ["refusal"]


def test_a_named_data_set_is_taken(tmp_path):
    new(tmp_path / "budget.db", data_sets=["wave 1", "wave 2"])
    ledger = dpcov.Ledger(tmp_path / "budget.db", data_set="wave 2")
    dpcov.release(ROWS, **ONE, ledger=ledger)
    assert ledger.lines()[2]["data_set"] == "wave 2"


def test_an_account_says_among_which_tables_it_holds(ledger):
    ledger.enter("reports", epsilon=0.1)
    assert not ledger.account().complete
    dpcov.release(ROWS, **ONE, ledger=ledger)
    assert ledger.account().complete


def test_reports_of_the_local_model_are_about_the_same_people(ledger):
    ledger.enter("reports", epsilon=0.5, neighbors="local")
    local = ledger.account()
    assert local.releases == 1
    with pytest.raises(LedgerError, match="add-remove"):
        ledger.enter("tables", epsilon=0.5, neighbors="add-remove")


def test_a_limit_is_changed_by_its_owner_with_a_reason(ledger):
    with pytest.raises(LedgerError, match="Only the owner"):
        ledger.change_limit(by="somebody", reason="more", epsilon=10.0)
    with pytest.raises(ParameterError, match="reason"):
        ledger.change_limit(by=WHO["owner"], reason=" ", epsilon=10.0)
    ledger.change_limit(by=WHO["owner"], reason="second survey agreed", epsilon=10.0)
    assert ledger.account().limit == Limit(10.0, 1e-6, 0.0)
    assert ledger.lines()[-1]["reason"] == "second survey agreed"


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "x" * 201, 7, None])
def test_names_are_short_texts_in_one_line(tmp_path, name):
    with pytest.raises(ParameterError):
        new(tmp_path / "budget.db", population=name)


def test_an_account_stands_once(ledger):
    with pytest.raises(LedgerError, match="already"):
        ledger.add_account(**WHO, **LIMIT)
    with pytest.raises(ParameterError, match="no color"):
        ledger.add_account(population="x", owner="o", **LIMIT, color=1)


@given(st.floats(1e-12, 1e5))
def test_what_is_shown_as_spent_is_never_less(number):
    assert number <= float(up(number)) <= number * 1.0011
