"""What a test could leave changed for the next one."""

import os
import sys
from pathlib import Path

import numpy as np
from threadpoolctl import ThreadpoolController

# What numpy loaded; asking these few is quicker than looking for all.
POOLS = ThreadpoolController().lib_controllers


def surroundings():
    """Return what a test could leave changed for the next one; pytest keeps warning filters."""
    drawing = getattr(sys.modules.get("matplotlib"), "rcParams", None)
    return {
        # pytest's own, and what importing scikit-learn sets.
        "environment": {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTEST_", "KMP_"))
        },
        "working folder": Path.cwd(),
        "numpy's errors": np.geterr(),
        "numpy's printing": np.get_printoptions(),
        "threads": [pool.num_threads for pool in POOLS],
        # Past its own reader, which would choose a backend.
        "matplotlib": drawing and {k: v for k, v in dict.items(drawing) if k != "backend"},
    }


def changed(before, after):
    """Return the names of what differs. What was not loaded before cannot be compared."""
    return [name for name, was in before.items() if was is not None and after[name] != was]
