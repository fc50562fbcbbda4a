"""What notebooks show: escaped, and nothing that is not published."""

from html.parser import HTMLParser

import numpy as np
import pytest

import dpcov

NAMES = ("<script>alert(1)</script>", "a & b", 'quote "', "x", "y")
ROWS = np.random.default_rng(0).normal(size=(5_000, 5))
ROWS[:, 1] += ROWS[:, 0]
BUDGET = {"epsilon": 2.0, "delta": 1e-6, "seed": 1, "columns": list(NAMES)}


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.text = [], []

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def shown():
    release = dpcov.release(ROWS, **BUDGET)
    pairs = dpcov.release_pairs(ROWS, max_pairs=3, **BUDGET)
    estimate = release.estimate()
    return {
        "release": release,
        "pairs": pairs,
        "estimate": estimate,
        "estimate of pairs": pairs.estimate(),
        "edges": estimate.edges(),
        "pair": estimate[NAMES[0], NAMES[1]],
        "plan": dpcov.plan(n=5_000, p=5, epsilon=1.0, delta=1e-6, max_pairs=3),
    }


@pytest.mark.parametrize("name", list(shown()))
def test_a_view_is_plain_html_in_which_names_are_text(name):
    page = Tags()
    page.feed(shown()[name]._repr_html_())
    assert {*page.tags} <= {"p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert "table" in page.tags
    if name not in ("plan",):
        assert any(NAMES[0] in text for text in page.text)


def test_long_tables_say_what_is_left_out():
    rows = np.zeros((5000, 13)) + 0.1
    release = dpcov.release(rows, epsilon=2.0, delta=1e-6, row_norm=9, seed=1)
    assert "and 3 more" in release._repr_html_()
