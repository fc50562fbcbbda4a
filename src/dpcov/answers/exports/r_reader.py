"""An R reader of published folders, without dependencies.

Owns nothing but its file, which is the same for every release: it reads the CSV files of a
folder.
"""

from __future__ import annotations

from dpcov.answers.exports.asked import Asked
from dpcov.answers.exports.plain_text import fill_in
from dpcov.version import __version__

__all__ = ["write_r_reader"]


def write_r_reader(asked: Asked) -> dict[str, bytes]:
    """Return the file; whatever is asked for, it reads all columns."""
    del asked
    return {"read_dpcov.R": fill_in("read_dpcov.R", {"VERSION": __version__})}
