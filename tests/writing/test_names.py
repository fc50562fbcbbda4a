import os

import pytest

from dpcov.errors import FolderError
from dpcov.writing import find_leftovers, locate_target


@pytest.mark.parametrize("path", ["", ".", "..", "/", "a/..", "./."])
def test_a_path_without_a_name_is_refused(path):
    with pytest.raises(FolderError, match="has no name of its own"):
        locate_target(path)


@pytest.mark.parametrize(
    "name", [os.fsdecode(b"caf\xe9"), "a\nb", "a\0b", "\x1b[31m", "a\x7f", "a\u2028b"]
)
def test_a_name_that_is_no_text_is_refused(tmp_path, name):
    with pytest.raises(FolderError, match="must be text in UTF-8") as refused:
        locate_target(tmp_path / name)
    assert str(refused.value).isprintable()


def test_a_folder_whose_name_is_no_text_is_refused(tmp_path, monkeypatch):
    place = tmp_path / os.fsdecode(b"caf\xe9")
    try:
        place.mkdir()
    except OSError:
        pytest.skip("this file system has no such names")
    monkeypatch.chdir(place)
    with pytest.raises(FolderError, match="must be text in UTF-8"):
        locate_target("out")


@pytest.mark.parametrize("name", ["übung", "日本語", "with space", ".hidden", "a'b"])
def test_other_names_are_let_pass(tmp_path, name):
    assert locate_target(tmp_path / name).path == tmp_path.resolve() / name


@pytest.mark.parametrize("length", [234, 255, 256, 5000])
def test_a_name_too_long_for_what_stands_beside_it_is_refused(tmp_path, length):
    with pytest.raises(FolderError, match="too long a name"):
        locate_target(tmp_path / ("x" * length))


def test_a_name_that_is_just_short_enough_is_let_pass(tmp_path):
    target = locate_target(tmp_path / ("x" * 233))
    target.old("0" * 16).mkdir()
    assert target.old("0" * 16).is_dir()


@pytest.mark.parametrize("parent", ["nowhere", "file", "file/inside"])
def test_a_folder_that_is_none_is_refused(tmp_path, parent):
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="not a folder that can be written to"):
        locate_target(tmp_path / parent / "new")


def test_links_in_the_way_are_followed_before_two_dots(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    assert locate_target(tmp_path / "link" / ".." / "new").path == tmp_path.resolve() / "a" / "new"


def test_leftovers_are_known_by_exactly_their_names(tmp_path):
    digits = "0123456789abcdef"
    ours = [f".a+b.{digits}", f".a+b.{digits}.old"]
    others = [f".aab.{digits}", f".a+b.{digits}0", f"a+b.{digits}", ".a+b.dpcov", ".a+b.part"]
    for name in ours + others:
        (tmp_path / name).mkdir()
    found = find_leftovers(locate_target(tmp_path / "a+b"))
    assert [path.name for path in found] == ours
