"""What goes with gaps: planted relations are found, and nothing else is."""

import math

import pytest

from dpcov.errors import ParameterError
from dpcov.postprocess.gaps import find_gaps
from postprocess.categorical import limited, release_of, survey, truth_of

PLANTED = {("income", "age"), ("sex", "region"), ("income", "school")}


@pytest.fixture(scope="module")
def found():
    rows = survey(30_000)
    release = release_of(rows)
    return release, limited(rows, release)


def gaps(release, *, fdr=0.1, confidence=0.95, about="population"):
    return find_gaps(release, fdr=fdr, confidence=confidence, about=about)


def test_what_was_planted_is_found(found):
    listed = gaps(found[0], fdr=0.01)
    assert {line[:2] for line in listed} >= PLANTED
    measures = {line[:2]: line.measure for line in listed}
    assert measures["income", "age"] == "difference of means"
    assert measures["sex", "region"] == "V"
    assert measures["income", "school"] == "correlation of gaps"


@pytest.mark.parametrize("seed", range(3))
def test_gaps_at_random_are_not_found(seed):
    rows = survey(10_000, gaps=False, seed=seed)
    rows[:3000, 1] = rows[2000:4000, 2] = float("nan")
    listed = gaps(release_of(rows, seed=seed), fdr=0.05)
    assert {line.measure for line in listed} <= {"correlation of gaps"}


@pytest.mark.parametrize("about", ["table", "population"])
def test_intervals_hold_what_pandas_has(found, about):
    release, frame = found
    listed = gaps(release, fdr=1.0, confidence=0.999, about=about)
    assert len(listed) > 10
    for line in listed:
        assert line.low <= truth_of(line, frame) <= line.high


def test_sentences_say_what_was_found(found):
    words = gaps(found[0], fdr=0.01).in_words
    assert any(w.startswith("Where income is missing, age is higher by ") for w in words)
    assert any(
        w.startswith("Whether sex is missing goes with region (Cramér's V 0.")
        and w.endswith(": where it is, region=s is more frequent.")
        for w in words
    )
    assert any(
        w.startswith("Cells of income and school tend to be missing together (correlation 0.")
        for w in words
    )


def test_the_list_is_in_the_order_of_its_q_values(found):
    q_values = [line.q_value for line in gaps(found[0], fdr=1.0)]
    assert q_values == sorted(q_values)
    assert q_values[-1] > 0.1


def test_a_column_is_not_looked_at_beside_its_own_gaps(found):
    assert all(line.gaps_of != line.column for line in gaps(found[0], fdr=1.0))


def test_columns_without_gaps_are_not_looked_at(found):
    listed = gaps(found[0], fdr=1.0)
    assert {line.gaps_of for line in listed} == {"income", "sex", "school"}


def test_a_table_without_gaps_has_no_findings():
    assert not len(gaps(release_of(survey(5000, gaps=False)), fdr=1.0))


def test_a_number_that_is_never_there_beside_gaps_is_not_looked_at():
    rows = survey(10_000, gaps=False)
    rows[:4000, 0] = rows[:4000, 1] = float("nan")
    listed = gaps(release_of(rows), fdr=1.0)
    assert ("age", "income", "difference of means") not in {line[:3] for line in listed}
    together = next(line for line in listed if line.measure == "correlation of gaps")
    assert together.high == pytest.approx(1.0, abs=0.05)
    assert not math.isnan(together.value)


def test_the_estimate_lists_findings(found):
    assert gaps(found[0]).lines == found[0].estimate().gaps().lines


@pytest.mark.parametrize("asked", [{"fdr": 0.0}, {"fdr": 1.5}, {"confidence": 0.0}, {"about": ""}])
def test_impossible_questions_are_refused(found, asked):
    with pytest.raises(ParameterError):
        gaps(found[0], **asked)
