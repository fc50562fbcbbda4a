"""What every plot does, and what none does."""

import subprocess
import sys
from functools import cache

import matplotlib as mpl
import pytest

import dpcov
from dpcov.errors import ParameterError
from plot.pictures import axes, estimate_of, truth_of

PLOTS = sorted(dpcov.plot.__all__)


@pytest.fixture(scope="module")
def estimate():
    return estimate_of(truth_of(5, (0, 3, 0.6)))


@cache
def other():
    return estimate_of(truth_of(5, (0, 3, 0.2)), n_rows=15_000)


def draw(name, estimate, *where):
    what = (estimate, other()) if name == "compare" else (estimate,)
    return getattr(dpcov.plot, name)(*what, *where)


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_draws_on_the_axes_it_is_given_and_returns_them(name, estimate):
    ax = axes()
    assert draw(name, estimate, ax) is ax


@pytest.mark.parametrize("name", PLOTS)
def test_without_axes_a_plot_draws_on_the_current_ones(name, estimate):
    import matplotlib.pyplot as plt

    _, (_, second) = plt.subplots(1, 2)
    try:
        plt.sca(second)
        assert draw(name, estimate) is second
    finally:
        plt.close("all")


@pytest.mark.parametrize("name", PLOTS)
def test_a_plot_leaves_the_settings_of_matplotlib_alone(name, estimate):
    before = dict(mpl.rcParams)
    draw(name, estimate, axes())
    assert dict(mpl.rcParams) == before


def test_without_matplotlib_the_error_names_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import dpcov\n"
        "try:\n    dpcov.plot.heatmap\n"
        "except dpcov.errors.MissingExtraError as error:\n    print(error)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "Plots need matplotlib and networkx: pip install 'dpcov[plot]'"


def test_an_unknown_plot_is_an_attribute_error():
    with pytest.raises(AttributeError, match="attribute pie"):
        _ = dpcov.plot.pie


@pytest.mark.parametrize("name", PLOTS)
def test_a_release_is_refused_with_the_way_on(name):
    release = estimate_of(truth_of(3)).release
    with pytest.raises(ParameterError, match=r"got a Release.*release\.estimate\(\)"):
        getattr(dpcov.plot, name)(release, axes())
