"""The noise door, recorded and replayed."""

import pickle
import sys
import threading

import numpy as np
import pytest

import dpcov
from dpcov import audit, local
from dpcov.errors import AuditError, BudgetError, SensitiveDataError
from dpcov.mechanisms import differences, noise

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")
PAIRS = {pair.name: pair for pair in audit.neighbors()}
FACTS = {"epsilon": 2.0, "delta": 0.1, "row_norm": 1.0, "allow": {"small"}}
ROWS = np.array([[0.5, 0.1], [0.2, -0.9], [0.1, 0.3]])
WAYS = {
    "add_noise": noise.add_noise,
    "select_largest": noise.select_largest,
    "draw_pairing": differences.draw_pairing,
}


def known():
    """Return who knows which way out."""
    return {
        (label, name): vars(module)[name]
        for label, module in list(sys.modules.items())
        if label.startswith("dpcov.")
        for name in WAYS
        if name in vars(module)
    }


@pytest.mark.parametrize("name", [name for name in PAIRS if name != "local-cap"])
def test_a_replayed_run_gives_the_same_release(name):
    pair = PAIRS[name]
    with audit.recording() as seen:
        made = pair.run(0)
    with audit.replaying(seen) as again:
        same = pair.run(0)
    assert len(seen) > 0
    if name == "local-gaussian":  # the ids of reports are drawn elsewhere
        assert pair.publish(same).tolist() == pair.publish(made).tolist()
    else:
        assert same == made
    assert [each.exact.tolist() for each in again] == [each.exact.tolist() for each in seen]


def test_a_replayed_release_has_the_same_bytes(tmp_path):
    with audit.recording() as seen:
        dpcov.release(ROWS, **FACTS).save(tmp_path / "first.npz")
    with audit.replaying(seen):
        dpcov.release(ROWS, **FACTS).save(tmp_path / "second.npz")
    assert (tmp_path / "first.npz").read_bytes() == (tmp_path / "second.npz").read_bytes()


def test_recorded_and_replayed_releases_promise_nothing():
    with audit.recording() as seen:
        made = dpcov.release(ROWS, **FACTS)
    with audit.replaying(seen):
        again = dpcov.release(ROWS, **FACTS)
    assert made.simulated
    assert again.simulated
    assert not dpcov.release(ROWS, **FACTS).simulated


def test_a_recorded_report_is_refused_by_a_collector_of_real_ones():
    plan = local.CollectionPlan(
        columns=["a", "b"], row_norm=1.0, epsilon=2.0, delta=0.1, mechanism="gaussian"
    )
    with audit.recording():
        report = local.randomize([0.1, 0.2], plan)
    with pytest.raises(dpcov.errors.ForeignReportError):
        local.Collector(plan).add(report)


def test_what_was_asked_and_drawn_is_recorded():
    with audit.recording() as seen:
        made = dpcov.release(ROWS, **FACTS)
    sizes = [each.size for each in seen]
    assert [each.kind for each in seen] == ["gaussian", "gaussian"]
    assert sizes == [3, 3]  # two columns and the constant: the diagonal, and what is above it
    for each in seen:
        assert (each.exact + each.drawn == each.answer).all()
        assert 0 < np.abs(each.drawn).max() < 8 * each.scale
    assert seen[0].scale == pytest.approx(2**0.5 * seen[1].scale, rel=1e-6)
    assert made.n_rows == 3


def test_answers_are_those_of_the_noise_door_without_a_recording():
    plain = dpcov.release(ROWS, **FACTS, seed=3)
    with audit.recording():
        assert dpcov.release(ROWS, **FACTS, seed=3) == plain


@pytest.mark.parametrize("door", [audit.recording, lambda: audit.replaying([])])
def test_nobody_is_left_at_the_door(door):
    before = known()
    with door():
        assert known() != before
    assert known() == before
    with pytest.raises(ZeroDivisionError), door():
        _ = 1 / 0
    assert known() == before
    assert {name: each for (_, name), each in before.items()} == WAYS


def test_other_threads_pass_as_if_nobody_stood_there():
    found = []
    with audit.recording() as seen:
        dpcov.release(ROWS, **FACTS)
        thread = threading.Thread(target=lambda: found.append(dpcov.release(ROWS, **FACTS)))
        thread.start()
        thread.join()
    with audit.replaying(seen):
        thread = threading.Thread(target=lambda: found.append(dpcov.release(ROWS, **FACTS)))
        thread.start()
        thread.join()
        dpcov.release(ROWS, **FACTS)
    assert len(seen) == 2
    assert not found[0].simulated
    assert not found[1].simulated
    assert found[0] != found[1]


@pytest.mark.parametrize(
    "other",
    [
        lambda: dpcov.release(ROWS, **{**FACTS, "epsilon": 1.0}),
        lambda: dpcov.release(np.eye(3), **FACTS),
        lambda: dpcov.release_pairs(
            np.eye(3), epsilon=2.0, delta=0.1, max_pairs=1, center=0.0, allow={"small"}
        ),
        lambda: [dpcov.release(ROWS, **FACTS) for _ in range(2)],
        lambda: None,
    ],
    ids=["scale", "size", "kind", "more", "fewer"],
)
def test_a_run_that_asks_for_something_else_is_refused(other):
    with audit.recording() as seen:
        dpcov.release(ROWS, **FACTS)
    with pytest.raises(AuditError), audit.replaying(seen):
        other()


def test_exact_numbers_refuse_to_be_stored_and_are_not_shown():
    with audit.recording() as seen:
        dpcov.release(ROWS, **FACTS)
    for each in (seen, seen[0]):
        with pytest.raises(SensitiveDataError):
            pickle.dumps(each)
        assert str(int(seen[0].exact[0])) not in repr(each)


def test_a_ledger_is_charged_for_a_replayed_release_too(tmp_path):
    ledger = dpcov.Ledger.create(
        tmp_path / "ledger.db", population="people", owner="me", epsilon=3.0, delta=0.1
    )
    with audit.recording() as seen:
        dpcov.release(ROWS, **FACTS)
    with audit.replaying(seen):
        dpcov.release(ROWS, **FACTS, ledger=ledger)
    assert ledger.account("people").spent > 1.9
    with pytest.raises(BudgetError):
        dpcov.release(ROWS, **FACTS, ledger=ledger)


def test_a_ratio_needs_the_same_answers():
    seen = []
    for _ in range(2):
        with audit.recording() as each:
            dpcov.release(ROWS, **FACTS)
        seen.append(each)
    with pytest.raises(AuditError):
        audit.log_likelihood_ratio(*seen)


@pytest.mark.claim("P11")
def test_the_chances_of_all_selections_add_up_to_one():
    from itertools import combinations

    from dpcov.audit.likelihood import _log_chance

    exact = np.array([5, 3, 3, -2])
    chances = [
        np.exp(_log_chance(audit.Passage("selection", 2.0, 4, 2, exact, np.array(chosen))))
        for chosen in combinations(range(4), 2)
    ]
    assert sum(chances) == pytest.approx(1.0)
