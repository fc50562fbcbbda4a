"""AnnData, where anndata is installed: it holds pandas back, so the tests do not ask for it.

Stand-ins at the end take its place where it is not.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from dpcov.errors import InputError, MissingValueError
from dpcov.sensitive.tables import is_streamed, open_table
from dpcov.sensitive.tables.description import ColumnType, describe_table
from either import release

ROWS = np.random.default_rng(0).poisson(0.4, size=(101, 3)).astype(np.float32)
WHO = np.random.default_rng(1).choice(["ann", "bob", "cid"], 101)
FIRST = [WHO.tolist().index(who) for who in WHO]


@pytest.fixture
def anndata():
    return pytest.importorskip("anndata", reason="needs anndata")


def table(anndata, matrix=ROWS, names=("a", "b", "c"), who=WHO):
    places = [f"cell {place}" for place in range(len(who))]
    obs = pd.DataFrame({"who": pd.Categorical(who), "other": 1.0}, index=places)
    return anndata.AnnData(matrix, obs=obs, var=pd.DataFrame(index=list(names)))


def write(made, folder):
    made.write_h5ad(folder / "x.h5ad")
    return folder / "x.h5ad"


def sparse(anndata, kind="csr_matrix"):
    return table(anndata, getattr(scipy.sparse, kind)(ROWS))


KINDS = {
    "dense": lambda anndata, folder: table(anndata),
    "sparse": lambda anndata, folder: sparse(anndata),
    "sparse array": lambda anndata, folder: sparse(anndata, "csr_array"),
    "sparse by columns": lambda anndata, folder: sparse(anndata, "csc_matrix"),
    "view": lambda anndata, folder: anndata.concat([table(anndata)] * 2)[101:],
    "backed": lambda anndata, folder: anndata.read_h5ad(write(table(anndata), folder), backed="r"),
    "sparse backed": lambda anndata, folder: anndata.read_h5ad(
        write(sparse(anndata), folder), backed="r"
    ),
}
pytestmark = pytest.mark.filterwarnings("ignore:Observation names are not unique")


@pytest.mark.claim("P8")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_blocks(kind, anndata, tmp_path):
    source = open_table(KINDS[kind](anndata, tmp_path))
    assert source.columns == ("a", "b", "c")
    assert source.n_rows == 101
    blocks = list(source.blocks(16))
    assert [len(block) for block in blocks] == [16] * 6 + [5]
    assert (np.concatenate(blocks) == ROWS).all()


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_selected_and_units_come_from_the_notes(kind, anndata, tmp_path):
    source = open_table(KINDS[kind](anndata, tmp_path), select=["c", "a"], privacy_unit="who")
    keys = [key for run in source.unit_keys(16) for key in run.cells.tolist()]
    assert [keys.index(key) for key in keys] == FIRST
    assert (np.concatenate(list(source.blocks(16))) == ROWS[:, [2, 0]]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_described_by_its_names_and_type(kind, anndata, tmp_path):
    described = tuple(ColumnType(name, "number") for name in "abc")
    assert describe_table(KINDS[kind](anndata, tmp_path)) == described


LEARNING = {
    "nothing stated": {},
    "stated in part": {"columns": {"c": (0, None), "a": {}}},
    "missing cells": {"missing": "center"},
    "add-remove": {"neighbors": "add-remove"},
    "units": {"privacy_unit": "who", "rows_per_unit": 20, "missing": "center"},
    "pairs": {"center": "learned", "max_pairs": 2},
}


@pytest.mark.claim("P7")
@pytest.mark.parametrize("case", LEARNING)
@pytest.mark.parametrize("kind", ["sparse", "backed", "sparse backed"])
def test_what_is_learned_has_the_bytes_of_a_plain_frame(case, kind, anndata, tmp_path):
    options = {"epsilon": 5.0, "delta": 1e-6, "seed": 3, "allow": {"small"}, **LEARNING[case]}
    frame = pd.DataFrame(ROWS, columns=list("abc"))
    if "privacy_unit" in options:
        frame["who"] = WHO
    saved = []
    for each in (KINDS[kind](anndata, tmp_path), frame):
        release(each, **options).save(tmp_path / "release.npz")
        saved.append((tmp_path / "release.npz").read_bytes())
    assert saved[0] == saved[1]


def test_a_name_of_a_variable_may_be_that_of_a_note(anndata):
    made = table(anndata, names=("a", "b", "who"))
    source = open_table(made, privacy_unit="who")
    assert source.columns == ("a", "b", "who")


def test_only_open_table_can_read_it(anndata):
    assert is_streamed(table(anndata))


def test_variables_without_names_have_numbers(anndata):
    assert open_table(anndata.AnnData(ROWS)).columns == ("0", "1", "2")


def test_a_first_row_that_became_names_is_refused(anndata):
    with pytest.raises(InputError, match="somebody's row"):
        open_table(table(anndata, names=("0.25", "1", "7")))


def test_a_note_that_is_missing_is_refused(anndata):
    source = open_table(table(anndata, who=[*WHO[:-1], None]), privacy_unit="who")
    with pytest.raises(MissingValueError):
        list(source.unit_keys(16))


@pytest.mark.claim("P20")
def test_notes_of_two_kinds_are_refused(anndata):
    made = table(anndata)
    made.obs["who"] = np.array([7, "7"] * 50 + [7], dtype=object)
    with pytest.raises(InputError, match="must hold cells of one kind"):
        list(open_table(made, privacy_unit="who").unit_keys(16))


@pytest.mark.parametrize(
    ("make", "keywords", "message"),
    [
        (
            lambda a, f: table(a),
            {"privacy_unit": "a"},
            "privacy_unit= names columns that the table does not have: 'a'. Its own names may be "
            "somebody's",
        ),
        (lambda a, f: table(a), {"select": ["who"]}, "does not have: 'who'. Its own names may be"),
        (lambda a, f: table(a, names="aab"), {}, "Columns 1 and 2 of the table have the same name"),
        (lambda a, f: table(a, ROWS * 1j), {}, "real numbers"),
        (lambda a, f: a.AnnData(obs=table(a).obs), {}, "its X is None"),
        (
            lambda a, f: a.read_h5ad(write(sparse(a, "csc_matrix"), f), backed="r"),
            {},
            r"The table is stored by columns",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Variable names are not unique")
def test_what_cannot_be_read_is_refused(make, keywords, message, anndata, tmp_path):
    made = make(anndata, tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        open_table(made, **keywords)
    assert caught.value.__context__ is None


class StandIn:
    """As much of an AnnData object as is read, where the package is not installed."""

    def __init__(self, matrix=ROWS, names=("a", "b", "c"), who=WHO):
        self.X, self.var_names = matrix, pd.Index(list(names))
        self.obs = pd.DataFrame({"other": 1.0, "who": pd.Categorical(who)})


StandIn.__module__ = "anndata.stand_in"


class Backed:
    """A matrix in a file: some of its rows can be asked for."""

    def __init__(self, matrix, **known):
        self._matrix, self.shape, self.dtype = matrix, matrix.shape, matrix.dtype
        self.__dict__.update(known)

    def __getitem__(self, rows):
        return self._matrix[rows]


STAND_INS = {
    "dense": ROWS,
    "sparse": scipy.sparse.csr_matrix(ROWS),
    "sparse by columns": scipy.sparse.csc_array(ROWS),
    "backed": Backed(ROWS),
    "sparse backed": Backed(scipy.sparse.csr_matrix(ROWS), format="csr"),
}


@pytest.mark.parametrize("kind", STAND_INS)
def test_every_kind_of_a_stand_in_gives_the_same_blocks(kind):
    source = open_table(StandIn(STAND_INS[kind]), select=["c", "a"])
    blocks = list(source.blocks(16))
    assert [len(block) for block in blocks] == [16] * 6 + [5]
    assert (np.concatenate(blocks) == ROWS[:, [2, 0]]).all()


@pytest.mark.claim("P20")
@pytest.mark.parametrize("kind", STAND_INS)
def test_the_notes_of_a_stand_in_say_whose_row_it_is(kind):
    source = open_table(StandIn(STAND_INS[kind]), privacy_unit="who")
    assert source.columns == ("a", "b", "c")
    keys = [key for run in source.unit_keys(16) for key in run.cells.tolist()]
    assert keys == WHO.tolist()


@pytest.mark.claim("P8")
@pytest.mark.parametrize(
    ("made", "message"),
    [
        (StandIn(names=["36", "1200", "x"]), "somebody's row"),
        (StandIn(ROWS * 1j), "real numbers"),
        (StandIn(ROWS.astype(str)), "real numbers"),
        (StandIn(None), "its X is None"),
        (StandIn(Backed(ROWS, format="csc")), r"is stored by columns \(CSC\)"),
    ],
)
def test_a_stand_in_that_cannot_be_read_is_refused(made, message):
    with pytest.raises(InputError, match=message) as caught:
        open_table(made)
    assert caught.value.__context__ is None


def test_variables_without_names_are_called_by_their_places():
    made = StandIn(names="012")
    assert open_table(made).columns == ("0", "1", "2")
    assert describe_table(made) == tuple(ColumnType(name, "number") for name in "012")


@pytest.mark.claim("P8")
def test_other_numbers_than_places_are_no_names_of_variables():
    with pytest.raises(InputError, match="somebody's row"):
        describe_table(StandIn(names="013"))


def test_a_frame_with_a_column_that_is_called_as_names_of_variables_is_a_frame():
    frame = pd.DataFrame({"var_names": [1.0, 2.0], "x": [3.0, 4.0]})
    assert open_table(frame, select=["var_names", "x"]).columns == ("var_names", "x")
