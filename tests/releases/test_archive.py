import hashlib
import io
import json
import os
import stat
import warnings
import zipfile

import numpy as np
import pytest

import dpcov
from dpcov.errors import CorruptFileError, OtherSchemaError
from dpcov.releases import archive
from dpcov.releases.formats import MOMENTS

ROWS = np.random.default_rng(0).normal(scale=0.3, size=(200, 3))


@pytest.fixture
def release():
    names = ["a", "Größe", "<script>"]
    return dpcov.release(ROWS, epsilon=1, delta=1e-6, row_norm=1, columns=names)


@pytest.fixture
def path(tmp_path, release):
    release.save(tmp_path / "survey.npz")
    return tmp_path / "survey.npz"


def rewrite(path, change, *, seal=True):
    """Change the header of a release; with `seal`, as a program that knows the format."""
    with np.load(path) as file:
        arrays = dict(file)
    facts = json.loads(arrays.pop("header").tobytes())
    facts.pop("sha256")
    facts, arrays["matrix"] = change(facts, arrays["matrix"]) or (facts, arrays["matrix"])
    facts["sha256"] = archive._digest(facts, arrays) if seal else "0" * 64
    with path.open("wb") as file:
        archive._write_members(file, json.dumps(facts, sort_keys=True).encode(), arrays)


def test_what_is_saved_is_what_is_loaded(path, release):
    assert dpcov.Release.load(path) == release
    assert dpcov.Release.load(str(path)).promise == release.promise


def test_a_simulation_stays_a_simulation(tmp_path):
    release = dpcov.release(ROWS, epsilon=1, delta=1e-6, row_norm=1, seed=1)
    release.save(tmp_path / "s.npz")
    loaded = dpcov.Release.load(tmp_path / "s.npz")
    assert loaded.simulated
    assert str(loaded.promise) == "no promise: simulated with a seed"
    with np.load(tmp_path / "s.npz") as file:
        assert "no promise" in json.loads(file["header"].tobytes())["promise"]


def test_numpy_alone_can_read_the_matrix(path, release):
    with np.load(path, allow_pickle=False) as file:
        assert (file["matrix"] == release.matrix).all()


def test_equal_releases_give_equal_files(tmp_path, path):
    dpcov.Release.load(path).save(tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()


def test_saving_replaces_the_file_and_leaves_nothing_beside_it(tmp_path, path, release):
    release.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["survey.npz"]


def test_a_save_that_fails_leaves_the_old_file(monkeypatch, tmp_path, path, release):
    before = path.read_bytes()

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(archive, "_write_members", fail)
    with pytest.raises(OSError, match="disk full"):
        release.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["survey.npz"]


@pytest.mark.skipif(os.name != "posix", reason="file modes are a POSIX matter")
def test_saving_never_touches_the_mask_of_the_process(path, release, monkeypatch):
    monkeypatch.setattr(os, "umask", None)
    release.save(path)
    assert dpcov.Release.load(path) == release


@pytest.mark.skipif(os.name != "posix", reason="file modes are a POSIX matter")
def test_a_release_may_be_read_by_others(path):
    assert stat.S_IMODE(path.stat().st_mode) & stat.S_IRGRP


def test_a_missing_folder_or_file_is_an_ordinary_error(tmp_path, release):
    with pytest.raises(FileNotFoundError):
        release.save(tmp_path / "no" / "survey.npz")
    with pytest.raises(FileNotFoundError):
        dpcov.Release.load(tmp_path / "none.npz")


@pytest.mark.parametrize("kept", [0, 1, 10, 100, 500, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(path, kept):
    content = path.read_bytes()
    path.write_bytes(content[: kept if isinstance(kept, int) else int(kept * len(content))])
    with pytest.raises(CorruptFileError, match="cannot be read as a release"):
        dpcov.Release.load(path)


def test_a_flipped_byte_is_noticed_or_changes_nothing(path, release):
    content = path.read_bytes()
    unnoticed = 0
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            assert dpcov.Release.load(path) == release
            unnoticed += 1
        except (CorruptFileError, OtherSchemaError):
            pass
    assert unnoticed < 50 * len(members(path))  # dates and the like


def with_comment(path):
    with zipfile.ZipFile(path, "a") as file:
        file.comment = b"rows"


def with_extra(path):
    contents = members(path)
    with zipfile.ZipFile(path, "w") as file:
        for name, content in contents.items():
            about = zipfile.ZipInfo(name)
            about.extra = b"\x99\x99\x04\x00rows"
            file.writestr(about, content)


def with_a_gap(path):
    contents = members(path)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("rows", "of somebody")
        for name, content in contents.items():
            file.writestr(name, content)
        file.filelist.pop(0)  # the directory does not list it


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"#!/bin/sh\n" + path.read_bytes()),
        lambda path: path.write_bytes(path.read_bytes() + b"rows"),
        with_comment,
        with_extra,
        with_a_gap,
    ],
)
def test_a_file_holds_nothing_beside_its_release(path, spoil):
    spoil(path)
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


def test_a_header_that_a_parser_would_unfold_is_refused_before_it_is_parsed(path, monkeypatch):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "header"}
    header = b'{"kind": "dpcov second-moment release", "x": [' + b"[]," * 700_000 + b"[]]}"
    with path.open("wb") as file:
        archive._write_members(file, header, arrays)
    monkeypatch.setattr(archive.json, "loads", None)
    with pytest.raises(CorruptFileError, match="header is not that of a release"):
        dpcov.Release.load(path)


def test_names_beyond_ascii_are_read_back(tmp_path):
    names = [letter * 300_000 for letter in "中文名"]
    release = dpcov.release(ROWS, epsilon=1, delta=1e-6, row_norm=1, columns=names)
    release.save(tmp_path / "s.npz")
    assert dpcov.Release.load(tmp_path / "s.npz") == release


def other_npz(path):
    np.savez(path, a=np.eye(2))


def plain_npy(path):
    with path.open("wb") as file:
        np.save(file, np.eye(2))


def pickled_npz(path):
    np.savez(path, header=np.array([{"kind": MOMENTS.kind}], dtype=object), matrix=np.eye(1))


def text(path):
    path.write_text("kind: release")


@pytest.mark.parametrize("write", [other_npz, plain_npy, pickled_npz, text])
def test_a_file_of_another_kind_is_refused(path, write):
    write(path)
    with pytest.raises(CorruptFileError, match="cannot be read as a release"):
        dpcov.Release.load(path)


def test_events_are_stored_as_they_are_written_down(path, release):
    with np.load(path) as file:
        stored = json.loads(file["header"].tobytes())["provenance"]["events"]
    assert stored == [dpcov.privacy.event_to_dict(event) for event in release.events]


@pytest.mark.parametrize("step", [-1, 1])
def test_another_schema_is_refused_with_what_to_do(path, step):
    rewrite(path, lambda facts, matrix: facts.update(schema=MOMENTS.schema + step))
    with pytest.raises(OtherSchemaError, match="version of dpcov that wrote it"):
        dpcov.Release.load(path)


def test_an_altered_number_is_noticed(path):
    rewrite(path, lambda facts, matrix: facts.update(n_rows=10**6), seal=False)
    with pytest.raises(CorruptFileError, match="altered"):
        dpcov.Release.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"n_rows": 0},
        {"n_rows": 1.5},
        {"n_rows": True},
        {"columns": "abc"},
        {"columns": {"a": 1, "b": 2, "c": 3}},
        {"columns": ["a", "b", "b"]},
        {"columns": ["a", "b", 3]},
        {"columns": ["a", "b"]},
        {"columns": None},
        {"simulated": "no"},
        {"simulated": None},
        {"schema": "1"},
        {"schema": 0},
        {"schema": True},
        {"kind": "something else"},
        {"noise_scale": {"off_diagonal": -1.0, "diagonal": 1.0}},
        {"noise_scale": {"off_diagonal": float("nan"), "diagonal": 1.0}},
        {"noise_scale": [1.0, 2.0]},
        {"noise_scale": {"off_diagonal": 1.0}},
        {"provenance": None},
        {"promise": "(0.001, 1e-20)-differential privacy"},
    ],
)
def test_a_sealed_file_that_makes_no_sense_is_refused(path, change):
    rewrite(path, lambda facts, matrix: facts.update(change))
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"bits": "20"},
        {"row_norm": -1.0},
        {"version": 3},
        {"calibrated_for": {"epsilon": -1, "delta": 1e-6, "neighbors": "replace"}},
        {"calibrated_for": {"epsilon": 1, "delta": 1e-6, "neighbors": "none"}},
        {"calibrated_for": {"epsilon": 0.5, "delta": 1e-6, "neighbors": "replace"}},
        {"row_norm": 2.0},
        {"mechanism": "another"},
    ],
)
def test_a_sealed_file_with_an_impossible_origin_is_refused(path, change):
    rewrite(path, lambda facts, matrix: facts["provenance"].update(change))
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


def test_a_stronger_promise_than_the_noise_pays_for_is_refused(path):
    def strengthen(facts, matrix):
        facts["provenance"]["calibrated_for"]["epsilon"] = 0.5
        facts["promise"] = facts["promise"].replace("(1,", "(0.5,")

    rewrite(path, strengthen)
    with pytest.raises(CorruptFileError, match="noise does not pay"):
        dpcov.Release.load(path)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda m: m[:2, :2],
        lambda m: m.astype(np.float32),
        lambda m: np.triu(m),
        lambda m: np.full_like(m, np.nan),
    ],
)
def test_a_matrix_that_cannot_be_a_release_is_refused(path, spoil):
    rewrite(path, lambda facts, matrix: (facts, spoil(matrix)))
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


def test_a_header_cannot_make_the_reader_reserve_memory(path):
    with np.load(path) as file:
        header = file["header"]
    bomb = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        bomb, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)}
    )
    with zipfile.ZipFile(path, "w") as file:
        buffer = io.BytesIO()
        np.save(buffer, header)
        file.writestr("header.npy", buffer.getvalue())
        file.writestr("matrix.npy", bomb.getvalue())
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


def members(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def put(path, contents, **options):
    """Write members one after the other; a name may come twice."""
    with zipfile.ZipFile(path, "w", **options) as file:
        for name, content in contents:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                file.writestr(name, content)


def npy(value):
    buffer = io.BytesIO()
    np.save(buffer, value)
    return buffer.getvalue()


def test_a_file_has_the_members_of_its_format_in_their_order(path):
    with zipfile.ZipFile(path) as file:
        assert file.namelist() == [f"{name}.npy" for name in ("header", *MOMENTS.arrays)]
        assert {info.date_time for info in file.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_the_bytes_of_an_archive_are_those_of_every_machine(tmp_path):
    arrays = {"matrix": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "none": np.empty(0)}
    with (tmp_path / "x.npz").open("wb") as file:
        archive._write_members(file, b'{"a": 1}', arrays)
    digest = hashlib.sha256((tmp_path / "x.npz").read_bytes()).hexdigest()
    assert digest == "327facb2e424985e04cbbfb0066eb0b1af347b544d44c600ce947e1273faf263"


def test_sizes_that_need_64_bits_are_read_back(path, release, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 200)
    release.save(path)
    assert dpcov.Release.load(path) == release
    path.write_bytes(path.read_bytes() + b"rows" * 200)
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


def test_an_encrypted_member_is_refused(path):
    content = bytearray(path.read_bytes())
    content[content.rindex(b"matrix.npy") - 46 + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(CorruptFileError, match="encrypted"):
        dpcov.Release.load(path)


def test_what_a_header_says_beside_the_release_is_refused(path):
    rewrite(path, lambda facts, matrix: facts.update(note="rows"))
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("note.npy", np.asanyarray(False)),
        ("../note", np.asanyarray(0)),
    ],
)
def test_any_other_member_is_refused(path, name, value):
    put(path, [*members(path).items(), (name, npy(value))])
    with pytest.raises(CorruptFileError):
        dpcov.Release.load(path)


@pytest.mark.parametrize("name", ["header.npy", "matrix.npy"])
def test_a_member_that_comes_twice_is_refused(path, name):
    contents = members(path)
    put(path, [*contents.items(), (name, contents[name])])
    with pytest.raises(CorruptFileError, match="something else"):
        dpcov.Release.load(path)


def test_a_compressed_member_is_refused(path):
    put(path, members(path).items(), compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(CorruptFileError, match="compressed"):
        dpcov.Release.load(path)


def test_a_header_that_says_something_twice_is_refused(path):
    contents = members(path)
    with np.load(path) as file:
        header = file["header"].tobytes()
    twice = header.replace(b'"n_rows": 200', b'"n_rows": 999, "n_rows": 200')
    assert len(twice) > len(header)
    contents["header.npy"] = npy(np.frombuffer(twice, np.uint8))
    put(path, contents.items())
    with pytest.raises(CorruptFileError, match="twice"):
        dpcov.Release.load(path)


def test_a_directory_of_many_members_is_refused_before_it_is_read(path):
    put(path, [*members(path).items(), *((f"{'x' * 60}{place}", b"") for place in range(2000))])
    with pytest.raises(CorruptFileError, match="something else"):
        dpcov.Release.load(path)


def test_a_header_longer_than_any_is_refused_before_it_is_read(path, monkeypatch):
    monkeypatch.setattr(archive, "_MOST_HEADER", 10)
    monkeypatch.setattr(archive, "_STEP", 10)
    with pytest.raises(CorruptFileError, match="header is too long"):
        dpcov.Release.load(path)


def test_members_cannot_be_longer_than_the_file(path):
    content = path.read_bytes()
    place = content.rindex(b"matrix.npy") - 46  # its entry of the directory
    sizes = (1 << 30).to_bytes(4, "little")
    path.write_bytes(content[: place + 20] + 2 * sizes + content[place + 28 :])
    with pytest.raises(CorruptFileError, match="longer than the file"):
        dpcov.Release.load(path)


@pytest.mark.skipif(os.name != "posix", reason="folders are files on POSIX alone")
def test_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(
    monkeypatch, tmp_path, release
):
    done = []
    sync, replace = os.fsync, os.replace

    def note_sync(descriptor):
        folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        done.append("folder" if folder else "content")
        sync(descriptor)

    def note_replace(aside, target):
        done.append("name")
        replace(aside, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    release.save(tmp_path / "s.npz")
    assert done == ["content", "name", "folder"]
