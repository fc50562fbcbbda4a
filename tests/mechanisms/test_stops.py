"""A release that ends early: at columns that do not fit, at Ctrl-C; and what it says it spent."""

import sys
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import dpcov
from dpcov.columns import Column
from dpcov.columns.design import Design
from dpcov.columns.fields import Field
from dpcov.errors import (
    AlteredLedgerError,
    LedgerError,
    MismatchError,
    ParameterError,
    WeakPromiseWarning,
)
from dpcov.exact.randomness import RandomStream
from dpcov.ledger import chain
from dpcov.ledger.book import Book
from dpcov.ledger.charge import Charge
from dpcov.ledger.numbers import event_from_text, event_to_text
from dpcov.mechanisms import noise, pairs
from dpcov.mechanisms.learning import learn
from dpcov.mechanisms.learning.mismatch import check_fit, clear_margin
from dpcov.mechanisms.learning.noisy import Noisy
from dpcov.mechanisms.learning.stated import Stated
from dpcov.mechanisms.learning.tuning import DEFAULT
from dpcov.privacy import ApproxDP, Gaussian
from dpcov.privacy.accounting import events_epsilon
from dpcov.privacy.counting import Counting, counted_cost
from dpcov.privacy.events import Selection

ONE = {"epsilon": 1.0, "delta": 1e-6}
N = 20_000


@pytest.fixture
def ledger(tmp_path):
    return dpcov.Ledger.create(
        tmp_path / "budget.db", population="Panel", owner="Office", epsilon=4.0, delta=1e-5
    )


def table(**columns):
    generator = np.random.default_rng(4)
    return pd.DataFrame({"a": generator.normal(size=N), "b": generator.normal(size=N), **columns})


def kinds(ledger):
    return [line["kind"] for line in ledger.look()[1]]


def test_a_release_stops_at_a_column_that_is_nearly_empty_and_says_which():
    rows = table(empty=np.where(np.arange(N) % 100, np.nan, 1.0))
    with pytest.raises(MismatchError) as stop:
        dpcov.release(rows, **ONE)
    assert stop.value.columns == ("empty",)
    assert stop.value.budget_spent.startswith("observed (epsilon = 0.0")


@pytest.mark.parametrize("other", [None, "else"])
def test_a_release_stops_at_levels_that_are_written_in_another_way(other):
    rows = table(sex=np.where(np.arange(N) % 2, "M", "F"))
    facts = {"a": {}, "b": {}, "sex": {"levels": ["m", "f"], "other": other}}
    with pytest.raises(MismatchError) as stop:
        dpcov.release(rows, columns=facts, **ONE)
    assert stop.value.columns == ("sex",)
    assert stop.value.budget_spent.startswith("observed, levels (epsilon = ")


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "center"},
        {"row_norm": 4.0, "missing": "pairwise"},
        {"row_norm": 4.0, "missing": "center"},
    ],
)
def test_a_release_stops_however_missing_cells_are_read(options):
    rows = table(empty=np.full(N, np.nan))
    with pytest.raises(MismatchError) as stop:
        dpcov.release(rows, **ONE, **options)
    assert stop.value.columns == ("empty",)


def test_all_columns_that_do_not_fit_are_named_at_once():
    rows = table(
        born=["08/19/2019"] * N,
        pay=["$17,759"] * N,
        sex=np.where(np.arange(N) % 2, "M", "F"),
    )
    facts = {
        "a": {},
        "born": {"unit": "days"},
        "pay": {"text": "1234.5"},
        "sex": {"levels": ["m", "f"], "other": "else"},
    }
    with pytest.raises(MismatchError) as stop:
        dpcov.release(rows, columns=facts, **ONE)
    assert stop.value.columns == ("born", "pay", "sex")


@pytest.mark.parametrize("options", [{"missing": "pairwise"}, {"missing": "center"}])
def test_what_is_stated_to_be_mostly_empty_is_released(options):
    rows = table(empty=np.where(np.arange(N) % 100, np.nan, 1.0 * np.arange(N)))
    facts = {"a": {}, "b": {}, "empty": {"mostly_empty": True}}
    assert dpcov.release(rows, columns=facts, **ONE, **options).n_columns == 3


def test_whoever_allows_a_mismatch_gets_the_release():
    rows = table(empty=np.where(np.arange(N) % 100, np.nan, 1.0))
    assert dpcov.release(rows, allow={"mismatch"}, **ONE).n_columns == 3
    options = {"row_norm": 4.0, "missing": "center", "allow": {"mismatch"}}
    (event,) = dpcov.release(rows, **options, **ONE).events  # and nothing is counted first
    assert event.name == "moments"


def test_a_column_cannot_be_complete_and_mostly_empty():
    with pytest.raises(ParameterError):
        Column("a", complete=True, mostly_empty=True)


@pytest.mark.claim("P26")
def test_a_false_stop_has_probability_of_one_in_a_million():
    fields = (Field("a"), Field("sex", ("f", "m")), Field("b", may_be_missing=False))
    stated = Stated.of([None] * 3, Design(fields))
    margin = clear_margin(stated, DEFAULT)
    n_looks = 2 + 2 + 1  # two columns, two levels, and all levels of one category
    assert n_looks * norm.sf(margin) == pytest.approx(1e-6)
    nothing = Noisy(np.full(2, 0.5), 0.0)
    for column in (0, 1):
        share = np.ones(2)
        share[column] = 0.1 - (margin - 1e-6) * 0.01
        check_fit(stated, Noisy(share, 0.01), nothing, DEFAULT)
        share[column] = 0.1 - (margin + 1e-6) * 0.01
        with pytest.raises(MismatchError):
            check_fit(stated, Noisy(share, 0.01), nothing, DEFAULT)


@pytest.mark.claim("P26")
@pytest.mark.parametrize("levels", [("f", "m"), ("f", "m", "x", "else")])
@pytest.mark.parametrize("sd", [1e-4, 1e-2])
def test_levels_seem_unused_only_where_noise_cannot_be_the_reason(levels, sd):
    column = Column("x", levels=levels, other="else" if "else" in levels else None)
    stated = Stated.of([column], Design((Field.of(column),)))
    margin, here = clear_margin(stated, DEFAULT), Noisy(np.ones(1), 0.0)
    named = np.array([level != "else" for level in levels])
    assert (1 + len(levels) + 1) * norm.sf(margin) == pytest.approx(1e-6)
    # Each level is at its bound, and all of them together are where other cells count.
    for bound, noise_sd in ((0.01, sd), (0.03 / named.sum(), sd / named.sum() ** 0.5)):
        for clear in (-1e-6, 1e-6):
            share = np.where(named, bound - (margin + clear) * noise_sd, 1.0)
            # Either question stops a release, so the other one is answered for these shares.
            each = (share[named] + margin * sd < 0.01).all()
            together = share[named].sum() + margin * sd * named.sum() ** 0.5 < 0.03
            if each or together:
                with pytest.raises(MismatchError):
                    check_fit(stated, here, Noisy(share, sd), DEFAULT)
            else:
                check_fit(stated, here, Noisy(share, sd), DEFAULT)


@pytest.mark.parametrize(
    ("levels", "other", "shares", "stops"),
    [
        ("abc", None, (0.98, 0.01, 0.01), False),  # few have most levels: they occur
        ("abc", None, (1.0, 0.0, 0.0), True),
        ("abcd", None, (0.5, 0.5, 0.0, 0.0), False),  # half of them is not most
        (range(50), None, (0.02,) * 50, False),
        ("ab", "c", (0.03, 0.0, 0.97), False),
        ("ab", "c", (0.01, 0.01, 0.98), True),
        ("ab", "b", (0.05, 0.95), False),
    ],
)
def test_a_category_stops_a_release_if_most_levels_are_hardly_used(levels, other, shares, stops):
    column = Column("x", levels=list(map(str, levels)), other=other)
    stated = Stated.of([column], Design((Field.of(column),)))
    here, levels = Noisy(np.ones(1), 1e-5), Noisy(np.array(shares), 1e-5)
    if stops:
        with pytest.raises(MismatchError):
            check_fit(stated, here, levels, DEFAULT)
    else:
        check_fit(stated, here, levels, DEFAULT)


@pytest.mark.claim("P41")
def test_a_stop_gives_the_rest_of_its_reservation_back(ledger, monkeypatch):
    rows = table(empty=np.full(N, np.nan))
    event = dpcov.release(rows, allow={"mismatch"}, **ONE).events[0]
    monkeypatch.setattr(learn, "find_ranges", None)  # nothing more is drawn
    with pytest.raises(MismatchError):
        dpcov.release(rows, ledger=ledger, request_id="wave 1", **ONE)
    assert kinds(ledger)[2:] == ["reservation", "drawing", "stop"]
    said = ledger.look()[1][-1]["events"]
    assert said == [event_to_text(event)]
    assert ledger.account().spent == pytest.approx(events_epsilon([event], delta=1e-5), rel=1e-3)
    assert (ledger.account().stopped, ledger.account().releases) == (1, 0)


@pytest.mark.claim("P41")
def test_a_request_that_stopped_can_be_made_again(ledger):
    rows = table(empty=np.full(N, np.nan))
    request = {"ledger": ledger, "request_id": "wave 1"}
    with pytest.raises(MismatchError):
        dpcov.release(rows, **request, **ONE)
    dpcov.release(rows, columns={"a": {}, "b": {}}, **request, **ONE)
    begun = ["reservation", "drawing"]
    assert kinds(ledger)[2:] == [*begun, "stop", *begun, "release"]
    assert ledger.account().charges == 2


def _stop_at(monkeypatch, where):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, stop)


LEARN = "dpcov.mechanisms.learning.learn."


@pytest.mark.claim("P41")
@pytest.mark.parametrize(
    ("where", "spent", "lines"),
    [
        ("dpcov.mechanisms.dense.learn", "nothing", ["return"]),
        (LEARN + "find_ranges", "observed, range (epsilon = ", ["drawing", "stop"]),
        (LEARN + "measure_clipping", "observed, range, center, limit,", ["drawing", "stop"]),
        ("dpcov.mechanisms.dense.lengthen", "all", ["drawing"]),
    ],
)
def test_ctrl_c_says_what_was_spent_and_the_ledger_agrees(monkeypatch, ledger, where, spent, lines):
    _stop_at(monkeypatch, where)
    with pytest.raises(KeyboardInterrupt) as stop:
        dpcov.release(table(), ledger=ledger, **ONE)
    assert stop.value.budget_spent.startswith(spent)
    if sys.version_info >= (3, 11):
        assert len(stop.value.__notes__) == 1
    assert kinds(ledger)[2:] == ["reservation", *lines]


def test_ctrl_c_within_a_step_counts_the_step(monkeypatch, ledger):
    words = RandomStream.words
    drawn = []

    def stop(self, count):
        drawn.append(count)
        if len(drawn) == 2:
            raise KeyboardInterrupt
        return words(self, count)

    monkeypatch.setattr(RandomStream, "words", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        dpcov.release(table(), ledger=ledger, **ONE)
    assert caught.value.budget_spent.startswith(("observed (", "observed, range ("))
    assert kinds(ledger)[-1] == "stop"


@pytest.mark.claim("P41")
@pytest.mark.parametrize("where", ["find_centers", "find_limits", "find_radius"])
def test_a_stop_leaves_charged_all_events_for_which_words_were_read(monkeypatch, ledger, where):
    read, drawn = RandomStream._read, []

    def watch(self, *arguments):
        drawn.append(self.begun[-1])
        return read(self, *arguments)

    monkeypatch.setattr(RandomStream, "_read", watch)
    _stop_at(monkeypatch, LEARN + where)
    with pytest.raises(KeyboardInterrupt):
        dpcov.release(table(), ledger=ledger, **ONE)
    reserved, stop = (line["events"] for line in ledger.look()[1] if "events" in line)
    names = list(dict.fromkeys(drawn))
    assert len(names) > 1
    assert [each["name"] for each in stop][: len(names)] == names
    assert stop == reserved[: len(stop)]
    events = [event_from_text(each) for each in stop]
    assert ledger.account().cost == sum(counted_cost(Counting.GAUSSIAN, event) for event in events)


@pytest.mark.claim("P41")
def test_words_that_were_read_before_ctrl_c_count(monkeypatch, ledger):
    read = RandomStream._read

    def stop(self, *arguments):
        read(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(RandomStream, "_read", stop)
    with pytest.raises(KeyboardInterrupt) as caught:
        dpcov.release(table(), ledger=ledger, **ONE)
    assert caught.value.budget_spent.startswith("observed (")
    assert kinds(ledger)[2:] == ["reservation", "drawing", "stop"]


def test_ctrl_c_after_centers_of_pairs_were_learned_spares_the_rest(monkeypatch, ledger):
    _stop_at(monkeypatch, "dpcov.mechanisms.strongest_pairs.SignKernel")
    rows = np.random.default_rng(1).normal(size=(5000, 6))
    with pytest.raises(KeyboardInterrupt) as stop:
        dpcov.release_pairs(rows, max_pairs=3, center="learned", ledger=ledger, **ONE)
    assert stop.value.budget_spent.startswith("centers (epsilon = ")
    assert kinds(ledger)[2:] == ["reservation", "drawing", "stop"]
    # Answers were seen: costs are still added up as was decided before, though all are Gaussian.
    assert ledger.account().counting is Counting.ZCDP


@pytest.mark.claim("P41")
@pytest.mark.parametrize("kind", ["learned", "stated", "gaps", "weights", "pairs", "differences"])
def test_every_word_is_drawn_for_an_event_of_the_release_in_its_order(monkeypatch, kind):
    words, drawn = RandomStream.words, []

    def watch(self, count):
        drawn.append(self.begun[-1])
        return words(self, count)

    monkeypatch.setattr(RandomStream, "words", watch)
    rows = table(c=np.where(np.arange(N) % 3, np.nan, np.arange(N)), w=np.ones(N))
    plain = rows[["a", "b"]]
    make = {
        "learned": lambda: dpcov.release(plain, **ONE),
        "stated": lambda: dpcov.release(plain, row_norm=4.0, **ONE),
        "gaps": lambda: dpcov.release(rows, row_norm=4.0, missing="pairwise", **ONE),
        "weights": lambda: dpcov.release(rows, weight="w", weight_bound=2.0, **ONE),
        "pairs": lambda: dpcov.release_pairs(
            rows[["a", "b", "w"]], max_pairs=2, center="learned", row_norm=4.0, **ONE
        ),
        "differences": lambda: dpcov.release_pairs(
            rows[["a", "b", "w"]], max_pairs=2, center="differences", **ONE
        ),
    }
    made = make[kind]()
    in_order = list(dict.fromkeys(drawn))
    assert in_order == [event.name for event in made.events]


DRAWS = {
    "learned": {
        "observed": 1, "range": 9, "center": 14, "limit": 7, "mean": 1, "scale": 1, "beyond": 1,
        "radius": 7, "clipping": 1, "moments": 2,
    },
    "gaps": {"observed": 1, "levels": 1, "moments": 2},
    "pairs": {"centers": 20, "signs": 1, "selection": 1, "values": 1, "variances": 1},
}  # fmt: skip
"""How many times noise is drawn for each event."""


@pytest.mark.claim("P41")
@pytest.mark.parametrize("kind", DRAWS)
def test_an_event_is_begun_before_the_first_of_its_draws(monkeypatch, kind):
    drawn = Counter()

    def watch(where, name):
        draw = getattr(where, name)

        def watched(*arguments, **options):
            (stream,) = (
                each for each in (*arguments, *options.values()) if isinstance(each, RandomStream)
            )
            drawn[stream.begun[-1]] += 1
            return draw(*arguments, **options)

        monkeypatch.setattr(where, name, watched)

    watch(noise, "draw_rounded_gaussian")
    watch(pairs, "select_largest")
    facts = {"a": {}, "b": {}, "sex": {"levels": ["f", "m"]}}
    rows = table(sex=np.where(np.arange(N) % 2, "f", "m"))
    make = {
        "learned": lambda: dpcov.release(rows[["a", "b"]], **ONE),
        "gaps": lambda: dpcov.release(rows, columns=facts, row_norm=4.0, missing="center", **ONE),
        "pairs": lambda: dpcov.release_pairs(
            rows[["a", "b"]], max_pairs=1, center="learned", row_norm=4.0, **ONE
        ),
    }
    make[kind]()
    assert drawn == DRAWS[kind]


@pytest.mark.claim("P40")
@pytest.mark.parametrize(
    "altered",
    [
        lambda events: [],
        lambda events: events,
        lambda events: events[1:2],
        lambda events: [events[1], events[0]],
        lambda events: [events[0] | {"multiplier": "1000"}],
    ],
    ids=["none", "all", "a later one", "another order", "another event"],
)
def test_a_line_that_gives_back_more_than_was_not_drawn_is_refused(ledger, altered, monkeypatch):
    _stop_at(monkeypatch, LEARN + "find_ranges")
    with pytest.raises(KeyboardInterrupt):
        dpcov.release(table(), ledger=ledger, **ONE)
    lines = ledger.look()[1]
    reserved = lines[2]["events"]
    with ledger.writing() as pages:
        *before, last = pages.lines
        said = last.read() | {"events": altered(reserved)}
    forged = [*before, chain.next_line(before[-1], said)]
    Book.of([*before, last])
    with pytest.raises(AlteredLedgerError):
        Book.of(forged)


def test_a_stop_before_noise_is_no_line_of_its_own(ledger):
    with pytest.raises(dpcov.errors.InputError) as refusal:
        dpcov.release("a text", ledger=ledger, **ONE)
    assert refusal.value.budget_spent == "nothing"
    assert "stop" not in kinds(ledger)


@pytest.mark.claim("P41")
def test_an_error_that_was_raised_before_says_what_this_release_spent(ledger):
    class CancelledError(Exception):
        pass

    cancelled = CancelledError()

    def cancel_at(step):
        def tell(name, *_):
            if name == step:
                raise cancelled

        return tell

    said = []
    for step in ("columns", "lengths", "moments"):
        with pytest.raises(CancelledError) as caught:
            dpcov.release(table(), ledger=ledger, progress=cancel_at(step), **ONE)
        said.append((caught.value.budget_spent.partition(",")[0], kinds(ledger)[-1]))
    assert said == [("nothing", "return"), ("observed", "stop"), ("observed", "stop")]


@pytest.mark.claim("P41")
@pytest.mark.parametrize(
    ("where", "spent"),
    [("dpcov.mechanisms.dense.learn", "nothing"), (LEARN + "find_ranges", "observed, range (")],
)
def test_ctrl_c_once_more_says_what_was_spent(monkeypatch, ledger, where, spent):
    _stop_at(monkeypatch, where)
    _stop_at(monkeypatch, "dpcov.ledger.charge.Charge.end_early")
    with pytest.raises(KeyboardInterrupt) as stop:
        dpcov.release(table(), ledger=ledger, **ONE)
    assert stop.value.budget_spent.startswith(spent)
    assert kinds(ledger)[-1] in ("reservation", "drawing")
    if sys.version_info >= (3, 11):
        assert "may count more" in stop.value.__notes__[0]


@pytest.mark.claim("P41")
def test_ctrl_c_while_it_is_found_out_what_was_spent_says_no_less(monkeypatch, ledger):
    _stop_at(monkeypatch, "dpcov.mechanisms.door.events_epsilon")
    with pytest.raises(KeyboardInterrupt) as stop:
        dpcov.release(table(empty=np.full(N, np.nan)), ledger=ledger, **ONE)
    assert stop.value.budget_spent == "all"
    assert kinds(ledger)[-1] == "drawing"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "release", [dpcov.release, partial(dpcov.release_pairs, max_pairs=1)], ids=["moments", "pairs"]
)
def test_a_warning_that_is_an_error_says_what_was_spent(release):
    with pytest.raises(WeakPromiseWarning) as caught:
        release(table(), epsilon=1.0, delta=1e-3)
    assert caught.value.budget_spent == "all"


@pytest.mark.claim("P41")
@pytest.mark.parametrize("n_drawn", [0, 1])
def test_a_forked_copy_of_a_release_gives_nothing_back(ledger, monkeypatch, n_drawn):
    promise = ApproxDP(1.0, 1e-6, "replace")
    charge = Charge(
        ledger, what="release", promise=promise, complete=False, request_id=None, stated={}
    )
    events = (Gaussian("observed", 50.0), Gaussian("moments", 5.0))
    charge.reserve(events)
    if n_drawn:
        charge.begin()
    before = kinds(ledger)
    with monkeypatch.context() as copied:
        copied.setattr("os.getpid", lambda: -1)
        assert charge.end_early(events[:n_drawn]) is False
    assert kinds(ledger) == before
    assert charge.end_early(events[:n_drawn]) is True


@pytest.mark.claim("P41")
def test_another_request_of_the_same_name_keeps_its_reservation(ledger):
    promise = ApproxDP(1.0, 1e-6, "replace")
    one, other = (
        Charge(ledger, what=what, promise=promise, complete=False, request_id="x", stated={})
        for what in ("release", "release_pairs")
    )
    one.reserve([Gaussian("moments", 5.0)])
    with pytest.raises(LedgerError, match="used for another request"):
        other.reserve([Gaussian("moments", 5.0)])
    assert other.end_early([]) is True
    one.begin()
    assert kinds(ledger)[2:] == ["reservation", "drawing"]


@pytest.mark.claim("P40")
@pytest.mark.parametrize("n_drawn", [1, 2])
def test_a_stop_leaves_each_account_what_was_drawn_and_others_charged(ledger, tmp_path, n_drawn):
    address, promise = tmp_path / "budget.db", ApproxDP(1.0, 1e-6, "replace")
    limit = {"owner": "Office", "epsilon": 4.0, "delta": 1e-5}
    ledger.add_account(population="Other", counting="zcdp", **limit)
    ledger.add_account(population="Third", counting="gaussian", **limit)
    first, second = (
        Charge(
            dpcov.Ledger(address, accounts=accounts),
            what="release",
            promise=promise,
            complete=False,
            request_id=None,
            stated={},
        )
        for accounts in (["Panel", "Other"], ["Other", "Third"])
    )
    events = (Gaussian("observed", 50.0), Selection("selection", 0.25, 3), Gaussian("moments", 7.0))
    first.reserve(events)
    second.reserve(events)
    first.begin()
    second.begin()
    first.end_early(events[:n_drawn])
    accounts = dpcov.Ledger.open(address).look()[0].accounts
    counted = {
        name: sum(counted_cost(accounts[name].counts, event) for event in charged)
        for name, charged in {
            "Panel": events[:n_drawn],
            "Other": (*events[:n_drawn], *events),
            "Third": events,
        }.items()
    }
    assert {name: account.cost for name, account in accounts.items()} == counted
    assert accounts["Panel"].counting is Counting.ZCDP
    assert [account.stopped for account in accounts.values()] == [1, 1, 0]
