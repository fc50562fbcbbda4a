"""The memory that reading a file takes, measured in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

needs_linux = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")

_PEAK = """
import importlib, pathlib, re, sys, warnings
warnings.simplefilter("ignore")
importlib.import_module(sys.argv[2])
from dpcov.sensitive.tables import open_table
def peak():
    status = pathlib.Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\\s*(\\d+)", status).group(1)) / 1024
before = peak()
for block in open_table(sys.argv[1]).blocks(4096): pass
print(peak() - before)
"""


def megabytes_to_read(path, library):
    """Return by how much memory grows, once the library that reads is loaded."""
    command = [sys.executable, "-c", _PEAK, path, library]
    return float(subprocess.check_output(command, text=True))
