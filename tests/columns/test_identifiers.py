"""Identifiers: columns that are left out by their names, and how they are used all the same."""

import html
import json

import dask.dataframe as dd
import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import dpcov
from cli.runner import invoke
from dpcov.columns import Columns
from dpcov.columns.identifiers import is_identifier
from dpcov.columns.template import TemplateColumn, column_template
from dpcov.errors import CorruptFileError, InputError, ParameterError
from dpcov.publication.card import card_schema, make_card
from dpcov.publication.card_text import card_to_markdown
from dpcov.sensitive.tables import open_table
from dpcov.sensitive.tables.checking import check_facts
from dpcov.sensitive.tables.description import describe_table
from dpcov.sensitive.workers.schedulers import ThreadScheduler

CAUGHT = """
    id ID Id ids person_id person-id person.id personId personID PersonID PERSON_ID idcode IDcode
    IDCODE caseid CaseID CASEID case_id pid PID test_id testID id_1 person_id_2 uuid UUID guid SSN
    user_uuid ssn email e-mail e_mail Email emailAddress email_address name Name first_name lastName
    full.name phone phone_number PhoneNumber index row_names rownames row_number rowid SEQN Row mrn
    respondent_no patientId patient_no id_student idPerson hhid street_address NAMES
"""
PASSED = """
    paid covid width valid id_card_type idea ideology identity midterm kid kids bid lipid acid solid
    rapid humid hybrid aid price_index bmi.index pid7na idp covid_19 valid_cases n_ids has_phone
    number_of_names has_email is_id name_length phone_type email_opt_in rename game frame mid grid
    x1 q1 personality case cases person number code key sid SID74 AIDS medicaid ID1 PID1 zip zipcode
    row_total client subject school student_score hours pi_d na_i_d_e x y age
"""


@pytest.mark.parametrize("name", [*CAUGHT.split(), "customer key", "Patient ID"])
def test_a_name_of_an_identifier_is_caught(name):
    assert is_identifier(name)


@pytest.mark.parametrize("name", [*PASSED.split(), "", "_", "1", "名前", "Größe"])
def test_a_name_that_holds_such_letters_passes(name):
    assert not is_identifier(name)


FRAME = pd.DataFrame(
    {"person_id": np.arange(400.0), "a": np.arange(400) % 7.0, "Email": "x", "b": np.ones(400)}
)
ARROW = pa.Table.from_pandas(FRAME)
STATED = {"epsilon": 5.0, "delta": 1e-6, "seed": 0, "allow": {"small", "mismatch"}}


def csv(folder):
    FRAME.to_csv(folder / "x.csv", index=False)
    return folder / "x.csv"


def parquet(folder):
    pq.write_table(ARROW, folder / "x.parquet")
    return folder / "x.parquet"


KINDS = {
    "pandas": lambda folder: FRAME,
    "polars": lambda folder: pl.from_arrow(ARROW),
    "polars, lazy": lambda folder: pl.from_arrow(ARROW).lazy(),
    "pyarrow": lambda folder: ARROW,
    "stream": lambda folder: ARROW.to_reader(),
    "data set": lambda folder: ds.dataset(ARROW),
    "dask": lambda folder: dd.from_pandas(FRAME, npartitions=2),
    "csv": csv,
    "parquet": parquet,
}


@pytest.mark.parametrize("kind", KINDS)
def test_identifiers_that_nobody_named_are_left_out_of_every_kind_of_table(kind, tmp_path):
    source = open_table(KINDS[kind](tmp_path), scheduler=ThreadScheduler())
    assert source.columns == ("a", "b")
    assert source.left_out == ("person_id", "Email")


@pytest.mark.parametrize("kind", KINDS)
def test_a_release_says_which_columns_were_left_out(kind, tmp_path):
    release = dpcov.release(KINDS[kind](tmp_path), **STATED)
    assert release.columns == ("a", "b")
    assert release.provenance.left_out == ("person_id", "Email")


def test_a_release_of_pairs_says_it_and_units_change_nothing(tmp_path):
    release = dpcov.release_pairs(
        FRAME, max_pairs=1, privacy_unit="person_id", rows_per_unit=1, **STATED
    )
    assert release.columns == ("a", "b")
    assert release.provenance.left_out == ("Email",)
    release.save(tmp_path / "x.npz")
    assert dpcov.Release.load(tmp_path / "x.npz").provenance == release.provenance


NUMBERS = FRAME.drop(columns="Email").assign(phone=1.0)


@pytest.mark.parametrize(
    ("stated", "columns", "left_out"),
    [
        ({"select": ["a", "phone"]}, ("a", "phone"), ()),
        ({"columns": ["id", "u", "v", "name"]}, ("id", "u", "v", "name"), ()),
        ({"facts": {"*": {}}}, ("person_id", "a", "b", "phone"), ()),
        ({"facts": {"*id": {}, "a": {}}}, ("person_id", "a"), ()),
        ({"facts": {"a": {}, "b": {}}}, ("a", "b"), ()),
        ({"facts": None}, ("a", "b"), ("person_id", "phone")),
        ({"header": True}, ("a", "b"), ("person_id", "phone")),
        ({"missing_codes": [-9]}, ("a", "b"), ("person_id", "phone")),
        ({"privacy_unit": "person_id"}, ("a", "b"), ("phone",)),
        ({"weight": "phone"}, ("a", "b", "phone"), ("person_id",)),
    ],
)
def test_what_a_caller_names_is_used(stated, columns, left_out):
    if isinstance(stated.get("facts"), dict):
        stated = {"facts": Columns.from_mapping(stated["facts"])}
    source = open_table(NUMBERS, **stated)
    assert (source.columns, source.left_out) == (columns, left_out)


def test_facts_that_hold_for_all_name_no_column(tmp_path):
    (tmp_path / "all.toml").write_text("[defaults]\nmissing = [-9]\n")
    facts = Columns.load(tmp_path / "all.toml")
    source = open_table(NUMBERS, facts=facts)
    assert (source.columns, source.left_out) == (("a", "b"), ("person_id", "phone"))
    (tmp_path / "some.toml").write_text('[defaults]\nmissing = [-9]\n[columns]\n"*" = {}\n')
    facts = Columns.load(tmp_path / "some.toml")
    assert open_table(NUMBERS, facts=facts).columns == ("person_id", "a", "b", "phone")
    checked = check_facts(NUMBERS, None, {"missing": [-9]}, header=True)
    assert [each.field.name for each in checked.columns] == ["a", "b"]
    assert checked.unused == ("person_id", "phone")


def test_arrays_have_no_names_to_go_by():
    assert open_table(np.ones((3, 2))).left_out == ()


@pytest.mark.claim("P8")
def test_a_table_of_identifiers_alone_is_refused_for_nothing():
    with pytest.raises(InputError, match="none is left to release") as caught:
        dpcov.release(FRAME[["person_id"]], **STATED)
    assert 'columns={"*": {}}' in str(caught.value)
    assert str(caught.value).endswith("Nothing was spent.")
    assert "person_id" not in str(caught.value)
    with pytest.raises(InputError, match="none is left"):
        dpcov.release(
            FRAME[["person_id", "Email"]], **STATED, privacy_unit="Email", rows_per_unit=1
        )
    assert open_table(FRAME[["person_id"]], facts=Columns.from_mapping({"*": {}})).n_rows == 400


@pytest.mark.claim("P8")
def test_which_columns_are_left_out_depends_on_no_cell():
    other = FRAME.assign(person_id=[*["x"] * 399, None], Email=np.nan)
    assert open_table(other).left_out == open_table(FRAME).left_out


@pytest.mark.parametrize("label", ["id\n", "user\x00id"])
@pytest.mark.parametrize("facts", [None, Columns.from_mapping(None, defaults={"missing": [-9]})])
def test_the_name_of_a_column_that_is_left_out_can_be_shown(label, facts):
    with pytest.raises(InputError, match="line break, a control character"):
        open_table(FRAME.rename(columns={"person_id": label}), facts=facts)


def test_what_was_left_out_is_kept_in_the_file(tmp_path):
    release = dpcov.release(FRAME, **STATED)
    release.save(tmp_path / "x.npz")
    assert dpcov.Release.load(tmp_path / "x.npz") == release
    assert dpcov.Release.load(tmp_path / "x.npz").provenance.left_out == ("person_id", "Email")


@pytest.mark.parametrize("forged", ["id", [1], ["id", "id"], ["a\nb"], None, []])
def test_a_file_that_says_it_in_another_way_is_refused(forged, tmp_path):
    release = dpcov.release(FRAME, **STATED)
    release.save(tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as file:
        arrays = dict(file)
    facts = json.loads(arrays["header"].tobytes())
    facts["provenance"]["left_out"] = forged
    arrays["header"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    np.savez(tmp_path / "y.npz", **arrays)
    with pytest.raises((CorruptFileError, ParameterError)):
        dpcov.Release.load(tmp_path / "y.npz")


def test_card_and_text_name_what_was_left_out_and_the_line_that_uses_it():
    release = dpcov.release(FRAME, **STATED)
    card = make_card(release, release.estimate())
    assert card["data"]["left_out"]["columns"] == ["person_id", "Email"]
    said = card["data"]["left_out"]["in_words"]
    assert "person_id, Email" in said
    assert 'columns={"*": {}}' in said
    assert said.endswith('"*" = {}')
    assert "person\\_id, Email" in card_to_markdown(card)
    facts = Columns.from_mapping({"a": {}, "b": {}})
    used = dpcov.release(FRAME, **STATED, columns=facts)
    assert make_card(used, used.estimate())["data"]["left_out"] is None


@pytest.mark.parametrize("command", [["release"], ["release-pairs", "--max-pairs", 1]])
def test_terminal_and_page_name_what_was_left_out_and_the_line_that_uses_it(command, tmp_path):
    out = tmp_path / "out"
    promise = ["--epsilon", 5, "--delta", 1e-6, "--seed", 0, "--allow", "small"]
    result = invoke([*command, csv(tmp_path), *promise, "--allow", "mismatch", "--out", out])
    assert result.exit_code == 0, result.stderr
    words = " ".join(result.stdout.split())
    assert "Left out, since they are identifiers by their names: person_id, Email." in words
    assert 'state columns={"*": {}} in Python' in words
    page = html.unescape((out / "page.html").read_text(encoding="utf-8"))
    assert 'person_id, Email. To use all columns, these too, state columns={"*": {}}' in page
    jsonschema.validate(json.loads((out / "card.json").read_text(encoding="utf-8")), card_schema())
    assert invoke(["verify", out]).exit_code == 0


@pytest.mark.claim("P8")
def test_the_command_refuses_a_table_of_identifiers_with_a_line_that_can_be_typed(tmp_path):
    FRAME[["person_id"]].to_csv(tmp_path / "x.csv", index=False)
    stated = ["--epsilon", 1, "--delta", 1e-6, "--out", tmp_path / "out"]
    result = invoke(["release", tmp_path / "x.csv", *stated])
    assert result.exit_code != 0
    assert 'columns={"*": {}}' in result.stderr
    assert "Nothing was spent." in result.stderr


def test_the_line_that_uses_all_columns_can_be_typed_as_it_stands(tmp_path):
    said = 'columns={"*": {}}'
    assert dpcov.release(NUMBERS, **eval(f"dict({said})"), **STATED).n_columns == 4  # noqa: S307
    (tmp_path / "x.toml").write_text('[columns]\n"*" = {}\n')
    assert dpcov.release(NUMBERS, columns=tmp_path / "x.toml", **STATED).n_columns == 4


def test_a_template_has_the_same_list_and_shows_all_names():
    listed = [TemplateColumn(column.name, column.kind) for column in describe_table(NUMBERS)]
    text = column_template(listed)
    for name in NUMBERS:
        line = next(line for line in text.splitlines() if f'[columns."{name}"]' in line)
        assert line.startswith("#") is is_identifier(name)
    assert describe_table(FRAME[["person_id"]])[0].name == "person_id"


def test_an_estimator_uses_the_columns_that_were_released():
    pytest.importorskip("sklearn")
    from dpcov.estimator import SparseCovariance

    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(5000, 3)), columns=["id", "a", "b"])
    model = SparseCovariance(epsilon=1.0, delta=1e-6, seed=0).fit(rows)
    assert model.covariance_.shape == (2, 2)
    assert list(model.feature_names_in_) == ["a", "b"]
    assert np.isfinite(model.score(rows))
