"""Tables in a terminal of 80 columns: lines may be more, and no number is cut."""

import io

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import dpcov
from dpcov.cli import summary
from dpcov.publication import make_card
from dpcov.publication.category_views import association_rows
from dpcov.publication.columns import column_rows
from dpcov.publication.findings import pair_rows
from dpcov.publication.tables import tables_of


@pytest.fixture(scope="module")
def made():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(4_000, 4)), columns=list("abcd"))
    table["b"] += table["a"]
    table["household_income_before_tax"] = -123_456 + 1_000 * table["a"]
    table = table.mask(rng.random(table.shape) < 0.1)
    table["region"] = rng.choice(["north", "south"], 4_000)
    table["a"] += 2 * (table["region"] == "north")
    facts = {name: {} for name in table.columns[:-1]} | {"region": {"levels": ["north", "south"]}}
    release = dpcov.release(table, epsilon=4.0, delta=1e-6, columns=facts, seed=0)
    card = make_card(release, release.estimate(), fdr=0.1)
    return card, tables_of(card, release.estimate(), 0.1)


def printed(table, width=80):
    file = io.StringIO()
    Console(file=file, width=width).print(table)
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    return file.getvalue().split()


def check_words(cells, words):
    left = list(words)
    for cell in cells:
        for word in cell.split():
            left.remove(word)


def test_no_number_of_a_column_is_cut(made):
    card, _ = made
    words = printed(summary.columns_table(card))
    for row in column_rows(card, 20):
        check_words(
            [text for name, text in row.cells.items() if name not in ("known", "beyond")], words
        )


def test_no_number_of_a_pair_is_cut(made):
    _, tables = made
    words = printed(summary.pairs_table(tables["pairs"]))
    rows = pair_rows(tables["pairs"], 10, related_only=True)
    assert rows
    check_words(
        [text for row in rows for text in (row.correlation, row.interval, row.q_value)], words
    )


def test_no_number_of_an_association_is_cut(made):
    _, tables = made
    words = printed(summary.associations_table(tables["associations"]))
    rows = association_rows(tables["associations"], 10, related_only=True)
    assert rows
    check_words([text for row in rows for text in (row.value, row.interval, row.q_value)], words)
