"""A DuckDB relation, where duckdb is installed: an Arrow stream like any other."""

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import InputError
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.description import ColumnType, describe_table
from either import release

duckdb = pytest.importorskip("duckdb", reason="needs duckdb")

ROWS = np.random.default_rng(0).normal(size=(5000, 2))
TABLE = pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1], "city": ["x"] * 5000})


@pytest.fixture
def relation():
    with duckdb.connect() as connection:
        connection.execute("set preserve_insertion_order = true")
        yield connection.from_arrow(TABLE)


def test_a_relation_gives_its_numbers(relation):
    source = open_table(relation, select=["b", "a"])
    blocks = list(source.blocks(1024))
    assert [len(block) for block in blocks] == [1024] * 4 + [904]
    assert (np.concatenate(blocks) == ROWS[:, [1, 0]]).all()


def test_a_relation_is_released_like_the_table_it_is_made_of(relation):
    budget = {"epsilon": 1.0, "delta": 1e-6, "row_norm": 2.0, "seed": 3}
    released = dpcov.release(relation.select("a", "b"), **budget)
    stream = TABLE.drop_columns("city").to_reader()
    assert (released.matrix == dpcov.release(stream, **budget).matrix).all()


def test_a_query_of_random_order_is_computed_once_for_all_passes(relation):
    budget = {"epsilon": 1.0, "delta": 1e-6, "seed": 3}
    released = dpcov.release(relation.select("a", "b").order("random()"), **budget)
    assert (released.matrix == dpcov.release(TABLE.drop_columns("city"), **budget).matrix).all()


LEARNING = {
    "nothing stated": {},
    "stated in part": {"columns": {"b": (-2, None), "a": {}}},
    "missing cells": {"missing": "center"},
    "add-remove": {"neighbors": "add-remove"},
    "units": {"privacy_unit": "who", "rows_per_unit": 2, "missing": "center"},
    "pairs": {"center": "learned", "max_pairs": 1},
}


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", LEARNING)
def test_what_is_learned_has_the_bytes_of_the_same_table_in_memory(relation, case, tmp_path):
    options = {"epsilon": 5.0, "delta": 1e-6, "seed": 3, **LEARNING[case]}
    hole = "case when b > 1.5 then null else a end" if "missing" in options else "a"
    unit = ", 'p' || (round(abs(a) * 1e6) % 2000) as who" if "privacy_unit" in options else ""
    query = relation.project(f"{hole} as a, b{unit}")
    saved = []
    for each in (query, query.to_arrow_table()):
        release(each, **options).save(tmp_path / "release.npz")
        saved.append((tmp_path / "release.npz").read_bytes())
    assert saved[0] == saved[1]


def test_a_relation_is_described_without_a_row(relation):
    described = (ColumnType("a", "number"), ColumnType("b", "number"), ColumnType("city", "text"))
    assert describe_table(relation) == described


def test_a_query_that_fails_is_not_quoted(relation):
    with pytest.raises(InputError) as caught:
        list(open_table(relation.project("cast('987654x' || city as int) as a")).blocks(10))
    assert "987654" not in str(caught.value)
    assert caught.value.__context__ is None
