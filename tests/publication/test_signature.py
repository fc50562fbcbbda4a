"""The lines of docs/cli.md that sign a card and verify the signature, as they stand there."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dpcov.publication import verify_folder, write_folder
from publication import releases

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
SIGN, VERIFY = re.findall(r"^ssh-keygen -Y .*$", PAGE.read_text(encoding="utf-8"), re.M)


def run(folder, line):
    done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, timeout=60)  # noqa: S602
    return done.returncode


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen")
def test_the_documented_lines_sign_a_card_and_notice_another(tmp_path):
    release = releases.dense()
    write_folder(release, release.estimate(), tmp_path / "survey")
    assert run(tmp_path, "ssh-keygen -q -t ed25519 -N '' -f office") == 0
    assert run(tmp_path, "echo office@example.org $(cat office.pub) > signers") == 0
    assert run(tmp_path, SIGN) == 0
    assert run(tmp_path, VERIFY) == 0
    assert verify_folder(tmp_path / "survey").unlisted == ()
    card = tmp_path / "survey" / "card.json"
    card.write_text(card.read_text(encoding="utf-8") + " ", encoding="utf-8")
    assert run(tmp_path, VERIFY) != 0
