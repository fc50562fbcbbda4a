import errno
import os
import subprocess
import sys

import pytest

from dpcov.errors import FolderError
from dpcov.writing import is_reserved, locate_target, reservation, reserve


@pytest.fixture
def target(tmp_path):
    return locate_target(tmp_path / "survey")


def test_a_reservation_leaves_nothing(target):
    with reserve(target):
        assert is_reserved(target)
    assert list(target.path.parent.iterdir()) == []
    assert not is_reserved(target)


def test_a_writer_that_died_is_no_obstacle(target):
    code = (
        "import os, sys; from dpcov.writing import locate_target, reserve\n"
        "target = locate_target(sys.argv[1])\n"
        "entered = reserve(target); held = entered.__enter__()\n"
        "target.aside(held.token).mkdir(); os._exit(9)"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    died = subprocess.run([sys.executable, "-c", code, target.path], env=environment, check=False)
    assert died.returncode == 9
    (token,) = target.reservation.read_text().split()
    with reserve(target) as held:
        assert held.dead == (token,)
        assert held.token != token


def test_a_token_is_on_the_list_before_anything_is_called_by_it(target):
    with reserve(target) as held:
        assert held.token in target.reservation.read_text().split()


@pytest.mark.parametrize("content", [b"dear diary", b"0123456789abcdef", b"xyz\n"])
def test_a_list_that_is_none_is_not_touched(target, content):
    target.reservation.write_bytes(content)
    if content.startswith(b"0"):  # a torn token is ours
        with reserve(target) as held:
            assert held.dead == ()
        return
    with pytest.raises(FolderError, match="is not a file of dpcov"), reserve(target):
        pytest.fail("unreachable")
    assert target.reservation.read_bytes() == content


def test_a_link_in_place_of_the_list_is_not_followed(target):
    dear = target.path.with_name("dear")
    dear.write_text("")
    target.reservation.symlink_to(dear)
    with pytest.raises(FolderError), reserve(target):
        pytest.fail("unreachable")
    assert dear.read_text() == ""


def test_without_locks_the_file_is_the_reservation(target, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with (
        reserve(target),
        pytest.raises(FolderError, match="If none is, delete"),
        reserve(target),
    ):
        pytest.fail("unreachable")
    assert list(target.path.parent.iterdir()) == []


def test_a_list_that_is_deleted_while_it_is_opened_is_made_anew(target, monkeypatch):
    opened = reservation._open
    files = []

    def open_and_lose(where):
        descriptor, is_new = opened(where)
        files.append(descriptor)
        if len(files) == 1:
            target.reservation.unlink()
        return descriptor, is_new

    monkeypatch.setattr(reservation, "_open", open_and_lose)
    with reserve(target):
        assert len(files) == 2
        assert is_reserved(target)


def test_a_link_to_a_file_of_the_user_is_not_written_to(target):
    dear = target.path.with_name("dear")
    dear.write_text("0123456789abcdef\n")  # which could be a list of tokens
    os.link(dear, target.reservation)
    with pytest.raises(FolderError, match="is not a file of dpcov"), reserve(target):
        pytest.fail("this must not be reached")
    assert dear.read_text() == "0123456789abcdef\n"
    assert target.reservation.exists()


@pytest.mark.skipif(os.name == "nt", reason="owners are a POSIX matter")
def test_a_reservation_of_somebody_else_is_not_written_to(target, monkeypatch):
    target.reservation.write_text("")
    monkeypatch.setattr(os, "geteuid", lambda: target.reservation.stat().st_uid + 1)
    with pytest.raises(FolderError, match="belongs to somebody else"), reserve(target):
        pytest.fail("this must not be reached")
    assert target.reservation.read_text() == ""
