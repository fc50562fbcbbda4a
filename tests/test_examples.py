"""The examples run."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_real_tables_are_released_and_drawn(tmp_path):
    result = subprocess.run(
        [sys.executable, EXAMPLES / "real_data.py", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "digits: 1797 rows × 64 columns" in result.stdout
    assert "would need" in result.stdout
    assert {path.name for path in tmp_path.iterdir()} >= {"digits.png", "breast-cancer.png"}
