import pytest

from dpcov.errors import ParameterError
from dpcov.paper.study import FIGURES, PANELS, Study


def test_the_panels_are_those_of_the_text():
    settings = [
        [(curve.sparsity_ratio, curve.n_columns, curve.epsilon) for curve in panel.curves]
        for panel in PANELS
    ]
    assert settings == [
        [(0.1, 100, 1), (0.2, 100, 1), (0.3, 100, 1), (0.5, 100, 1)],
        [(0.2, 50, 1), (0.2, 100, 1), (0.2, 200, 1), (0.2, 500, 1)],
        [(0.2, 200, 0.1), (0.2, 200, 0.5), (0.2, 200, 1), (0.2, 200, 2)],
    ]


def test_the_figures_are_those_of_the_text():
    assert [(figure.algorithm, figure.norm) for figure in FIGURES.values()] == [
        ("Algorithm 1", 2),
        ("Algorithm 1", 1),
        ("Algorithm 2", 2),
        ("Algorithm 2", 1),
    ]


def test_every_curve_has_every_run_and_size():
    study = Study(figures=(2,), manners=("holds",), runs=3, sizes=(1000, 5000))
    expected = {
        (2, "holds", panel.name, curve.label, method, n, run)
        for panel in PANELS
        for curve in panel.curves
        for method in ("Algorithm 1", "dpcov")
        for n in (1000, 5000)
        for run in range(3)
    }
    assert set(study.keys()) == expected


def test_trials_are_shared_between_panels_and_figures():
    # 12 curves, but p = 100, sr = 0.2 and p = 200, sr = 0.2 appear more than once.
    assert len(Study(manners=("printed",), runs=1, sizes=(1000,)).trials()) == 7


def test_no_two_trials_share_a_seed():
    seeds = [trial.seed for trial in Study(runs=5).trials()]
    assert len(set(seeds)) == len(seeds)


def test_a_trial_keeps_its_seed_whatever_else_is_asked_for():
    few = Study(figures=(1,), manners=("printed",), runs=1, sizes=(1000,)).keys()
    many = Study(runs=3, sizes=(500, 1000)).keys()
    assert all(many[key] == seed for key, seed in few.items())
    assert set(few.values()).isdisjoint(Study(runs=3, sizes=(500, 1000), seed=1).keys().values())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"figures": (5,)}, "figure must be 1, 2, 3, 4 or all"),
        ({"figures": ()}, "figure must be"),
        ({"manners": ("both",)}, "as must be one of"),
        ({"manners": ()}, "at least one"),
        ({"runs": 0}, "runs must be a whole number of at least 1; got 0"),
        ({"runs": 1.5}, "runs must be"),
        ({"sizes": ()}, "at least one sample size"),
        ({"sizes": (1,)}, "n must be"),
        ({"sizes": (1000, 10.5)}, "n must be"),
        ({"sizes": (10_000_000,)}, "every row is drawn"),
        ({"entries": "cauchy"}, "entries must be one of"),
        ({"seed": -1}, "seed must be"),
    ],
)
def test_an_impossible_study_is_refused(wrong, message):
    with pytest.raises(ParameterError, match=message):
        Study(**wrong)
