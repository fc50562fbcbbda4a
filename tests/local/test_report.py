"""The wire format: strict, and never surprised."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov import local
from dpcov.errors import ForeignReportError, MalformedReportError, ReportError
from dpcov.local.report import parse_report, parse_reports

CAP = local.CollectionPlan(columns=["a", "b"], row_norm=1.0, epsilon=2.0)
OTHER = local.CollectionPlan(columns=["a", "c"], row_norm=1.0, epsilon=2.0)
GAUSSIAN = local.CollectionPlan(
    columns=["a", "b"], row_norm=1.0, epsilon=2.0, delta=1e-6, mechanism="gaussian"
)
REPORTS = {plan.mechanism: local.randomize([0.1, 0.2], plan) for plan in (CAP, GAUSSIAN)}


@pytest.mark.parametrize("plan", [CAP, GAUSSIAN], ids=lambda plan: plan.mechanism)
def test_a_report_is_version_kind_plan_id_and_payload(plan):
    report = REPORTS[plan.mechanism]
    parsed = parse_report(report, plan)
    assert len(report) == plan.report_bytes
    assert report[:2] == bytes([1, {"cap": 1, "gaussian": 2}[plan.mechanism]])
    assert report[2:18].hex() == plan.id[:32]
    assert report[18:34] == parsed.ids.tobytes()
    assert report[34:] == parsed.payloads.tobytes()


@pytest.mark.parametrize("plan", [CAP, GAUSSIAN], ids=lambda plan: plan.mechanism)
@given(st.binary(max_size=80))
def test_no_bytes_crash_the_reader(plan, data):
    for read in (lambda: parse_report(data, plan), lambda: parse_reports([data], plan)):
        with pytest.raises(ReportError):
            read()


@pytest.mark.parametrize("plan", [CAP, GAUSSIAN], ids=lambda plan: plan.mechanism)
@given(st.integers(0, 10**6), st.integers(1, 255))
def test_a_report_with_a_flipped_byte_is_refused_or_another_report(plan, place, flip):
    report = bytearray(REPORTS[plan.mechanism])
    place %= len(report)
    report[place] ^= flip
    try:
        parsed = parse_report(bytes(report), plan)
    except ReportError:
        assert place < 18 or plan.mechanism == "gaussian"
    else:
        assert place >= 18
        assert parsed.payloads.tobytes() == bytes(report[34:])


@pytest.mark.parametrize("plan", [CAP, GAUSSIAN], ids=lambda plan: plan.mechanism)
def test_every_other_length_is_refused(plan):
    report = REPORTS[plan.mechanism]
    for data in [report[:size] for size in range(len(report))] + [report + b"\0", report * 2]:
        with pytest.raises(MalformedReportError):
            parse_report(data, plan)


def test_a_report_for_another_plan_is_refused():
    with pytest.raises(ForeignReportError, match="another plan"):
        parse_report(REPORTS["cap"], OTHER)
    with pytest.raises(ForeignReportError, match="another plan"):
        parse_report(REPORTS["cap"], GAUSSIAN)


def test_another_version_or_kind_is_refused():
    report = REPORTS["cap"]
    with pytest.raises(MalformedReportError, match="version 2"):
        parse_report(b"\x02" + report[1:], CAP)
    with pytest.raises(MalformedReportError, match="unknown kind"):
        parse_report(report[:1] + b"\x07" + report[2:], CAP)


def test_simulated_and_real_reports_do_not_mix():
    simulated = local.randomize([0.1, 0.2], CAP, seed=1)
    with pytest.raises(ForeignReportError, match="simulated"):
        parse_report(simulated, CAP)
    with pytest.raises(ForeignReportError, match="real"):
        parse_report(REPORTS["cap"], CAP, simulated=True)
    assert len(parse_report(simulated, CAP, simulated=True)) == 1


@pytest.mark.parametrize("data", [None, "text", 5, [1, 2], np.zeros(50)])
def test_a_report_must_be_bytes(data):
    with pytest.raises(MalformedReportError, match="must be bytes"):
        parse_report(data, CAP)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_kind_of_bytes_will_do(kind):
    assert len(parse_reports([kind(REPORTS["cap"])] * 3, CAP)) == 3


@pytest.mark.parametrize(
    "data",
    [
        b"abc",
        "abc",
        np.zeros((3, 50), np.int64),
        np.zeros(50, np.uint8),
        np.zeros((2, 49), np.uint8),
        [None],
    ],
)
def test_many_reports_of_the_wrong_kind_are_refused(data):
    with pytest.raises(MalformedReportError):
        parse_reports(data, CAP)


def test_the_first_wrong_one_of_many_is_named():
    good = REPORTS["cap"]
    with pytest.raises(ForeignReportError, match=r"Report 2: .* None of them was counted"):
        parse_reports([good, good, good[:2] + bytes(16) + good[18:], good], CAP)
    with pytest.raises(MalformedReportError, match="Report 1: "):
        parse_reports([good, good + b"x"], CAP)


@pytest.mark.parametrize("lengths", [(50, 49), (50, 51), (49, 51), (51, 49), (50, 0), (0, 100)])
def test_reports_of_other_lengths_are_refused_even_if_their_sum_is_right(lengths):
    good = REPORTS["cap"] + bytes(50)
    place = next(place for place, length in enumerate(lengths) if length != 50)
    with pytest.raises(MalformedReportError, match=f"Report {place}: "):
        parse_reports([good[:length] for length in lengths], CAP)


def test_many_reports_may_be_bytearrays_and_memoryviews():
    good = REPORTS["cap"]
    same = parse_reports([good, bytearray(good), memoryview(good)], CAP)
    assert same.payloads.tobytes() == 3 * good[34:]


def test_an_impossible_entry_is_refused():
    report = bytearray(REPORTS["gaussian"])
    report[34:38] = (GAUSSIAN.noise.largest + 1).to_bytes(4, "little", signed=True)
    with pytest.raises(MalformedReportError, match="no device can send"):
        parse_report(bytes(report), GAUSSIAN)


def test_reports_of_one_row_differ_in_id_and_payload():
    reports = {local.randomize([0.1, 0.2], CAP) for _ in range(50)}
    assert len({report[18:34] for report in reports}) == 50
    assert len({report[34:] for report in reports}) == 50
