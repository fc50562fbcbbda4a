import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import false_discovery_control

import dpcov
from dpcov.detection import dense_detectable
from dpcov.multiplicity import bonferroni_cutoff, count_pairs, q_values, two_sided_cutoff

SOURCES = sorted(Path(dpcov.__file__).parent.rglob("*.py"))


def test_q_values_are_those_of_benjamini_and_hochberg():
    sizes = np.abs(np.random.default_rng(0).normal(scale=2, size=500))
    expected = false_discovery_control(2 * ndtr(-sizes), method="bh")
    assert q_values(sizes, n_tests=500) == pytest.approx(expected)


def test_tests_that_are_not_given_count_as_the_least_sure():
    sizes = np.array([4.0, 3.5, 1.0])
    p_values = np.concatenate([2 * ndtr(-sizes), np.ones(97)])
    expected = false_discovery_control(p_values, method="bh")[:3]
    assert q_values(sizes, n_tests=100) == pytest.approx(expected)


def test_entries_beyond_all_p_values_keep_their_order():
    sizes = np.array([50.0, 60.0, 40.0])  # their p-values are all 0
    assert (q_values(sizes, n_tests=3) == 0).all()


def test_an_empty_list_has_no_q_values():
    assert len(q_values(np.empty(0), n_tests=10)) == 0


def test_no_false_pair_stands_out_with_the_stated_chance():
    cutoff = bonferroni_cutoff(30, error=0.01)
    assert 2 * ndtr(-cutoff) * count_pairs(30) == pytest.approx(0.01)


def test_one_column_has_the_cutoff_of_one_test():
    assert bonferroni_cutoff(1) == two_sided_cutoff(0.05)


def test_devices_and_tables_have_the_same_cutoff():
    names = [f"x{place}" for place in range(20)]
    plan = dpcov.local.CollectionPlan(columns=names, row_norm=1.0, epsilon=2.0, mechanism="cap")
    people = plan.people_needed(0.3, variance=1 / 20)
    noise = plan.noise_scale(people)
    scale = np.sqrt(noise.off_diagonal**2 + 2 * noise.signal / 20) * 20
    shown = dense_detectable(n_columns=20, n_rows=people, noise_scale=scale)
    assert shown == pytest.approx(0.3, rel=1e-4)


@pytest.mark.parametrize("formula", [r"ndtri\([^)]*/ *\(?2 *\*", r"minimum\.accumulate\(ranked"])
def test_a_correction_for_many_tests_is_written_once(formula):
    found = [path.name for path in SOURCES if re.search(formula, path.read_text(encoding="utf-8"))]
    assert set(found) <= {"multiplicity.py"}
