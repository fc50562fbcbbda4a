"""What Linux can do and others cannot: each is taken away here, and what needs it still works."""

import errno
import os
from pathlib import Path

import numpy as np
import pytest

import dpcov
from dpcov.errors import LedgerError
from dpcov.exact import threads

WHO = {"population": "Panel 2026", "owner": "Data office", "epsilon": 3.0, "delta": 1e-6}


@pytest.fixture
def folders_cannot_be_opened(monkeypatch):
    """Refuse to open a folder as a file, as Windows does."""
    really = os.open

    def refusing(path, flags, *rest, **more):
        # Python itself opens folders with `dir_fd`, where it removes temporary ones.
        if "dir_fd" not in more and Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied")
        return really(path, flags, *rest, **more)

    monkeypatch.setattr(os, "open", refusing)


@pytest.fixture(params=[OSError(errno.EPERM, "no links here"), NotImplementedError()])
def no_links(monkeypatch, request):
    """Refuse to link, as file systems without links and Windows do."""

    def refusing(*_, **__):
        raise request.param

    monkeypatch.setattr(os, "link", refusing)


@pytest.mark.usefixtures("folders_cannot_be_opened", "no_links")
def test_a_ledger_is_made_where_folders_cannot_be_opened_and_files_not_linked(tmp_path):
    ledger = dpcov.Ledger.create(tmp_path / "budget.db", **WHO)
    rows = np.random.default_rng(0).normal(size=(200, 2))
    dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=3, ledger=ledger)
    assert ledger.account().spent == 1.0
    assert [file.name for file in tmp_path.iterdir()] == ["budget.db"]


@pytest.mark.usefixtures("no_links")
def test_a_ledger_replaces_nothing_where_files_cannot_be_linked(tmp_path, monkeypatch):
    # The file comes into being between the first look and the end.
    from dpcov.ledger.database import Session

    really = Session.begin

    def begin(session, kind):
        (tmp_path / "budget.db").write_text("somebody's", encoding="utf-8")
        return really(session, kind)

    monkeypatch.setattr(Session, "begin", begin)
    with pytest.raises(LedgerError, match="never replaced"):
        dpcov.Ledger.create(tmp_path / "budget.db", **WHO)
    assert (tmp_path / "budget.db").read_text(encoding="utf-8") == "somebody's"


@pytest.mark.usefixtures("folders_cannot_be_opened", "no_links")
def test_a_folder_is_written_and_replaced_where_folders_cannot_be_opened(tmp_path):
    rows = np.random.default_rng(0).normal(size=(2000, 2))
    release = dpcov.release(rows, epsilon=1.0, delta=1e-6, row_norm=3)
    for force in (False, True):
        dpcov.publication.write_folder(
            release, release.estimate(), tmp_path / "survey", force=force
        )
    assert dpcov.publication.verify_folder(tmp_path / "survey").holds
    assert [file.name for file in tmp_path.iterdir()] == ["survey"]


def test_cores_are_counted_where_nobody_knows_which_may_be_used(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert threads.usable_cores() == 3


def test_no_module_imports_what_one_system_alone_has():
    # At the top, where Windows would fail: `fcntl` and `msvcrt` are imported where they are used.
    own = {"fcntl", "grp", "msvcrt", "pwd", "resource", "termios", "winreg"}
    modules = sorted(Path(dpcov.__file__).parent.rglob("*.py"))
    assert len(modules) > 200
    for module in modules:
        lines = module.read_text(encoding="utf-8").splitlines()
        tops = {line.split()[1] for line in lines if line.startswith(("import ", "from "))}
        assert not own & tops, module.name
