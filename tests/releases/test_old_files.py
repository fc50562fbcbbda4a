"""Files of earlier states of dpcov are read, or refused with a sentence that says what to do."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import dpcov
from dpcov.collect import Collection
from dpcov.errors import CollectionError, CollectionPlanError, FolderError, PastSchemaError
from dpcov.local import CollectionPlan
from dpcov.releases.formats import MOMENTS, PAIRS_FORMAT

FILES = Path(__file__).with_name("old_files")
SCHEMAS = {form.kind: form.schema for form in (MOMENTS, PAIRS_FORMAT)}
UPGRADING = Path(__file__).parents[2] / "docs" / "upgrading.md"


def header(path):
    with np.load(path, allow_pickle=False) as file:
        return json.loads(file["header"].tobytes())


RELEASES = sorted(FILES.rglob("*.npz"))
READ = [path for path in RELEASES if header(path)["schema"] == SCHEMAS[header(path)["kind"]]]
REFUSED = [path for path in RELEASES if path not in READ]
CARDS = sorted(FILES.glob("card_*"))


def name(path):
    return "/".join(path.parts[-2:])


def test_there_is_a_release_of_every_schema_that_was():
    for kind, newest in SCHEMAS.items():
        found = {header(path)["schema"] for path in RELEASES if header(path)["kind"] == kind}
        assert found == set(range(1, newest + 1))


@pytest.mark.filterwarnings("ignore::dpcov.errors.NothingDetectableWarning")  # of 20 reports
@pytest.mark.parametrize("path", READ, ids=name)
def test_a_release_of_this_schema_is_read_whichever_state_wrote_it(path):
    release = dpcov.Release.load(path)
    assert release.provenance.version == "0.1.0"
    assert str(release.promise) == header(path)["promise"]
    release.estimate()


@pytest.mark.parametrize("path", READ, ids=name)
def test_a_release_that_is_read_is_saved_as_it_was(path, tmp_path):
    dpcov.Release.load(path).save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("path", REFUSED, ids=name)
def test_an_older_release_is_refused_with_what_to_do(path):
    with pytest.raises(PastSchemaError) as refusal:
        dpcov.Release.load(path)
    words = str(refusal.value)
    assert f"schema {header(path)['schema']}" in words
    assert "dpcov 0.1.0 wrote" in words
    assert "numpy.load" in words
    assert "costs privacy again" in words


@pytest.mark.parametrize("path", REFUSED, ids=name)
def test_numpy_takes_the_numbers_out_of_a_release_that_is_refused(path):
    with np.load(path, allow_pickle=False) as file:
        numbers = file["matrix" if "matrix" in file else "co_movement"]
    assert np.isfinite(numbers).all()
    assert numbers.size


def test_a_release_that_names_no_version_is_refused_without_one(tmp_path):
    # A forged file, whose words must not get into the refusal.
    path = FILES / "schema_1" / "moments.npz"
    forged = tmp_path / "forged.npz"
    with np.load(path) as file:
        arrays = dict(file)
    facts = json.loads(arrays["header"].tobytes())
    facts["provenance"]["version"] = "9 <script>"
    arrays["header"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8)
    np.savez(forged, **arrays)
    with pytest.raises(PastSchemaError) as refusal:
        dpcov.Release.load(forged)
    assert "script" not in str(refusal.value)


def test_the_first_plans_are_refused_with_what_to_do():
    text = (FILES / "schema_1" / "plan.json").read_text(encoding="utf-8")
    with pytest.raises(CollectionPlanError, match=r"version 1.*[Ss]tate it anew"):
        CollectionPlan.from_json(text)


@pytest.mark.parametrize("folder", ["schema_2", "schema_4"])
def test_a_plan_keeps_its_id(folder):
    text = (FILES / folder / "plan.json").read_text(encoding="utf-8")
    assert CollectionPlan.from_json(text).id == json.loads(text)["id"]


def test_a_ledger_keeps_its_account_and_takes_new_charges(tmp_path):
    path = shutil.copy(FILES / "schema_4" / "ledger.db", tmp_path)
    ledger = dpcov.Ledger(path)
    assert ledger.account().spent == 1.0
    rows = np.random.default_rng(0).normal(size=(200, 2))
    dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=3, ledger=ledger)
    assert 1.0 < ledger.account().spent < 2.0


def test_a_collection_is_released_as_it_was(tmp_path):
    folder = shutil.copytree(FILES / "schema_4" / "collection", tmp_path / "collection")
    with Collection.open(folder) as collection:
        assert collection.state.reports == 50
        assert collection.state.closed
        assert collection.release().n_rows == 50


def test_a_collection_of_another_schema_is_refused_with_what_to_do(tmp_path):
    import sqlite3
    from contextlib import closing

    folder = shutil.copytree(FILES / "schema_4" / "collection", tmp_path / "collection")
    with closing(sqlite3.connect(folder / "reports.sqlite3")) as connection, connection:
        connection.execute("UPDATE collection SET schema = 7")
    with pytest.raises(CollectionError, match=r"schema 7.*reads 1.*version of dpcov that made it"):
        Collection.open(folder).plan  # noqa: B018


@pytest.mark.parametrize("folder", CARDS, ids=name)
def test_an_older_card_is_refused_with_what_to_do(folder):
    version = json.loads((folder / "card.json").read_text(encoding="utf-8"))["version"]
    with pytest.raises(FolderError) as refusal:
        dpcov.publication.verify_folder(folder)
    assert f"version {version}" in str(refusal.value)
    assert "dpcov estimate" in str(refusal.value)
    assert "version of dpcov that wrote it" in str(refusal.value)


def test_every_format_and_its_version_stand_in_the_page_about_upgrading():
    from dpcov.collect.sqlite_store import _SCHEMA
    from dpcov.ledger import schema
    from dpcov.local.plan_json import _VERSION
    from dpcov.publication.card import CARD_VERSION

    text = UPGRADING.read_text(encoding="utf-8")
    now = {
        "release": MOMENTS.schema,
        "release of pairs": PAIRS_FORMAT.schema,
        "card": CARD_VERSION,
        "collection plan": _VERSION,
        "ledger": schema.VERSION,
        "collection": _SCHEMA,
    }
    for what, version in now.items():
        assert f"| {what} | {version} |" in text, what
