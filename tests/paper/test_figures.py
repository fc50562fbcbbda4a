import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure as Canvas

from dpcov.paper.figures import draw, draw_panel
from dpcov.paper.study import FIGURES, PANELS

SIZES = (1_000, 10_000, 100_000)


@pytest.fixture(scope="module")
def table():
    rows = [
        (number, manner, panel.name, curve.label, method, n, run, 30 / np.sqrt(n) / (1 + run))
        for number, manner, panel in itertools.product((1, 4), ("printed", "holds"), PANELS)
        for curve, method, n, run in itertools.product(
            panel.curves,
            (FIGURES[number].algorithm, *(["dpcov"] if manner == "holds" else [])),
            SIZES,
            range(5),
        )
    ]
    names = ["figure", "as", "panel", "curve", "method", "n", "run", "error"]
    return pd.DataFrame(rows, columns=names)


def panel_of(table, manner):
    ax = Canvas().subplots()
    rows = table[(table["figure"] == 1) & (table["as"] == manner) & (table["panel"] == "privacy")]
    return draw_panel(ax, rows, PANELS[2], FIGURES[1])


def test_a_curve_shows_the_mean_of_the_runs(table):
    line = panel_of(table, "printed").get_lines()[0]
    assert line.get_ydata() == pytest.approx(
        30 / np.sqrt(SIZES) * (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5) / 5
    )


def test_every_curve_has_its_own_color_and_mark(table):
    lines = panel_of(table, "printed").get_lines()
    looks = {(line.get_color(), line.get_marker()) for line in lines if line.get_marker() != "None"}
    assert len(looks) == 4


def test_as_it_holds_both_methods_are_drawn(table):
    ax = panel_of(table, "holds")
    assert len(ax.get_lines()) == 2 * 4 + 1
    assert len(ax.collections) == 2 * 4


def test_the_rate_touches_the_reference_curve_from_above(table):
    ax = panel_of(table, "printed")
    (rate,) = (line for line in ax.get_lines() if line.get_linestyle() == ":")
    reference = ax.get_lines()[2]
    at_sizes = np.exp(np.interp(np.log(SIZES), np.log(rate.get_xdata()), np.log(rate.get_ydata())))
    gaps = at_sizes / reference.get_ydata()
    assert gaps.min() == pytest.approx(1, abs=1e-3)


def test_axes_are_labelled_and_the_legend_names_the_curves(table):
    ax = panel_of(table, "printed")
    assert ax.get_xlabel() == "sample size n"
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["ε = 0.1", "ε = 0.5", "ε = 1", "ε = 2"]


@pytest.mark.parametrize("manner", ["printed", "holds"])
def test_the_same_table_is_the_same_picture(table, tmp_path, manner):
    first = draw(table, 4, manner, tmp_path)
    bytes_of_first = [path.read_bytes() for path in first]
    assert [path.read_bytes() for path in draw(table, 4, manner, tmp_path)] == bytes_of_first
    assert "relative ℓ₁ error" in bytes_of_first[1].decode("utf-8")


def test_drawing_leaves_matplotlib_as_it_was(table, tmp_path):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    draw(table, 1, "printed", tmp_path)
    assert dict(mpl.rcParams) == before
