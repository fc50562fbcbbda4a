"""How a folder gets its name: what is replaced, what is refused, what a kill leaves."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import dpcov
from dpcov.errors import FolderError, LeftoverWarning
from dpcov.publication import ownership, verify_folder, write_folder
from dpcov.publication.leftovers import check_not_hidden
from dpcov.publication.ownership import is_whole
from dpcov.publication.replacement import write_aside
from dpcov.writing import locate_target, reserve
from publication import releases
from publication.releases import PLAIN_FILES

DRIVER = Path(__file__).with_name("kill_driver.py")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Two complete folders, to be copied."""
    place = tmp_path_factory.mktemp("prepared")
    for name in ("old", "new"):
        release = releases.dense()
        write_folder(release, release.estimate(), place / name, name=name)
    return place


@pytest.fixture
def folder(prepared, tmp_path):
    shutil.copytree(prepared / "old", tmp_path / "survey")
    return tmp_path / "survey"


def names_in(place):
    return sorted(file.name for file in place.iterdir())


def which(folder):
    return json.loads((folder / "card.json").read_text())["identity"]["name"]


def replace(folder, prepared):
    with write_aside(folder, force=True) as aside:
        for name in PLAIN_FILES:
            shutil.copy(prepared / "new" / name, aside.folder)


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


def add_to_card(folder, name, digest=None):
    card = json.loads((folder / "card.json").read_text())
    card["files"][name] = (
        f"sha256:{digest or dpcov.publication.verification.sha256_of(folder / name)}"
    )
    (folder / "card.json").write_text(json.dumps(card))


def a_stranger(folder):
    (folder / "survey.parquet").write_text("dear")
    return "survey.parquet"


def a_stranger_on_the_card(folder):
    (folder / "survey.parquet").write_text("dear")
    add_to_card(folder, "survey.parquet")
    return "survey.parquet"


def a_changed_file(folder):
    with (folder / "card.md").open("a") as file:
        file.write("my notes")
    return "card.md (changed)"


def a_name_that_the_card_lacks(folder):
    card = json.loads((folder / "card.json").read_text())
    del card["files"]["pairs.csv"]
    (folder / "card.json").write_text(json.dumps(card))
    return "pairs.csv (not on the card)"


def a_subfolder(folder):
    (folder / "raw").mkdir()
    (folder / "raw" / "table.csv").write_text("dear")
    add_to_card(folder, "raw", "0")
    add_to_card(folder, "raw/table.csv")
    return "raw (not a plain file)"


def a_folder_with_a_name_of_ours(folder):
    (folder / "pairs.csv").unlink()
    (folder / "pairs.csv").mkdir()
    (folder / "pairs.csv" / "dear").write_text("dear")
    return "pairs.csv (not a plain file)"


def a_link(folder):
    target = folder.with_name("elsewhere.csv")
    (folder / "pairs.csv").replace(target)
    (folder / "pairs.csv").symlink_to(target)
    return "pairs.csv (not a plain file)"


def a_pipe_as_card(folder):
    (folder / "card.json").unlink()
    os.mkfifo(folder / "card.json")
    return "card.json (not a plain file)"


def no_card(folder):
    (folder / "card.json").unlink()
    return "card.md"


def a_forged_card(folder):
    (folder / "card.json").write_text("{}")
    return "card.json"


def an_edited_card(folder):
    text = (folder / "card.json").read_text(encoding="utf-8")
    edited = text.replace('"description": ""', '"description": "An evening of work"')
    assert edited != text
    (folder / "card.json").write_text(edited, encoding="utf-8")
    return "card.json (changed)"


def a_card_in_other_words(folder):
    with (folder / "card.json").open("a") as file:
        file.write("\n")
    return "card.json (changed)"


@pytest.mark.parametrize(
    "spoil",
    [
        a_stranger,
        a_stranger_on_the_card,
        a_changed_file,
        a_name_that_the_card_lacks,
        a_subfolder,
        a_folder_with_a_name_of_ours,
        a_link,
        a_pipe_as_card,
        no_card,
        a_forged_card,
        an_edited_card,
        a_card_in_other_words,
    ],
)
def test_force_replaces_nothing_that_dpcov_did_not_write(folder, prepared, spoil):
    in_the_way = spoil(folder)
    before = contents(folder.parent)
    with pytest.raises(FolderError, match="Move these files") as refused:
        replace(folder, prepared)
    assert in_the_way in str(refused.value)
    assert contents(folder.parent) == before


@pytest.mark.parametrize("kind", ["thesis", "file", "link"])
def test_force_replaces_nothing_that_is_not_a_folder_of_ours(folder, prepared, kind):
    place = folder.parent
    (place / "thesis").mkdir()
    (place / "thesis" / "chapter1.tex").write_text("dear")
    (place / "file").write_text("dear")
    (place / "link").symlink_to(folder)
    before = contents(place)
    with pytest.raises(FolderError):
        replace(place / kind, prepared)
    assert contents(place) == before
    assert (place / "link").is_symlink()


def test_force_uses_an_empty_folder(tmp_path, prepared):
    (tmp_path / "survey").mkdir()
    replace(tmp_path / "survey", prepared)
    assert verify_folder(tmp_path / "survey").holds
    assert names_in(tmp_path) == ["survey"]


def test_a_replacement_leaves_the_new_folder_and_nothing_else(folder, prepared):
    replace(folder, prepared)
    assert which(folder) == "new"
    assert verify_folder(folder).holds
    assert names_in(folder.parent) == ["survey"]


@pytest.mark.parametrize("how", [KeyboardInterrupt, RuntimeError])
def test_what_is_interrupted_leaves_nothing(tmp_path, how):
    def write_half():
        with write_aside(tmp_path / "survey") as aside:
            (aside.folder / "half").write_text("half")
            raise how

    with pytest.raises(how):
        write_half()
    assert names_in(tmp_path) == []


def test_an_interrupted_replacement_leaves_the_old_folder(folder):
    with pytest.raises(KeyboardInterrupt), write_aside(folder, force=True):
        raise KeyboardInterrupt
    assert verify_folder(folder).holds
    assert names_in(folder.parent) == ["survey"]


def test_ctrl_c_between_the_renames_waits_until_the_folder_is_complete(
    folder, prepared, monkeypatch
):
    rename = os.rename

    def interrupted(source, target):
        rename(source, target)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace(folder, prepared)
    assert which(folder) == "new"
    assert names_in(folder.parent) == ["survey"]


@pytest.mark.parametrize("how", [KeyboardInterrupt, PermissionError])
def test_a_replacement_that_is_stopped_halfway_is_undone(folder, monkeypatch, how):
    rename = os.rename

    def fail_at_the_new_one(source, target):
        if Path(target) == folder and not Path(source).name.endswith(".old"):
            raise how
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_at_the_new_one)
    expected = FolderError if how is PermissionError else how
    with pytest.raises(expected), write_aside(folder, force=True):
        pass
    assert verify_folder(folder).holds
    assert names_in(folder.parent) == ["survey"]


def test_a_complete_folder_that_cannot_get_its_name_is_kept_and_said(tmp_path, prepared):
    def write():
        with write_aside(tmp_path / "survey") as aside:
            for name in PLAIN_FILES:
                shutil.copy(prepared / "new" / name, aside.folder)
            (tmp_path / "survey").mkdir()
            (tmp_path / "survey" / "dear").write_text("dear")

    with pytest.raises(FolderError, match="has been paid for") as refused:
        write()
    (kept,) = (path for path in tmp_path.glob(".survey.*") if path.is_dir())
    assert str(kept) in str(refused.value)
    assert is_whole(kept)
    assert names_in(tmp_path / "survey") == ["dear"]


def test_a_file_that_comes_into_being_meanwhile_is_not_deleted(folder, prepared):
    def write():
        with write_aside(folder, force=True) as aside:
            for name in PLAIN_FILES:
                shutil.copy(prepared / "new" / name, aside.folder)
            (folder / "notes.txt").write_text("dear")

    with pytest.raises(FolderError, match=r"notes\.txt"):
        write()
    assert (folder / "notes.txt").read_text() == "dear"
    assert which(folder) == "old"


def test_a_folder_that_comes_into_being_meanwhile_is_not_overwritten(tmp_path):
    with pytest.raises(FolderError, match="not overwritten"), write_aside(tmp_path / "survey"):
        (tmp_path / "survey").mkdir()
    assert list((tmp_path / "survey").iterdir()) == []


CALLS = ("open", "close", "mkdir", "rename", "unlink", "rmdir", "fsync", "write", "ftruncate")


@pytest.mark.parametrize("force", [True, False], ids=["replacing", "new"])
def test_a_failing_call_to_the_system_leaves_the_old_folder_or_the_new_one(
    prepared, tmp_path, monkeypatch, force
):
    failed = []
    for place in range(200):
        target = tmp_path / str(place) / "survey"
        target.parent.mkdir()
        if force:
            shutil.copytree(prepared / "old", target)
        reached = _fail_at_call(place, target, prepared, monkeypatch)
        if reached is None:
            break
        failed.append(reached)
        assert_recoverable(target, optional=not force)
    assert {"open", "mkdir", "rename", "fsync"} <= set(failed)
    assert place > 20


def _fail_at_call(number, target, prepared, monkeypatch):
    """Replace a folder while one call fails; return which, or None if there are not so many."""
    counted = []

    def failing(name, original):
        def call(*arguments, **options):
            counted.append(name)
            if len(counted) == number + 1:
                if name == "close":  # even then a descriptor is closed
                    original(*arguments, **options)
                raise OSError(28, "No space left on device")
            return original(*arguments, **options)

        return call

    with monkeypatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, failing(name, getattr(os, name)))
        try:
            replace(target, prepared)
        except (OSError, FolderError, LeftoverWarning):
            pass
        finally:
            counted = list(counted)
    return counted[number] if len(counted) > number else None


def assert_recoverable(target, optional=False):
    """Assert that a complete folder is there, or that the next writer puts one there."""
    if not os.path.lexists(target):
        if optional and not any(map(is_whole, target.parent.glob(".survey.*"))):
            return
        with pytest.raises(FolderError, match="left it complete as"):
            check_not_hidden(target)
        with pytest.raises(FolderError, match="has its name again"), write_aside(target):
            pytest.fail("nothing may be spent before the folder has been seen")
    assert verify_folder(target).holds


def drive(*arguments):
    environment = os.environ | {
        "PYTHONPATH": str(Path(dpcov.__file__).parents[1]),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, DRIVER, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


posix_only = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills forked processes")


@posix_only
def test_death_at_any_call_to_the_system_loses_no_folder(prepared, tmp_path):
    found = drive("calls", prepared, tmp_path, "replacing")
    assert found["lost"] == []
    assert found["deaths"] > 40
    assert found["hidden"] >= 1  # the death between the two renames was among them


@posix_only
def test_death_while_a_folder_is_put_back_loses_none(prepared, tmp_path):
    found = drive("calls", prepared, tmp_path, "putting back")
    assert found["lost"] == []
    assert found["deaths"] > 15


@posix_only
def test_a_kill_at_any_moment_loses_no_folder(prepared, tmp_path):
    found = drive("kills", prepared, tmp_path, 40)
    assert found["lost"] == []
    assert found["deaths"] == 40


@posix_only
def test_of_many_writers_to_a_new_name_one_is_let_in(tmp_path):
    assert drive("writers", tmp_path, "new") == {"let in": 1, "refused": 7}


@posix_only
def test_writers_that_replace_a_folder_are_let_in_one_at_a_time(prepared, tmp_path):
    found = drive("writers", tmp_path, "force", prepared)
    assert found["overlaps"] == 0
    assert found["let in"] >= 1
    assert found["whole"]


def test_a_second_writer_is_refused_before_it_begins(tmp_path):
    with write_aside(tmp_path / "survey"):
        for force in (False, True):
            with (
                pytest.raises(FolderError, match="Another run of dpcov is writing"),
                write_aside(tmp_path / "survey", force=force),
            ):
                pytest.fail("unreachable")


def leave(target, *, new=None, old=None, prepared=None):
    """Leave what a writer leaves that is killed."""
    located = locate_target(target)
    with reserve(located) as held:
        held.keep = True
        for place, source in ((located.aside(held.token), new), (located.old(held.token), old)):
            if source == "half":
                place.mkdir()
                (place / "release.npz").write_bytes(b"half")
                (place / ".release.npz.0123456789abcdef").write_bytes(b"half")
            elif source is not None:
                shutil.copytree(prepared / source, place)
    return located.aside(held.token), located.old(held.token)


def test_between_the_renames_the_next_writer_puts_the_new_folder_in_place(tmp_path, prepared):
    leave(tmp_path / "survey", new="new", old="old", prepared=prepared)
    with (
        pytest.warns(LeftoverWarning, match="it was deleted"),
        pytest.raises(FolderError, match="has its name again"),
    ):
        replace(tmp_path / "survey", prepared)
    assert which(tmp_path / "survey") == "new"
    assert names_in(tmp_path) == ["survey"]


def test_if_the_new_folder_was_damaged_the_old_one_is_put_back(tmp_path, prepared):
    leave(tmp_path / "survey", new="half", old="old", prepared=prepared)
    with pytest.warns(LeftoverWarning), pytest.raises(FolderError, match="has its name again"):
        replace(tmp_path / "survey", prepared)
    assert which(tmp_path / "survey") == "old"
    assert names_in(tmp_path) == ["survey"]


def test_what_was_half_written_is_deleted_and_said(folder, prepared):
    leave(folder, new="half")
    with pytest.warns(LeftoverWarning, match="it was deleted"):
        replace(folder, prepared)
    assert names_in(folder.parent) == ["survey"]


def test_a_file_of_the_user_in_a_leftover_is_not_deleted(folder, prepared):
    aside, _ = leave(folder, new="half")
    (aside / "dear.txt").write_text("dear")
    with pytest.warns(LeftoverWarning, match="Delete it if nothing in it is yours"):
        replace(folder, prepared)
    assert names_in(aside) == [".release.npz.0123456789abcdef", "dear.txt", "release.npz"]


def test_a_complete_leftover_beside_a_folder_is_kept_and_said(folder, prepared):
    aside, _ = leave(folder, new="new", prepared=prepared)
    with pytest.warns(LeftoverWarning, match="left a complete folder as"):
        replace(folder, prepared)
    assert is_whole(aside)


def test_a_leftover_of_an_unknown_writer_is_said_and_not_touched(folder, prepared):
    stranger = folder.with_name(".survey.0123456789abcdef")
    stranger.mkdir()
    (stranger / "release.npz").write_bytes(b"half")
    with pytest.warns(LeftoverWarning, match="looks like what a run of dpcov leaves"):
        replace(folder, prepared)
    assert names_in(stranger) == ["release.npz"]


@pytest.mark.parametrize(
    "name", [".survey.backup", ".survey.0123456789abcdeF", ".survey.0123456789abcdef.new", ".surve"]
)
def test_names_that_only_resemble_leftovers_are_nobodys_business(folder, prepared, name):
    folder.with_name(name).mkdir()
    replace(folder, prepared)
    assert names_in(folder.parent) == sorted([name, "survey"])


def test_a_folder_that_is_hidden_is_found_by_its_name(tmp_path, prepared):
    aside, _ = leave(tmp_path / "survey", new="new", old="old", prepared=prepared)
    with pytest.raises(FolderError, match=f"Rename that to '{tmp_path / 'survey'}'") as said:
        check_not_hidden(tmp_path / "survey")
    assert str(aside) in str(said.value)


def test_a_folder_that_is_being_written_is_said_to_be(tmp_path):
    with write_aside(tmp_path / "survey"), pytest.raises(FolderError, match="is being written"):
        check_not_hidden(tmp_path / "survey")


def test_a_file_that_comes_after_the_old_folder_was_judged_is_kept(folder, prepared, monkeypatch):
    sha256_of = ownership.sha256_of

    def meanwhile(file):
        if file.parent.name.endswith(".old"):
            (file.parent / "notes.txt").write_text("dear")
        return sha256_of(file)

    monkeypatch.setattr(ownership, "sha256_of", meanwhile)
    with pytest.warns(LeftoverWarning, match="something came into it"):
        replace(folder, prepared)
    (kept,) = folder.parent.glob(".survey.*.old")
    assert (kept / "notes.txt").read_text() == "dear"
    assert which(folder) == "new"


def test_a_file_that_changes_after_the_old_folder_was_judged_is_kept(folder, prepared, monkeypatch):
    sha256_of = ownership.sha256_of

    def meanwhile(file):
        digest = sha256_of(file)
        if file.parent.name.endswith(".old") and file.name == "pairs.csv":
            file.write_text("dear")
        return digest

    monkeypatch.setattr(ownership, "sha256_of", meanwhile)
    with pytest.warns(LeftoverWarning, match=r"pairs\.csv changed while"):
        replace(folder, prepared)
    (kept,) = folder.parent.glob(".survey.*.old")
    assert (kept / "pairs.csv").read_text() == "dear"


def test_a_folder_that_cannot_be_deleted_is_said_with_the_reason(folder, prepared, monkeypatch):
    unlink = os.unlink

    def read_only(path, **options):
        if Path(path).parent.name.endswith(".old"):
            raise PermissionError(13, "Permission denied")
        unlink(path, **options)

    monkeypatch.setattr(os, "unlink", read_only)
    with pytest.warns(LeftoverWarning, match="it cannot be deleted: permission denied"):
        replace(folder, prepared)
    assert which(folder) == "new"
