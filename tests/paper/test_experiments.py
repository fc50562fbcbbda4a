import math
import os
import subprocess
import sys
from collections import defaultdict
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from dpcov.paper import experiments
from dpcov.paper.experiments import run_trial
from dpcov.paper.study import PANELS, Study
from dpcov.privacy import ApproxDP, gaussian_scale

SIZES = {"central": (1_000, 10_000, 100_000), "local": (100_000, 10_000_000, 100_000_000)}


@cache
def mean_errors(model):
    """Mean errors of both figures of an algorithm as printed, by rising n."""
    figures, sizes = ((1, 2) if model == "central" else (3, 4)), SIZES[model]
    study = Study(figures=figures, manners=("printed",), runs=3, sizes=sizes)
    errors = defaultdict(lambda: np.zeros(len(sizes)))
    for trial in study.trials():
        for key, error in run_trial(trial, study).items():
            figure, _, panel, curve, _, n, _ = key
            errors[figure, panel, curve][sizes.index(n)] += error / study.n_runs
    return errors


@pytest.fixture(params=[1, 2, 3, 4], ids="figure {}".format)
def means(request):
    """Mean errors of a figure: (panel, curve) → errors by rising n."""
    errors = mean_errors("central" if request.param < 3 else "local")
    return {key[1:]: mean for key, mean in errors.items() if key[0] == request.param}


def curves(means, panel):
    (found,) = (each for each in PANELS if each.name == panel)
    return [means[panel, curve.label] for curve in found.curves]


def test_as_printed_the_error_falls_with_n(means):
    for errors in means.values():
        assert (errors[1:] < 1.02 * errors[:-1]).all()
        assert errors[-1] < 0.95 * errors[0]


def test_as_printed_the_error_rises_with_the_sparsity_ratio(means):
    first, *_, last = panel = curves(means, "sparsity")
    assert all((b > 0.9 * a).all() for a, b in pairwise(panel))
    assert (last > 1.15 * first).all()


def test_as_printed_the_error_falls_with_epsilon(means):
    panel = curves(means, "privacy")
    assert all((b < 1.05 * a).all() for a, b in pairwise(panel))
    assert (panel[-1] < 0.95 * panel[0]).any()


def test_as_printed_the_error_moves_little_with_p(means):
    panel = curves(means, "dimension")
    # From 50 to 500 columns, s grows tenfold too: the rate of Theorem 2 allows 12.6 times.
    assert (panel[-1] < 4.8 * panel[0]).all()
    assert all((b > 0.95 * a).all() for a, b in pairwise(panel))


@pytest.mark.parametrize(("figure", "root"), [(1, 1.0), (3, 0.5)])
def test_as_printed_noise_and_threshold_are_the_printed_ones(monkeypatch, figure, root):
    seen = []
    monkeypatch.setattr(
        experiments, "printed_threshold", lambda *facts: seen.append(facts) or math.inf
    )
    study = Study(figures=(figure,), manners=("printed",), runs=1, sizes=(2000,))
    for trial in study.trials():
        run_trial(trial, study)
    expected = [
        math.sqrt(2 * math.log(1.25 * 2000)) / (2000**root * epsilon)
        for epsilon in (0.1, 0.5, *[1] * 7, 2)
    ]
    assert sorted(scale for _, _, scale, _ in seen) == pytest.approx(sorted(expected), rel=1e-12)
    assert {n for _, n, _, _ in seen} == {2000}
    assert [gamma for *_, gamma in seen] == pytest.approx([0.25] * len(seen), abs=0.01)


def holding(model):
    """Releases and plans of one small trial as it holds."""
    study = Study(
        figures=(1,) if model == "central" else (3,), manners=("holds",), runs=1, sizes=(1000,)
    )
    (trial,) = (trial for trial in study.trials() if trial.n_columns == 50)
    return study, trial


@pytest.mark.parametrize("model", ["central", "local"])
def test_as_it_holds_rows_are_clipped_and_the_noise_pays_for_the_promise(monkeypatch, model):
    seen = []
    original = experiments.release_gram
    monkeypatch.setattr(
        experiments,
        "release_gram",
        lambda gram, plan, **more: seen.append((gram, plan)) or original(gram, plan, **more),
    )
    study, trial = holding(model)
    run_trial(trial, study)
    ((gram, plan),) = seen
    assert np.trace(gram.sums) <= gram.n_rows * gram.grid.squared_norm
    assert plan.promise == ApproxDP(1.0, 1e-3, "replace")
    # Per person in the local model, once in the central one; rows of norm 1, sensitivity √2.
    people = 1000 if model == "local" else 1
    needed = gaussian_scale(epsilon=1.0, delta=1e-3, sensitivity=math.sqrt(2))
    assert plan.noise_scale.diagonal * 1000 >= math.sqrt(people) * needed
    assert plan.noise_scale.diagonal * 1000 <= math.sqrt(people) * needed * (1 + 1e-6)
    assert plan.noise_scale.off_diagonal * math.sqrt(2) >= plan.noise_scale.diagonal * (1 - 1e-6)


def test_a_trial_repeats_itself_and_does_not_depend_on_other_figures():
    study, trial = holding("central")
    both = Study(manners=("holds",), runs=1, sizes=(1000,))
    (shared,) = (each for each in both.trials() if each.n_columns == 50)
    alone, together = run_trial(trial, study), run_trial(shared, both)
    assert alone == run_trial(trial, study)
    assert all(together[key] == error for key, error in alone.items())


LARGEST_CELL = """
import sys
from threadpoolctl import threadpool_info
from dpcov.paper import experiments
from dpcov.paper.study import Study

study = Study(figures=(1,), manners=(sys.argv[1],), runs=1, sizes=(1000,))
(trial,) = (trial for trial in study.trials() if trial.n_columns == 500)
"""
ITS_ERRORS = """
for key, error in sorted(experiments.run_trial(trial, study).items()):
    print(key, error.hex())
"""
ITS_THREADS = """
original = experiments.relative_error

def relative_error(*facts):
    print(*{pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"})
    return original(*facts)

experiments.relative_error = relative_error
experiments.run_trial(trial, study)
"""


def in_a_fresh_process(code, manner, threads):
    return subprocess.run(
        [sys.executable, "-c", LARGEST_CELL + code, manner],
        env=os.environ | {"OPENBLAS_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.mark.parametrize("manner", ["printed", "holds"])
def test_the_environment_s_number_of_threads_does_not_change_a_bit(manner):
    one, two = (in_a_fresh_process(ITS_ERRORS, manner, threads) for threads in (1, 2))
    assert "0x" in one
    assert one == two


def test_errors_are_measured_with_one_thread_of_every_blas_that_was_loaded_on_the_way():
    assert set(in_a_fresh_process(ITS_THREADS, "holds", 2).split()) == {"1"}
