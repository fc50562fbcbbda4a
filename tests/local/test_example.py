import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "local_model.py"


def test_the_simulated_study_runs():
    result = subprocess.run(
        [sys.executable, EXAMPLE, "--people", "30000", "--columns", "10"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "no promise: simulated with a seed" in result.stdout.replace("\n", " ")
    assert "pairs found: " in result.stdout
